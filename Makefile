# Everything a contributor runs. `make help` lists it.

PYTHON ?= python3
CARGO ?= cargo
OBLIVIO_DATA ?= ../shared/data
export OBLIVIO_DATA

VENV := .venv/bin

.PHONY: help web chromium java build demo settings test prepare prepare-cluster build-tests test-rust test-python test-cluster \
	test-cluster-light test-cluster-spark test-cluster-large python quick check format lint deny docs nightly \
	explore golden reproduce reproduce-documented bench bench-fairness bench-cluster bench-serve wheel dist reproducible fuzz soak clean

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

# Stages joined by + run at the same time: downloads beside compilation.
test: ## Run every test, Rust and Python
	$(PYTHON) tools/stages.py prepare+build-tests test-rust+test-python

prepare: .venv chromium ## Set up what the tests need besides the compiled crates

# One invocation compiles the program, the extension and all tests with one set of features: nothing is compiled twice.
build-tests: web ## Compile all that the tests need
	$(CARGO) build --workspace --lib --bins --tests --examples

test-rust: web ## Run the tests of the engine and the program
	$(CARGO) test --workspace

test-python: python chromium ## Run the tests of the Python package
	$(VENV)/python -m pytest

python: .venv build-tests ## Install the Python package into .venv, from this folder
	$(VENV)/python tools/install.py

settings: build-tests ## Write signatures, docstrings and docs/settings.md from the table of settings
	$(PYTHON) tools/settings.py target/debug/oblivio

chromium: ## Install Debian's Chromium for the tests of the page, where that can be done
	@bash web/debian.sh chromium -- chromium || echo "left out: the tests of the page in a browser. They need Chromium: install the package chromium."

.venv: pyproject.toml
	$(PYTHON) -m venv .venv
	$(VENV)/python -m pip install --quiet --upgrade pip
	$(VENV)/python -m pip install --quiet --group test
	touch .venv

CLUSTER := .venv-cluster/bin
SAIL := .venv-cluster/sail

prepare-cluster: .venv-cluster java ## Set up what the tests with real engines need

.venv-cluster: pyproject.toml
	$(PYTHON) -m venv .venv-cluster
	$(CLUSTER)/python -m pip install --quiet --upgrade pip
	$(CLUSTER)/python -m pip install --quiet --group cluster
	$(CLUSTER)/python -m pip install --quiet --upgrade --no-deps --group sail --target $(SAIL)
	touch .venv-cluster

# Workers import a copy, never this folder.
.PHONY: python-cluster
python-cluster: .venv-cluster build-tests
	$(CLUSTER)/python tools/install.py --copy

java: ## Install Debian's Java for classic Spark, where that can be done
	@bash web/debian.sh default-jre-headless -- java || echo "left out: the tests with classic Spark and its Connect server. They need Java: install the package default-jre-headless."

# Two lanes that can run at the same time.
test-cluster: python-cluster java ## Run the tests with real engines: Dask, Sail, Spark Connect and classic Spark
	$(MAKE) --no-print-directory -j2 --output-sync=target test-cluster-light test-cluster-spark

# A process has one kind of Spark: one after the other. What is in PYTHONPATH would get before the copy.
test-cluster-light:
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_dask.py
	PYTHONPATH=$(SAIL) $(CLUSTER)/python -m pytest tests/cluster/test_sail.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_recipes.py

test-cluster-spark:
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_connect.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest tests/cluster/test_classic.py

test-cluster-large: python-cluster java ## Fit twenty million rows with real engines, within two gigabytes a worker
	env -u PYTHONPATH $(CLUSTER)/python -m pytest -m large tests/cluster/test_dask.py
	env -u PYTHONPATH $(CLUSTER)/python -m pytest -m large tests/cluster/test_classic.py

bench-cluster: python-cluster java ## Seconds and memory against rows, on Dask and on classic Spark
	env -u PYTHONPATH $(CLUSTER)/python bench/cluster.py

# How many damaged inputs of each kind `make fuzz` tries, and how often `make soak` kills.
FUZZ ?= 1000000
SOAK ?= 200

fuzz: ## Try a million damaged inputs of every kind (FUZZ=N for another number)
	OBLIVIO_FUZZ=$(FUZZ) $(CARGO) test --workspace --test fuzz -- --nocapture --test-threads 1
	OBLIVIO_FUZZ=$(FUZZ) $(CARGO) test --workspace --lib fuzz::damaged -- --nocapture --test-threads 1

# The commit that `make golden` records at; tools/golden.sh says which, if none is given.
BASE ?=

golden: ## Compare all numbers of small fits, bit for bit, with a record made at another commit (BASE=commit)
	bash tools/golden.sh $(BASE)

soak: python ## Kill the program and Python in the midst of their writing, 200 times each (SOAK=N for another number)
	OBLIVIO_SOAK=$(SOAK) $(CARGO) test --workspace --test faults -- --nocapture --test-threads 1
	OBLIVIO_SOAK=$(SOAK) $(VENV)/python -m pytest -s tests/python/test_faults.py

# How many seeds `make explore` draws.
EXPLORE ?= 10

explore: python ## Run the random tests with ten fresh seeds, and keep what fails (EXPLORE=N for another number)
	$(VENV)/python tools/explore.py --rounds $(EXPLORE)

quick: ## What to run before every commit: formats, lints, the engine's tests, the quick tests of the Python package
	$(PYTHON) tools/stages.py format lint-rust test-engine test-python-quick

.PHONY: lint-rust lint-python lint-workflows test-engine test-python-quick
test-engine: web
	$(CARGO) test --workspace --lib --test engine --test house

test-python-quick: python
	$(VENV)/python -m pytest -m "not slow"

check: ## What CI runs: format, lints, types, licences, docs, tests
	$(PYTHON) tools/stages.py prepare+prepare-cluster+build-tests format lint+deny docs test-rust+test-python test-cluster

nightly: ## What is too long for CI: fresh seeds, a million damaged inputs, kills, large clusters, benches
	$(PYTHON) tools/stages.py explore fuzz soak test-cluster-large bench bench-serve reproduce reproduce-documented

format: .venv ## Check the formatting
	$(CARGO) fmt --all --check
	$(VENV)/ruff format --check .

lint: lint-rust lint-python lint-workflows ## Lint and check types, warnings are errors

lint-rust: web
	$(CARGO) clippy --workspace --all-targets -- -D warnings

lint-python: python
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/python -m mypy.stubtest oblivio._oblivio

lint-workflows: .venv
	$(VENV)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/zizmor --offline --quiet --pedantic --strict-collection .github/workflows

deny: .venv ## Check licences, duplicates and sources of what is built in, and advisories where a database answers
	$(VENV)/python tools/deny.py

docs: ## Build the engine's documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# Which experiments `make reproduce` repeats, and with which arguments.
EXPERIMENT ?= all
ARGUMENTS ?=

reproduce: ## Repeat the paper's experiments: numbers, figures and verdicts in out/ (EXPERIMENT=name, ARGUMENTS="...")
	$(CARGO) run --release -p oblivio-experiments -- $(EXPERIMENT) -o out $(ARGUMENTS)

reproduce-documented: ## Compare the tables of docs/reproduce.md with a run, digit by digit
	OBLIVIO_REPRODUCE=1 $(CARGO) test --release -p oblivio-experiments --test documented

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
