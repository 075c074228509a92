# Each target makes .venv itself where it is missing. PYTHON names the interpreter it is made from (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.dev-ready
DOCS_READY := $(VENV)/.docs-ready
# Twelve problems of three levels: three minutes on two cores.
PROBLEMS ?= 1/19,1/23,1/26,1/36,1/47,1/88,1/94,2/14,2/76,2/99,3/1,3/31
DEMO ?= runs/demo

BOARD ?= site/leaderboard
# Where the site of docs/ is built.
SITE ?= site/docs

.PHONY: setup demo board docs docs-links schemas dist test-fast test check nightly gpu-test clean

setup: $(READY)

# torch first and by number: a bare `torch` brings gigabytes of CUDA that a machine without a GPU cannot use. So does the one
# on PyPI by any number: there TORCH_INDEX=https://download.pytorch.org/whl/cpu names PyTorch's own index of builds for CPUs.
$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kernelgauge needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/pip install --quiet $(addprefix --extra-index-url ,$(TORCH_INDEX)) 'torch==2.13.0$(if $(TORCH_INDEX),+cpu)' numpy
	$(BIN)/pip install --quiet --editable .
	touch $@

$(DEV_READY): $(READY)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

$(DOCS_READY): $(READY)
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

# The main job on a laptop: the compiler contestant on a part of the suite, then its report.
demo: $(READY)
	$(BIN)/kernelgauge run --contestant inductor --device cpu --protocol quick --sizes medium --jobs 2 --out $(DEMO) --problems $(PROBLEMS)
	$(BIN)/kernelgauge report $(DEMO) --html $(DEMO)/report.html >/dev/null
	@echo "open $(DEMO)/report.html in a browser"

# The published board, from the records of the H200s: pages are built, never kept.
board: $(READY)
	mkdir -p runs/h200
	tar -xJf results/h200/runs_2.tar.xz -C runs/h200
	$(BIN)/kernelgauge leaderboard runs/h200/expert_strict runs/h200/expert_v0.1 runs/h200/inductor_strict runs/h200/inductor_v0.1 --out $(BOARD)
	@echo "open $(BOARD)/index.html in a browser"

# The site. A warning is an error: a link to no page or heading, a page in no list, a variable that no page names.
docs: $(DOCS_READY)
	$(BIN)/python -m sphinx -b html -n -W --keep-going -q docs $(SITE)
	@echo "open $(SITE)/index.html in a browser"

# After a change of a record: its JSON Schema, which ships.
schemas: $(DEV_READY)
	$(BIN)/python docs/_ext/schemas.py

# Links to other sites, which need a network.
docs-links: $(DOCS_READY)
	$(BIN)/python -m sphinx -b linkcheck -q docs $(SITE)-links

# The three rings (docs/contributing.md). Under a minute: what starts neither a process nor a compiler.
test-fast: $(DEV_READY)
	$(BIN)/python -m pytest --ring fast -n auto --maxprocesses 4

# What CI runs. Files side by side, each in one process: a fixture of minutes is made once (tests/kit/scheduling.py). In the
# order of their rooms: by the number of their tests, a file with few of minutes would be the last to begin.
test: $(DEV_READY)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations 30

check: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini

# Everything. What it proves is written to tests/proven.json, to be committed; what takes minutes runs alone.
nightly: $(DEV_READY)
	$(BIN)/python -m pytest --ring nightly --record-proofs -m 'not nightly' -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
	$(BIN)/python -m pytest --ring nightly --record-proofs -m nightly

gpu-test: $(DEV_READY)
	$(BIN)/python -m pytest --ring nightly -m gpu

# Wheel and sdist in dist/, and the wheel at work in an empty environment: two minutes.
dist:
	PYTHON=$(PYTHON) .ci/dist

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
