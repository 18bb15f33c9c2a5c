# Which targets are there? `make` lists them, a sentence each.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
ONLY ?=
MINUTES ?= 60
# The folders beside the suite have targets of their own: their tests install programs of others.
SUITE := -n auto --dist loadfile --ignore tests/kit --ignore tests/clients --ignore tests/issuers --ignore tests/providers

# Tests start some hundred processes; where this is set, each of them compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install up browser object-store check test test-kit test-clients test-issuers test-providers test-api lint format bench bench-large planted prove prove-caps prove-fair prove-impressions prove-texts prove-clocks prove-upgrade prove-carriers prove-holds prove-situations prove-rebuild faults lock

help:  ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-17s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install:  ## Create .venv with the pinned dependencies (PYTHON=python3.12 chooses) and fetch Kafka's jars where Java and Maven are.
	@deploy/install.sh "$(PYTHON)"

up: install  ## Run everything on this machine: broker, database, all roles, a demo company (ARGS="--port 9000").
	@$(BIN)/leadclock up $(ARGS)

browser:  ## Install Debian's Chromium as root, for the tests of the console; does nothing where a Chromium is found.
	@deploy/browser.sh

object-store: install  ## Build an S3 server by Go, once, for the tests of recordings (two minutes).
	@deploy/s3-tools.sh

check: install  ## Run what needs no server, in some three minutes, before a commit: linters, types, every pure test, 100 seeds of the simulation.
	@LEADCLOCK_SEEDS=100 $(BIN)/pytest $(SUITE) -m "not servers and not browser" $(ARGS)

test: install  ## Run the whole suite as CI does: linters, types, the direction of imports, every test (ARGS="-k opt_out", "-m 'not browser'").
	@$(BIN)/pytest $(SUITE) $(ARGS)

test-kit: install  ## Check image, Compose file, Helm chart, systemd units, alerts and dashboards by the programs that read them (installs those).
	@deploy/kit-tools.sh
	@$(BIN)/pytest tests/kit $(ARGS)

test-clients: install  ## Generate a client of the API in Python, TypeScript and Go, use each, and let Node.js verify events (installs what that takes once).
	@deploy/client-tools.sh
	@$(BIN)/pytest tests/clients $(ARGS)

test-issuers: install  ## Sign in to the console by an identity provider of npm (oidc-provider) in a real Chromium (installs the provider once).
	@deploy/npm-tools.sh tests/issuers issuers "an identity provider"
	@$(BIN)/pytest tests/issuers $(ARGS)

test-providers: install  ## Let telephones (sipp) ring by a real Asterisk 22, which root unpacks from Debian's packages once (300 MB), and text by npm's SMPP server; CI does not run it.
	@deploy/npm-tools.sh tests/providers smpp-server "an SMPP server"
	@deploy/provider-tools.sh
	@$(BIN)/pytest tests/providers $(ARGS)

test-api: install  ## Print which test exercises each parameter, then let schemathesis try every operation (ARGS="-k fuzz").
	@$(BIN)/python -m tests.api.table
	@LEADCLOCK_API_EXAMPLES=100 $(BIN)/pytest tests/api $(ARGS)

lint: install  ## Check style, format, types and the direction of imports, changing nothing.
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: install  ## Format every file, and correct what the linter can correct by itself.
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: install  ## Measure against bare baselines in the same run (ONLY=name runs one row); also as .leadclock/bench.json.
	@$(BIN)/leadclock bench $(if $(ONLY),--only $(ONLY))

bench-large: install  ## Measure lists and reports at 2 million leads and 5 million calls; the data set is kept in .leadclock/bench-large.
	@$(BIN)/leadclock bench --large

planted: install  ## Plant each known defect in a clone, run the tests that should find it, report survivors (ARGS="--resume", "fences-move-back").
	@$(BIN)/python -m tests.planted $(ARGS)

prove: install  ## Post 100,000 leads, kill -9 two schedulers three times under load, and check that nothing is lost or doubled (ARGS="--submissions 5000").
	@$(BIN)/python -m deploy.proof $(ARGS)

prove-caps: install  ## Let 10,000 leads compete for few calls, kill -9 schedulers three times, and count every cap again (ARGS="--leads 1000").
	@$(BIN)/python -m deploy.proof.caps $(ARGS)

prove-fair: install  ## Measure one company's submissions beside another that misbehaves in eight ways (ARGS="--way wrong-keys --seconds 60").
	@$(BIN)/python -m deploy.proof.neighbours $(ARGS)

prove-impressions: install  ## Measure one company's texts and reads without and beside 1,000 impressions a second of another (ARGS="--seconds 600").
	@$(BIN)/python -m deploy.proof.neighbours --way impressions --seconds 120 $(ARGS)

prove-texts: install  ## Post 33,000 texts of one company and ten of another, and count what was late or dropped (ARGS="--one-inbox").
	@$(BIN)/python -m deploy.proof.texts $(ARGS)

prove-clocks: install  ## Set the clock of each role a day wrong by libfaketime, at its start and while it runs (ARGS="--role gateway").
	@$(BIN)/python -m deploy.proof.clocks $(ARGS)

prove-upgrade: install  ## Replace each process by one of a copy with newer decision rules, under load, and check that nothing is lost or doubled (ARGS="--from COMMIT" replaces a former release).
	@$(BIN)/python -m deploy.proof.upgrade $(ARGS)

prove-carriers: install  ## Restart two gateways with 50 calls and 500 texts under way at four vendors, and count what became of each (ARGS="--kill").
	@$(BIN)/python -m deploy.proof.carriers $(ARGS)

prove-holds: install  ## Queue 10,000 commands, stop all contacting by one command, release it, and count what providers were given (ARGS="--commands 1000 --strike gateway").
	@$(BIN)/python -m deploy.proof.holds $(ARGS)

prove-situations: install browser  ## Bring about what goes wrong, open the console, and check that it names each cause first; writes pictures (ARGS="--situation buyers-full").
	@$(BIN)/python -m deploy.proof.situations $(ARGS)

faults: install  ## Strike three brokers, every role and the database at random under load, and check that nothing is lost or doubled (MINUTES=10, ARGS="--seed 7").
	@$(BIN)/python -m deploy.proof.faults --minutes $(MINUTES) $(ARGS)

prove-rebuild: install  ## Delete contacts.state and accounts.state under load, make them again by `leadclock recover`, and compare every value (ARGS="--submissions 10000").
	@$(BIN)/python -m deploy.proof.rebuild $(ARGS)

lock:  ## Pin the dependencies of pyproject.toml with hashes again, keeping pins that still fit.
	@deploy/lock.sh "$(PYTHON)"
