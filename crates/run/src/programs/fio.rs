//! fio 3: output of `--output-format=json`.
//!
//! One figure per job name; jobs with the same name (`numjobs`) are combined. If a job both reads and writes,
//! `NAME/read` and `NAME/write` follow it, since latencies of two kinds cannot be combined. fio's `bw_bytes` and `iops`
//! are over the job's own run time; percentiles are of completion (`clat_ns`), mean, least and largest of the whole
//! operation (`lat_ns`).

use std::collections::BTreeMap;

use mountmark_model::Metric;
use serde::Deserialize;

use super::{Figure, Unparsed, absent, lines, shorten};

const NAME: &str = "fio";

#[derive(Deserialize)]
struct Report {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    /// Absent if fio reserves more entries than it fills: with `stats=0`, and if `group_reporting` is on for only some
    /// jobs of a group.
    #[serde(default)]
    jobname: String,
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
    bw_bytes: f64,
    iops: f64,
    runtime: f64,
    total_ios: f64,
    lat_ns: Times,
    clat_ns: Times,
}

#[derive(Deserialize)]
struct Sync {
    #[serde(default)]
    total_ios: f64,
}

#[derive(Deserialize)]
struct Times {
    min: f64,
    max: f64,
    mean: f64,
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
    let mut names: Vec<&str> = Vec::new();
    for job in &report.jobs {
        if job.error != 0 {
            let error = std::io::Error::from_raw_os_error(job.error as i32);
            return Err(absent(NAME, format!("figures of the job {:?}, which failed: {error}", job.jobname), text));
        }
        if !names.contains(&job.jobname.as_str()) {
            names.push(&job.jobname);
        }
    }
    let mut figures = Vec::new();
    for name in names {
        let jobs: Vec<&Job> = report.jobs.iter().filter(|job| job.jobname == name).collect();
        figures.extend(together(name, &jobs));
    }
    Ok(figures)
}

type Part = fn(&Job) -> &Direction;

/// The figures of all jobs of one name.
fn together(name: &str, jobs: &[&Job]) -> Vec<Figure> {
    let directions: [(&str, Part, Metric); 3] = [
        ("read", |job| &job.read, Metric::READ_OPERATIONS),
        ("write", |job| &job.write, Metric::WRITE_OPERATIONS),
        ("trim", |job| &job.trim, Metric::OPERATIONS),
    ];
    let moved: Vec<_> =
        directions.iter().filter(|(_, part, _)| jobs.iter().any(|job| part(job).total_ios > 0.0)).collect();
    if moved.is_empty() {
        return vec![Figure::missing(name, "fio reports no read, write or trim of this job")];
    }
    let mut total = Figure::new(name);
    let sum = |of: &dyn Fn(&Direction) -> f64| -> f64 {
        moved.iter().map(|(_, part, _)| jobs.iter().map(|job| of(part(job))).sum::<f64>()).sum()
    };
    total.put(Metric::RATE, sum(&|direction| direction.bw_bytes) / 1024.0);
    total.put(Metric::OPERATION_RATE, sum(&|direction| direction.iops));
    total.put(Metric::OPERATIONS, sum(&|direction| direction.total_ios));
    let longest = moved.iter().flat_map(|(_, part, _)| jobs.iter().map(|job| part(job).runtime)).fold(0.0, f64::max);
    total.put(Metric::MEASURED, longest / 1e3);
    // fio's shares refer to each job's own time; jobs with one name run at the same time. With group_reporting they are
    // one entry whose share refers to the sum of their times.
    let times = |job: &Job| directions.iter().map(|(_, part, _)| part(job).runtime).fold(0.0, f64::max);
    let side_by_side = |job: &Job| if times(job) > 0.0 { (job.job_runtime / times(job)).max(1.0) } else { 1.0 };
    total.put(Metric::CPU_PERCENT, jobs.iter().map(|job| (job.usr_cpu + job.sys_cpu) * side_by_side(job)).sum());
    let syncs: f64 = jobs.iter().filter_map(|job| job.sync.as_ref()).map(|sync| sync.total_ios).sum();
    if syncs > 0.0 {
        total.put(Metric::SYNC_OPERATIONS, syncs);
    }
    let mut parts = Vec::new();
    for (word, part, count) in moved.iter().copied() {
        let mut figure = Figure::new(format!("{name}/{word}"));
        let all = |of: &dyn Fn(&Direction) -> f64| -> f64 { jobs.iter().map(|job| of(part(job))).sum() };
        let rate = all(&|direction| direction.bw_bytes) / 1024.0;
        figure.put(Metric::RATE, rate);
        figure.put(Metric::OPERATION_RATE, all(&|direction| direction.iops));
        figure.put(Metric::OPERATIONS, all(&|direction| direction.total_ios));
        latencies(&mut figure, &jobs.iter().map(|job| part(job)).collect::<Vec<_>>());
        match *word {
            "read" => total.put(Metric::READ_RATE, rate),
            "write" => total.put(Metric::WRITE_RATE, rate),
            _ => {}
        }
        if *word != "trim" {
            total.put(*count, all(&|direction| direction.total_ios));
        }
        parts.push(figure);
    }
    if let [only] = &parts[..] {
        for (metric, value) in &only.values {
            total.values.entry(metric.clone()).or_insert(*value);
        }
        return vec![total];
    }
    std::iter::once(total).chain(parts).collect()
}

/// Latencies of single operations. Percentiles of several jobs cannot be combined.
fn latencies(figure: &mut Figure, jobs: &[&Direction]) {
    let done: Vec<&&Direction> = jobs.iter().filter(|job| job.total_ios > 0.0).collect();
    let count: f64 = done.iter().map(|job| job.total_ios).sum();
    if count == 0.0 || done.iter().all(|job| job.lat_ns.max == 0.0) {
        return;
    }
    figure.put(Metric::LATENCY_MIN, done.iter().map(|job| job.lat_ns.min).fold(f64::INFINITY, f64::min) / 1e9);
    figure.put(Metric::LATENCY_MAX, done.iter().map(|job| job.lat_ns.max).fold(0.0, f64::max) / 1e9);
    figure.put(Metric::LATENCY_MEAN, done.iter().map(|job| job.lat_ns.mean * job.total_ios).sum::<f64>() / count / 1e9);
    let [only] = done[..] else { return };
    for (key, metric) in [
        ("50.000000", Metric::LATENCY_P50),
        ("90.000000", Metric::LATENCY_P90),
        ("95.000000", Metric::LATENCY_P95),
        ("99.000000", Metric::LATENCY_P99),
        ("99.900000", Metric::LATENCY_P99_9),
    ] {
        if let Some(value) = only.clat_ns.percentile.get(key) {
            figure.put(metric, value / 1e9);
        }
    }
}
