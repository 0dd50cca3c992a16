# Every target first makes .venv if it is missing or out of date; nothing else needs to be installed beforehand.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-slow lint docs bench clean

setup: .venv/ready

.venv/ready: pyproject.toml
	@echo "setting up .venv (once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@

demo: setup
	@mkdir -p build
	@echo; echo "1. Paxos, with its inductive invariant: a proof for any number of acceptors, ballots and values"; echo
	$(BIN)/quorate induct protocols/relational/proofs/paxos.pyv --certificate build/paxos.cert.json
	@echo; echo "2. The independent checker re-establishes the certificate, with two solvers"; echo
	$(BIN)/quorate recheck build/paxos.cert.json protocols/relational/proofs/paxos.pyv
	@echo; echo "3. A consensus protocol whose quorums need not intersect: the shortest run that breaks it"; echo
	$(BIN)/quorate induct protocols/relational/broken/toy_consensus_epr_no_intersection.ivy --trace build/broken.itf.json
	@echo; echo "4. The same run as a sequence"; echo
	$(BIN)/quorate trace sequence build/broken.itf.json protocols/relational/broken/toy_consensus_epr_no_intersection.ivy --lane node

lint: setup
	$(BIN)/ruff check src tests bench docs
	$(BIN)/ruff format --check src tests bench docs
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tests of the pages need a browser: Debian's Chromium is installed where that is possible, and they are skipped elsewhere.
.PHONY: browser
browser: setup
	@if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		echo "installing chromium for the browser tests"; \
		(apt-get install -y --no-install-recommends chromium || (apt-get update && apt-get install -y --no-install-recommends chromium)) \
			>/dev/null 2>&1 || echo "chromium could not be installed: the browser tests are skipped"; \
	else echo "there is no chromium: the browser tests are skipped (apt-get install chromium)"; fi

test: lint browser
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: setup
	$(BIN)/python -m pytest -n auto -m slow

docs: setup
	$(BIN)/python docs/generate.py

# Verifies the whole library and writes the verdicts into docs/gallery.md: minutes.
.PHONY: gallery
gallery: setup
	@mkdir -p build
	-$(BIN)/quorate verify protocols --json > build/library.json
	$(BIN)/python docs/gallery.py build/library.json

bench: setup
	$(BIN)/python bench/induct.py

.PHONY: bench-explicit
bench-explicit: setup
	$(BIN)/python bench/explicit.py

.PHONY: bench-inference
bench-inference: setup
	$(BIN)/python bench/inference.py

.PHONY: bench-rounds
bench-rounds: setup
	$(BIN)/python bench/rounds.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist src/*.egg-info
