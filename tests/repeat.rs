//! Figures repeat, whatever else runs on the machine, and for any number of guests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::lab::{Lab, assert_equal_figures, assert_has_figures};

/// A write, names, and a read of what is not cached.
pub const TASKS: &str = r#"
[[task]]
id = "write"
title = "write 2 MiB"
run = "dd if=/dev/zero of=file bs=64k count=32"

[[task]]
id = "files"
title = "make 20 files"
run = "for i in 0 1 2 3 4 5 6 7 8 9; do touch a$i; mkdir b$i; done"

[[task]]
id = "read"
title = "read 2 MiB"
cold = true
run = "cat file > /dev/null"
"#;

/// Runs `work` beside two threads that leave no processor idle.
fn beside_busy_threads<T>(work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    /// Stops the threads even if `work` panics: the scope waits for them.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        work()
    })
}

/// Kinds of file systems, each with ways of its own to keep its processor busy.
const KINDS: &str = "ext4,xfs,jfs,reiserfs,btrfs";

/// A plan gives the same figures with two guests at once and with five beside busy processors.
fn assert_repeats_beside_busy_processors(lab: &Lab, plan: &[&str], tasks: &[&str]) {
    let run = |jobs: &str| {
        let all = [plan, &["--fs", KINDS, "--repeat", "1", "--jobs", jobs]].concat();
        lab.run(&all).ended_with(0).results()
    };
    let alone = run("2");
    for name in KINDS.split(',') {
        alone.is_ok(name, tasks);
    }
    assert_equal_figures(&alone, &beside_busy_threads(|| run("5")));
}

#[test]
fn a_suite_repeats_beside_busy_processors() {
    let Some(lab) = Lab::with_guests("a_suite_repeats_beside_busy_processors", 2) else { return };
    let suite = lab.suite("disks", TASKS);
    assert_repeats_beside_busy_processors(&lab, &["--suite", &suite], &["write", "files", "read"]);
}

#[test]
#[ignore = "minutes: make nightly"]
fn a_long_suite_repeats_beside_busy_processors() {
    let Some(lab) = Lab::with_guests("a_long_suite_repeats_beside_busy_processors", 2) else { return };
    let tasks: Vec<String> = (1..=21).map(|number| format!("{number:03}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    assert_repeats_beside_busy_processors(&lab, &["--suite", "piszcz-2006", "--scale", "0.001"], &tasks);
}

#[test]
fn repeats_and_seeds_differ_and_plans_of_one_seed_do_not() {
    let Some(lab) = Lab::with_guests("repeats_and_seeds_differ_and_plans_of_one_seed_do_not", 2) else { return };
    let suite = lab.suite("disks", TASKS);
    let run = |fs: &str, repeats: &str, seed: &str| {
        lab.run(&["--fs", fs, "--suite", &suite, "--repeat", repeats, "--seed", seed]).ended_with(0).results()
    };
    let alone = run("ext4", "2", "7");
    let seeds: Vec<u64> = alone.cells().iter().map(|cell| cell["seed"].as_u64().unwrap()).collect();
    assert!(seeds.len() == 2 && seeds[0] != seeds[1], "{seeds:?}");
    assert!(!run("ext4", "1", "8").cells().iter().any(|cell| seeds.contains(&cell["seed"].as_u64().unwrap())));
    // Other configurations in the plan have no effect, not even xfs, which needs the larger disk.
    let beside = run("xfs,ext4", "2", "7");
    assert_has_figures(&alone, &beside);
}

/// As on another machine, or after the cache was cleaned.
#[test]
#[ignore = "minutes: make nightly"]
fn a_guest_booted_anew_repeats_each_time() {
    let Some(mut lab) = Lab::with_guests("a_guest_booted_anew_repeats_each_time", 1) else { return };
    let suite = lab.suite("disks", TASKS);
    let plan = ["--fs", "ext2", "--suite", &suite, "--repeat", "1"];
    let first = lab.run(&plan).ended_with(0).results();
    for boot in 0..5 {
        lab = lab.with_new_cache(&boot.to_string());
        assert_equal_figures(&first, &beside_busy_threads(|| lab.run(&plan).ended_with(0).results()));
    }
}

#[test]
fn a_run_repeats_while_the_emulator_is_disturbed() {
    let Some(lab) = Lab::with_guests("a_run_repeats_while_the_emulator_is_disturbed", 1) else { return };
    let suite = lab.suite("disks", TASKS);
    let plan = ["--fs", "xfs", "--suite", &suite, "--repeat", "1"];
    let first = lab.run(&plan).ended_with(0).results();
    // QEMU ignores SIGIO, but each one makes its main loop check whether the guest is idle, at any moment.
    let lab = lab.with_new_cache("disturbed");
    let run = lab.start_run(&plan);
    let stop = AtomicBool::new(false);
    let (disturbed, sent) = thread::scope(|scope| {
        let guests = run.guests();
        let stop = &stop;
        let sender = scope.spawn(move || {
            let mut sent = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                for guest in guests() {
                    for _ in 0..2000 {
                        // SAFETY: takes two numbers. A guest that has ended is our program's child until it is waited
                        // for, so its pid can hardly have been reused within these few milliseconds.
                        sent += u64::from(unsafe { libc::kill(guest, libc::SIGIO) } == 0);
                        thread::sleep(Duration::from_micros(30));
                    }
                }
            }
            sent
        });
        let disturbed = run.wait();
        stop.store(true, Ordering::Relaxed);
        (disturbed, sender.join().expect("the sender"))
    });
    assert!(sent > 10_000, "{sent} signals are no disturbance");
    assert_equal_figures(&first, &disturbed.ended_with(0).results());
}
