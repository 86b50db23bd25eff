//! fio 3: output of `--output-format=json`.
//!
//! One figure per job name; jobs with the same name (`numjobs`) that run together are combined. Those of another group,
//! which run one after the other, are figures of their own: `NAME#2`. If a job both reads and writes, `NAME/read` and
//! `NAME/write` follow it, since latencies of two kinds cannot be combined. fio's `bw_bytes` and `iops` are over the
//! job's own run time; percentiles are of completion (`clat_ns`), mean, least and largest of the whole operation
//! (`lat_ns`). Syncs are in neither: they have latencies of their own, but not if some are sync_file_range, which makes
//! nothing durable and which fio counts among them. The sync of `end_fsync` is in the job's run time alone.
//!
//! A figure has a rate only where that was measured: not if the job fixes it, nor if fio's clock is too coarse for it.

use std::collections::BTreeMap;

use mountmark_model::Metric;
use serde::Deserialize;

use super::{Figure, Unparsed, absent, lines, shorten};

const NAME: &str = "fio";

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, String>,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    /// Absent if fio reserves more entries than it fills: with `stats=0`, and if `group_reporting` is on for only some
    /// jobs of a group.
    #[serde(default)]
    jobname: String,
    #[serde(default)]
    groupid: i64,
    /// Of the first job, if several are reported together.
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, String>,
    error: i64,
    read: Direction,
    write: Direction,
    trim: Direction,
    #[serde(default)]
    sync: Option<Sync>,
    usr_cpu: f64,
    sys_cpu: f64,
    /// Milliseconds, summed over the jobs of the entry.
    #[serde(default)]
    job_runtime: f64,
}

#[derive(Deserialize)]
struct Direction {
    io_bytes: f64,
    bw_bytes: f64,
    iops: f64,
    /// Whole milliseconds.
    runtime: f64,
    total_ios: f64,
    lat_ns: Times,
    clat_ns: Times,
}

#[derive(Deserialize)]
struct Sync {
    #[serde(default)]
    lat_ns: Times,
}

#[derive(Default, Deserialize)]
struct Times {
    min: f64,
    max: f64,
    mean: f64,
    /// How many were timed. Of syncs it is their only count: their `total_ios` is 0 unless an engine queues them.
    #[serde(rename = "N", default)]
    count: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    // Warnings come first.
    let start = lines(NAME, text).find(|line| line.text.starts_with('{'));
    let start = start.ok_or_else(|| absent(NAME, "JSON (is --output-format=json given?)", text))?;
    let before: usize = text.split_inclusive('\n').take(start.number - 1).map(str::len).sum();
    let mut documents = serde_json::Deserializer::from_str(&text[before..]).into_iter::<Report>();
    let mut report = match documents.next() {
        Some(Ok(report)) => report,
        Some(Err(error)) => {
            let number = start.number - 1 + error.line().max(1);
            let line = text.lines().nth(number - 1).unwrap_or_default();
            let expected = format!("fio's JSON ({})", shorten(&error.to_string()));
            return Err(Unparsed::Line { program: NAME, number, text: shorten(line.trim()), expected });
        }
        None => return Err(absent(NAME, "JSON", text)),
    };
    report.jobs.retain(|job| !job.jobname.is_empty());
    if report.jobs.is_empty() {
        return Err(absent(NAME, "job", text));
    }
    let mut names: Vec<(&str, i64)> = Vec::new();
    for job in &report.jobs {
        if job.error != 0 {
            let error = std::io::Error::from_raw_os_error(job.error as i32);
            return Err(absent(NAME, format!("figures of the job {:?}, which failed: {error}", job.jobname), text));
        }
        if !names.contains(&(&job.jobname, job.groupid)) {
            names.push((&job.jobname, job.groupid));
        }
    }
    let mut figures = Vec::new();
    for (at, (name, group)) in names.iter().enumerate() {
        let jobs: Vec<&Job> = report.jobs.iter().filter(|job| job.jobname == *name && job.groupid == *group).collect();
        let before = names[..at].iter().filter(|(other, _)| other == name).count();
        let shown = if before == 0 { (*name).to_owned() } else { format!("{name}#{}", before + 1) };
        let option = |key: &str| jobs.iter().find_map(|job| job.options.get(key)).or(report.global.get(key));
        figures.extend(together(&shown, &jobs, Terms::of(&option)));
    }
    Ok(figures)
}

