# `make` lists what there is. Every target sets up what it needs; a second run finds it done.

SET_UP := .venv/set-up

# Set-up notes which Java it found, for shells that have none, or an old one, on the PATH.
PYTHON = JAVA_HOME="$$(cat .venv/java-home)" .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: slow help setup demo demo-delta test lint types unit soak campaign fuzz bench index reference fmt clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: $(SET_UP) ## Make .venv with all that is needed, and find or install Java

$(SET_UP): requirements.lock pyproject.toml scripts/setup.sh
	@scripts/setup.sh

demo-delta: $(SET_UP) ## Who controls whom, from a Delta table to Delta tables (a few seconds)
	@$(PYTHON) examples/delta/control.py

demo: $(SET_UP) ## Who can reach what in a network that changes, on Spark (about a minute and a half)
	@$(PYTHON) examples/network/demo.py

test: lint types unit ## Everything that has to pass: lint, types, tests

lint: $(SET_UP) ## Style and format, without changing anything
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

types: $(SET_UP) ## mypy, strict
	@.venv/bin/mypy

unit: $(SET_UP) ## All tests; `make unit ARGS="-k csv"` for some of them
	@.venv/bin/tidelog warm
	@$(PYTHON) -m pytest -n auto --dist loadgroup $(ARGS)

slow: $(SET_UP) ## The tests that start clusters or take minutes; `make slow ARGS="-k connect"` for some of them
	@TIDELOG_SLOW=1 $(PYTHON) -m pytest $(ARGS)

soak: $(SET_UP) ## Random programs and histories against the oracle, all folders on Spark, then kills of writers and drivers; ARGS="--seconds 600 --seed 1"
	@$(PYTHON) -m tests.properties.soak $(ARGS)
	@TIDELOG_SAMPLE=all $(PYTHON) -m pytest -q -m spark tests/programs
	@$(PYTHON) -m tests.database.storage.kill $(KILL_ARGS)
	@$(PYTHON) -m tests.pipeline.kill $(PIPELINE_KILL_ARGS)
	@$(PYTHON) -m tests.engine.spark.kill --kills 500
	@$(PYTHON) -m tests.engine.spark.kill --spark --kills 20

campaign: $(SET_UP) ## Everything that looks for defects by chance, for hours, with a report in campaign.md; HOURS=4; again to add a sitting
	@$(PYTHON) -m tests.campaign --hours $(or $(HOURS),4) $(ARGS)

fuzz: $(SET_UP) ## Random bytes and mutated programs through the front end; ARGS="--count 100000 --seed 1"
	@$(PYTHON) -m tests.fuzz.fuzz $(ARGS)

bench: $(SET_UP) ## The checker on 4,000 lines; closure, CRDT and the elastic workload; the closure on Spark
	@$(PYTHON) -m tidelog.bench.front_end
	@$(PYTHON) -m tidelog.cli.main bench run closure crdt elastic $(ARGS)
	@$(PYTHON) -m tidelog.cli.main bench run spark

index: ## The list of all files in ARCHITECTURE.md, from the first sentence of each module
	@python3 scripts/file_index.py

reference: $(SET_UP) ## The page of all functions, from the comments in the library's modules
	@$(PYTHON) scripts/function_reference.py

fmt: $(SET_UP) ## Format the code and mend what ruff can mend
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

clean: ## Back to a fresh clone: removes .venv, caches and the demo's output
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist demo-out spark-warehouse
	@find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -rf src/*.egg-info
