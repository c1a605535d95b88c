# weir. `make` alone lists what there is.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
PREFIX   ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
FUZZTIME ?= 10s
TEST     ?= ./...

# golangci-lint and gotestsum come from tools/go.mod, pinned there. Building
# golangci-lint from a cold cache takes 1 min 30 s on two cores (measured),
# which is why it is run whole and no leaner set stands in for it.
TOOL := $(GO) tool -modfile=tools/go.mod

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | \
	  while IFS=$$'\t' read -r name what; do printf '  make %-11s %s\n' "$$name" "$$what"; done

.PHONY: build
build: web ## Build ./weir (the web assets first, where there are any)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o weir ./cmd/weir

# The page of the html report, for the program to embed. Without npm the program
# is built all the same, and that format says what it lacks.
.PHONY: web
web:
	@if ! command -v npm >/dev/null; then echo "npm is missing: building without the html report" >&2; exit 0; fi; \
	cd web; \
	if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then \
	  npm ci --no-audit --no-fund --loglevel=error; \
	fi; \
	npm run --silent build

.PHONY: install
install: build ## Install the static binary into PREFIX/bin (/usr/local as root, else ~/.local)
	install -D -m 755 weir '$(DESTDIR)$(PREFIX)/bin/weir'
	@echo "installed $(DESTDIR)$(PREFIX)/bin/weir, version $(VERSION)"

.PHONY: demo
demo: build ## Show weir at work on five mock services, in under 30 s
	./weir demo

.PHONY: peers
peers: ## Get what the tests talk to: Debian packages (as root, with apt), SDKs (with npm)
	@tools/peers.sh

.PHONY: test
test: build peers ## Vet, then every test under the race detector; lists what it had to skip
	$(GO) vet ./...
	$(TOOL) gotestsum --format pkgname -- -race -count=1 -timeout 15m $(TEST)

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: ## golangci-lint with the reasons of .golangci.yml
	$(TOOL) golangci-lint run

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@FUZZTIME='$(FUZZTIME)' tools/fuzz.sh

.PHONY: bench
bench: build ## Run the benchmarks and write bench/RESULTS.md
	@$(GO) run ./bench

.PHONY: chaos
chaos: ## Kill, stop and cut everything while clients read, 10 seeds, under 9 min; writes docs/chaos.md
	@if [ -n "$(CHAOS_SEED)" ]; then run=TestReplay; \
	else run=TestLong; export CHAOS_SEEDS=$${CHAOS_SEEDS:-10} CHAOS_TABLE="$$PWD/docs/chaos.md"; fi; \
	$(GO) test ./test/chaos -count=1 -v -timeout 30m -run "^$$run$$" | grep -v '^=== '

.PHONY: real
real: build ## Probe a genuine model server on this CPU (from PyPI); writes docs/real-servers.md
	@test/real/run.sh

.PHONY: tidy-check
tidy-check: ## Fail if a go.mod would change under go mod tidy
	$(GO) mod tidy -diff

.PHONY: clean
clean: ## Remove what was built
	rm -rf weir dist test/sdk/node_modules test/sdk/python/.venv web/node_modules report/assets/report.*
