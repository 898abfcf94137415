PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=
SECONDS ?= 600
SEED ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test unit chaos chaos-effects bench bench-quick lint format types wheel clean

help: ## Show what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  (ARGS=... is handed on to demo, test, unit, chaos, chaos-effects and bench)"

setup: $(READY) ## Create .venv with everything that development needs

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[streams,cli,dev]' --constraint constraints.txt
	@touch $@

demo: setup ## See it work: a broker, hosts with faults, counts with evidence, verdicts, the gate
	PYTHONPATH=deploy $(BIN)/python -m demo $(ARGS)

test: setup ## Run all tests; those that need Kafka start one
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 --dist loadfile -m "not chaos" $(ARGS)

unit: setup ## Run the tests that need no broker, in parallel
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 -m "not integration and not chaos and not docker" $(ARGS)

chaos: setup ## Kill, pause and cut off everything under load, then compare every number (SECONDS=600 SEED=...)
	$(BIN)/python -m tests.chaos.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

chaos-effects: setup ## The same to the effects ledger and its hosts, then check its whole history (SECONDS=600 SEED=...)
	$(BIN)/python -m tests.chaos.effects --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

bench: setup ## Measure everything, peers too (about an hour; goes on where it was broken off)
	$(BIN)/python -m benchmarks $(ARGS)

bench-quick: setup ## The same with fewer events, in five minutes
	$(BIN)/python -m benchmarks --quick

lint: setup ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## Put style and format right where that can be done mechanically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## Check types, strictly
	$(BIN)/mypy

wheel: setup ## Build the wheel, and check it in an environment with nothing but its base dependencies
	rm -rf build/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --constraint constraints.txt build/wheel/*.whl
	cd build/wheel && venv/bin/python -I ../../.ci/check_wheel.py

clean: ## Remove what was built and cached; a running broker's data stays
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find schemas producers streams consumers tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
