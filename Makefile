# Everything a contributor runs. `make help` lists it.

PYTHON ?= python3
CARGO ?= cargo
OBLIVIO_DATA ?= ../shared/data
export OBLIVIO_DATA

.PHONY: help build demo test check format lint docs bench clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | column -t -s "$$(printf '\t')"

build: ## Build the program (release)
	$(CARGO) build --release -p oblivio-cli

demo: build ## Fit, predict and compare on a simulated table; results in out/demo
	bash examples/demo.sh target/release/oblivio out/demo

test: ## Run every test
	$(CARGO) test --workspace

check: format lint docs test ## What CI runs: format, lints, docs, tests

format: ## Check the formatting
	$(CARGO) fmt --all --check

lint: ## Lint, warnings are errors
	$(CARGO) clippy --workspace --all-targets -- -D warnings

docs: ## Build the engine's documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

bench/.venv: bench/requirements.txt
	$(PYTHON) -m venv bench/.venv
	bench/.venv/bin/pip install --quiet --requirement bench/requirements.txt
	touch bench/.venv

bench: bench/.venv ## Compare with peers: ratios in one run
	$(CARGO) build --release -p oblivio-bench
	bench/.venv/bin/python bench/compare.py --program target/release/oblivio-bench

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf out .venv bench/.venv
