//! Recordings of other disks, as logs of dm-log-writes: read in the place of one that a guest would make, and written of
//! one that it made.

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_crash::log_writes::{self, Log, LogError};
use mountmark_crash::states::Device;
use mountmark_crash::trace::{Policy, Trace};
use mountmark_crash::workload::Workload;
use mountmark_guest::questions::Recorded;
use thiserror::Error;

use super::explore_options::IDLE;
use super::witness_client::{Reply, WitnessClient};

/// Maximum number of bytes of a log: as many as there is room for in a guest.
const MOST: u64 = 1 << 30;

/// Why a file is no log that can be examined.
#[derive(Debug, Error)]
pub enum NoLog {
    #[error("cannot read {path}")]
    Read { path: String, source: io::Error },
    #[error("{path} has {length} bytes, and {MOST} are the most: log less, or a smaller disk")]
    Long { path: String, length: u64 },
    #[error("{path}: {error}")]
    Log { path: String, error: LogError },
    #[error("{path} has no mark {mark:?}; {}", had(.marks))]
    Mark { path: String, mark: String, marks: Vec<String> },
}

fn had(marks: &[String]) -> String {
    const MOST: usize = 10;
    let shown: Vec<String> = marks.iter().take(MOST).map(|mark| format!("{mark:?}")).collect();
    match marks.len() {
        0 => "it has no marks".into(),
        count if count > MOST => format!("the first of its {count} marks are {}", shown.join(", ")),
        _ => format!("its marks are {}", shown.join(", ")),
    }
}

/// The recording in the log of a disk of this size.
pub fn read(log: &Log, size: u64) -> Result<Trace, NoLog> {
    let path = || log.path.clone();
    let failed = |source| NoLog::Read { path: path(), source };
    let file = mountmark_input::open(Path::new(&log.path)).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > MOST {
        return Err(NoLog::Long { path: path(), length });
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    let imported = log_writes::import(&bytes, size).map_err(|error| NoLog::Log { path: path(), error })?;
    let marked = |marks| NoLog::Mark { path: path(), mark: log.from.clone().unwrap_or_default(), marks };
    log.cut(imported).map_err(marked)
}

/// Gives a guest's disk what a log's disk held, and the guest what was written to it.
pub(super) fn set(talk: &mut WitnessClient, log: &Log) -> Result<Recorded> {
    let trace = read(log, talk.disk_size())?;
    talk.place(log.base.as_deref().map(Path::new))?;
    talk.replay(&trace.data)?;
    Ok(Recorded { trace, results: Vec::new(), live: Default::default(), error: None })
}

/// Runs a workload and writes what the disk saw into a file. `None` if the user stopped it.
pub fn write(
    talk: &mut WitnessClient,
    workload: &Workload,
    policy: Policy,
    device: Device,
    path: &Path,
) -> Result<Option<()>> {
    let recorded = match talk.record(workload, policy, device, IDLE)? {
        Reply::Done(Some(recorded)) => recorded,
        Reply::Done(None) => bail!("the guest did not answer"),
        Reply::Gone { reason, log, .. } => bail!("{workload}: {reason} while it ran\n{log}"),
        Reply::Interrupted => return Ok(None),
    };
    if let Some(error) = recorded.error {
        bail!("{workload}: {error}");
    }
    let save = || -> io::Result<()> {
        let mut file = BufWriter::new(mountmark_input::new_file(path)?);
        log_writes::export(&recorded.trace, &mut file)?;
        file.flush()
    };
    save().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(()))
}
