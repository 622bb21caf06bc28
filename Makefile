# make check   everything that must hold before a commit; what CI runs
# make test    the tests alone, with the race detector
# make bench   throughput, latency and memory against bare net/http, in one run
# make demo    the main job with nothing to configure

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
LINT := go tool -modfile=tools/go.mod golangci-lint
LOGS := .check

.PHONY: check setup lint test nocgo generated bench fuzz demo build
check: setup lint generated test nocgo
	@echo "check: all good"

# What Go cannot bring by itself: a C compiler, and the servers that the tests of sources are held
# against. Without those the tests skip, which "make test" takes for a failure in CI.
setup:
	@mkdir -p $(LOGS)
	@command -v go >/dev/null || { echo "install Go 1.26 or later: https://go.dev/dl"; exit 1; }
	@if ! command -v gcc >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -y -qq gcc libc6-dev; \
		else echo "install a C compiler (Debian: apt-get install gcc libc6-dev)"; exit 1; fi; fi
	@if ! PATH="$$PATH:/usr/sbin" command -v mariadbd >/dev/null || ! PATH="$$PATH:/usr/sbin" command -v sshd >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mariadb-server openssh-server; \
		else echo "tests of MySQL and SFTP sources will skip (Debian: apt-get install mariadb-server openssh-server)"; fi; fi
	@if ! PATH="$$PATH:$$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | paste -sd:)" command -v initdb >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; \
		else echo "tests of PostgreSQL sources will skip (Debian: apt-get install postgresql)"; fi; fi

lint:
	$(LINT) fmt --diff
	$(LINT) run ./...
	go vet ./...

# A test that skips is a test that did not hold. In a clone without the published payloads
# the tests over them may skip; in CI, and wherever the folder is there, nothing may.
test:
	@mkdir -p $(LOGS)
	@go test -race -timeout 15m -v ./... 2>&1 | tee $(LOGS)/test.log | grep --line-buffered -E '^(ok|FAIL|\?|panic)' || \
		{ grep -E -A60 '^\s*--- FAIL|^panic|DATA RACE|build failed|^#' $(LOGS)/test.log | head -500; exit 1; }
	@if [ -n "$${CI:-}" ] || [ -d "$${NUDGEWIRE_PAYLOADS:-../shared/payloads}" ]; then \
		if grep -E '^\s*--- SKIP' $(LOGS)/test.log; then echo "check: the tests above were skipped and must run here"; exit 1; fi; fi

# Without cgo the pure-Go SQLite stands in under the same driver name.
nocgo:
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 go test ./store/... ./app/...

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
	go run ./bench

FUZZTIME ?= 30s
fuzz:
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; done; done

demo:
	go run ./cmd/nudgewire demo

build:
	go build -trimpath -o bin/nudgewire ./cmd/nudgewire
