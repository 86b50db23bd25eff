# `make` alone lists the targets.

# The demo, sized for two minutes on two processors: make run SCALE=0.02 FS=ext4,xfs
SCALE = 0.01
FS = ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs
SUITE = piszcz-2006
REPEAT = 2

# Where rustup puts Rust, for shells that were not told.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help run test build setup clean

help:
	@echo 'make run     set up, build, and compare seven file systems: about two minutes'
	@echo 'make test    set up, check formatting and lints, run all tests'
	@echo 'make build   set up, and build target/x86_64-unknown-linux-gnu/release/mountmark'
	@echo 'make setup   install what is missing (as root), or say how to'
	@echo 'make clean   remove what was built'

run: build
	@cargo run --locked --release --quiet -- run --suite $(SUITE) --scale $(SCALE) --fs $(FS) --repeat $(REPEAT)

test:
	@scripts/setup test
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace

build: setup
	@cargo build --locked --release

setup:
	@scripts/setup

clean:
	@cargo clean
