//! Compares the engine with fio, fs_mark, Bonnie++ and bare loops of system calls, in turn, on this machine.
//!
//! `cargo bench -p mountmark-run` runs in the folder of temporary files, `cargo bench -p mountmark-run -- FOLDER
//! [ROUNDS [PART]]` elsewhere; PART is blocks, names or alone; default: all of them. Fewer than 7 rounds give only a
//! first impression. Each line shows medians of the rounds and the median of the rounds' ratios, with their range; the
//! figures of one round are taken next to each other, so that noise that lasts longer affects both.
//!
//! Names are best compared in memory (`-- /dev/shm 8 names`): the more inodes were freed just before, the longer a file
//! system on a disk searches for a free one, and not equally long in each folder. For direct I/O use a loop device over
//! a file there, since on a disk all contenders wait for the same disk:
//!
//! ```text
//! truncate -s 1G /dev/shm/bench.img && mkfs.ext4 -q /dev/shm/bench.img
//! mkdir /tmp/bench && mount -o loop /dev/shm/bench.img /tmp/bench
//! cargo bench -p mountmark-run -- /tmp/bench 7 blocks
//! ```

mod bare;
mod ours;
mod programs;

use std::path::{Path, PathBuf};

/// One contender's figures of one round.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Operations a second.
    pub rate: f64,
    /// Processor nanoseconds per operation, if known.
    pub cpu: Option<f64>,
}

type Contender<'a> = (&'a str, Box<dyn FnMut() -> Option<Seen> + 'a>);

/// Default number of rounds.
const ROUNDS: usize = 9;

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

/// Runs all contenders in turn, each round with another one first, and prints how the first compares.
fn compare(title: &str, rounds: usize, contenders: &mut [Contender<'_>], goals: &[(&str, f64)]) {
    println!("{title}");
    let count = contenders.len();
    let mut seen: Vec<Vec<Option<Seen>>> = vec![Vec::new(); count];
    for round in 0..rounds {
        for place in 0..count {
            let index = (round + place) % count;
            // Writes left by the previous contender do not belong to this one.
            rustix::fs::sync();
            let figure = (contenders[index].1)();
            seen[index].push(figure);
        }
    }
    for (index, (name, _)) in contenders.iter().enumerate() {
        let rates: Vec<f64> = seen[index].iter().flatten().map(|seen| seen.rate).collect();
        if rates.is_empty() {
            println!("  {name:<22} not measured: the program is not installed, or printed no figure");
            continue;
        }
        let cpu: Vec<f64> = seen[index].iter().flatten().filter_map(|seen| seen.cpu).collect();
        let cpu = if cpu.is_empty() { String::new() } else { format!("  {:>7.0} ns CPU/op", median(&cpu)) };
        let mut line = format!("  {name:<22} {:>12.0} op/s {:>8.1} ns/op{cpu}", median(&rates), 1e9 / median(&rates));
        if index > 0 {
            let ratios: Vec<f64> = seen[0]
                .iter()
                .zip(&seen[index])
                .filter_map(|(ours, other)| Some(ours.as_ref()?.rate / other.as_ref()?.rate))
                .collect();
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            line += &format!("   ours/this {:.3} ({least:.3} to {most:.3})", median(&ratios));
            // On a shared machine processor time is more reliable than rates: it stands still while other processes
            // run.
            let costs: Vec<f64> = seen[0]
                .iter()
                .zip(&seen[index])
                .filter_map(|(ours, other)| Some(other.as_ref()?.cpu? / ours.as_ref()?.cpu?))
                .collect();
            if !costs.is_empty() {
                line += &format!(", by CPU time {:.3}", median(&costs));
            }
            if let Some((_, goal)) = goals.iter().find(|(goal, _)| goal == name) {
                line += &format!(", goal {goal}: {}", if median(&ratios) >= *goal { "met" } else { "missed" });
            }
        }
        println!("{line}");
    }
}

fn main() {
    if mountmark_agent::engine::is_worker() {
        mountmark_agent::engine::worker_main();
    }
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let base = arguments.first().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds = arguments.get(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let folder = match tempfile::tempdir_in(&base) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("cannot make a folder in {}: {error}", base.display());
            std::process::exit(3);
        }
    };
    println!("{rounds} rounds in {}, fio: {}", base.display(), programs::fio_version());
    let wanted = |part: &str| arguments.get(2).is_none_or(|wanted| wanted == part);
    if wanted("alone") {
        engine_alone(folder.path(), rounds);
    }
    if wanted("blocks") {
        blocks(folder.path(), rounds);
    }
    if wanted("names") {
        names(folder.path(), rounds);
    }
}

