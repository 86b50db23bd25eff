//! How disks were brought into steady state, in a line each.

use mountmark_model::{Precondition, Preconditioned, Window, format_count};
use mountmark_record::RunRecord;

use crate::group::each_once;

/// A line for each time that a disk of the run was preconditioned: a resumed run does so once more.
pub(crate) fn sentences(run: &RunRecord) -> Vec<String> {
    let all = run.environments().into_iter().filter_map(|environment| environment.preconditioned.as_ref());
    each_once(all).into_iter().map(sentence).collect()
}

fn sentence(done: &Preconditioned) -> String {
    let rounds = done.rounds.len();
    let state = match done.is_steady() {
        true => format!("steady state after {rounds} rounds of {} s", done.round_seconds),
        false => format!("not in steady state after {rounds} rounds of {} s", done.round_seconds),
    };
    let found = match &done.window {
        None => "nothing was written in them".to_owned(),
        Some(Window { average, range, slope }) => {
            let rate = format_count(average.round());
            format!("{rate} IOPS, range {}, slope {}", rounded_up(*range), rounded_up(*slope))
        }
    };
    let purged = if done.purged { "" } else { ", which takes no discards" };
    format!("{}{purged}: {} x {} written, {state}: {found}", done.disk, Precondition::PASSES, done.size)
}

/// In whole percent; up, so that what is above a limit does not look like the limit.
fn rounded_up(part: f64) -> String {
    // Less than a rounding error is nothing.
    format!("{:.0} %", (100.0 * part - 1e-6).max(0.0).ceil())
}

#[cfg(test)]
mod tests {
    use mountmark_model::Bytes;

    use super::*;

    #[test]
    fn what_was_done_and_found_is_one_line() {
        let done = |rounds: Vec<f64>| Preconditioned {
            disk: "/dev/sdb".into(),
            purged: true,
            size: Bytes(512 << 20),
            round_seconds: 60,
            window: Window::last(&rounds),
            rounds,
        };
        let steady = done(vec![20_000.0, 15_000.0, 12_800.0, 12_300.0, 12_100.0, 12_100.0, 12_200.0]);
        assert_eq!(
            sentence(&steady),
            "/dev/sdb: 2 x 512 MiB written, steady state after 7 rounds of 60 s: 12,300 IOPS, range 6 %, slope 5 %"
        );
        let noisy = Preconditioned { purged: false, ..done(vec![79.9, 100.1, 100.0, 100.1, 79.9]) };
        assert_eq!(
            sentence(&noisy),
            "/dev/sdb, which takes no discards: 2 x 512 MiB written, not in steady state after 5 rounds of 60 s: 92 IOPS, range \
             22 %, slope 0 %"
        );
        assert!(sentence(&done(Vec::new())).ends_with("after 0 rounds of 60 s: nothing was written in them"));
    }
}
