# What one does here. `make help` lists it.

SHELL := bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run test lint fmt bench crash page browse screenshots

KILLS  ?= 1000
SEED   ?= 1
TARGET := $(or $(CARGO_TARGET_DIR),target)
ARTEL  := $(TARGET)/release/artel
CRASH  := $(TARGET)/release/crash
DATA   ?= .artel
# Tests at a time: they wait more than they compute.
TESTS ?= $(shell echo $$(($$(nproc) + 1)))
# The local embedding model; fetched once, beside the data of `make run`.
WEIGHTS ?= $(DATA)/models/all-MiniLM-L6-v2
# The command-line agents that tests drive; fetched once.
CLIS ?= $(DATA)/clis
# The peer of plans; fetched once, beside the program that measures.
LANGGRAPH := $(TARGET)/release/langgraph

help: ## Show this list
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 8

setup: ## Install what is missing to build and test (by apt and cargo)
	@scripts/setup.sh

run: ## Build and run everything on this folder, http://127.0.0.1:8787, data in .artel
	@scripts/setup.sh run || echo "run: going on with what there is"
	@$(MAKE) --no-print-directory page || echo "run: without the page; the API and the terminal are there"
	cargo build --release -p artel
	@scripts/fetch-weights.sh $(WEIGHTS) || echo "run: without the local model memories are found by words alone"
	$(ARTEL) up --data-dir $(DATA)

test: setup page lint ## Everything that must hold before a change goes in
	cd web && npm run check && npm test
	scripts/fetch-weights.sh $(WEIGHTS)
	scripts/fetch-clis.sh $(CLIS)
	ARTEL_TEST_WEIGHTS=$(abspath $(WEIGHTS)) ARTEL_TEST_CLIS=$(abspath $(CLIS)) \
		scripts/with-docker.sh scripts/with-services.sh cargo nextest run --workspace --test-threads $(TESTS)
	cd web && ARTEL_BIN=$(abspath $(TARGET))/debug/artel npm run e2e

page: web/dist/page/index.html ## Build the page, if it has changed

web/dist/page/index.html: $(shell find web/src web/public -type f) web/index.html web/vite.config.ts web/svelte.config.js web/package-lock.json
	cd web && npm install --no-save --no-audit --no-fund && npm run build
	@touch $@

browse: page ## Use the page in a real Chromium, against a real server
	cargo build --release -p artel
	cd web && ARTEL_BIN=$(abspath $(ARTEL)) npm run e2e

screenshots: page ## Pictures of every view of the page, into web/screenshots
	cargo build --release -p artel
	cd web && ARTEL_BIN=$(abspath $(ARTEL)) npm run screenshots

lint: ## Formatting and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

fmt: ## Format the code
	cargo fmt --all

bench: setup ## Measure beside the peers, all in one run
	cargo build --release -p artel -p artel-bench --features artel-bench/peers
	@scripts/fetch-langgraph.sh $(LANGGRAPH) || echo "bench: going on without LangGraph"
	scripts/with-services.sh $(TARGET)/release/artel-bench

crash: setup ## The crash and race harness in full size, some 20 minutes (KILLS=1000 SEED=1)
	cargo build --release -p artel -p artel-testkit -p artel-programs
	$(CRASH) --artel $(ARTEL) --seed $(SEED) --database sqlite --kills $(KILLS)
	$(CRASH) --artel $(ARTEL) --seed $(SEED) --database postgres --kills $(KILLS)
	$(CRASH) --artel $(ARTEL) --seed $(SEED) --database postgres --kills 100 --kill-database
	$(CRASH) --artel $(ARTEL) --seed $(SEED) --database sqlite --at fsync --kills 200
	$(CRASH) talk --artel $(ARTEL) --seed $(SEED) --database sqlite
	$(CRASH) talk --artel $(ARTEL) --seed $(SEED) --database postgres
	$(CRASH) memory --artel $(ARTEL) --seed $(SEED)
	$(CRASH) approvals --artel $(ARTEL) --seed $(SEED) --database sqlite --kill-every 20
	$(CRASH) approvals --artel $(ARTEL) --seed $(SEED) --database postgres --kill-every 20
	$(CRASH) plans --artel $(ARTEL) --seed $(SEED) --database sqlite --plans 1000 --most-tasks 500
	$(CRASH) plans --artel $(ARTEL) --seed $(SEED) --database postgres --plans 200 --most-tasks 500
	$(CRASH) programs --artel $(ARTEL) --seed $(SEED) --agents 20 --kills 50
	$(CRASH) crowd --artel $(ARTEL) --agents 100 --messages 100
	$(CRASH) race --artel $(ARTEL) --seed $(SEED) --database sqlite
	$(CRASH) race --artel $(ARTEL) --seed $(SEED) --database postgres
