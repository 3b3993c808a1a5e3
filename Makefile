# Each target sets itself up in .venv from a bare Python 3.11 or newer; nothing is done twice.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PEERS := .venv-peers/.ready
OLDEST := .venv-oldest/.ready

# Every worker, and every process that a test starts, would compile the same modules again.
test test-slow test-all test-times test-oldest: export PYTHONDONTWRITEBYTECODE =

.PHONY: demo docs figures ready test test-slow test-all test-times test-oldest lint style types fuzz fuzz-files memory bench peers format clean

ready: $(READY)  ## .venv, with all that the other targets need

demo: $(READY)  ## solve every case, check it, write out/demo
	$(BIN)/dalembert demo -o out/demo

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(READY)  ## the documentation site, written to out/site; an unresolved link is an error
	PYTHONPATH=src:. $(BIN)/mkdocs build --strict

figures: $(READY)  ## the figures of the tutorial, ensembles and cloth, and the thumbnails of the gallery, written to docs/figures
	$(BIN)/python -m website.tutorial_figures
	$(BIN)/python -m website.ensemble_figures
	$(BIN)/python -m website.cloth_animation --still
	$(BIN)/python -m website.thumbnails

test: $(READY)  ## what a change can break, documentation included
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-slow: $(READY)  ## what takes long and guards against what is rare; TURN=k: of examples of one law, a quarter
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow $(if $(TURN),--turn $(TURN))

test-all: $(READY)  ## every test
	$(BIN)/python -m pytest -n auto --dist worksteal

test-times: $(READY)  ## measure all tests; those that take long are left to test-slow by tests/slow_tests.txt
	$(BIN)/python -m pytest -n auto --dist worksteal --record-times

test-oldest: $(OLDEST)  ## the tests with the lowest versions that pyproject.toml allows; choose some by TESTS=...
	.venv-oldest/bin/python -m pytest -n auto --dist worksteal $(TESTS)

lint: style types  ## formatting, style, layers, types

style: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/pyright

fuzz: $(READY)  ## random problems beside NumPy and SciPy, written to docs/fuzz.md
	PYTHONPATH=tests $(BIN)/python -m fuzz -o docs/fuzz.md

fuzz-files: $(READY)  ## 100 000 mutated model files: read, or refused with their place
	PYTHONPATH=tests $(BIN)/python -m fuzz.files

memory: $(READY)  ## 2000 systems by every path in one process: memory maps and resident memory
	PYTHONPATH=tests $(BIN)/python -m many_systems

bench: $(READY)  ## the benchmark table, as ratios
	$(BIN)/python -m benchmarks

peers: $(READY) $(PEERS)  ## the same motions by other packages, and by other engines
	.venv-peers/bin/python -m benchmarks.peers
	.venv-peers/bin/python -m benchmarks.engines
	.venv-peers/bin/python -m benchmarks.control

$(PEERS): benchmarks/requirements.txt pyproject.toml constraints.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--requirement benchmarks/requirements.txt --editable '.[all]'
	touch $(PEERS)

$(OLDEST): pyproject.toml constraints-oldest.txt
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt \
		--editable '.[dev]'
	touch $(OLDEST)

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dalembert needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv .venv-peers .venv-oldest out build dist
