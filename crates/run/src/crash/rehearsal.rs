//! An application's check is asked of what lost nothing, before it is asked of what a power cut left: one that fails there
//! says nothing about power cuts.

use anyhow::{Result, bail};
use mountmark_crash::application::{Application, End};
use mountmark_crash::workload::Workload;

use super::witness_client::{Reply, WitnessClient};
use mountmark_crash::moment::Moment;

/// What became of a rehearsal.
pub(super) enum Rehearsal {
    /// There is nothing to rehearse, or the check finds it sound.
    Sound,
    /// Why the workload cannot be judged.
    Failed(String),
    /// The user stopped it, or there was no time left.
    Stopped,
}

/// Asks the check before the first step and after the last, each time on a file system that was unmounted.
pub(super) fn rehearse(talk: &mut WitnessClient, workload: &Workload) -> Result<Rehearsal> {
    let Some(application) = workload.application.as_deref() else { return Ok(Rehearsal::Sound) };
    let all = application.steps.len() as u16;
    // Once the first step has begun, what was there before it may be all that lasts.
    let moments = [(0, Moment { begun: 1, returned: 0 }), (all, Moment { begun: all, returned: all })];
    for (steps, moment) in moments {
        let answered = match talk.rehearse(application, steps, application.asked(moment))? {
            Reply::Done(Some(answered)) => answered.verdict,
            Reply::Done(None) => bail!("the guest did not answer"),
            Reply::Gone { reason, log, .. } => {
                let failed = Rehearsal::Failed(format!("{reason} while it ran\n{log}"));
                return Ok(if talk.restart()? { failed } else { Rehearsal::Stopped });
            }
            Reply::Interrupted => return Ok(Rehearsal::Stopped),
        };
        match answered {
            Err(error) => return Ok(Rehearsal::Failed(error)),
            Ok(verdict) if verdict.end != End::Status(0) => {
                return Ok(Rehearsal::Failed(fault(application, steps, verdict.end, &verdict.said)));
            }
            Ok(_) => {}
        }
    }
    Ok(Rehearsal::Sound)
}

fn fault(application: &Application, steps: u16, end: End, said: &str) -> String {
    let when = match (steps, &application.prepare) {
        (0, Some(_)) => "after `prepare`".to_owned(),
        (0, None) => "on an empty file system".to_owned(),
        (steps, _) => format!("after {}", mountmark_model::counted(steps.into(), "step")),
    };
    let said = if said.is_empty() { String::new() } else { format!("\nIt says: {said}") };
    format!(
        "its check {end} {when}, without any power cut: mend the check, which says nothing about power cuts so{said}"
    )
}
