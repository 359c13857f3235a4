# What a person runs here. All is set up in .venv, beside this file, the first time.
# Needs Python 3.11 or newer; `make demo PYTHON=python3.13` names one.

VENV ?= .venv
PY := $(VENV)/bin/python
SETUP := PYTHON="$(PYTHON)" VENV="$(VENV)" sh .ci/environment
WEIGHTS := $(PY) -m agentcell.adapters.local fetch

# JupyterLab wants to be told when it is root who starts it.
ALLOW_ROOT := $(shell [ "$$(id -u)" != 0 ] || echo --allow-root)

.DEFAULT_GOAL := help
.PHONY: help demo demo-all test lint lab bench venv peers clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 16

demo:  ## answer about a receipt, live, with the embedded model
	@$(SETUP) user
	@$(WEIGHTS)
	@$(PY) notebooks/run_demo.py

demo-all:  ## run every notebook live that needs no other model
	@$(SETUP) dev
	@$(WEIGHTS)
	@for name in 01 02 03 05 06 08; do $(PY) notebooks/run_demo.py notebooks/$${name}_*.ipynb || exit 1; done

test:  ## run every test, then every notebook against its saved outputs
	@$(SETUP) dev
	@$(WEIGHTS)
	@$(PY) -m pytest -q
	@AGENTCELL_HISTORY=memory PYTHONPATH=tests/offline $(PY) -m pytest -q -p no:cacheprovider --nbval --nbval-current-env \
	  --nbval-cell-timeout=120 notebooks

lint:  ## check style, format and types
	@$(SETUP) dev
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m mypy

lab:  ## open the notebooks in JupyterLab
	@$(SETUP) user
	@$(WEIGHTS)
	@$(PY) -m jupyterlab $(ALLOW_ROOT) --ServerApp.root_dir="$(CURDIR)" \
	  --LabApp.default_url=/lab/tree/notebooks/01_first_answer.ipynb

bench:  ## measure against the limits
	@$(SETUP) dev
	@$(WEIGHTS)
	@for script in benchmarks/*.py; do echo "== $$script"; $(PY) "$$script" || exit 1; done

venv:  ## set up for development
	@$(SETUP) dev

peers:  ## install what others wrote that tests use: servers for the adapters, axe-core for the panels
	@$(SETUP) dev
	@VENV="$(VENV)" sh .ci/peers

clean:  ## take away what the other commands made
	rm -rf $(VENV) out build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