/// What a job's options say about its figures.
struct Terms {
    /// Whether an operation is one on a name, and moves nothing whatever fio counts.
    on_names: bool,
    /// The option that fixes the rate.
    fixed: Option<String>,
    /// Whether what fio counts as syncs makes data durable.
    syncs: bool,
}

impl Terms {
    fn of<'a>(option: &dyn Fn(&str) -> Option<&'a String>) -> Terms {
        const ON_NAMES: [&str; 6] = ["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];
        let fixes = |key: &&str| option(key).is_some_and(|value| value.contains(|c| matches!(c, '1'..='9')));
        let fixed = ["rate", "rate_iops", "thinktime"].iter().find(|key| fixes(key));
        Terms {
            on_names: option("ioengine").is_some_and(|engine| ON_NAMES.contains(&engine.as_str())),
            fixed: fixed.and_then(|key| Some(format!("{key}={}", option(key)?))),
            syncs: option("sync_file_range").is_none(),
        }
    }

    /// Whether any of these did something: fio also counts reads at which there was nothing to read.
    fn moved(&self, jobs: &[&Direction]) -> bool {
        jobs.iter().any(|part| part.total_ios > 0.0 && (part.io_bytes > 0.0 || self.on_names))
    }

    /// Why there is no rate of what took `ticks` milliseconds.
    fn unknown_rate(&self, ticks: f64) -> Option<String> {
        let coarse = || {
            format!(
                "fio counts whole milliseconds, and this took {ticks} of them: too few for a rate (at least \
                 {LEAST_TICKS}); let it do more"
            )
        };
        let fixed = self.fixed.as_ref().map(|option| format!("the job fixes its rate by {option}"));
        fixed.or_else(|| (ticks < LEAST_TICKS).then(coarse))
    }
}

/// Milliseconds that limit the error of a rate to 1 %.
const LEAST_TICKS: f64 = 100.0;

type Part = fn(&Job) -> &Direction;

const DIRECTIONS: [(&str, Part, Metric); 3] = [
    ("read", |job| &job.read, Metric::READ_OPERATIONS),
    ("write", |job| &job.write, Metric::WRITE_OPERATIONS),
    ("trim", |job| &job.trim, Metric::OPERATIONS),
];

/// The figures of all jobs of one name.
fn together(name: &str, jobs: &[&Job], terms: Terms) -> Vec<Figure> {
    let of = |part: &Part| -> Vec<&Direction> { jobs.iter().map(|job| part(job)).collect() };
    let moved: Vec<_> = DIRECTIONS.iter().filter(|(_, part, _)| terms.moved(&of(part))).collect();
    if moved.is_empty() {
        let tried = jobs.iter().any(|job| DIRECTIONS.iter().any(|(_, part, _)| part(job).total_ios > 0.0));
        let reason = match tried {
            true => "its operations moved no data, so there is no rate (do its files hold what it reads?)",
            false => "fio reports no read, write or trim of this job",
        };
        return vec![Figure::missing(name, reason)];
    }
    let all: Vec<&Direction> = moved.iter().flat_map(|(_, part, _)| of(part)).collect();
    let mut total = directed(name, &all, &terms);
    // fio's shares refer to each job's own time; jobs with one name run at the same time. With group_reporting they are
    // one entry whose share refers to the sum of their times.
    let times = |job: &Job| DIRECTIONS.iter().map(|(_, part, _)| part(job).runtime).fold(0.0, f64::max);
    let side_by_side = |job: &Job| if times(job) > 0.0 { (job.job_runtime / times(job)).max(1.0) } else { 1.0 };
    total.put(Metric::CPU_PERCENT, jobs.iter().map(|job| (job.usr_cpu + job.sys_cpu) * side_by_side(job)).sum());
    let syncs =
        jobs.iter().filter_map(|job| Some(&job.sync.as_ref()?.lat_ns)).filter(|times| times.count > 0.0 && terms.syncs);
    let syncs: Vec<_> = syncs.map(|times| (times.count, times, times)).collect();
    if !syncs.is_empty() {
        total.put(Metric::SYNC_OPERATIONS, syncs.iter().map(|(count, _, _)| count).sum());
        latencies(&mut total, &syncs, &OF_SYNCS);
    }
    let mut parts = Vec::new();
    for (word, part, count) in moved {
        let mut figure = directed(&format!("{name}/{word}"), &of(part), &terms);
        let timed = of(part).into_iter().filter(|part| part.total_ios > 0.0);
        // Engines that work on names have no time of the whole operation.
        let whole = |part: &'_ Direction| part.lat_ns.max > 0.0;
        let timed =
            timed.map(|part| (part.total_ios, if whole(part) { &part.lat_ns } else { &part.clat_ns }, &part.clat_ns));
        latencies(&mut figure, &timed.collect::<Vec<_>>(), &OF_OPERATIONS);
        let rate = of(part).iter().map(|part| part.bw_bytes).sum::<f64>() / 1024.0;
        let is_known = !terms.on_names && of(part).iter().any(|part| part.runtime >= LEAST_TICKS);
        match *word {
            "read" if is_known => total.put(Metric::READ_RATE, rate),
            "write" if is_known => total.put(Metric::WRITE_RATE, rate),
            _ => {}
        }
        if *word != "trim" && !terms.on_names {
            total.put(*count, of(part).iter().map(|part| part.total_ios).sum());
        }
        parts.push(figure);
    }
    if let [only] = &parts[..] {
        for (metric, value) in &only.values {
            total.values.entry(metric.clone()).or_insert(*value);
        }
        parts.clear();
    }
    std::iter::once(total).chain(parts).map(Figure::with_something_to_judge).collect()
}

