//! Runs apt as any user, with an empty list of installed packages.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Lists, Packages};
use crate::cache;
use crate::child::{self, Limits};
use crate::image::apt::{self, Solved};

/// For slow mirrors; apt's own limit for a silent one is 30 s, for each of its addresses.
pub(super) const FETCHING: Limits = Limits { idle: Duration::from_secs(180), total: Duration::from_secs(3600) };
/// Queries read all lists, and fetch nothing.
const ASKING: Limits = Limits { idle: Duration::from_secs(120), total: Duration::from_secs(600) };

impl Packages {
    pub(super) fn solve(&self, names: &[String]) -> Result<Vec<Solved>> {
        apt::check_known(names, &self.apt("apt-cache", &["pkgnames"])?, &self.fetched())?;
        let solved = apt::answer(&self.apt("apt-get", &apt::arguments(&self.targeted(names)?))?)?;
        if solved.is_empty() {
            bail!("apt found no packages for {}", names.join(" "));
        }
        Ok(solved)
    }

    /// An apt program with an empty list of installed packages.
    pub(super) fn command(&self, program: &str, lists: Lists) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C");
        let empty = self.cache.join("apt/status");
        let _ = cache::make_folder(&self.apt_folder().join("lists/partial"));
        if !empty.exists() {
            let _ = fs::write(&empty, "");
        }
        command.arg("-o").arg(format!("Dir::State::status={}", empty.display()));
        command.args(["-o", "Debug::NoLocking=1"]);
        // Packages in apt's own archive need no download, so --print-uris would omit them.
        let archives = self.cache.join("apt/archives");
        let _ = cache::make_folder(&archives.join("partial"));
        command.arg("-o").arg(format!("Dir::Cache::archives={}", archives.display()));
        let sources = self.sources();
        if lists != Lists::System && sources.is_dir() {
            command.arg("-o").arg(format!("Dir::Etc::sourceparts={}", sources.display()));
            command.arg("-o").arg(format!("Dir::Etc::sourcelist={}", sources.join("sources.list").display()));
        }
        if lists != Lists::System {
            command.arg("-o").arg(format!("Dir::State::Lists={}", self.apt_folder().join("lists").display()));
            command.args(["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]);
        }
        command
    }

    pub(super) fn apt(&self, program: &str, arguments: &[&str]) -> Result<String> {
        cache::make_folder(&self.cache.join("packages"))?;
        self.fetch_lists()?;
        let output = said(self.command(program, self.lists()).args(arguments), ASKING)?;
        if !output.status.success() {
            bail!("{program} {} failed: {}", arguments.join(" "), last_lines(&output.stderr, 3));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Runs one of apt's programs.
pub(super) fn said(command: &mut Command, limits: Limits) -> Result<Output> {
    child::output(command, limits).map_err(|error| match error.root_cause().is::<std::io::Error>() {
        true => error.context(no_apt()),
        false => error,
    })
}

fn no_apt() -> String {
    "cannot start apt: the lab takes its kernel and tools from Debian packages".into()
}

pub(super) fn last_lines(text: &[u8], count: usize) -> String {
    let text = String::from_utf8_lossy(text);
    // Skip apt's warnings ("W:"), which would displace its errors.
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("W:")).collect();
    lines[lines.len().saturating_sub(count)..].join("; ")
}
