# Two commands do everything: `make run` and `make test`. `make help` lists the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LEAN := $(VENV)/.lean
READY := $(VENV)/.ready

# Tests start hundreds of programs; without byte code each would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check browser soak package wheel release docs bench clean help

run: $(LEAN) ## set up what is needed, then run the main job: published results beside measured ones
	$(BIN)/kibitz reproduce --headlines

# Three processes on two cores, because some tests wait; a file to each, because its tests share compiled code.
test: check ## set up, then run the tests that every change must pass
	$(BIN)/python -m pytest -n 3 --dist loadfile
	$(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site

check: $(READY) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

browser: $(READY) ## the tests that need Chromium and the TypeScript compiler
	$(BIN)/python -m pytest -m browser

soak: $(READY) ## the long proofs; with MINUTES=25, as many of them as fit
	$(BIN)/python -m pytest -m soak -n 2 --maxschedchunk 1 $(if $(MINUTES),--minutes $(MINUTES) --no-fold-skipped)

package: $(READY) ## wheel and source package, in dist/, installed and used outside of the checkout
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python tests/try_package.py dist

# x86-64-v3 is what most processors since 2015 can run; the code says so itself, and is not used elsewhere.
wheel: $(READY) ## a wheel for this system that carries compiled code, in dist/
	rm -rf build/precompiled build/precompiled.zip
	NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= KIBITZ_CACHE_DIR=$(CURDIR)/build/precompiled $(BIN)/kibitz cache warm
	NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= KIBITZ_CACHE_DIR=$(CURDIR)/build/precompiled \
	  $(BIN)/kibitz cache export build/precompiled.zip
	KIBITZ_PRECOMPILED_FILE=build/precompiled.zip $(BIN)/python -m hatchling build --target wheel

release: test browser package ## everything up to the upload: tests, packages, and what to do next
	@$(BIN)/python tests/try_release.py dist

docs: $(READY) ## the documentation as web pages, in site/
	$(BIN)/mkdocs build --strict

bench: $(READY) ## speed, with the ratio to C where a compiler is found
	$(BIN)/kibitz bench

# The main job needs three extras; whoever has the tools of development has them too. A virtual environment
# without its own pip needs no Debian package beside python3 and pip.
$(LEAN): pyproject.toml constraints.txt
	@test $(READY) -nt pyproject.toml || { $(call install,dds$(comma)plot$(comma)web,half a minute); }
	@touch $@

$(READY): pyproject.toml constraints.txt
	@$(call install,dev,a minute or two)
	@touch $@ $(LEAN)

comma := ,
define install
$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 15) else "Kibitz needs Python 3.11 to 3.14; set PYTHON=")' && \
echo "Setting up $(VENV), once (about $(2)) …" && \
$(PYTHON) -m venv --without-pip $(VENV) && \
{ $(PYTHON) -m pip --python $(BIN)/python install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[$(1)]' \
  || touch $(VENV)/.failed; } | $(ONE_LINE); \
test ! -e $(VENV)/.failed || { rm $(VENV)/.failed; false; }
endef

# What pip is doing, in one line of a terminal; its errors go to standard error and stay.
ONE_LINE = if [ -t 1 ]; then awk '{ printf "\r\033[K%.72s", $$0; fflush() } END { printf "\r\033[K" }'; else cat >/dev/null; fi

clean: ## forget the virtual environment and all that was built
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache

help:
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12