/// Rates and counts of some directions of jobs.
fn directed(name: &str, all: &[&Direction], terms: &Terms) -> Figure {
    let mut figure = Figure::new(name);
    let sum = |of: fn(&Direction) -> f64| -> f64 { all.iter().map(|direction| of(direction)).sum() };
    let longest = all.iter().map(|direction| direction.runtime).fold(0.0, f64::max);
    figure.put(Metric::OPERATIONS, sum(|direction| direction.total_ios));
    figure.put(Metric::MEASURED, longest / 1e3);
    figure.note = terms.unknown_rate(longest);
    let (data, operations) = (sum(|direction| direction.bw_bytes) / 1024.0, sum(|direction| direction.iops));
    if figure.note.is_none() {
        figure.put(Metric::RATE, if terms.on_names { operations } else { data });
    }
    // Where the rate is of operations, it is this one.
    if !terms.on_names && longest >= LEAST_TICKS {
        figure.put(Metric::OPERATION_RATE, operations);
    }
    figure
}

/// Metrics of latencies: mean, least if it has one, largest, and percentiles by fio's names.
struct Names {
    mean: Metric,
    least: Option<Metric>,
    largest: Metric,
    percentiles: &'static [(&'static str, Metric)],
}

const OF_OPERATIONS: Names = Names {
    mean: Metric::LATENCY_MEAN,
    least: Some(Metric::LATENCY_MIN),
    largest: Metric::LATENCY_MAX,
    percentiles: &[
        ("50.000000", Metric::LATENCY_P50),
        ("90.000000", Metric::LATENCY_P90),
        ("95.000000", Metric::LATENCY_P95),
        ("99.000000", Metric::LATENCY_P99),
        ("99.900000", Metric::LATENCY_P99_9),
    ],
};

const OF_SYNCS: Names = Names {
    mean: Metric::SYNC_LATENCY_MEAN,
    least: None,
    largest: Metric::SYNC_LATENCY_MAX,
    percentiles: &[
        ("50.000000", Metric::SYNC_LATENCY_P50),
        ("95.000000", Metric::SYNC_LATENCY_P95),
        ("99.000000", Metric::SYNC_LATENCY_P99),
        ("99.900000", Metric::SYNC_LATENCY_P99_9),
    ],
};

/// Latencies of single operations: of each job their number, the times of the whole, and those with percentiles.
/// Percentiles of several jobs cannot be combined.
fn latencies(figure: &mut Figure, jobs: &[(f64, &Times, &Times)], names: &Names) {
    let count: f64 = jobs.iter().map(|(count, _, _)| count).sum();
    if count == 0.0 || jobs.iter().all(|(_, times, _)| times.max == 0.0) {
        return;
    }
    if let Some(least) = names.least {
        figure.put(least, jobs.iter().map(|(_, times, _)| times.min).fold(f64::INFINITY, f64::min) / 1e9);
    }
    figure.put(names.largest, jobs.iter().map(|(_, times, _)| times.max).fold(0.0, f64::max) / 1e9);
    figure.put(names.mean, jobs.iter().map(|(of_job, times, _)| times.mean * of_job).sum::<f64>() / count / 1e9);
    let [(_, _, only)] = jobs else { return };
    for (key, metric) in names.percentiles {
        if let Some(value) = only.percentile.get(*key) {
            figure.put(*metric, value / 1e9);
        }
    }
}
