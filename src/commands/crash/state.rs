//! Makes one state again, shows what it holds, and writes its image.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_crash::campaign::Again;
use mountmark_crash::oracle::Promises;
use mountmark_crash::states::{Budget, StateId};
use mountmark_crash::workload::Workload;
use mountmark_lab::emulator::Witnesses;
use mountmark_model::Cell;
use mountmark_report::CrashState;
use mountmark_run::crash::explore::{Course, NotAgain, again};
use mountmark_run::crash::talk::Talk;

use super::{Arguments, Stop};
use crate::common::{self, WrongUse};

/// Bytes of an image that are copied at once.
const PIECE: usize = 1 << 20;

pub(super) fn show(
    arguments: &Arguments,
    lab: &Witnesses,
    cell: &Cell,
    workload: &Workload,
    id: &StateId,
    stop: &Stop,
) -> Result<u8> {
    let format = common::format_of::<CrashState>(arguments.format.as_deref())?;
    let [policy] = arguments.policy.as_slice() else {
        bail!(WrongUse("--state is of one policy: give one --policy".into()))
    };
    let Some(mut talk) = Talk::start(lab, cell, stop)? else { return Ok(stop.code()) };
    let promises = Promises::least();
    let course =
        Course { device: arguments.device, policy: *policy, budget: Budget::default(), seed: arguments.seed, promises };
    let state = match again(&mut talk, &cell.configuration.filesystem, workload, &course, id)? {
        Ok(state) => state,
        Err(NotAgain::Failed(reason)) => bail!("{workload}: {reason}"),
        Err(NotAgain::NoState(error)) => bail!(WrongUse(format!("--state: {error}"))),
        Err(NotAgain::Stopped) => return Ok(stop.code()),
    };
    if let Some(path) = &arguments.export {
        export(&talk, &state, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let shown = CrashState { configuration: &cell.configuration.name, workload, state: &state };
    common::print(&format.write(&shown, &common::report_options())?)?;
    Ok(if state.faults.is_empty() { common::DONE } else { common::FAILED })
}

/// Writes the state's image. The file is sparse where the image holds zeros.
fn export(talk: &Talk, state: &Again, path: &Path) -> Result<()> {
    let file = File::create(path)?;
    file.set_len(state.trace.size)?;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < state.trace.size {
        let length = (state.trace.size - at).min(PIECE as u64) as usize;
        let piece = &mut piece[..length];
        talk.base(at, piece)?;
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, at)?;
        }
        at += length as u64;
    }
    for extent in &state.state.extents {
        let mut bytes = vec![0; extent.length as usize];
        extent.read(&state.trace.data, 0, &mut bytes);
        file.write_all_at(&bytes, extent.offset)?;
    }
    Ok(())
}
