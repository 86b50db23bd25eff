//! `mountmark crash --log` examines a log of dm-log-writes, and `--export-log` writes one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_crash::log_writes::Log;
use mountmark_crash::record::Asked;
use mountmark_crash::trace::{Policy, SECTOR};
use mountmark_crash::workload::Workload;
use mountmark_model::Configuration;
use mountmark_plan::Catalogue;
use mountmark_run::crash::log::{read, write};
use mountmark_run::crash::witness_client::WitnessClient;

use super::{Stop, state};
use crate::common::{self, WrongUse};

/// A log in the place of workloads.
#[derive(Args)]
pub(super) struct LogOptions {
    /// Examine a log of dm-log-writes, of a disk elsewhere: what its power cuts leave mounts and passes its check
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "command", "generate", "catalogue", "cases"])]
    pub log: Option<PathBuf>,
    /// What the disk held when the log began [default: zeros, as many as --disk-size says]
    #[arg(long, value_name = "IMAGE", requires = "log", conflicts_with = "disk_size")]
    pub base: Option<PathBuf>,
    /// Cut no power before this mark of the log
    #[arg(long, value_name = "MARK", requires = "log")]
    pub from: Option<String>,
}

impl LogOptions {
    /// The log as a workload, and the size of its disk, if there is one.
    pub fn workload(&self, disk_size: u64) -> Result<Option<(Workload, u64)>> {
        let Some(path) = &self.log else { return Ok(None) };
        let size = match &self.base {
            Some(base) => size(base)?,
            None => disk_size,
        };
        // It is read again when a campaign is resumed, maybe from another folder.
        let whole = |path: &Path| -> Result<String> { Ok(std::path::absolute(path)?.to_string_lossy().into_owned()) };
        let base = self.base.as_deref().map(whole).transpose()?;
        let log = Log { path: whole(path)?, base, from: self.from.clone() };
        read(&log, size).map_err(|error| {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            WrongUse(format!("--log: {error}{source}"))
        })?;
        let workload = Workload { name: log.path.clone(), log: Some(Box::new(log)), ..Workload::default() };
        Ok(Some((workload, size)))
    }
}

fn size(base: &Path) -> Result<u64> {
    let file = mountmark_input::open(base).map_err(|error| WrongUse(format!("--base {}: {error}", base.display())))?;
    let size = file.metadata()?.len();
    if size == 0 || size % SECTOR != 0 {
        bail!(WrongUse(format!(
            "--base {}: it has {size} bytes, and the image of a disk has a multiple of {SECTOR}",
            base.display()
        )));
    }
    Ok(size)
}

/// A recording to write into files.
pub(super) struct Export<'a> {
    pub asked: &'a Asked,
    pub configuration: &'a Configuration,
    pub workload: &'a Workload,
    pub policy: Policy,
    pub log: &'a Path,
    /// For what the disk held before.
    pub base: Option<&'a Path>,
}

impl Export<'_> {
    pub fn run(&self, catalogue: &Catalogue, stop: &Stop) -> Result<u8> {
        let (lab, cells) = super::lab(catalogue, self.asked, std::slice::from_ref(self.configuration))?;
        let Some(mut talk) = WitnessClient::start(&lab, &cells[0], stop)? else { return Ok(stop.code()) };
        if let Some(path) = self.base {
            let copy = || state::copy_base(&talk, self.asked.disk_size, &mountmark_input::new_file(path)?);
            copy().with_context(|| format!("cannot write {}", path.display()))?;
        }
        let written = write(&mut talk, self.workload, self.policy, self.asked.device, self.log)?;
        Ok(written.map_or(stop.code(), |()| common::DONE))
    }
}
