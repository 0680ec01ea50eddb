# make demo and make test set everything up by themselves; they need Python 3.11 or later and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two threads of two libraries on two cores only get in each other's way.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo pictures test test-slow test-system fuzz lint bench bench-compare clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

setup: $(READY)  ## Create .venv and install everything

$(READY): setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

demo: $(READY)  ## Parse raw texts in five languages: trees in the terminal, and pages for a browser
	$(BIN)/python -m spacy rst parse assets/demo/*.txt
	$(BIN)/python -m spacy rst parse assets/demo/*.txt --format html --output demo
	@printf '%s\n' 'Open these pages in a browser:' $(CURDIR)/demo/*.html

pictures: $(READY)  ## Draw the pictures of the documentation again, with the bundled pipeline
	@command -v rsvg-convert > /dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends librsvg2-bin)
	$(BIN)/python -m spacy rst parse docs/images/readme.txt --format svg --output docs/images/readme.svg
	rsvg-convert --zoom 2 --background-color white --output docs/images/readme.png docs/images/readme.svg

test: $(READY)  ## Run the tests
	$(BIN)/python -m pytest -n auto --dist loadfile -m 'not slow and not system and not gpu'

test-slow: $(READY)  ## Run the tests that take minutes
	$(BIN)/python -m pytest -m slow

test-system: $(READY)  ## Install what some tests need besides (Debian packages, Ray), and run those
	@command -v rsvg-convert > /dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends librsvg2-bin)
	@dpkg -s fonts-noto-core fonts-noto-cjk > /dev/null 2>&1 || (apt-get update -qq && apt-get install -y -qq --no-install-recommends fonts-noto-core fonts-noto-cjk)
	@command -v chromedriver > /dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver)
	@dpkg -s apertium-eng-spa apertium-eu-en apertium-es-pt > /dev/null 2>&1 || (apt-get update -qq && apt-get install -y -qq --no-install-recommends apertium apertium-eng-spa apertium-eu-en apertium-es-pt)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[ray]'
	$(BIN)/python -m pytest -m system

fuzz: $(READY)  ## Read 20,000 damaged inputs of each kind, and count what happens
	$(BIN)/python -m tests.fuzz

lint: $(READY)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## Run the benchmarks of speed and memory
	@for name in imports trees decode end_to_end windows_memory bundled; do \
		echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; \
	done

BASE ?= HEAD
bench-compare: $(READY)  ## Compare the speed of the bundled pipeline with that of the commit BASE
	$(BIN)/python benchmarks/compare.py $(BASE)

clean:  ## Remove what the targets made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis demo benchmarks/results
