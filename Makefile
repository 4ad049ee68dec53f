# A thin front for CMake. `make help` lists the targets.

PREFIX ?= /usr/local
MUTANTS ?= 25
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: help deps demo test check mutate bench install clean
.DEFAULT_GOAL := help

help:
	@echo "make deps                  install what building and testing need (apt)"
	@echo "make demo                  build, then construct and verify exact transformers for"
	@echo "                           1,797 handwritten digits"
	@echo "make test                  build with warnings as errors and run the whole test suite"
	@echo "make check                 format, clang-tidy, dependency law, symbols, man pages, tests"
	@echo "make mutate                spoil models in one place each, 25 times as many as the"
	@echo "                           tests do, and report who notices"
	@echo "make bench                 measure against the alternatives, and write bench/results.csv"
	@echo "                           and docs/performance.md (QUICK=1: two minutes)"
	@echo "make install PREFIX=DIR    program, library, headers, man pages (default $(PREFIX))"
	@echo "make clean                 remove build/"

deps:
	@tools/install_deps.sh build test python

demo:
	@tools/install_deps.sh build
	@tools/build.sh release $(JOBS)
	@tools/demo.sh build/release/exactformer

test: deps
	@tools/python_env.sh
	@XF_OPTIONS=-DXF_PYTHON_TESTS=ON tools/build.sh dev $(JOBS)
	@ctest --preset dev -j $(JOBS)

check:
	@tools/install_deps.sh build test python check
	@tools/python_env.sh
	@XF_OPTIONS=-DXF_PYTHON_TESTS=ON tools/build.sh dev $(JOBS)
	@tools/check_format.sh
	@tools/check_layers.py --objects build/dev
	@tools/check_symbols.sh build/dev
	@tools/check_man.sh
	@tools/check_tidy.sh build/dev $(JOBS)
	@ctest --preset dev -j $(JOBS)

mutate: deps
	@tools/build.sh dev $(JOBS) mutation_mutants mutation_random_models
	@XF_MUTATION_MULTIPLIER=$(MUTANTS) build/dev/tests/mutation_mutants
	@XF_MUTATION_MULTIPLIER=$(MUTANTS) build/dev/tests/mutation_random_models

bench:
	@tools/install_deps.sh build python
	@tools/python_env.sh
	@tools/build.sh release $(JOBS) bench
	@bench/run.sh $(if $(QUICK),--quick) build/release

install:
	@tools/install_deps.sh build
	@tools/build.sh release $(JOBS)
	@cmake --install build/release --prefix "$(abspath $(PREFIX))" >/dev/null
	@echo "installed in $(DESTDIR)$(abspath $(PREFIX))"

clean:
	rm -rf build
