# Two commands do everything from a fresh clone: `make reproduce` and `make test`.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: install reproduce test lint docs bench clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

reproduce: install
	$(BIN)/eluder reproduce all

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

test: lint
	tools/ensure_chromium.sh
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: install
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) results build *.egg-info src/*.egg-info
