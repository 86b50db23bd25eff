//! Runs the target named by `TARGET` under libFuzzer. `scripts/fuzz` starts it.
//!
//! The target's first inputs are written to the folder `SEEDS` before libFuzzer reads that folder.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use mountmark_fuzz::change::{Random, change};
use mountmark_fuzz::{MOST_INPUT, TARGETS, Target, run, seeds};

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        panic!("there is no target {name:?}: set TARGET to one of {}", known.join(", "))
    })
});

static SEEDS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| seeds::of(&TARGET).into_iter().map(|(_, bytes)| bytes).collect());

fuzz_target!(init: {
    LazyLock::force(&TARGET);
    let folder = std::env::var("SEEDS").expect("SEEDS names a folder");
    for (number, bytes) in SEEDS.iter().enumerate() {
        std::fs::write(format!("{folder}/first-{number}"), bytes).expect("a file of an input");
    }
    // One-time initialisation must not count for an input.
    (TARGET.run)(&[]);
}, |data: &[u8]| {
    if data.len() <= MOST_INPUT {
        run(&TARGET, data);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Half of the changes by libFuzzer, which knows the coverage.
    if seed.is_multiple_of(2) {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut random = Random(seed.into());
    let other = &SEEDS[random.below(SEEDS.len())];
    let mut changed = data[..size].to_vec();
    change(&mut changed, other, max_size, &mut random);
    data[..changed.len()].copy_from_slice(&changed);
    changed.len()
});
