//! Shared by several commands: exit codes, options, locations.

/// Writes an escaped line to standard error, like `eprintln!`, but ignores errors, since a missing reader is no reason
/// to end.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), "{}", $crate::terminal::line(&format!($($text)*)));
    }};
}

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use mountmark_document::forms::{Form, Subject};
use mountmark_document::writers::Options as ReportOptions;
use mountmark_findings::{Format, Run, Survive, find_metric, surviving};
use mountmark_model::{Bytes, Metric, ParseQuantityError};
use mountmark_record::{RunRecord, Store};

use crate::terminal;

/// Success.
pub const DONE: u8 = 0;
/// A measured task or cell failed.
pub const FAILED: u8 = 1;
/// The command was used incorrectly.
pub const WRONG_USE: u8 = 2;
/// It cannot run here; the message says what is missing and how to correct it.
pub const CANNOT_RUN: u8 = 3;

/// An error caused by a wrong option or file of the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

/// Options of everything that reads or writes results.
#[derive(Args, Clone, Debug)]
pub struct StoreOptions {
    /// Folder of the results store [default: $XDG_DATA_HOME/mountmark or ~/.local/share/mountmark]
    #[arg(long, value_name = "FOLDER", env = "MOUNTMARK_OUT", global = true)]
    pub out: Option<PathBuf>,
}

impl StoreOptions {
    /// The store's folder.
    pub fn folder(&self) -> PathBuf {
        let folder = self.out.clone().or_else(|| mountmark_input::own_folder("XDG_DATA_HOME", ".local/share"));
        folder.unwrap_or_else(|| PathBuf::from("mountmark-results"))
    }

    /// The store's file.
    pub fn path(&self) -> PathBuf {
        self.folder().join("results.sqlite")
    }

    /// The store, created if missing.
    pub fn open(&self) -> Result<Store> {
        Ok(Store::open(self.path())?)
    }

    /// The store, unchanged.
    pub fn open_read_only(&self) -> Result<Store> {
        Ok(Store::open_read_only(self.path())?)
    }

    /// A run, or a side of one that compares: `latest#old`.
    pub fn load(&self, run: &str) -> Result<RunRecord> {
        let store = self.open_read_only()?;
        let (name, side) = run.rsplit_once('#').map_or((run, None), |(name, side)| (name, Some(side)));
        let whole = store.load(&store.resolve(name)?)?;
        let Some(side) = side else { return Ok(whole) };
        let (id, sides) = (whole.id.clone(), whole.plan.sides.join(", "));
        let has = if sides.is_empty() {
            "it has none, which run --compare makes".to_owned()
        } else {
            format!("it has {sides}")
        };
        Ok(whole.of_side(side).ok_or_else(|| WrongUse(format!("run {id} has no side {side:?}; {has}")))?)
    }
}

/// What `--disk-size` says. Disks have whole pages, and what vendors call 4 GB is not a multiple of them.
pub fn disk_size(text: &str) -> Result<Bytes, ParseQuantityError> {
    Ok(whole_pages(text.parse()?))
}

/// A size rounded up to whole pages.
pub fn whole_pages(Bytes(size): Bytes) -> Bytes {
    Bytes(size.checked_next_multiple_of(4096).unwrap_or(size))
}

/// ` --out FOLDER` unless the store is in the default folder, to be appended to a command.
pub fn out_option(store: &Path) -> String {
    match store.parent() {
        Some(folder) if store != (StoreOptions { out: None }).path() => {
            format!(" --out {}", mountmark_findings::shell_word(&folder.to_string_lossy()))
        }
        _ => String::new(),
    }
}

/// Rankings among equals.
#[derive(Args, Clone, Debug, Default)]
pub struct SurviveOptions {
    /// Only file systems on which this survives a power cut, by their documents and by power cuts that were tried: fsync (what a
    /// returned fsync covers), rename (that, and a file replaced by a rename is whole), everything-returned (mounted with sync)
    #[arg(long, value_name = "WHAT")]
    survive: Option<Survive>,
}

impl SurviveOptions {
    /// Whether it leaves out anything.
    pub fn is_given(&self) -> bool {
        self.survive.is_some()
    }

    /// The run without what does not survive; a sentence each on standard error about what is left out.
    pub fn keep(&self, run: RunRecord) -> Result<RunRecord> {
        let Some(survive) = self.survive else { return Ok(run) };
        let known = run.plan.skipped.len();
        let run = surviving(run, survive).map_err(anyhow::Error::msg)?;
        for (name, reason) in &run.plan.skipped[known..] {
            say!("mountmark: {name} is {reason}");
        }
        Ok(run)
    }
}

/// Options of everything that prints figures.
#[derive(Args, Clone, Debug, Default)]
pub struct FormatOptions {
    /// How to print: table, markdown, csv, json, html, bencher or github-action-benchmark [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Which figure tables show; `mountmark list metrics` has them all [default: the figure by which each task is judged;
    /// before it, where the task syncs, the mean time of a sync]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
}

impl FormatOptions {
    /// Rejects unknown names, and a metric for a format with all metrics, before any work is done.
    pub fn check(&self) -> Result<()> {
        let format = format_of::<Run>(self.format.as_deref())?;
        self.metric()?;
        if matches!(format.form(), Form::Rows | Form::Object) && self.metric.is_some() {
            let format = format.name();
            return Err(WrongUse(format!("--metric chooses the figure of tables, and {format} has them all")).into());
        }
        Ok(())
    }

