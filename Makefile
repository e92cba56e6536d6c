# Every target makes the .venv it needs; any of them can be the first thing you run.
#
#   make demo        from "malignant" to "benign" in a few plausible steps, with a page of plots
#   make test        everything that must hold: tests, style, types, examples
#   make bench       ratios against other tools, measured in one run (minutes)
#   make bench-full  the same on every problem (hours)
#   make docs        the documentation, in site/

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

PYTHON := $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

# Small matrices: one thread is faster than several that wait for each other.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Real tables beside the project, where there are any; tests that need them skip otherwise.
ifeq ($(origin DAACE_DATA),undefined)
ifneq ($(wildcard ../shared/data),)
export DAACE_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: help demo test bench bench-full docs clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.core
	$(BIN)/daace demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

bench-full: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run --full --jobs 2

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir site

clean:
	rm -rf $(VENV)

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "DAACE needs Python 3.11 or newer, with its venv module:" \
		"install it (on Debian and Ubuntu: python3 and python3-venv) and try again." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: pyproject.toml | $(VENV)/.made
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml requirements-dev.txt | $(VENV)/.made
	$(PIP) --editable ".[flow,nsga2,parquet,tune]" --requirement requirements-dev.txt
	@touch $(VENV)/.core $@

$(VENV)/.bench: requirements-bench.txt $(VENV)/.dev
	$(PIP) --requirement requirements-bench.txt
	@touch $@

$(VENV)/.docs: requirements-docs.txt $(VENV)/.core
	$(PIP) --requirement requirements-docs.txt
	@touch $@
