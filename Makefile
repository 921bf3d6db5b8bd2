# dse: two commands matter: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PROFILE := calibrations/this-machine.yaml
PLOTLY := 4.1.1
VENDOR := dse/report/vendor

.PHONY: help demo test evidence torch lint types docs golden fuzz random oldest newest versions kills peers bench accuracy anchors papers plotly picture clean
help:
	@echo "make demo      set up $(VENV), calibrate on this machine, run the example study, write its report"
	@echo "make test      set up $(VENV) if needed, run the tests"
	@echo "make evidence  the tests that make test leaves out, since they take long; PART=1/3 a third of them"
	@echo "make torch     add torch, for its runner and its tests"
	@echo "make lint      ruff;  make types  mypy"
	@echo "make docs      the documentation as a site, build/site/index.html; GALLERY=no without running the shipped studies"
	@echo "make golden    compare the answers of all studies, in whole, with those that are kept"
	@echo "make fuzz      damage every file that dse reads for MINUTES=60 minutes, each time in other ways"
	@echo "make random    search random studies for MINUTES=60 minutes, each front compared with that of a plain loop"
	@echo "make oldest    test with the oldest releases that pyproject.toml allows;  make newest  with the newest, on Python 3.13"
	@echo "make versions  the same on any Python, AS=3.12, with RELEASES=highest or lowest-direct"
	@echo "make kills     kill -9 a run, and the driver of a Ray cluster, at 50 random moments, each time going on"
	@echo "make bench     speed, as a table;  make accuracy  predicted against measured, as a table"
	@echo "make anchors   fit anew what computing takes longer than its model, models/anchors.*, from \$$DSE_REFERENCE"
	@echo "make papers    what papers published beside what is computed here, as reports/papers/facts.json; the figures of docs/"
	@echo "make plotly    take the charts' JavaScript of plotly.js $(PLOTLY) from npm anew, $(VENDOR);  make picture  docs/report.png"
	@echo "make clean     remove $(VENV), the site, reports and calibrations of this machine"

$(VENV)/.core: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dse needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(PROFILE): | $(VENV)/.core
	$(BIN)/dse calibrate run --budget 45

demo: $(VENV)/.core $(PROFILE)
	@echo "calibrated by $(PROFILE) (delete it to measure again)"
	$(BIN)/dse run search_spaces/example.yaml
	@echo "next: $(BIN)/dse run llama3-8b-h100-b200"

test: $(VENV)/.dev
	$(BIN)/python -m tests

# With PYTHONDONTWRITEBYTECODE every process that a test starts would compile dse anew.
PART := 1/1
evidence: $(VENV)/.dev
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m evidence -p tests.share --marked evidence --share $(PART)

# Without GPUs the plain wheel of some indexes still brings gigabytes of CUDA, so it is on request.
torch: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

# Studies of the gallery are run again only where their file, the catalogue or dse changed.
GALLERY := yes
ifneq ($(GALLERY),no)
docs: $(PROFILE)
endif
docs: $(VENV)/.docs
	$(if $(filter no,$(GALLERY)),,$(BIN)/python -m benchmarks.site.gallery)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

# make test and make evidence do this, too, except for the draws of two studies.
golden: $(VENV)/.dev
	$(BIN)/python -m tests.golden

# Each round damages every kind of file 200 times; the seed of the first tells how to get them again.
MINUTES := 60
fuzz: $(VENV)/.dev
	end=$$(($$(date +%s) + 60 * $(MINUTES))); seed=$$(date +%s); while [ $$(date +%s) -lt $$end ]; do \
	  echo "FUZZ_SEED=$$seed"; \
	  FUZZ_SEED=$$seed FUZZ_TRIALS=200 $(BIN)/python -m pytest -q tests/fuzz || exit 1; \
	  seed=$$((seed + 200)); done

# Each round searches 200 studies and reports every 20th.
random: $(VENV)/.dev
	end=$$(($$(date +%s) + 60 * $(MINUTES))); seed=$$(date +%s); while [ $$(date +%s) -lt $$end ]; do \
	  echo "RANDOM_SEED=$$seed"; \
	  RANDOM_SEED=$$seed RANDOM_STUDIES=200 RANDOM_REPORTED=20 RANDOM_OF_A_KIND=5 \
	    $(BIN)/python -m pytest -q tests/conformance/test_random_studies.py || exit 1; \
	  seed=$$((seed + 200)); done

# A part of the tests on another Python or with other releases, in an environment of its own. uv takes a Python
# that is installed (of pyenv's the latest release of AS), or fetches one.
AS := 3.13
RELEASES := highest
OTHER = .venv-$(AS)-$(RELEASES)
SOME := tests/study tests/catalog/test_reader.py tests/calibration/fitting tests/model tests/pricing/test_problem.py \
  tests/pricing/test_run_time.py tests/pricing/test_market.py tests/search/test_engines.py tests/search/test_pareto.py \
  tests/report/test_document.py tests/report/test_figures.py tests/fleet/test_document.py tests/commands/test_run.py \
  tests/test_units.py tests/test_errors.py

$(VENV)/.uv: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8'
	@touch $@

oldest:
	$(MAKE) versions AS=3.11 RELEASES=lowest-direct

newest:
	$(MAKE) versions AS=3.13 RELEASES=highest

versions: $(VENV)/.uv
	PYENV_VERSION=$$(pyenv latest $(AS) 2>/dev/null) $(BIN)/uv venv --quiet --clear --no-project --python $(AS) $(OTHER)
	$(BIN)/uv pip install --quiet --python $(OTHER)/bin/python --resolution $(RELEASES) -e '.[dev]'
	$(OTHER)/bin/dse check search_spaces/papers/example-pai.yaml
	OMP_NUM_THREADS=1 $(OTHER)/bin/python -m pytest -m "not slow and not evidence" -p no:cacheprovider $(SOME)

kills: $(VENV)/.dev
	KILLS=50 $(BIN)/python -m pytest tests/commands/test_faults.py -k killed_at_random

# Other tools, to be compared with, in environments of their own.
peers: $(VENV)/.dev
	$(BIN)/python -m benchmarks.peers

bench: $(VENV)/.dev $(PROFILE) peers
	$(BIN)/python -m benchmarks.speed

accuracy: $(VENV)/.dev $(PROFILE)
	$(BIN)/python -m benchmarks.accuracy

anchors: $(VENV)/.dev
	$(BIN)/python -m benchmarks.anchors

papers: $(VENV)/.dev
	$(BIN)/python -m benchmarks.papers
	$(BIN)/python -m benchmarks.papers.figures

plotly:
	rm -rf build/plotly && mkdir -p build/plotly
	cd build/plotly && npm pack --silent plotly.js-basic-dist-min@$(PLOTLY) && tar xzf *.tgz
	gzip -9nc build/plotly/package/plotly-basic.min.js > $(VENDOR)/plotly-basic.min.js.gz
	cp build/plotly/package/LICENSE $(VENDOR)/plotly.LICENSE

# The README's picture, from a run of the example study.
picture: $(VENV)/.dev
	$(BIN)/python -m benchmarks.picture reports/example

clean:
	rm -rf $(VENV) .venv-* reports calibrations build/site build/gallery
