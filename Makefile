# make help lists the targets.

VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT       ?= $(shell git describe --match '' --always --abbrev=40 --dirty 2>/dev/null)
# When the commit was made, so that the same commit gives the same bytes.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
# Where the programs of this machine go, and the packages.
BIN          ?= bin
DIST         ?= dist
# How long all tests together may take under CI, and each package anywhere.
TEST_LIMIT   ?= 60m
TEST_TIMEOUT ?= 30m
# Packages to test or measure: make test PKG=./community
PKG          ?= ./...
BENCH        ?= .
RUNS         ?= 30
FUZZTIME     ?= 10s
SOAK         ?= 30m
DATA         ?= ../shared/data

# The version comes from git describe; go need not ask git once more, which
# fails in a checkout that belongs to another user.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
DATE = $(if $(COMMIT),$(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ))
BUILDINFO := github.com/catchment-bgp/catchment/internal/buildinfo
# No symbol table and no DWARF: stack traces and profiles need neither.
LDFLAGS = -s -w -X $(BUILDINFO).version=$(VERSION) -X $(BUILDINFO).commit=$(COMMIT) -X $(BUILDINFO).date=$(DATE)
# Tagged tests are checked like all others.
TAGS := data

.PHONY: build completions man packages reproducible demo lab-tour deps test compose-test images lint bench bench-go bench-failover bench-idle bench-central bench-community fuzz soak quiet-hour data generate clean help
.DEFAULT_GOAL := build

build: ## bin/catchment, bin/catchment-edge and bin/catchment-central, static
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/catchment ./cmd/catchment-edge ./cmd/catchment-central

completions: build ## dist/completions, for bash, zsh and fish
	@mkdir -p $(DIST)/completions
	$(BIN)/catchment completion bash >$(DIST)/completions/catchment.bash
	$(BIN)/catchment completion zsh >$(DIST)/completions/_catchment
	$(BIN)/catchment completion fish >$(DIST)/completions/catchment.fish

man: build ## dist/man, the manual pages, dated by the commit
	SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' $(BIN)/catchment man $(DIST)/man

packages: completions man ## dist/*.deb and *.rpm with SBOMs and SHA256SUMS: ARCH=arm64
	@VERSION='$(VERSION)' SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' LDFLAGS='$(LDFLAGS)' BIN='$(abspath $(BIN))' DIST='$(abspath $(DIST))' deploy/packages/build

reproducible: ## the packages of HEAD twice, in two folders and from nothing, and whether they are the same: ARCH=arm64
	@deploy/packages/reproducible

demo: build ## two routers, a service and nodes on this machine, alone and with a centre; no root needed
	bin/catchment demo
	bin/catchment demo --fleet

lab-tour: build deps ## a fleet on a small Internet of real routers, and traffic that moves between its nodes; needs root
	@lab/tour.sh

deps: ## install the Debian packages that tests need, where missing
	@.ci/deps

test: deps ## all tests; as root they include those with real routers
	$(if $(CI),timeout -k 30s $(TEST_LIMIT)) go test -race -count=1 -timeout $(TEST_TIMEOUT) $(PKG)

compose-test: ## docker-compose.yml from nothing to routes, and away again; as root it starts a dockerd where none runs
	@VERSION='$(VERSION)' COMMIT='$(COMMIT)' DATE='$(DATE)' .ci/compose

images: ## container images of the programs, and of the nodes of lab/topologies: BASE=debian:bookworm-slim
	@VERSION='$(VERSION)' COMMIT='$(COMMIT)' DATE='$(DATE)' lab/images/build

lint: ## gofmt, go vet, staticcheck, and the rules of the tree
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" $$unformatted >&2; exit 1; fi
	go vet -tags $(TAGS) ./...
	go tool staticcheck -tags $(TAGS) ./...
	go test -count=1 ./internal/rules

bench: deps ## every benchmark against peers as one table: ONLY=idle,community RUNS=10 EDGES=100,1000 JSON=bench.json
	go run ./lab/bench/all -json '$(abspath $(or $(JSON),bench.json))' $(if $(ONLY),-only '$(ONLY)') $(if $(filter command line,$(origin RUNS)),-runs $(RUNS)) $(if $(EDGES),-edges $(EDGES))

bench-go: ## go benchmarks: make bench-go PKG=./community BENCH=Parse
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

bench-failover: deps ## how long a route outlives its service, beside other programs: RUNS=30 JSON=FILE
	go test -run '^$$' -bench Failover -benchtime 1x -timeout 30m ./lab/bench/failover -runs $(RUNS) $(if $(JSON),-figures '$(abspath $(JSON))')

bench-idle: deps ## memory and processor time, beside ExaBGP: JSON=FILE
	go test -run '^$$' -bench Idle -benchtime 1x -timeout 30m ./lab/bench/idle $(if $(JSON),-figures '$(abspath $(JSON))')

bench-central: ## a centre with 100, 1,000 and 10,000 edges: EDGES=100,1000 BASELINE=BINARY JSON=FILE
	go test -run '^$$' -bench Central -benchtime 1x -timeout 30m ./lab/bench/central $(if $(EDGES),-edges $(EDGES)) $(if $(BASELINE),-baseline '$(abspath $(BASELINE))') $(if $(JSON),-figures '$(abspath $(JSON))')

bench-community: ## patterns, look-ups, a dump and MRT files, as ratios to a map, to gunzip and to bzip2; the files are those in DATA
	go test -run '^$$' -bench 'ParsePattern|Lookup|Dump|RecordsPassedOver' -benchmem ./community ./community/registry ./community/importer ./community/mrt
	@if [ -d '$(DATA)' ]; then CATCHMENT_DATA='$(abspath $(DATA))' go test -tags data -count=1 -v -run '^TestDataIsReadInAtMostFiveTimes' ./community/mrt; \
	else echo 'no folder $(DATA): MRT files are not compared with bzip2 and gzip' >&2; fi

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r dirname | sort -u); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$dir/*_test.go); do \
			echo "$$dir $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir; \
		done; \
	done

soak: ## a neighbour, a check and the configuration flap for SOAK; needs root
	go test -race -count=1 -timeout 0 -run '^TestSoakGrowsNothing$$' -v ./lab/scenarios -soak $(SOAK)

quiet-hour: deps ## an hour of a fleet that nothing is done to, in which none of the shipped alerts may fire; needs root
	go test -count=1 -timeout 90m -run '^TestEachAlertFiresForItsCauseAndNoneInAQuietTime$$' -v ./lab/scenarios -quiet 1h

data: ## tests over files that are not in the repository, in DATA
	@[ -d '$(DATA)' ] || { echo "no folder $(DATA); set DATA=" >&2; exit 1; }
	CATCHMENT_DATA='$(abspath $(DATA))' go test -tags data -count=1 -v -run '^TestData' \
		$$(grep -rl --include='*_test.go' '^//go:build data' . | xargs -r dirname | sort -u)

generate: ## Go from the .proto files
	@command -v protoc >/dev/null || { echo "no protoc; apt-get install protobuf-compiler" >&2; exit 1; }
	GOBIN='$(CURDIR)/bin/tools' go install google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway
	PATH='$(CURDIR)/bin/tools':"$$PATH" protoc -I api --go_out=api --go_opt=paths=source_relative \
		--go-grpc_out=api --go-grpc_opt=paths=source_relative \
		--grpc-gateway_out=api --grpc-gateway_opt=paths=source_relative,grpc_api_configuration=api/central/v1/gateway.yaml $$(cd api && find . -name '*.proto' | sed 's,^\./,,' | sort)

clean: ## remove what is built: bin and dist
	rm -rf bin dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 17
