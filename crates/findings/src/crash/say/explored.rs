//! How far a campaign of power cuts went.

use std::collections::BTreeSet;

use mountmark_crash::campaign::{Campaign, Repaired, Tried};
use mountmark_crash::states::Fault as DeviceFault;
use mountmark_model::counted;

use super::last_lines;

/// How far the exploration went, and what that says.
pub(crate) fn explored(campaign: &Campaign) -> String {
    let prepared =
        format!(" Its guests were ready after {}, which is not part of the budget.", seconds(campaign.prepared));
    if campaign.is_empty() {
        let cause = match campaign.chosen().count() {
            0 if campaign.cut_short => "the budget ended before anything had run: take a larger --budget",
            0 => "it was ended before anything had run",
            _ => "no workload left an image: see below",
        };
        return format!("Nothing was tried, and so nothing is known: {cause}.{prepared}");
    }
    let images = campaign.total(|explored| explored.states);
    let shown = campaign.total(|explored| explored.shown);
    let epochs = campaign.total(|explored| explored.epochs);
    let complete: Vec<String> = (0..5)
        .filter(|&tier| campaign.chosen().all(|tried| tried.explored.tested[tier].is_complete))
        .map(|tier| format!("T{tier}"))
        .collect();
    let mut text = format!(
        "{} of {} left {} in {}; {} were mounted, and what those read says what the others hold.",
        counted(campaign.chosen().count(), "run"),
        counted(workloads(campaign), "workload"),
        counted(images, "image"),
        counted(epochs, "epoch"),
        shown
    );
    let [recoveries, again] = [0, 1].map(|index| campaign.total(|explored| explored.recoveries[index]));
    if recoveries > 0 {
        let recoveries = if recoveries == 1 { "one recovery".to_owned() } else { format!("{recoveries} recoveries") };
        text += &format!(" The power was cut again during {recoveries}: {}.", counted(again, "image"));
    }
    let in_turn = campaign.chosen().filter_map(|tried| tried.explored.in_turn);
    if let Some([requests, broken]) = in_turn.reduce(|[a, b], [c, d]| [a + c, b + d]) {
        let is_disk = matches!(campaign.device.fault, Some(DeviceFault::Gone { .. }));
        let of = counted(requests, if is_disk { "disk" } else { "request" });
        text += &format!(" The fault was of {of} in turn; of {broken} it broke a promise.");
    }
    match campaign.total(|explored| explored.unrecorded) {
        0 => {}
        others => text += &format!(" Of {others} more it left no recording, and nothing is known of them."),
    }
    text += &match complete.as_slice() {
        [] => " No tier is complete in all of them: all are samples.".to_owned(),
        all if all.len() == 5 => " All tiers are complete: these are all images that there are.".to_owned(),
        tiers => format!(" Complete in all of them: {}; the other tiers are samples.", tiers.join(", ")),
    };
    text += &repaired(campaign);
    if !campaign.is_broken() {
        text += " No promise was broken in these images, which says nothing about others.";
    }
    if campaign.cut_short {
        text += " It was ended before all workloads were tried.";
    }
    match campaign.chosen().filter(|tried| tried.explored.cut_short).count() {
        0 => {}
        cut => text += &format!(" The time of {} ended before all their images were made.", counted(cut, "run")),
    }
    text + &prepared
}

/// What was not explored, or not judged.
pub(crate) fn not_judged(campaign: &Campaign) -> Vec<String> {
    let failed = campaign.tried.iter().filter_map(|tried| Some((tried, tried.explored.error.as_ref()?)));
    let mut all: Vec<String> =
        failed.map(|(tried, error)| format!("Not explored: {}: {}", tried.workload, last_lines(error))).collect();
    // By kind, with the workload that shows it first.
    let mut kinds: Vec<(String, String, usize)> = Vec::new();
    for Tried { workload, explored, .. } in campaign.chosen() {
        let failed =
            explored.failed.iter().map(|(op, errno)| (*op, format!("failed with errno {errno}, and what hangs on it")));
        let strange = explored.strange.map(|op| (op, "worked although it cannot, and all but reading".to_owned()));
        for (number, what) in failed.chain(strange) {
            let Some(op) = workload.ops.get(usize::from(number)).map(ToString::to_string) else { continue };
            let kind = format!("{} {what}", op.split(' ').next().unwrap_or_default());
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((_, _, times)) => *times += 1,
                None => kinds.push((kind, format!("{op} (op {number}) {what} was not judged, after: {workload}."), 1)),
            }
        }
    }
    let said = |(_, text, times): (String, String, usize)| match times {
        1 => text,
        more => format!("{text} So did {}.", counted(more - 1, "other")),
    };
    all.extend(kinds.into_iter().map(said));
    all
}

