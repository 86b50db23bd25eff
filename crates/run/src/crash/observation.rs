//! Shows images to a witness, as far as they are not known.

use anyhow::{Result, bail};
use mountmark_crash::application::Asked;
use mountmark_crash::states::State;

use super::observation_cache::{Differences, ObservationCache};
use super::witness_client::{Reply, WitnessClient};

/// What a witness made of one image.
pub enum Observation {
    /// An index into what is known.
    Seen(usize),
    /// Looking at it has ended the guest.
    Gone { reason: String, log: String },
}

/// Shows those images of a batch that are not known, each on top of nothing but the base; `data` are those of the
/// recording, `gone` is the disk that is, and `shown` counts. `None` if the user stopped it.
pub fn look(
    talk: &mut WitnessClient,
    data: &[u8],
    batch: &[State],
    asked: Option<&Asked>,
    gone: Option<u32>,
    known: &mut ObservationCache,
    shown: &mut usize,
) -> Result<Option<Vec<Observation>>> {
    let differences: Vec<Differences> = batch.iter().map(|state| Differences::of(state, data)).collect();
    let mut sights: Vec<Option<Observation>> =
        batch.iter().zip(&differences).map(|(state, of)| known.find(state, of).map(Observation::Seen)).collect();
    loop {
        let missing: Vec<usize> = (0..batch.len()).filter(|&index| sights[index].is_none()).collect();
        if missing.is_empty() {
            return Ok(Some(sights.into_iter().flatten().collect()));
        }
        let question = missing.iter().map(|&index| known.whole(&batch[index])).collect();
        let (seen, ended) = match talk.look(question, asked.cloned(), gone)? {
            Reply::Done(seen) => (seen, None),
            Reply::Gone { before, reason, log } => (before, Some(Observation::Gone { reason, log })),
            Reply::Interrupted => return Ok(None),
        };
        *shown += seen.len();
        let count = seen.len();
        for (&index, seen) in missing.iter().zip(seen) {
            sights[index] = Some(Observation::Seen(known.add(&batch[index], &differences[index], seen)));
        }
        match (ended, missing.get(count)) {
            (Some(ended), Some(&index)) => {
                *shown += 1;
                sights[index] = Some(ended);
                if !talk.restart()? {
                    return Ok(None);
                }
                talk.replay(data)?;
            }
            (None, None) => {}
            _ => bail!("the guest said what {count} of {} images hold", missing.len()),
        }
    }
}
