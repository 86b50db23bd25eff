//! Makes one state again, shows what it holds, and writes its image.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_crash::campaign::Replay;
use mountmark_crash::record::Asked;
use mountmark_crash::states::{Budget, ImageId};
use mountmark_crash::trace::Policy;
use mountmark_crash::workload::Workload;
use mountmark_findings::CrashState;
use mountmark_model::Configuration;
use mountmark_plan::Catalogue;
use mountmark_run::crash::explore_options::ExploreOptions;
use mountmark_run::crash::replay::{NotAgain, again};
use mountmark_run::crash::witness_client::WitnessClient;

use super::Stop;
use crate::common::{self, WrongUse};

/// Bytes of an image that are copied at once.
const PIECE: usize = 1 << 20;

/// Which image to show, and how.
pub(super) struct Image<'a> {
    pub asked: &'a Asked,
    pub configuration: &'a Configuration,
    pub workload: &'a Workload,
    pub policy: Policy,
    pub state: &'a ImageId,
    /// The signature of the finding that it must show, if it is of one.
    pub wanted: Option<String>,
    pub export: Option<&'a Path>,
    pub format: Option<&'a str>,
}

impl Image<'_> {
    pub fn show(&self, catalogue: &Catalogue, stop: &Stop) -> Result<u8> {
        let &Image { asked, configuration, workload, policy, .. } = self;
        let wanted = self.wanted.as_deref();
        let (lab, cells) = super::lab(catalogue, asked, std::slice::from_ref(configuration))?;
        let Some(mut talk) = WitnessClient::start(&lab, &cells[0], stop)? else { return Ok(stop.code()) };
        let promises = asked.judged_by(configuration.promises().0);
        let course = ExploreOptions {
            device: asked.device,
            policy,
            budget: Budget::default(),
            seed: asked.seed,
            promises,
            deadline: std::time::Instant::now(),
            recoveries: 0,
        };
        let state = match again(&mut talk, configuration, workload, &course, self.state, wanted)? {
            Ok(state) => state,
            Err(NotAgain::Failed(reason)) => bail!("{workload}: {reason}"),
            Err(NotAgain::NoState(error)) => bail!(WrongUse(format!("{}: {error}", self.state))),
            Err(NotAgain::Stopped) => return Ok(stop.code()),
        };
        if let Some(path) = self.export {
            export(&talk, &state, path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if wanted.is_some_and(|wanted| state.faults.iter().all(|told| told.fault.signature(workload) != wanted)) {
            say!(
                "mountmark: the image does not show the finding: in new recordings the kernel sent its requests in another order than when it was found"
            );
        }
        let shown = CrashState { configuration: &configuration.name, workload, state: &state };
        common::show(&shown, self.format)?;
        Ok(if state.faults.iter().all(|told| !told.promised) { common::DONE } else { common::FAILED })
    }
}

/// Writes the state's image.
fn export(talk: &WitnessClient, state: &Replay, path: &Path) -> Result<()> {
    let file = mountmark_input::new_file(path)?;
    copy_base(talk, state.trace.size, &file)?;
    for extent in &state.extents {
        let mut bytes = vec![0; extent.length as usize];
        extent.read(&state.trace.data, 0, &mut bytes);
        file.write_all_at(&bytes, extent.offset)?;
    }
    Ok(())
}

/// Copies what the disk held before anything ran. The file is sparse where that is zeros.
pub(super) fn copy_base(talk: &WitnessClient, size: u64, file: &File) -> Result<()> {
    file.set_len(size)?;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < size {
        let length = (size - at).min(PIECE as u64) as usize;
        let piece = &mut piece[..length];
        talk.base(at, piece)?;
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, at)?;
        }
        at += length as u64;
    }
    Ok(())
}