/// What full checks with repairs made of damaged images.
fn repaired(campaign: &Campaign) -> String {
    let [images, not_mounted, lost] = [
        campaign.total(|explored| explored.repaired.images),
        campaign.total(|explored| explored.repaired.not_mounted),
        campaign.total(|explored| explored.repaired.lost_and_found),
    ];
    match images {
        0 => String::new(),
        _ => format!(
            " {} damaged, and a full check repaired them: then {lost} had something in lost+found, and {not_mounted} could \
             not be mounted.",
            if images == 1 { "1 image was".to_owned() } else { format!("{images} images were") }
        ),
    }
}

/// An image after its repair.
pub(crate) fn after_repair(repaired: &Repaired) -> String {
    match (&repaired.mount, repaired.lost) {
        (Some(reason), _) => format!("It cannot be mounted even then: {reason}."),
        (None, 0) => "It can be mounted, and lost+found is empty.".to_owned(),
        (None, lost) => format!("It can be mounted, and lost+found has {}.", counted(lost, "name")),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{} s", mountmark_model::format_seconds(seconds))
}

fn workloads(campaign: &Campaign) -> usize {
    let names: BTreeSet<String> = campaign.chosen().map(|tried| tried.workload.to_string()).collect();
    names.len()
}

#[cfg(test)]
pub(crate) mod tests {
    use mountmark_crash::campaign::Explored;
    use mountmark_crash::oracle::{History, Promises};
    use mountmark_crash::trace::Policy;

    use super::*;
    use crate::crash::say::promised;

    /// A campaign of these workloads on kernel 6.12, all with these results.
    pub(crate) fn campaign(lines: &[&str], results: &[i32]) -> Campaign {
        let tried = |line: &&str| {
            let workload = line.parse().unwrap();
            let failed = History::new(&workload, results).failed();
            let explored = Explored { states: 2, failed, unrecorded: 3, in_turn: Some([5, 0]), ..Explored::default() };
            Tried { workload, policy: Policy::Fifo, shrunk: false, explored }
        };
        Campaign {
            configuration: "mine".into(),
            kernel: "6.12".into(),
            kernel_option: String::new(),
            disk_size: 1 << 29,
            disks: 1,
            device: "request+i10:each".parse().unwrap(),
            promises: Promises::least(),
            undocumented: None,
            has_check: false,
            seed: 1,
            tried: lines.iter().map(tried).collect(),
            seconds: 1.0,
            prepared: 0.0,
            cut_short: false,
        }
    }

    #[test]
    fn what_failed_and_was_not_judged_is_said_once_of_each_kind() {
        let mut campaign = campaign(&["creat a; symlink a b; fsync a", "creat c; symlink c d; fsync c"], &[0, 1, 0]);
        assert_eq!(
            not_judged(&campaign),
            [
                "symlink a b (op 1) failed with errno 1, and what hangs on it was not judged, after: creat a; symlink a b; \
              fsync a. So did 1 other."
            ]
        );
        campaign.tried.truncate(1);
        (campaign.tried[0].explored.failed, campaign.tried[0].explored.strange) = (Vec::new(), Some(1));
        campaign.tried[0].explored.error = Some("no room".into());
        let said = not_judged(&campaign);
        assert!(said[0].starts_with("Not explored: creat a;") && said[0].ends_with(": no room"), "{said:?}");
        assert!(said[1].contains("(op 1) worked although it cannot, and all but reading was not judged"), "{said:?}");
    }

    #[test]
    fn what_nothing_is_known_of_is_counted() {
        let campaign = campaign(&["creat a; fsync a"], &[0, 0]);
        assert!(
            explored(&campaign).contains("The fault was of 5 requests in turn; of 0 it broke a promise. Of 3 more it")
        );
        assert!(promised(&campaign).ends_with("There is no check of it, so none is run."));
        assert!(!promised(&Campaign { has_check: true, ..campaign }).contains("none is run"));
    }
}
