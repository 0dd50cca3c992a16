# Every target first makes .venv if it is missing or out of date; nothing else needs to be installed beforehand.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-slow lint docs bench clean

setup: .venv/ready

.venv/ready: pyproject.toml
	@echo "setting up .venv (once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/quorate demo

lint: setup
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: setup
	$(BIN)/python -m pytest -n auto -m slow

docs: setup
	$(BIN)/python docs/generate.py

bench: setup
	$(BIN)/python bench/induct.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist src/*.egg-info
