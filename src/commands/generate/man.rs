//! Man pages, one of each command.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use roff::{Roff, roman};

use crate::commands::command_line;
use crate::written;

/// What stands in each page behind what its command says itself.
const PLACES: &[(&str, &str)] = &[
    ("~/.local/share/mountmark/results.sqlite", "The results store; --out and MOUNTMARK_OUT name another folder."),
    (
        "~/.cache/mountmark/",
        "Packages, kernels and images, which can be made again; MOUNTMARK_CACHE names another folder.",
    ),
    ("~/.config/mountmark/catalog/", "Definitions of the user's own, such as suites."),
];

/// Writes the pages of all commands into a folder.
pub fn write(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut command = command_line().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, None, folder, &mut pages)?;
    for (path, _) in &pages {
        written::check("generate man", path, "page of Mountmark", &|start| start.contains(TITLE))?;
    }
    pages.iter().try_for_each(|(path, page)| written::write_whole(path, page))
}

/// In the first lines of each page.
const TITLE: &str = "\n.TH mountmark";

/// The pages of a command and of those below it, each with its file.
fn collect(command: &Command, parent: Option<&str>, folder: &Path, pages: &mut Vec<(PathBuf, String)>) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push((folder.join(format!("{name}.1")), page(command, parent)?));
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| collect(command, Some(name), folder, pages))
}

fn page(command: &Command, parent: Option<&str>) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone()).source(format!("Mountmark {version}")).manual("Mountmark");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = Roff::new();
    // As the help has it: paragraphs, one of which holds examples that must stay lines.
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for paragraph in after.split("\n\n") {
        match paragraph.strip_prefix("Examples:\n") {
            Some(examples) => {
                rest.control("SH", ["EXAMPLES"]);
                rest.control("nf", []);
                for line in examples.lines() {
                    rest.text([roman(line)]);
                }
                rest.control("fi", []);
            }
            None if paragraph.is_empty() => {}
            None => {
                rest.control("SH", [if paragraph.starts_with("Exit code") { "EXIT STATUS" } else { "NOTES" }]);
                rest.text([roman(paragraph)]);
            }
        }
    }
    if parent.is_none() {
        rest.control("SH", ["FILES"]);
        for (place, about) in PLACES {
            rest.control("TP", []);
            rest.text([roman(*place)]);
            rest.text([roman(*about)]);
        }
    }
    if let Some(parent) = parent {
        rest.control("SH", ["SEE ALSO"]);
        rest.text([roman(format!("{parent}(1)"))]);
    }
    rest.to_writer(&mut page)?;
    Ok(String::from_utf8(page)?)
}
