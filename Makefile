# Every target creates the .venv it needs, so any of them can be the first that you run.
#
#   make demo        explain one loan from "refused" to "granted", with a page of plots
#   make lint        style and types, in seconds
#   make test        make lint, then every test and example
#   make browser     install Chromium and axe-core for the tests of the page, as root on Debian
#   make bench       compare with other tools, as ratios measured in one run (minutes)
#   make bench-full  the same on every problem (hours)
#   make results     make the pages of the published results from their records
#   make docs        run the tutorials and build the documentation in site/
#   make pictures    draw the pictures of README and documentation again
#   make release     build wheel and sdist in dist/, install each by itself, run the demo
#   make lowest      run the demo with the lowest versions of all dependencies
#   make clean       remove .venv

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

PYTHON := $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

# The matrices are small: one thread is faster than several that wait for each other.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Real tables beside the project, if there are any; tests that need them are skipped otherwise.
ifeq ($(origin DAACE_DATA),undefined)
ifneq ($(wildcard ../shared/data),)
export DAACE_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: help demo lint test browser bench bench-full results docs pictures release lowest clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.core
	$(BIN)/daace demo

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint $(VENV)/.dev browser
	$(BIN)/python -m pytest -n 2

# The tests of the page need Chromium, and one of them axe-core; without these they are skipped, with
# a message.
AXE := axe-core@4.14.1
browser: | $(VENV)/.made
	@test -e $(VENV)/node_modules/axe-core/axe.min.js \
	|| { command -v npm >/dev/null \
		&& npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix $(VENV) $(AXE) >/dev/null; } \
	|| echo "No axe-core: whether everybody can use the page will not be tested." >&2
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -qq -y chromium chromium-driver >/dev/null; } \
	|| echo "No Chromium: the tests of the page will be skipped." >&2

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

bench-full: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run --full --jobs 2

# The page about counties needs EPA's files in $DAACE_DATA/eqi.
results: $(VENV)/.dev
	$(BIN)/daace study report docs/results/synthetic/records.gz --out build/results/synthetic
	$(BIN)/daace eqi report docs/results/eqi/records.gz --out build/results/eqi

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

pictures: $(VENV)/.core
	$(BIN)/python docs/pictures/draw.py

# What people install: nothing but the file, in an environment of its own, in a folder elsewhere.
release: $(VENV)/.made
	$(PIP) build
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	for file in dist/*.whl dist/*.tar.gz; do \
		rm -rf $(VENV)/alone && $(PYTHON) -m venv $(VENV)/alone \
		&& $(VENV)/alone/bin/python -m pip install --quiet "$$file" \
		&& $(VENV)/alone/bin/daace demo --html $(VENV)/alone/demo.html || exit 1; \
	done

lowest: $(VENV)/.made
	rm -rf $(VENV)/lowest && $(PYTHON) -m venv $(VENV)/lowest
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
		| sed 's/>=/==/' > $(VENV)/lowest/versions.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --constraint $(VENV)/lowest/versions.txt .
	$(VENV)/lowest/bin/daace demo --html $(VENV)/lowest/demo.html

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

$(VENV)/.lint: pyproject.toml requirements-dev.txt | $(VENV)/.made
	$(PIP) --editable . --constraint requirements-dev.txt ruff mypy pandas-stubs
	@touch $(VENV)/.core $@

$(VENV)/.dev: pyproject.toml requirements-dev.txt $(VENV)/.lint | $(VENV)/.made
	$(PIP) --editable ".[flow,notebook,nsga2,parquet,tune,web]" --requirement requirements-dev.txt
	@touch $@

$(VENV)/.bench: requirements-bench.txt $(VENV)/.dev
	$(PIP) --requirement requirements-bench.txt
	@touch $@

$(VENV)/.docs: requirements-docs.txt $(VENV)/.core
	$(PIP) --requirement requirements-docs.txt
	@touch $@
