PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo figures test test-fast lint lock wheel test-lowest bench torture clean

demo: .venv/regard.stamp
	$(BIN)/regard demo --out demo

# The pictures and the reference of docs/, by the package itself.
figures: .venv/regard.stamp
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/reference.py

# PYTEST_FLAGS are handed to pytest: PYTEST_FLAGS=--cov measures coverage, and fails below the floor of pyproject.toml.
test: .venv/test.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(PYTEST_FLAGS)

# What can be said in a minute: no training, no browser, nothing that builds or installs.
test-fast: .venv/test.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not training and not browser and not slow" $(PYTEST_FLAGS)

lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings src

# The newest versions that pyproject.toml allows, with the hashes of their files: what development and CI install.
lock: .venv/test.stamp
	$(BIN)/pip install --quiet 'uv>=0.9'
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --output-file requirements.lock

wheel: .venv/test.stamp
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

bench: .venv/bench.stamp
	$(BIN)/python -m benchmarks

# Attacks on all of it, case by case; goes on where it was stopped. benchmarks/torture/README.md gets the table.
torture: .venv/test.stamp
	$(BIN)/python -m benchmarks.torture

# The same tests with the lowest version of every dependency (torch as pip offers it).
test-lowest: .venv-lowest/test.stamp
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n 2

.venv-lowest/test.stamp: pyproject.toml tests/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/pip install --quiet --editable '.[test]' --constraint .venv-lowest/lowest.txt
	touch $@

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/regard.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/test.stamp: pyproject.toml requirements.lock | .venv/bin/python
	$(BIN)/pip install --quiet --require-hashes --no-deps --requirement requirements.lock
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

.venv/bench.stamp: .venv/regard.stamp
	$(BIN)/pip install --quiet --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv .venv-lowest .torture demo dist
