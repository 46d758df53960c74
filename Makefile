# Everything a contributor runs. `make help` lists it.

PYTHON ?= python3
CARGO ?= cargo
OBLIVIO_DATA ?= ../shared/data
export OBLIVIO_DATA

VENV := .venv/bin

.PHONY: help build demo test test-rust test-python python check format lint docs bench clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | column -t -s "$$(printf '\t')"

build: ## Build the program (release)
	$(CARGO) build --release -p oblivio-cli

demo: build ## Fit, predict and compare on a simulated table; results in out/demo
	bash examples/demo.sh target/release/oblivio out/demo

test: test-rust test-python ## Run every test, Rust and Python

test-rust: ## Run the tests of the engine and the program
	$(CARGO) test --workspace --exclude oblivio-py

test-python: python ## Run the tests of the Python package
	$(VENV)/python -m pytest

python: .venv ## Build the Python package into .venv
	$(VENV)/maturin develop --quiet

.venv: pyproject.toml
	$(PYTHON) -m venv .venv
	$(VENV)/python -m pip install --quiet --upgrade pip
	$(VENV)/python -m pip install --quiet --group test
	touch .venv

check: format lint docs test ## What CI runs: format, lints, types, docs, tests

format: .venv ## Check the formatting
	$(CARGO) fmt --all --check
	$(VENV)/ruff format --check .

lint: python ## Lint and check types, warnings are errors
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/python -m mypy.stubtest oblivio._oblivio

docs: ## Build the engine's documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

bench/.venv: bench/requirements.txt
	$(PYTHON) -m venv bench/.venv
	bench/.venv/bin/pip install --quiet --requirement bench/requirements.txt
	touch bench/.venv

bench: bench/.venv ## Compare with peers: ratios in one run
	$(CARGO) build --release -p oblivio-bench -p oblivio-cli
	bench/.venv/bin/python bench/compare.py --program target/release/oblivio-bench

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf out .venv bench/.venv
