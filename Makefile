# Everything a developer does with Fyke.  `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.fyke-installed
WORKERS ?= 2

# Hundreds of processes import Fyke, Spark's workers among them: without compiled files each takes a second more.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup java demo test test-long check format bench docs docs-serve docs-version wheel matrix clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install Fyke with its locked dependencies (once)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "The locked dependencies need Python 3.11 or newer: make setup PYTHON=python3.12" >&2; exit 1; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

java:
	@scripts/check_java.sh

demo: setup java ## see Fyke at work, in a minute
	@mkdir -p build
	$(PY) -m fyke.demo --page build/demo.html

test: setup java ## run the tests, without the long ones, in two processes
	$(PY) -m pytest -n $(WORKERS) --dist worksteal --timeout 400

test-long: setup java ## run the long tests only
	$(PY) -m pytest -n $(WORKERS) --dist worksteal --timeout 4000 -m long

check: setup ## what CI runs: lint, format, types, tests
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(MAKE) --no-print-directory test

format: setup ## sort imports and format the code
	$(PY) -m ruff check --select I --fix .
	$(PY) -m ruff format .

bench: setup ## run all benchmarks and write bench/report; with QUICK=1 on less data
	$(PY) -m bench $(if $(QUICK),--quick)

DOCS := NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs

docs: setup ## build the documentation into build/site; its pages open without a server, but search needs one
	$(DOCS) build --quiet
	@echo "Open build/site/index.html, or run make docs-serve: a browser searches only what a server shows it."

docs-serve: setup ## show the documentation at localhost:8000 and follow changes
	$(DOCS) serve --watch src

MIKE := NO_MKDOCS_2_WARNING=1 PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/mike

docs-version: setup ## commit the documentation of this version to the branch gh-pages, beside the older ones
	$(MIKE) deploy --update-aliases \
	    $$($(PY) -c "import fyke; print('.'.join(fyke.__version__.split('.')[:2]))") latest
	$(MIKE) set-default latest

COMPILED := src/fyke/engine/kernels/compiled

wheel: setup ## build a wheel with kernels compiled for this processor and these versions; others compile anew
	rm -rf build/kernels $(COMPILED)
	NUMBA_CACHE_DIR=build/kernels $(PY) -c "import fyke; fyke.warm_up()"
	mkdir -p $(COMPILED)
	cp build/kernels/fyke/*.kernel $(COMPILED)
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	rm -r $(COMPILED)

matrix: setup java ## try the wheel in empty environments with the oldest and newest supported versions
	$(PY) scripts/matrix.py

clean: ## remove everything made by the targets above
	rm -rf $(VENV) build dist bench/report bench/results .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
