//! How far a campaign of power cuts went.

use std::collections::BTreeSet;

use mountmark_crash::campaign::{Campaign, Repaired};
use mountmark_crash::states::Fault as DeviceFault;
use mountmark_model::counted;

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
