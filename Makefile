# `make demo` and `make test` do all of their own set-up; nothing else is needed beside git, make and Python 3.11+.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
# Certificates of the machine, so that a company proxy works.
export UV_SYSTEM_CERTS ?= true
# Bytecode is kept, whatever the machine says: each process would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
READY := $(VENV)/.ready
JOBS ?= 2
# Real programs are waited for more than they compute: more of their tests at once than there are processors.
HOST_JOBS ?= 4
SEED ?= 0
# Twice as many as run at once: nobody knows before how long one takes, and no processor should wait for the other.
PART_COUNT := $(shell expr 2 '*' $(JOBS))
PARTS := $(patsubst %,check-part-%,$(shell seq $(PART_COUNT)))
EXTRAS := all

.PHONY: help demo test hosts campaign check bench docs clean format release-check
help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# uv is taken from PATH, or put into ./.uv from PyPI where it is missing.
.uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hudkit needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) -m venv .uv
	@.uv/bin/python -m pip --quiet --disable-pip-version-check install uv

$(READY): pyproject.toml constraints.txt | $(UV)
	@echo "setting up $(VENV) (the first time, or for other dependencies)"
	@$(BIN)/python -c '' 2>/dev/null || $(UV) venv --quiet --clear --python $(PYTHON) $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[$(EXTRAS)]' --group dev
	@touch $@

demo: $(READY)  ## what the HUD would have shown on a recorded day of work
	@$(BIN)/hudkit demo

test: $(READY)  ## every test of our own code; long runs in short
	@$(BIN)/python -m pytest -m "not hosts" -n $(JOBS) --dist worksteal

hosts: $(READY)  ## the tests with real programs: OpenCode, node, Chromium, tmux, PostgreSQL; what is missing is skipped
	@$(BIN)/python -m pytest -m hosts -n $(HOST_JOBS) --dist worksteal

# `make campaign kills` is `make campaign NAME=kills`; without a name it tells which there are.
NAME ?= $(or $(word 2,$(MAKECMDGOALS)),list)
campaign: $(READY)  ## a long run in full, by its NAME (and SEED); the last line is its row for docs/benchmarks.md
	@$(BIN)/python -m pytest --campaign "$(NAME)" --campaign-seed $(SEED) $(if $(filter-out list,$(NAME)),-n $(JOBS) --dist load)
ifeq ($(firstword $(MAKECMDGOALS)),campaign)
$(eval $(wordlist 2,9,$(MAKECMDGOALS)):;@:)
endif

check: $(READY)  ## lint, types, architecture and the fast tests, in seconds (the first time, with no cache of types, a minute or two)
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) check-types check-lint check-imports $(PARTS)

.PHONY: check-types check-lint check-imports $(PARTS)
check-types:
	@$(BIN)/mypy
check-lint:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python scripts/lint_names.py
check-imports:
	@$(BIN)/lint-imports --no-cache --config importlinter.ini
# Each part imports only its own modules, which workers of one run cannot; what it says is shown in one piece.
$(PARTS): check-part-%:
	@mkdir -p .cache; \
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -m "not slow" --part $*/$(PART_COUNT) >.cache/part-$* 2>&1; \
	status=$$?; cat .cache/part-$*; exit $$status

bench: $(READY)  ## benchmarks with their baselines, as ratios
	@$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --group bench
	@$(BIN)/python -m bench

docs: $(READY)  ## the docs site, into .cache/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open .cache/site/index.html; with search: $(BIN)/python -m mkdocs serve"

format: $(READY)  ## rewrite the sources in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

release-check: | $(UV)  ## build what a release publishes into dist/, and check it; needs a package registry
	@PATH="$(abspath $(dir $(UV))):$$PATH" $(PYTHON) scripts/release_check.py

clean:  ## remove what the targets above made
	rm -rf $(VENV) .uv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist .cache
