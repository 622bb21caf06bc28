# make build   the program, as bin/nudgewire
# make check   everything that must hold before a commit; what CI runs
# make test    the tests alone, with the race detector
# make bench   throughput and latency against bare net/http, in one run (BIG=1: beside much stored data, too)
# make score   how many edits of the rules of each example its tests notice; a test of the check holds it to all
# make demo    the main job with nothing to configure
# make screenshots              a picture of every page of the console, in .check/screenshots; those in docs/images are made anew
# make release VERSION=v1.2.3   archives, packages, lists of parts and checksums, in dist/
# make vulnerabilities          what is known about the libraries and Go, as far as this code calls it

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
LINT := go tool -modfile=tools/go.mod golangci-lint
LOGS := .check
# PART NAME COMMAND says what runs, never silent for half a minute, and how long it took.
PART = @$(LOGS)/part
# In a clone without the published payloads the tests over them may skip; in CI, and wherever the folder is there, none may.
NOSKIP = $(if $(CI)$(wildcard $(or $(NUDGEWIRE_PAYLOADS),../shared/payloads)),-noskip)

# Property tests draw the same values in every check: a check that fails, fails again. New ones: make test RAPID_SEED=0, or
# make fuzz. What fails is kept below testdata/rapid of its folder, and tried first from then on until it is mended.
RAPID_SEED ?= 1
export RAPID_SEED

# A program with the race detector sleeps for a second before it ends, and the tests start hundreds.
GORACE ?= atexit_sleep_ms=0
export GORACE

.PHONY: check part setup lint test nocgo generated bench fuzz score demo screenshots build release vulnerabilities
check: part
	$(PART) setup $(MAKE) -s setup
	@$(MAKE) -s lint
	$(PART) generated $(MAKE) -s generated
	@$(MAKE) -s test nocgo
	@echo "check: all good"

part:
	@mkdir -p $(LOGS)
	@go build -o $(LOGS)/part ./test/check

# What Go cannot bring by itself: a C compiler, which is named where it is missing, the servers that the tests of list
# sources are held against and a browser, which are unpacked here and neither installed nor started, and what drives the browser.
setup:
	@mkdir -p $(LOGS)
	@command -v go >/dev/null || { echo "install Go 1.26 or later: https://go.dev/dl"; exit 1; }
	@command -v gcc >/dev/null || { echo "install a C compiler (Debian: apt-get install gcc libc6-dev)"; exit 1; }
	@tools/servers $(LOGS)/servers
	@tools/browser

# What go vet finds is among what the linter finds, so nothing runs it again.
lint: part
	$(PART) format $(LINT) fmt --diff
	$(PART) lint $(LINT) run ./...

# A test that was skipped did not hold, so each is named at the end.
# The rooms that take longest are named first, so that none of them is left alone at the end, and four at a time on two processors: many tests wait
# more than they compute.
# The parser of YAML is built without the race detector: it shares nothing, and was a seventh of what tests that read the config again took.
test: part
	$(PART) $(NOSKIP) -memory -log $(LOGS)/test.log test go test -vet=off -race -gcflags='go.yaml.in/yaml/v4/...=-race=false' -json -timeout 60m -p 4 -parallel 4 \
		./internal/app ./cmd/nudgewire ./internal/store/... ./test/suite ./test/browser ./test/torture ./internal/simulation ./scheduler ./test/bench ./internal/lists ./...

# Without cgo the pure-Go SQLite stands in under the same driver name. Who stands on the store does not see which it is, so beside
# the store's own tests and backups only a daemon whose disk or file is bad, or comes back, is tested again. Nothing of PostgreSQL
# is C: both engines were tested above.
nocgo: part
	$(PART) "build without C" env CGO_ENABLED=0 go build ./...
	$(PART) -memory -log $(LOGS)/nocgo.log "test without C" env CGO_ENABLED=0 NUDGEWIRE_POSTGRES=off go test -vet=off -json -parallel 8 ./internal/store/... ./test/suite ./internal/backup
	$(PART) -memory -log $(LOGS)/nocgo-app.log "test a daemon without C" env CGO_ENABLED=0 go test -vet=off -json -run 'Disk|Damaged|MovedAway|CutOff|Restore|Restart' ./internal/app

# Documents made from the code must be what the code makes now.
generated:
	@mkdir -p $(LOGS) && rm -rf $(LOGS)/connectors && go build -o $(LOGS)/nudgewire ./cmd/nudgewire
	@$(LOGS)/nudgewire schema | diff -u config.schema.json - || { echo "run: make generate"; exit 1; }
	@$(LOGS)/nudgewire schema --docs | diff -u docs/config.md - || { echo "run: make generate"; exit 1; }
	@$(LOGS)/nudgewire -q connectors docs $(LOGS)/connectors
	@diff -ru docs/connectors $(LOGS)/connectors || { echo "run: make generate"; exit 1; }

generate:
	go run ./cmd/nudgewire schema > config.schema.json
	go run ./cmd/nudgewire schema --docs > docs/config.md
	rm -rf docs/connectors && go run ./cmd/nudgewire -q connectors docs docs/connectors

bench:
	go run ./test/bench $(if $(BIG),-big)

FUZZTIME ?= 30s
fuzz:
	RAPID_SEED=0 RAPID_CHECKS=100 go test -count=1 $$(git grep -l 'rapid[.]Check' -- '*.go' | xargs -n1 dirname | sed 's,^,./,' | sort -u)
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; done; done

score:
	@go test -count=1 -v -run NoticeEdits ./internal/ruletest | grep 'edits are\|no test notices'

demo:
	go run ./cmd/nudgewire demo

screenshots: setup
	SCREENSHOTS=$(CURDIR)/$(LOGS)/screenshots IMAGES=$(CURDIR)/docs/images go test -count=1 ./test/browser

build:
	go build -trimpath -o bin/nudgewire ./cmd/nudgewire

release:
	tools/release/build $(VERSION) dist

vulnerabilities:
	go tool -modfile=tools/release/go.mod govulncheck ./...
