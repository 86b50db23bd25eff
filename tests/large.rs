//! Measures how long it takes to read from a large store.

use std::process::Command;
use std::time::{Duration, Instant};

use mountmark_model::Metric;

use crate::lab::{Lab, binary};
use crate::made::{noise, plan, record};

/// Number of runs in the store.
const RUNS: u64 = 1000;

/// Maximum time of any command on a quiet machine.
const LIMIT: Duration = Duration::from_millis(300);

/// `cargo test --release --test integration -- --ignored --nocapture a_store_of_a_thousand_runs`; it writes some
/// hundred megabytes and takes minutes. Measures wall time, and the program's own processor time, which counts.
#[test]
#[ignore = "a measurement"]
fn a_store_of_a_thousand_runs_is_looked_into_soon() {
    let lab = Lab::without_guests();
    let fs = ["ext2", "ext3", "ext4", "jfs", "reiserfs", "xfs", "btrfs"];
    let more: Vec<Metric> = Metric::ALL[2..23].to_vec();
    let begin = Instant::now();
    let mut runs = Vec::new();
    for seed in 0..RUNS {
        let plan = plan("piszcz-2006", &fs, 3, seed % 10, "0.02");
        runs.push(record(&lab, &plan, &more, |name, task, repeat| Some(2.0 * noise(name, task, repeat, seed))));
    }
    let size = std::fs::metadata(lab.out().join("results.sqlite")).expect("the store").len();
    println!("{RUNS} runs of {} bytes made in {:?}", size, begin.elapsed());
    let (one, other) = (runs[100].as_str(), runs[910].as_str());
    for arguments in [
        &["show", one][..],
        &["show", "latest"],
        &["show", one, "--verdict"],
        &["compare", one, other],
        &["compare", one, other, "--fail-on", "5%"],
        &["compare", one, "--study", "piszcz-2006"],
        &["compare", one, "--claims"],
        &["runs"],
    ] {
        // The first time reads from the disk, which does not count.
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..4 {
            let (begin, before) = (Instant::now(), children());
            let mut command = Command::new(binary());
            let output = command.args(arguments).arg("--out").arg(lab.out()).output().expect("the program");
            assert!([Some(0), Some(1)].contains(&output.status.code()), "{}", String::from_utf8_lossy(&output.stderr));
            best = best.min((children() - before, begin.elapsed()));
        }
        println!("{:50} {:?} of processor time, {:?} of wall time", arguments.join(" "), best.0, best.1);
        assert!(best.0 < LIMIT || cfg!(debug_assertions), "{arguments:?}: {best:?}");
    }
}

/// Processor time of the children that were waited for.
fn children() -> Duration {
    // SAFETY: rusage is plain data; the pointer outlives the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}
