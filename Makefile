# Weir: every command of a person or a developer. `make up` is all that a new machine needs.
SHELL := /bin/bash
PY := .venv/bin/python
.PHONY: up setup setup-dev test lint fmt bench chaos pins pictures

up: setup
	@exec $(PY) manage.py up --demo $(UP)

setup:
	@deploy/setup.sh run

setup-dev:
	@deploy/setup.sh dev

# pytest on SQLite, then on PostgreSQL where a server can be had; TESTS="tests/engine -k mig" narrows it
test: setup-dev
	@$(PY) -m tests.lanes $(LANES) -- $(TESTS)

lint: setup-dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports --no-logo
	@$(PY) manage.py makemigrations --check --dry-run

fmt: setup-dev
	@$(PY) -m ruff check --fix --quiet . || true
	@$(PY) -m ruff format .

# every figure of docs/performance.md; BENCH=tests/bench/one_of_them.py runs one
bench: setup-dev
	@for file in $(or $(BENCH),$$(grep -l '^if __name__ == "__main__"' tests/bench/*.py)); do \
		echo "== $$file" && $(PY) -m $$(echo $${file%.py} | tr / .) || exit 1; done

# kill -9 of each process in turn under load, Valkey flushed, the invariants checked after each
chaos: setup-dev
	@WEIR_CHAOS=long $(PY) -m pytest tests/chaos -q $(TESTS)

# the pictures of docs/tour.md, in both languages and themes, of a demo of its own or of the one whose LINK is given
pictures: setup-dev
	@$(PY) -m tests.tour.pictures $(LINK)

# exact pins with hashes for every Python from 3.11 on; a plain compile omits what another 3.11 needs
pins: setup-dev
	@deploy/pins.sh
