# Everything a contributor runs. `make help` lists it.

PYTHON ?= python3
CARGO ?= cargo
OBLIVIO_DATA ?= ../shared/data
export OBLIVIO_DATA

VENV := .venv/bin

.PHONY: help web chromium java build demo test test-rust test-python test-cluster test-cluster-large python check format lint docs \
	reproduce bench bench-fairness bench-cluster bench-serve wheel dist reproducible deny fuzz soak clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | column -t -s "$$(printf '\t')"

CHARTS := web/dist/charts.js

web: $(CHARTS) ## Bundle the charts of an audit's page, where Node.js is or can be had

# Without the bundle, pages have tables in place of charts: that is said, and never fails a build.
$(CHARTS): web/package.json web/package-lock.json web/build.mjs $(wildcard web/src/*.js)
	@bash web/build.sh

build: web ## Build the program (release)
	$(CARGO) build --release -p oblivio-cli

demo: build ## Fit, predict, audit and write a report on a simulated table; results in out/demo
	bash examples/demo.sh target/release/oblivio out/demo

test: test-rust test-python ## Run every test, Rust and Python

test-rust: web ## Run the tests of the engine and the program
	$(CARGO) test --workspace --exclude oblivio-py

test-python: python chromium ## Run the tests of the Python package
	$(VENV)/python -m pytest

python: .venv web ## Build the Python package into .venv
	$(VENV)/maturin develop --quiet

chromium: ## Install Debian's Chromium for the tests of the page, where that can be done
	@bash web/debian.sh chromium -- chromium || echo "There is no Chromium here: the tests of the page in a browser will be skipped."

.venv: pyproject.toml
	$(PYTHON) -m venv .venv
	$(VENV)/python -m pip install --quiet --upgrade pip
	$(VENV)/python -m pip install --quiet --group test
	touch .venv

CLUSTER := .venv-cluster/bin
SAIL := .venv-cluster/sail
# What the wheel is made of: it is built again when one of these is newer.
SOURCES := $(shell find crates python pyproject.toml Cargo.toml Cargo.lock -type f \
	-not -name '*.so' -not -path '*/__pycache__/*' -not -path '*/tests/*')

.venv-cluster: pyproject.toml
	$(PYTHON) -m venv .venv-cluster
	$(CLUSTER)/python -m pip install --quiet --upgrade pip
	$(CLUSTER)/python -m pip install --quiet --group cluster
	$(CLUSTER)/python -m pip install --quiet --upgrade --no-deps --group sail --target $(SAIL)
	touch .venv-cluster

# Workers import the wheel, never this folder. The interpreter is that of `maturin develop`, so that both share a build.
.venv-cluster/wheel: $(SOURCES) $(wildcard $(CHARTS)) | .venv .venv-cluster web
	rm -rf target/wheels/cluster
	$(VENV)/maturin build --quiet --interpreter $(VENV)/python --out target/wheels/cluster
	$(CLUSTER)/python -m pip install --quiet --force-reinstall --no-deps target/wheels/cluster/*.whl
	touch .venv-cluster/wheel

java: ## Install Debian's Java for classic Spark, where that can be done
	@bash web/debian.sh default-jre-headless -- java || echo "There is no Java here: the tests with classic Spark and its Connect server will be skipped."

# A process has one kind of Spark: one after the other. What is in PYTHONPATH would get before the wheel.
test-cluster: .venv-cluster/wheel java ## Run the tests with real engines: Dask, Sail, Spark Connect and classic Spark
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_dask.py
	PYTHONPATH=$(SAIL) $(CLUSTER)/python -m pytest tests/cluster/test_sail.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_connect.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_classic.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_recipes.py

test-cluster-large: .venv-cluster/wheel java ## Fit twenty million rows with real engines, within two gigabytes a worker
	env -u PYTHONPATH $(CLUSTER)/python -m pytest -m large tests/cluster/test_dask.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest -m large tests/cluster/test_classic.py

bench-cluster: .venv-cluster/wheel java ## Seconds and memory against rows, on Dask and on classic Spark
	env -u PYTHONPATH $(CLUSTER)/python bench/cluster.py

# How many damaged inputs of each kind `make fuzz` tries, and how often `make soak` kills.
FUZZ ?= 1000000
SOAK ?= 200

fuzz: ## Try a million damaged inputs of every kind (FUZZ=N for another number)
	OBLIVIO_FUZZ=$(FUZZ) $(CARGO) test --workspace --exclude oblivio-py --test fuzz -- --nocapture --test-threads 1
	OBLIVIO_FUZZ=$(FUZZ) $(CARGO) test --workspace --exclude oblivio-py --lib fuzz::damaged -- --nocapture --test-threads 1

soak: python ## Kill the program and Python in the midst of their writing, 200 times each (SOAK=N for another number)
	OBLIVIO_SOAK=$(SOAK) $(CARGO) test --workspace --exclude oblivio-py --test faults -- --nocapture --test-threads 1
	OBLIVIO_SOAK=$(SOAK) $(VENV)/python -m pytest -s tests/python/test_faults.py

check: format lint deny docs test test-cluster ## What CI runs: format, lints, types, licences, docs, tests

format: .venv ## Check the formatting
	$(CARGO) fmt --all --check
	$(VENV)/ruff format --check .

lint: python ## Lint and check types, warnings are errors
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/python -m mypy.stubtest oblivio._oblivio

deny: .venv ## Check licences, duplicates and sources of what is built in, and advisories where a database answers
	$(VENV)/python tools/deny.py

docs: ## Build the engine's documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# Which experiments `make reproduce` repeats, and with which arguments.
EXPERIMENT ?= all
ARGUMENTS ?=

reproduce: ## Repeat the paper's experiments: numbers, figures and verdicts in out/ (EXPERIMENT=name, ARGUMENTS="...")
	$(CARGO) run --release -p oblivio-experiments -- $(EXPERIMENT) -o out $(ARGUMENTS)

bench/.venv: bench/requirements.txt
	$(PYTHON) -m venv bench/.venv
	bench/.venv/bin/pip install --quiet --requirement bench/requirements.txt
	touch bench/.venv

bench: bench/.venv web ## Compare with peers: ratios in one run
	$(CARGO) build --release -p oblivio-bench -p oblivio-cli
	bench/.venv/bin/python bench/compare.py --program target/release/oblivio-bench

bench/fairness/.venv: bench/fairness/requirements.txt
	$(PYTHON) -m venv bench/fairness/.venv
	bench/fairness/.venv/bin/pip install --quiet --requirement bench/fairness/requirements.txt
	touch bench/fairness/.venv

bench-fairness: bench/fairness/.venv web ## Error against dependence, ours and the peers', on real tables
	VIRTUAL_ENV=$(CURDIR)/bench/fairness/.venv bench/fairness/.venv/bin/maturin develop --release --quiet
	bench/fairness/.venv/bin/python bench/fairness/run.py

bench-serve: web ## The example server at saturation for a minute: requests a second, latency, errors, memory
	@bash web/debian.sh wrk -- wrk || echo "There is no wrk here, and it cannot be installed."
	$(CARGO) build --release -p oblivio-examples -p oblivio-cli
	$(PYTHON) bench/serve.py --server target/release/serve --program target/release/oblivio

wheel: .venv web ## Build the wheel into dist/, check it, and install it where there is no compiler
	bash tools/wheel.sh $(VENV)/python

dist: web ## Build the program with completions and manual pages into dist/, as an archive that can be made again
	bash tools/dist.sh

reproducible: .venv web ## Build wheel and archive of the last commit twice, in different folders, and compare the bytes
	bash tools/reproducible.sh $(VENV)/python

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf out dist .venv .venv-cluster bench/.venv bench/fairness/.venv web/dist web/node_modules
