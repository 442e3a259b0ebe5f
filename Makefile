# Two commands do everything: `make run` and `make test`. `make help` lists the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test check browser soak docs bench clean help

run: $(READY) ## set up, then run the main job: published results beside measured ones
	$(BIN)/kibitz reproduce --quick

test: check ## set up, then run the tests that every change must pass
	$(BIN)/python -m pytest -n 2
	$(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site

check: $(READY) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

browser: $(READY) ## the tests that need Chromium and the TypeScript compiler
	$(BIN)/python -m pytest -m browser

soak: $(READY) ## the long proofs; with MINUTES=25, as many of them as fit
	$(BIN)/python -m pytest -m soak -n 2 --maxschedchunk 1 $(if $(MINUTES),--minutes $(MINUTES) --no-fold-skipped)

docs: $(READY) ## the documentation as web pages, in site/
	$(BIN)/mkdocs build --strict

bench: $(READY) ## speed, with the ratio to C where a compiler is found
	$(BIN)/kibitz bench

# A virtual environment without its own pip needs no Debian package beside python3 and pip.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Kibitz needs Python 3.11 or newer; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV), once (about a minute) …"
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean: ## forget the virtual environment and all that was built
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache

help:
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12
