//! Figures of other programs, parsed from their output.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Seen;
use super::ours::{NAMES, SECONDS};

fn printed(program: &str, arguments: &[String]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn fio_version() -> String {
    printed("fio", &["--version".into()]).map_or_else(|| "not installed".into(), |text| text.trim().into())
}

/// Random reads by fio, with its default accounting of latencies. `invalidate=0` keeps the file in the page cache.
pub fn fio(file: &Path, more: &[&str]) -> Option<Seen> {
    let mut arguments: Vec<String> =
        ["--name=reads", "--rw=randread", "--bs=4k", "--time_based=1", "--invalidate=0", "--output-format=json"]
            .map(Into::into)
            .into();
    arguments.push(format!("--runtime={SECONDS}"));
    arguments.push(format!("--filename={}", file.display()));
    arguments.extend(more.iter().map(|more| (*more).to_owned()));
    let text = printed("fio", &arguments)?;
    let json: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    let job = &json["jobs"][0];
    let rate = job["read"]["iops"].as_f64()?;
    let busy = (job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?) / 100.0;
    Some(Seen { rate, cpu: Some(busy * 1e9 / rate) })
}

/// fs_mark's files a second, or its mean time of unlink, without syncs (`-S 0`) and without data. Its times are whole
/// microseconds.
pub fn fs_mark(folder: &Path, what: &str) -> Option<Seen> {
    let directory = folder.join("fs_mark");
    let arguments = ["-d", &directory.display().to_string(), "-n", &NAMES.to_string(), "-s", "0", "-S", "0", "-v"]
        .map(String::from);
    std::fs::create_dir_all(&directory).ok()?;
    let text = Command::new("fs_mark").args(arguments).current_dir(folder).output().ok();
    let _ = std::fs::remove_dir_all(&directory);
    let text = String::from_utf8_lossy(&text?.stdout).into_owned();
    // The header names the columns, each with minimum, mean and maximum in microseconds; the figures are the last line.
    let head = text.lines().find(|line| line.contains("CREAT"))?;
    let figures: Vec<f64> = text.lines().last()?.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // FSUse%, Count, Size, Files/sec and App Overhead come first.
    if what == "create" {
        return figures.get(3).map(|rate| Seen { rate: *rate, cpu: None });
    }
    let before = head.split_whitespace().take_while(|word| !word.starts_with("UNLINK"));
    let column = before.filter(|word| word.contains("(Min/Avg/Max)")).count();
    let mean = figures.get(5 + 3 * column + 1)?;
    (*mean > 0.0).then(|| Seen { rate: 1e6 / mean, cpu: None })
}

/// Bonnie++'s sequential create, stat or delete of empty files.
pub fn bonnie(folder: &Path, what: &str) -> Option<Seen> {
    let directory = folder.join("bonnie");
    std::fs::create_dir_all(&directory).ok()?;
    // Counts are in units of 1024 files; Bonnie++ prints no figure for a test of less than half a second.
    let count = if what == "stat" { "600:0:0:1" } else { "150:0:0:1" };
    let arguments = ["-u", "root", "-d", &directory.display().to_string(), "-s", "0", "-n", count, "-q"];
    let text = printed("bonnie++", &arguments.map(String::from));
    let _ = std::fs::remove_dir_all(&directory);
    let text = text?;
    let line = text.lines().last()?;
    let fields: Vec<&str> = line.split(',').collect();
    // Version 2's line: the rates of creating, reading and deleting in order are fields 26, 28 and 30, from 0.
    let field = match what {
        "create" => 26,
        "stat" => 28,
        _ => 30,
    };
    fields.get(field)?.parse().ok().map(|rate| Seen { rate, cpu: None })
}