fn blocks(folder: &Path, rounds: usize) {
    let file = ours::lay_out(folder);
    let path = file.as_path();
    compare(
        "4 KiB random reads of a cached file, one thread, psync",
        rounds,
        &mut [
            ("ours", Box::new(|| ours::reads(folder, "engine = \"psync\""))),
            ("ours without latency", Box::new(|| ours::reads(folder, "engine = \"psync\"\nlatency = false"))),
            ("fio", Box::new(|| programs::fio(path, &["--ioengine=psync"]))),
            ("fio, no random map", Box::new(|| programs::fio(path, &["--ioengine=psync", "--norandommap=1"]))),
            ("bare pread loop", Box::new(|| bare::reads(path))),
        ],
        &[("fio", 1.2), ("fio, no random map", 1.2), ("bare pread loop", 0.93)],
    );
    let usual = ["--ioengine=io_uring", "--iodepth=32", "--norandommap=1"];
    // fio with everything that the engine does by itself, so that only the cost of each operation differs.
    let tuned = [
        "--ioengine=io_uring",
        "--iodepth=32",
        "--registerfiles=1",
        "--fixedbufs=1",
        "--iodepth_batch_submit=32",
        "--iodepth_batch_complete_min=1",
        "--iodepth_batch_complete_max=32",
        "--norandommap=1",
    ];
    let direct = |options: &[&'static str]| -> Vec<&'static str> { [options, &["--direct=1"]].concat() };
    let (usual_direct, tuned_direct) = (direct(&usual), direct(&tuned));
    let goals = [("fio", 1.2), ("fio, tuned", 1.2)];
    let ring = "engine = \"uring\"\nqueue_depth = 32";
    compare(
        "4 KiB random reads of a cached file, io_uring, 32 in flight",
        rounds,
        &mut [
            ("ours", Box::new(|| ours::reads(folder, ring))),
            ("fio", Box::new(|| programs::fio(path, &usual))),
            ("fio, tuned", Box::new(|| programs::fio(path, &tuned))),
        ],
        &goals,
    );
    compare(
        "4 KiB random reads with direct I/O, io_uring, 32 in flight",
        rounds,
        &mut [
            ("ours", Box::new(|| ours::reads(folder, &format!("{ring}\ndirect = true")))),
            ("fio", Box::new(|| programs::fio(path, &usual_direct))),
            ("fio, tuned", Box::new(|| programs::fio(path, &tuned_direct))),
        ],
        &goals,
    );
}

fn names(folder: &Path, rounds: usize) {
    for what in ["create", "stat", "unlink"] {
        let goals = [("bare loop", 0.95), ("fs_mark", 1.0), ("Bonnie++", 1.0)];
        let mut contenders: Vec<Contender<'_>> = vec![
            ("ours", Box::new(move || ours::names(folder, what))),
            ("bare loop", Box::new(move || bare::names(folder, what))),
        ];
        if what != "stat" {
            contenders.push(("fs_mark", Box::new(move || programs::fs_mark(folder, what))));
        }
        contenders.push(("Bonnie++", Box::new(move || programs::bonnie(folder, what))));
        compare(&format!("{what} of {} empty files in one directory", ours::NAMES), rounds, &mut contenders, &goals);
    }
}

fn engine_alone(folder: &Path, rounds: usize) {
    let reads = |more: &'static str| move || ours::reads(folder, &format!("engine = \"null\"\n{more}"));
    compare(
        "the engine alone (null), random 4 KiB blocks; goals: at most 25 ns an operation, two threads 1.8 times one",
        rounds,
        &mut [
            ("ours, two threads", Box::new(reads("threads = 2\nshared = true"))),
            ("ours, one thread", Box::new(reads(""))),
            ("ours without latency", Box::new(reads("latency = false"))),
        ],
        &[("ours, one thread", 1.8)],
    );
}
