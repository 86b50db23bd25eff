//! `mountmark self-check`: measures on this machine what the virtual lab promises.
//!
//! It runs this program as a user would and observes it from outside: the output of the runs, and the kernel's counters
//! of the processes.

mod profiler;
mod verdicts;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, hint, thread};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mountmark_cells::Plan;
use mountmark_model::Scale;
use mountmark_model::conditions::Way;
use mountmark_plan::{Catalogue, Options};
use serde_json::Value;

use super::run::{LabOptions, corpora};
use crate::common::{self, WrongUse};

/// Check on this machine that figures repeat, guests start quickly, and the lab costs little
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  mountmark self-check\n  mountmark self-check verdicts\n  mountmark self-check profiler\n  mountmark self-check --fs ext4,xfs --disk hdd\n\nEach plan runs twice: once alone, once with another number of guests side by side and a busy loop on every processor.\nExit code 1 if a figure is not equal to the last bit, if the first mkfs begins later than 1.5 s, or if the program takes more than 2 % of a processor, or a guest more than 200 MiB beside its memory and disks."
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// File systems to try
    #[arg(long, value_name = "LIST", default_value = super::run::DEFAULT_FILESYSTEMS)]
    fs: String,
    /// Disks to try, separated by commas
    #[arg(long, value_name = "LIST", default_value = "ram,hdd,ssd,nvme", value_delimiter = ',')]
    disk: Vec<String>,
    /// How much the suite piszcz-2006 is shrunk
    #[arg(long, value_name = "SCALE", default_value = "0.005")]
    scale: String,
    /// The guest's kernel
    #[arg(long, value_name = "KERNEL", default_value = mountmark_lab::image::kernel::DEFAULT)]
    kernel: String,
}

/// Other promises than the virtual lab's.
#[derive(Subcommand)]
enum What {
    Verdicts(verdicts::Arguments),
    Profiler(profiler::Arguments),
}

/// The suite whose cells are tried.
const SUITE: &str = "piszcz-2006";

/// The longest time from the program's start to the first mkfs in a guest, with a warm cache.
const START_LIMIT: f64 = 1.5;
/// The largest share of one processor that this program may use while guests run, in percent.
const COST_LIMIT: f64 = 2.0;
/// Memory that a guest may use beyond its RAM and disks.
const MEMORY_SLACK: u64 = 200 << 20;

/// Observations of one run.
struct Seen {
    /// Bits of samples by configuration, repeat, task, iteration and metric.
    figures: BTreeMap<String, u64>,
    /// Seconds until the first mkfs.
    start: f64,
    /// Processor time of this program, and wall time, in seconds, from the first mkfs on.
    cost: (f64, f64),
    /// Largest resident set of a guest, in bytes.
    memory: u64,
    /// RAM and disk under test of a guest, in bytes.
    allowed: u64,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    match &arguments.what {
        Some(What::Verdicts(arguments)) => return verdicts::run(arguments),
        Some(What::Profiler(arguments)) => return profiler::run(arguments),
        None => {}
    }
    // Wrong options are reported first.
    arguments.scale.parse::<Scale>().map_err(|error| WrongUse(format!("--scale: {error}")))?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut good = true;
    let mut starts = Vec::new();
    let mut costs = Vec::new();
    let mut memory = Vec::new();
    common::print(&format!(
        "Repeatability: {SUITE} at scale {}, {}, kernel {}\n",
        arguments.scale, arguments.fs, arguments.kernel
    ))?;
    for disk in &arguments.disk {
        let alone = observe(&arguments, disk, processors)?;
        let beside = with_busy_processors(processors, || observe(&arguments, disk, processors + 1))?;
        let (differ, spread) = compare(&alone.figures, &beside.figures);
        good &= differ == 0;
        let verdict = if differ == 0 {
            "all equal to the last bit".to_owned()
        } else {
            format!("{differ} differ, by at most {:.6} %", spread * 100.0)
        };
        common::print(&format!("  {disk:<6} {} figures: {verdict}\n", alone.figures.len()))?;
        print_differing(&alone.figures, &beside.figures, ["alone", "beside"])?;
        // The first run may have made images and snapshots; this one finds them in the cache.
        let warm = observe(&arguments, disk, processors)?;
        starts.push(warm.start);
        costs.push(100.0 * warm.cost.0 / warm.cost.1);
        memory.push((alone.memory, alone.allowed));
    }
    let start = median(&mut starts);
    good &= start <= START_LIMIT;
    common::print(&format!(
        "Start: {start:.2} s from the program's start to the first mkfs, median of {} (at most {START_LIMIT} s)\n",
        starts.len()
    ))?;
    let cost = median(&mut costs);
    good &= cost <= COST_LIMIT;
    common::print(&format!(
        "Own cost: {cost:.2} % of one processor while guests run, median of {} (at most {COST_LIMIT} %)\n",
        costs.len()
    ))?;
    let (used, allowed) = memory.into_iter().max().unwrap_or_default();
    good &= used <= allowed + MEMORY_SLACK;
    common::print(&format!(
        "Memory: {} MiB for the largest guest (RAM and disk under test: {} MiB; at most 200 MiB more)\n",
        used >> 20,
        allowed >> 20
    ))?;
    Ok(if good { common::DONE } else { common::FAILED })
}

