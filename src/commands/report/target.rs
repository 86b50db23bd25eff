//! Where a report goes, and in which format.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mountmark_document::forms::Form;
use mountmark_findings::{Format, Reports};
use mountmark_model::Study;
use mountmark_record::RunRecord;

use super::Arguments;
use crate::common::{self, WrongUse};
use crate::written;

/// The requested format, by name or by the file's extension.
pub(super) fn format(arguments: &Arguments) -> Result<Format> {
    let given = arguments.format.as_deref().map(|name| common::format_of::<Reports>(Some(name))).transpose()?;
    let path = arguments.output.as_deref().filter(|path| fs::metadata(path).map_or(true, |about| about.is_file()));
    let Some((path, ending)) = path.and_then(|path| Some((path, path.extension()?.to_string_lossy().to_lowercase())))
    else {
        let page = Format::by_form::<Reports>(Form::Page).expect("a report is a page");
        return Ok(given.unwrap_or(page));
    };
    let shown = path.display();
    match (given, Format::by_ending::<Reports>(&ending)) {
        (None, Some(meant)) => Ok(meant),
        (None, None) => bail!(WrongUse(format!("--output {shown}: no report is a .{ending}; name its --format"))),
        (Some(given), Some(meant)) if given.name() != meant.name() => bail!(WrongUse(format!(
            "--output {shown} ends like a report in {}, and --format is {}: make them agree",
            meant.name(),
            given.name()
        ))),
        (Some(given), _) => Ok(given),
    }
}

/// Where it goes.
pub(super) enum Target {
    Stdout,
    File(PathBuf),
}

/// The file that is named, or the usual one: of the first run, or of the study where there is no run.
pub(super) fn target(arguments: &Arguments, format: Format, runs: &[RunRecord], study: Option<&Study>) -> Target {
    match &arguments.output {
        Some(path) if path.as_os_str() == "-" => Target::Stdout,
        Some(path) => Target::File(path.clone()),
        None if format.form() != Form::Page => Target::Stdout,
        None => {
            let more = if runs.len() > 1 { format!("-and-{}-more", runs.len() - 1) } else { String::new() };
            let first = runs.first().map(|run| run.id.as_str()).or(study.map(|study| study.name.as_str()));
            Target::File(format!("report-{}{more}.{}", first.unwrap_or("claims"), format.ending()).into())
        }
    }
}

/// Refuses what could not be written, and a foreign file.
pub(super) fn check(path: &Path, format: Format) -> Result<()> {
    written::check("--output", path, &format!("{} report", format.name()), &|start| format.is_ours(start))
}
