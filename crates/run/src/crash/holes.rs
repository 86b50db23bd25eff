//! Whether what is wrong without a disk is wrong because of that: the same image is shown with all its disks.

use anyhow::Result;
use mountmark_crash::campaign::{Explored, Finding};
use mountmark_crash::states::State;
use mountmark_crash::verdict;

use super::explore::Sitting;
use super::witness_client::{Reply, WitnessClient};

/// Names the findings of these images of a first power cut that are not there when all disks are; `data` are those of the
/// recording.
pub(super) fn name(
    talk: &mut WitnessClient,
    sitting: &Sitting,
    batch: &[State],
    data: &[u8],
    explored: &mut Explored,
) -> Result<()> {
    let hole = sitting.configuration.base().layers.last().map_or("", |layer| &layer.hole);
    if sitting.device().gone().is_none() || hole.is_empty() {
        return Ok(());
    }
    let of_image = |finding: &&mut Finding| finding.hole.is_none() && finding.state.recovery.is_none();
    for finding in explored.findings.iter_mut().filter(of_image) {
        let Some(state) = batch.iter().find(|state| state.id == finding.state.state) else { continue };
        let asked = sitting.workload.asked(finding.moment);
        let seen = match talk.look(vec![state.extents.clone()], asked, None)? {
            Reply::Done(seen) => seen,
            Reply::Gone { .. } if talk.restart()? => {
                talk.replay(data)?;
                continue;
            }
            Reply::Gone { .. } | Reply::Interrupted => return Ok(()),
        };
        let signature = finding.fault.signature(sitting.workload);
        let shows_it = |seen| {
            let promises = &sitting.course.promises;
            let told = verdict::faults(seen, sitting.configuration, promises, sitting.history, finding.moment);
            told.iter().any(|told| told.fault.signature(sitting.workload) == signature)
        };
        if !seen.iter().any(shows_it) {
            finding.hole = Some(hole.to_owned());
        }
    }
    Ok(())
}