/// Number of figures that differ in any bit, and the largest relative difference; infinite if one is missing.
fn compare(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> (usize, f64) {
    let more = other.keys().filter(|key| !one.contains_key(*key)).count();
    let (mut differ, mut largest) = (more, if more > 0 { f64::INFINITY } else { 0.0 });
    for (key, bits) in one.iter().filter(|(key, bits)| other.get(*key) != Some(bits)) {
        let value = f64::from_bits(*bits);
        let spread = other.get(key).map_or(f64::INFINITY, |bits| {
            let other = f64::from_bits(*bits);
            (value - other).abs() / value.abs().max(other.abs())
        });
        differ += 1;
        largest = f64::max(largest, spread);
    }
    (differ, largest)
}

/// Prints the first figures that differ; `names` are of both.
fn print_differing(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>, names: [&str; 2]) -> Result<()> {
    for (key, value) in one.iter().filter(|(key, value)| other.get(*key) != Some(value)).take(5) {
        let other = other.get(key).map(|bits| f64::from_bits(*bits));
        common::print(&format!("         {key}: {} {}, {other:?} {}\n", f64::from_bits(*value), names[0], names[1]))?;
    }
    Ok(())
}

/// What a check asks for, in the virtual lab as it usually is: one repeat under varied conditions.
fn usual(fs: &str, suite: &str, disk: &str, kernel: &str) -> Options {
    Options {
        fs: vec![fs.to_owned()],
        suite: suite.to_owned(),
        lab: LabOptions::usual().lab,
        own: None,
        machine: LabOptions::usual().machine(),
        disk: Some(disk.to_owned()),
        disk_size: None,
        kernel: kernel.to_owned(),
        scale: Scale::ONE,
        repeats: 1,
        seed: 1,
        conditions: Way::Varied,
        corpus: None,
        fill: None,
        age: None,
    }
}

fn plan(catalogue: &Catalogue, options: &Options) -> Result<Plan> {
    Ok(mountmark_plan::plan(catalogue, options, &mut corpora(mountmark_corpus::realise))?)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs one plan and observes it.
fn observe(arguments: &Arguments, disk: &str, jobs: usize) -> Result<Seen> {
    let out = std::env::temp_dir().join(format!("mountmark-self-check-{}", std::process::id()));
    let begin = Instant::now();
    let mut child = Command::new("/proc/self/exe")
        .args(["run", "--suite", SUITE, "--repeat", "1", "--format", "json", "--verbose"])
        .args(["--fs", &arguments.fs, "--disk", disk, "--scale", &arguments.scale, "--kernel", &arguments.kernel])
        .args(["--jobs", &jobs.to_string(), "--out"])
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start this program again")?;
    let stderr = child.stderr.take().context("piped")?;
    let said = thread::spawn(move || {
        let mut start = None;
        let mut lines = Vec::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if start.is_none() && line.ends_with(": mkfs") {
                start = Some(begin.elapsed().as_secs_f64());
            }
            lines.push(line);
        }
        (start, lines)
    });
    let stdout = child.stdout.take().context("piped")?;
    let output = thread::spawn(move || std::io::read_to_string(stdout));
    let (cost, memory) = watch(&mut child)?;
    let status = child.wait()?;
    let (start, lines) = said.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    let _ = fs::remove_dir_all(&out);
    let text = output.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    let last = lines.last().map_or("", String::as_str);
    if status.code() == Some(i32::from(common::WRONG_USE)) {
        bail!(WrongUse(last.trim_start_matches("mountmark: ").to_owned()));
    }
    if !status.success() {
        bail!("a run on the disk {disk} failed ({status}): {last}");
    }
    let run: Value = serde_json::from_str(&text).context("a run printed no JSON")?;
    let mut figures = BTreeMap::new();
    for sample in run["samples"].as_array().context("a run's JSON has no samples")? {
        let key =
            ["configuration", "repeat", "task", "iteration", "metric"].map(|name| sample[name].to_string()).join(" ");
        figures.insert(key, sample["value"].as_f64().context("a sample without a value")?.to_bits());
    }
    // The second disk is not counted, which makes the check stricter.
    let ram = run["machine"]["ram"].as_u64().context("a run's JSON has no RAM")?;
    let allowed = ram + run["cells"][0]["disk_size"].as_u64().context("a cell without a disk size")?;
    Ok(Seen { figures, start: start.context("no mkfs was seen")?, cost, memory, allowed })
}

/// Own processor time and wall time while guests run, and the largest guest's memory, sampled until the end.
fn watch(child: &mut Child) -> Result<((f64, f64), u64)> {
    let pid = child.id();
    let mut first: Option<(f64, Instant)> = None;
    let mut cost = (0.0, f64::MIN_POSITIVE);
    let mut memory = 0;
    while child.try_wait()?.is_none() {
        let guests = children(pid);
        if let Some(own) = processor_time(pid).filter(|_| !guests.is_empty()) {
            let (begin, since) = *first.get_or_insert((own, Instant::now()));
            cost = (own - begin, since.elapsed().as_secs_f64().max(f64::MIN_POSITIVE));
        }
        memory = guests.iter().filter_map(|guest| resident(*guest)).max().unwrap_or(0).max(memory);
        thread::sleep(Duration::from_millis(200));
    }
    Ok((cost, memory))
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Seconds of user and system time without children: fields 14 and 15 of /proc/PID/stat, in hundredths (proc(5)).
fn processor_time(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
}

fn resident(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

fn with_busy_processors<T>(count: usize, work: impl FnOnce() -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    hint::black_box(0);
                }
            })
        })
        .collect();
    let result = work();
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        let _ = thread.join();
    }
    result
}