    /// The requested metric.
    fn metric(&self) -> Result<Option<&'static Metric>> {
        let metric = self.metric.as_deref().map(find_metric).transpose();
        Ok(metric.map_err(|error| WrongUse(format!("--metric: {error}")))?)
    }

    /// The run as text.
    pub fn render(&self, run: &RunRecord) -> Result<String> {
        self.check()?;
        let (subject, format) = (Run { run, metric: self.metric()? }, self.format.as_deref());
        let text = written(&subject, format)?;
        if format_of::<Run>(format)?.form() == Form::Gauges {
            say_left_out(&subject, format.unwrap_or_default(), &text)?;
        }
        Ok(text)
    }
}

/// Says how many figures a list for another program leaves out, and refuses an empty one, with which it would go on.
fn say_left_out(run: &Run, format: &str, text: &str) -> Result<()> {
    let all = Run::GAUGES.map_or(0, |of| of(run).len());
    let listed: serde_json::Value = serde_json::from_str(text)?;
    let left = listed.as_array().map_or(0, |list| all - list.len());
    let figures = mountmark_model::counted(all, "figure");
    match left {
        _ if all == 0 => {
            Err(WrongUse(format!("--format {format}: run {} has no figure that is asked for", run.run.id)).into())
        }
        all_of_them if all_of_them == all => Err(WrongUse(format!(
            "--format {format}: nothing is left of {figures}, as more is better of each: take --format bencher"
        ))
        .into()),
        0 => Ok(()),
        left => {
            say!(
                "mountmark: --format {format} leaves out {left} of {figures}, of which more is better; bencher has all"
            );
            Ok(())
        }
    }
}

/// The format of a subject by name, or its default.
pub fn format_of<S: Subject>(name: Option<&str>) -> Result<Format> {
    Ok(Format::find::<S>(name).map_err(|error| WrongUse(format!("--format: {error}")))?)
}

/// The number of `2%` or `0.5 %`.
pub fn percent(text: &str) -> Option<f64> {
    text.trim().strip_suffix('%')?.trim_end().parse().ok()
}

/// `90s`, `30m`, `2h`, or seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time such as 90s, 30m or 2h");
    let (number, unit) = match text.find(|sign: char| sign.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).filter(|seconds| *seconds <= 30 * 86_400).map(Duration::from_secs).ok_or_else(wrong)
}

/// A subject as text, for standard output.
pub fn written<S: Subject>(subject: &S, format: Option<&str>) -> Result<String> {
    format_of::<S>(format)?.write(subject, &report_options())
}

/// Prints a subject; returns the exit code of success.
pub fn show<S: Subject>(subject: &S, format: Option<&str>) -> Result<u8> {
    print(&written(subject, format)?)?;
    Ok(DONE)
}

/// The command line in a form that can be typed anywhere: `mountmark` whatever the program's file is called, with words
/// quoted for a shell, and without the store's folder, which does not affect results.
pub fn command_line(arguments: impl IntoIterator<Item = String>) -> String {
    let mut words = vec!["mountmark".to_owned()];
    let mut arguments = arguments.into_iter().skip(1);
    // What stands behind `--` is the user's own command.
    let mut is_own = false;
    while let Some(argument) = arguments.next() {
        is_own |= argument == "--";
        if argument == "--out" && !is_own {
            arguments.next();
        } else if is_own || !argument.starts_with("--out=") {
            words.push(mountmark_findings::shell_word(&argument));
        }
    }
    words.join(" ")
}

/// Words quoted for a shell, in a line.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| mountmark_findings::shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// The command line of this process, in that form.
pub fn own_command_line() -> String {
    command_line(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}

/// Lines, colours and width that standard output supports.
pub fn report_options() -> ReportOptions {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((width, _)) => usize::from(width.0),
        _ => std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(120),
    };
    ReportOptions { terminal, color, width }
}

/// Prints to standard output: exact bytes to a pipe or a file, escaped text to a terminal.
pub fn print(text: &str) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let written =
        if out.is_terminal() { out.write_all(terminal::page(text).as_bytes()) } else { out.write_all(text.as_bytes()) };
    taken(written)
}

/// Whether standard output took what was written. A reader that has gone away is no error.
pub fn taken(result: std::io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Why two runs are not of the same work: each reason, and all of them in one sentence without its end.
pub fn other_work(before: &RunRecord, after: &RunRecord) -> Option<(Vec<String>, String)> {
    let reasons: Vec<String> = mountmark_findings::changes::incomparable(before, after)
        .iter()
        .map(mountmark_findings::changes::say::incomparable)
        .collect();
    let sentence = format!("{} and {} are not of the same work: {}", before.id, after.id, reasons.join("; "));
    (!reasons.is_empty()).then_some((reasons, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        command_line(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn times_are_read_and_nonsense_is_refused() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("30m"), Ok(Duration::from_secs(1800)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "m", "-1s", "1d", "1.5h", "10x", "99999999999999999999h", "800h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn command_lines_can_be_typed_anywhere() {
        let typed = ["/tmp/target/release/mountmark", "run", "--out", "/tmp/store", "--fs", "ext4,xfs"];
        assert_eq!(of(&typed), "mountmark run --fs ext4,xfs");
        assert_eq!(of(&["./mountmark", "run", "--out=store", "--repeat", "3"]), "mountmark run --repeat 3");
        assert_eq!(of(&["mountmark", "run", "--suite", "my suite's"]), "mountmark run --suite 'my suite'\\''s'");
        assert_eq!(of(&["mountmark", "run", "--scale", "0.1", "--out"]), "mountmark run --scale 0.1");
        assert_eq!(of(&["mountmark", "run", "--out=s", "--", "x", "--out", "y"]), "mountmark run -- x --out y");
    }
}
