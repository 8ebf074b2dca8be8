# `make run` and `make test` set everything up by themselves; the second time they start at once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
ifeq ($(OS),Windows_NT)
SHELL := bash
PYTHON ?= python
BIN := $(VENV)/Scripts
EXE := .exe
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
WORKERS ?= 2
JSON ?= bench.json
RUN_STAMP := $(VENV)/.stamp-run
VIEW_STAMP := $(VENV)/.stamp-view
DEV_STAMP := $(VENV)/.stamp-dev
DOCS_STAMP := $(VENV)/.stamp-docs
ALL_STAMP := $(VENV)/.stamp-all
# What rules and types need; CI names everything instead.
CHECKED := $(DEV_STAMP)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# pip would compile every file of every package, for 20 s of a processor; Python compiles the few that are imported.
INSTALL := $(PIP) install --no-compile
# Tests start a hundred processes; without kept bytecode each compiles 300 modules again, 0.3 s of its time.
unexport PYTHONDONTWRITEBYTECODE
# A worker a processor: threads of linear algebra would only wait for one another, for a twentieth of all processor time.
test slow plain: export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help run view test slow plain lint format types packages warmup dev core everything bench peers docs dist wheel clean

help:  ## say what can be made
	@sed -n 's/^\([a-z]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

$(BIN)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "rtmbs needs Python 3.11 or later, and '$(PYTHON)' is not. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): pyproject.toml | $(BIN)/python$(EXE)
	$(INSTALL) -e .
	@touch $@

$(VIEW_STAMP): pyproject.toml | $(BIN)/python$(EXE)
	$(INSTALL) -e '.[viewer]'
	@touch $@ $(RUN_STAMP)

$(DEV_STAMP): pyproject.toml | $(BIN)/python$(EXE)
	$(INSTALL) -e '.[dev,viewer]'
	@touch $@ $(RUN_STAMP) $(VIEW_STAMP)

$(DOCS_STAMP): pyproject.toml | $(BIN)/python$(EXE)
	$(INSTALL) -e '.[docs]'
	@touch $@ $(RUN_STAMP)

$(ALL_STAMP): pyproject.toml | $(BIN)/python$(EXE)
	$(INSTALL) -e '.[dev,viewer,docs]'
	@touch $@ $(RUN_STAMP) $(VIEW_STAMP) $(DEV_STAMP) $(DOCS_STAMP)

run: $(RUN_STAMP)  ## set up and run the main job: the 4 x 40 four-bar in real time
	$(BIN)/python -m rtmbs.bench fourbar --ny 4 --nz 40

view: $(VIEW_STAMP)  ## set up and open the live viewer on the 4 x 40 four-bar, its rows side by side
	$(BIN)/python -m rtmbs view fourbar --ny 4 --nz 40 --layout parallel

dev: $(DEV_STAMP)  ## set up the environment with every tool of the house

core: $(RUN_STAMP)  ## set up what the main job needs

everything: $(ALL_STAMP)  ## set up dev, viewer and docs by one call of pip

warmup: $(RUN_STAMP)  ## compile the kernels ahead
	$(BIN)/python -m rtmbs warmup

packages:  ## install what the viewer's tests draw with, as root on Debian
	@.ci/packages

# Kernels are compiled once before the workers start, so that they find them in the cache.
test: $(DEV_STAMP) packages  ## set up and pass every test but the slow ones
	$(BIN)/python -m rtmbs warmup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --durations=40 --durations-min=4

slow: $(DEV_STAMP)  ## the long physics and scale runs
	$(BIN)/python -m rtmbs warmup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow --deselect tests/jit/test_plain.py

plain: $(DEV_STAMP)  ## the kernels through numba's public names only end in the same bytes
	$(BIN)/python -m pytest -n $(WORKERS) tests/jit/test_plain.py

bench: $(RUN_STAMP)  ## measure kernels, factor, step and start; JSON=PATH names the file for python -m bench.compare
	$(INSTALL) -e '.[bench]'
	$(BIN)/python -m rtmbs warmup
	$(BIN)/python -m pytest bench/suites --benchmark-json $(JSON) --benchmark-columns=min,median,iqr,rounds

# Each peer is installed by itself: one that has no package for this machine is skipped, and the rest is measured.
peers: $(RUN_STAMP)  ## run the four-bar beside other programs: tables and plots in docs
	$(INSTALL) -e '.[plot]'
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['peers'], sep='\n')" \
		| while read -r peer; do $(INSTALL) "$$peer" || echo "$$peer cannot be installed here, skipped" >&2; done
	$(BIN)/python -m rtmbs warmup
	$(BIN)/python -m bench.peers --docs

docs: $(DOCS_STAMP)  ## build the documents as a site, strictly, into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict -f docs/site/mkdocs.yml

dist: $(RUN_STAMP)  ## build sdist and wheel, check both, run the tutorial from an environment that has only the wheel
	$(INSTALL) -e '.[dist]'
	rm -rf dist build/fresh
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip --disable-pip-version-check --quiet install "$$(echo dist/*.whl)[plot]"
	cd build/fresh && bin/python -P ../../.ci/tutorial.py .

# Needs a C compiler and Python's headers; a plain wheel (make dist) needs neither.
wheel: $(RUN_STAMP)  ## build a wheel for this platform that carries the kernels, so that Python starts at once
	$(INSTALL) -e '.[dist]'
	rm -rf build/prebuilt_kernels
	$(BIN)/python .ci/prebuilt.py build/prebuilt_kernels
	RTMBS_WHEEL_KERNELS=build/prebuilt_kernels $(BIN)/python -m build --wheel

lint: $(CHECKED)  ## ruff: rules and format; numpydoc: docstrings of public names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/docstrings.py

format: $(DEV_STAMP)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(CHECKED)  ## mypy, strict
	$(BIN)/mypy

clean:  ## remove the environment and every build product
	rm -rf $(VENV) build dist .ruff_cache .mypy_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
