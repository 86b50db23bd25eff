# `make` alone lists the targets.

# The demo, sized for two minutes on two processors: make run SCALE=0.02 FS=ext4,xfs
SCALE = 0.01
FS = ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs
SUITE = piszcz-2006
REPEAT = 2

# Where rustup puts Rust, for shells that were not told.
export PATH := $(PATH):$(HOME)/.cargo/bin

# How many tests are under way at once. Tests with guests wait until a processor is free for each; those on disks of this machine
# mostly wait for a quiet second: both leave processors idle if there are only as many tests.
TESTS = $(shell expr 4 '*' $$(nproc))

# What `make fuzz` gives each parser, and which: make fuzz MINUTES=1 TARGETS='suite tar'
MINUTES = 10
TARGETS =

# What `make gallery` measures, if not all: kernels, safety, 2006.
GALLERY =

.PHONY: help run check test nightly fuzz drill same-build book build setup clean
.PHONY: gallery deb dist try-deb try-crates try-container release-check

help:
	@echo 'make run     set up, build, and compare seven file systems: about two minutes'
	@echo 'make check   formatting, lints, unit tests, the rules of the house, and one guest: while you work'
	@echo 'make test    set up, check formatting and lints, run the tests that each change must pass'
	@echo 'make nightly long tests: workloads that must break no promise; every command of the pages; four programs beside the engine;'
	@echo '             figures that repeat, in longer runs and with the profiler on every file system'
	@echo 'make fuzz    feed every parser with damaged input, MINUTES=10 each; TARGETS names some'
	@echo 'make drill   kill runs in every phase, clean up and resume them: at most DRILL_MINUTES=20 minutes'
	@echo 'make same-build  build twice, in two folders, and compare the programs byte for byte; then mountmark-guest once more,'
	@echo '             with all changed that is not part of it, and with another version'
	@echo 'make book    set up mdBook, and build target/book/index.html from docs/'
	@echo 'make gallery  measure what the gallery of the book shows, in hours: target/gallery/; GALLERY=kernels names one'
	@echo 'make deb     build the Debian package twice, compare, and check it with lintian: target/dist/'
	@echo 'make dist    the same with a tarball, its list of parts (SBOM) and checksums'
	@echo 'make try-deb, try-crates, try-container   install what would be released, in a fresh Debian, from a registry of crates,'
	@echo '             in a container, and run it'
	@echo 'make release-check  whether this commit can be released'
	@echo 'make build   set up, and build target/x86_64-unknown-linux-gnu/release/mountmark'
	@echo 'make setup   install what is missing (as root), or say how to'
	@echo 'make clean   remove what was built'

run: build
	@cargo run --locked --release --quiet -- run --suite $(SUITE) --scale $(SCALE) --fs $(FS) --repeat $(REPEAT)

test:
	@scripts/setup test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace -- --test-threads $(TESTS)

check:
	@scripts/setup test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --lib --bins
	cargo test --workspace --test house
	cargo test --workspace --test integration failures::a_failed_task_keeps_what_it_said_and_the_next_ones_run -- --exact

nightly:
	@scripts/setup test
	cargo test --workspace --test integration -- traps:: pages:: engines:: repeat:: why:: danger:: kernels:: layers:: advise:: filesystems:: modules:: --ignored --nocapture --test-threads 1

fuzz:
	@scripts/fuzz $(MINUTES) $(TARGETS)

# DRILL_SEED repeats the choices of an earlier drill, DRILL_ROUND one round of them alone.
drill: export DRILL_MINUTES ?= 20
drill:
	@scripts/setup test
	cargo test --workspace --test integration danger::runs_that_are_killed_at_many_moments_lose_no_cell -- --ignored --exact --nocapture
	cargo test --workspace --test integration drill::runs_survive_many_kills -- --ignored --exact --nocapture
	cargo test --workspace --test integration cluster:: -- --ignored --nocapture --test-threads 1

same-build:
	@scripts/setup
	@scripts/same-build program
	@scripts/same-build guest

deb:
	@scripts/setup deb
	@scripts/same-build deb target/dist
	@scripts/lint-deb target/dist

dist:
	@scripts/setup dist
	@scripts/same-build dist target/dist
	@scripts/lint-deb target/dist

try-deb:
	@scripts/try-deb

try-crates:
	@scripts/try-crates

try-container:
	@scripts/try-container

release-check:
	@scripts/release-check

book:
	@scripts/setup book
	@scripts/book

gallery: build
	@scripts/gallery target/x86_64-unknown-linux-gnu/release/mountmark target/gallery $(GALLERY)

build: setup
	@cargo build --locked --release

setup:
	@scripts/setup

clean:
	@cargo clean
