//! How the moments of a recording share the time: each is looked at, however short it is.

use std::time::Instant;

use mountmark_crash::campaign::Explored;
use mountmark_crash::states::{Epoch, States, Tested};

/// Images shown at once: few, so that what is seen of some spares others.
const BATCH: usize = 16;
/// The fewest: everything and nothing of what is not durable.
const LEAST: usize = 2;

/// How far an epoch was explored.
pub(super) struct Open<'e> {
    pub epoch: &'e Epoch,
    /// Images that were made.
    pub made: usize,
    pub tested: [Tested; 5],
    pub is_done: bool,
}

impl<'e> Open<'e> {
    /// `None` if no power cut may end this one.
    pub fn new(states: &States, epoch: &'e Epoch) -> Option<Open<'e>> {
        states.open(epoch.number).map(|_| Open { epoch, made: 0, tested: Default::default(), is_done: false })
    }
}

/// Until when the next of some that are left may go on.
pub(super) fn share(deadline: Instant, left: usize) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / u32::try_from(left.max(1)).unwrap_or(u32::MAX)
}

/// How many images to show at once, if so many were shown since `begun`: no more than there is likely time for.
pub(super) fn batch(begun: Instant, shown: usize, until: Instant) -> usize {
    let each = begun.elapsed().as_secs_f64() / shown.max(1) as f64;
    let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
    match shown {
        0 if left < 5.0 => LEAST,
        0 => BATCH,
        _ => ((left / each.max(1e-6)) as usize).clamp(LEAST, BATCH),
    }
}

/// Adds what was tested of all epochs of a recording; a tier is complete if it is in every one.
pub(super) fn add(epochs: &[Open], explored: &mut Explored) {
    for (tier, sum) in explored.tested.iter_mut().enumerate() {
        let complete = epochs.iter().all(|open| open.is_done && open.tested[tier].is_complete);
        *sum = Tested {
            made: sum.made + epochs.iter().map(|open| open.tested[tier].made).sum::<usize>(),
            different: sum.different + epochs.iter().map(|open| open.tested[tier].different).sum::<usize>(),
            is_complete: complete && !epochs.is_empty() && (sum.is_complete || explored.epochs == 0),
        };
    }
    explored.epochs += epochs.iter().filter(|open| open.made > 0).count();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_left_is_shared_evenly_and_little_time_is_for_few_images() {
        let now = Instant::now();
        let of = |left| (share(now + Duration::from_secs(100), left) - now).as_secs_f64();
        assert!((24.0..26.0).contains(&of(4)) && (99.0..=101.0).contains(&of(1)));
        assert!(share(now, 3) <= Instant::now());
        let begun = now.checked_sub(Duration::from_secs(10)).unwrap();
        assert_eq!(batch(begun, 0, now + Duration::from_secs(1)), LEAST);
        assert_eq!(batch(begun, 0, now + Duration::from_secs(60)), BATCH);
        assert_eq!(batch(begun, 10, now), LEAST, "a second each, and no time");
        assert!((6..=8).contains(&batch(begun, 10, now + Duration::from_secs(8))));
        assert_eq!(batch(begun, 100, now + Duration::from_secs(60)), BATCH);
    }

    #[test]
    fn a_tier_is_complete_if_it_is_in_each_epoch() {
        let epoch: Epoch =
            serde_json::from_str(r#"{"number": 0, "end": 0, "begun": 0, "returned": 0, "acknowledged": null}"#)
                .unwrap();
        let tested = [Tested { made: 3, different: 2, is_complete: true }; 5];
        let open = |is_done| Open { epoch: &epoch, made: 3, tested, is_done };
        let complete = |epochs: &[Open]| {
            let mut explored = Explored::default();
            add(epochs, &mut explored);
            (explored.tested[0].is_complete, explored.tested[0].made, explored.epochs)
        };
        assert_eq!(complete(&[open(true), open(true)]), (true, 6, 2));
        assert_eq!(complete(&[open(true), open(false)]), (false, 6, 2));
        assert_eq!(complete(&[]), (false, 0, 0));
    }
}
