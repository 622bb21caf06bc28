# make build   the program, as bin/nudgewire
# make check   everything that must hold before a commit; what CI runs
# make test    the tests alone, with the race detector
# make bench   throughput and latency against bare net/http, in one run (BIG=1: beside much stored data, too)
# make demo    the main job with nothing to configure
# make screenshots              a picture of every page of the console, in .check/screenshots; those in docs/images are made anew
# make release VERSION=v1.2.3   archives, packages, lists of parts and checksums, in dist/
# make vulnerabilities          what is known about the libraries and Go, as far as this code calls it

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
LINT := go tool -modfile=tools/go.mod golangci-lint
LOGS := .check

# Property tests draw the same values in every check: a check that fails, fails again. New ones: make test RAPID_SEED=0, or
# make fuzz. What fails is kept below testdata/rapid of its folder, and tried first from then on until it is mended.
RAPID_SEED ?= 1
export RAPID_SEED

.PHONY: check setup lint test nocgo generated bench fuzz demo screenshots build release vulnerabilities
check: setup lint generated test nocgo
	@! [ -s $(LOGS)/skipped.log ] || { echo "skipped:"; cat $(LOGS)/skipped.log; }
	@echo "check: all good"

# What Go cannot bring by itself: a C compiler, which is named where it is missing, the servers that the tests of list
# sources are held against and a browser, which are unpacked here and neither installed nor started, and what drives the browser.
setup:
	@mkdir -p $(LOGS)
	@command -v go >/dev/null || { echo "install Go 1.26 or later: https://go.dev/dl"; exit 1; }
	@command -v gcc >/dev/null || { echo "install a C compiler (Debian: apt-get install gcc libc6-dev)"; exit 1; }
	@tools/servers $(LOGS)/servers
	@tools/browser

lint:
	$(LINT) fmt --diff
	$(LINT) run ./...
	go vet ./...

# What a failed test said stands before its FAIL, and what a crash says after it.
# A test that was skipped did not hold, so each is named at the end. In a clone without the published
# payloads the tests over them may skip; in CI, and wherever the folder is there, nothing may.
# The rooms that take longest are named first, so that none of them is left alone at the end, and what waits waits together.
test:
	@mkdir -p $(LOGS)
	@go test -race -timeout 60m -parallel 4 -v ./store ./store/suite ./app ./cmd/nudgewire ./test/browser ./... 2>&1 | tee $(LOGS)/test.log | grep --line-buffered -E '^(ok|FAIL|\?|panic)' || \
		{ grep -E -B40 -A20 '^\s*--- FAIL' $(LOGS)/test.log | head -500 || true; grep -E -A60 '^panic|DATA RACE|build failed|^#' $(LOGS)/test.log | head -200 || true; exit 1; }
	@if grep -E -A3 '^\s*--- SKIP' $(LOGS)/test.log > $(LOGS)/skipped.log && \
		{ [ -n "$${CI:-}" ] || [ -d "$${NUDGEWIRE_PAYLOADS:-../shared/payloads}" ]; }; then \
		echo "check: these tests were skipped and must run here"; cat $(LOGS)/skipped.log; exit 1; fi

# Without cgo the pure-Go SQLite stands in under the same driver name. Nothing of PostgreSQL is C: it was tested above.
nocgo:
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 NUDGEWIRE_POSTGRES=off go test -parallel 8 ./store/... ./app/...

# Documents made from the code must be what the code makes now.
generated:
	go run ./cmd/nudgewire schema | diff -u config.schema.json - || { echo "run: make generate"; exit 1; }
	go run ./cmd/nudgewire schema --docs | diff -u docs/config.md - || { echo "run: make generate"; exit 1; }
	rm -rf $(LOGS)/connectors && go run ./cmd/nudgewire -q connectors docs $(LOGS)/connectors
	diff -ru docs/connectors $(LOGS)/connectors || { echo "run: make generate"; exit 1; }

generate:
	go run ./cmd/nudgewire schema > config.schema.json
	go run ./cmd/nudgewire schema --docs > docs/config.md
	rm -rf docs/connectors && go run ./cmd/nudgewire -q connectors docs docs/connectors

bench:
	go run ./test/bench $(if $(BIG),-big)

FUZZTIME ?= 30s
fuzz:
	RAPID_SEED=0 go test -count=1 $$(git grep -l 'rapid[.]Check' -- '*.go' | xargs -n1 dirname | sed 's,^,./,' | sort -u)
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; done; done

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
