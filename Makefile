# One place for every routine. Each target installs what it needs first; a second call starts at once.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo test test-fast check prove bench format docs lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sociolect needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.12 setup")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(STAMP)

demo: setup
	@# Status 3: done, though some replies are not whole. The report counts them.
	$(BIN)/sociolect run personas-quickstart || test $$? -eq 3

test: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not prove"

test-fast: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not prove and not slow and not embedded and not browser"

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/write_pages.py --check
	$(MAKE) --no-print-directory test

prove: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m prove

bench: setup
	$(BIN)/python benchmarks/run.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup
	$(BIN)/python docs/write_pages.py

# A new lock from pyproject.toml: every version pinned, nothing said of where it came from.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check --group dev ".[embedded,cluster,languages]"
	build/lock/bin/python -m pip freeze --all --exclude sociolect --exclude pip --exclude setuptools > requirements.lock
	rm -rf build/lock

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
