# `make demo` and `make test` set everything up by themselves: they need Python 3.11+, make and a C++20 compiler.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(shell find cpp src -name '*.hpp' -o -name '*.cpp' -o -name '*.py' -o -name '*.js' -o -path '*/explorer/page/*') CMakeLists.txt pyproject.toml README.md

.PHONY: demo docs test lint lint-page format sanitize arm64 bench wheel-test clean

demo: $(VENV)/.installed
	$(BIN)/lowfold demo

# Into docs/_build/html; a warning is an error.
docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-build-isolation ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Two processes: most tests have one thread at work.
test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2

# The environment is made once. The package is installed again only when a source has changed; CMake's build folder is
# kept, so that this compiles no more than it has to.
$(VENV)/.environment: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	touch $@

$(VENV)/.installed: $(VENV)/.environment $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation ".[dev,plot,files]"
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(shell find cpp -name '*.hpp' -o -name '*.cpp')

# The types of the explorer's page, where npm is there to run TypeScript.
TSC = npm exec --yes --package=typescript@5.9 -- tsc
lint-page:
	@if ! command -v npm >/dev/null; then echo "lint-page: skipped, npm is not installed"; \
	elif ! $(TSC) --version >/dev/null 2>&1; then echo "lint-page: skipped, npm cannot fetch TypeScript"; \
	else $(TSC) -p src/lowfold/explorer/page/jsconfig.json; fi

format: $(VENV)/.installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(shell find cpp -name '*.hpp' -o -name '*.cpp')

# The C++ core under the sanitizers, one build each.
sanitize: $(VENV)/.environment
	for kind in address,undefined thread; do \
	  $(BIN)/cmake -S . -B build/sanitize-$$kind -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	    -DLOWFOLD_CORE_TESTS=ON -DLOWFOLD_SANITIZE=$$kind && \
	  $(BIN)/cmake --build build/sanitize-$$kind && build/sanitize-$$kind/core_tests || exit 1; \
	done

# The module and the core's tests for arm64, these run in an emulator. Debian has what it takes in the packages
# g++-aarch64-linux-gnu and qemu-user-static.
ARM64 = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_SYSTEM_NAME=Linux \
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
arm64: $(VENV)/.environment
	$(ARM64) -B build/arm64 -DPython_EXECUTABLE=$(abspath $(BIN))/python \
	  -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir)
	$(BIN)/cmake --build build/arm64
	$(ARM64) -B build/arm64-tests -DLOWFOLD_CORE_TESTS=ON -DLOWFOLD_TEST_MARCH=armv8-a
	$(BIN)/cmake --build build/arm64-tests
	qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm64-tests/core_tests

bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-build-isolation ".[bench]"
	$(BIN)/python benchmarks/run.py

# A wheel for each of PYTHONS, all of which must be installed, tested in an environment of its own.
PYTHONS ?= python3.11 python3.12 python3.13
wheel-test:
	@for python in $(PYTHONS); do command -v $$python >/dev/null || { \
	  echo "wheel-test: $$python is not installed, and each of PYTHONS=\"$(PYTHONS)\" is needed." \
	    "Install it, or name those that are there: make wheel-test PYTHONS=$(PYTHON)" >&2; exit 1; }; done
	for python in $(PYTHONS); do .ci/wheel-test $$python || exit 1; done

clean:
	rm -rf $(VENV) build dist
