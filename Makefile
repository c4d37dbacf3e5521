# make app: environment, install, dashboard. make test: everything that is tested, browser included.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed

.PHONY: app demo test lint browser clean

app: $(INSTALLED)
	$(BIN)/mixdown app

demo: $(INSTALLED)
	$(BIN)/mixdown demo

test: $(INSTALLED) browser
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The browser tests drive the system's Chromium; this finds one or installs it.
browser: $(INSTALLED)
	tests/browser/install_chromium.sh $(BIN)/python

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev,browser]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
