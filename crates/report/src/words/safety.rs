//! Sentences about what safety costs.

use mountmark_crash::campaign::Campaign;
use mountmark_model::counted;
use mountmark_model::promises::{Level, Levels};

pub(crate) const LEVELS: &str = "Promises";
pub(crate) const HOW: &str = "A promise is what a file system's own documents say of the time after a power cut. Images are what a campaign of power cuts tried (`mountmark crash`); that none of them breaks a promise says nothing about others. Synced files lost are of one power cut that took the disk's cache. Speed and safety are of the same configuration and kernel where the campaign's is the run's.";

/// Levels in short: `L0-L4 L6`.
pub(crate) fn levels(levels: Levels) -> String {
    let mut runs: Vec<(Level, Level)> = Vec::new();
    for level in levels.iter() {
        match runs.last_mut() {
            Some((_, last)) if *last as u8 + 1 == level as u8 => *last = level,
            _ => runs.push((level, level)),
        }
    }
    let run = |(first, last): (Level, Level)| match last as u8 - first as u8 {
        0 => first.to_string(),
        1 => format!("{first} {last}"),
        _ => format!("{first}-{last}"),
    };
    match runs.is_empty() {
        true => "none".to_owned(),
        false => runs.into_iter().map(run).collect::<Vec<_>>().join(" "),
    }
}

/// The levels that power cuts showed to be broken.
pub(crate) fn broken(campaign: &Campaign) -> Levels {
    campaign.causes().iter().filter(|cause| cause.promised).map(|cause| cause.finding.fault.level()).collect()
}

/// What power cuts showed, in a cell of a table.
pub(crate) fn shown(campaign: Option<&Campaign>) -> String {
    // One that was interrupted may have no image yet.
    let tried = campaign.map(|campaign| (campaign, campaign.total(|explored| explored.states)));
    let Some((campaign, images)) = tried.filter(|(_, images)| *images > 0) else { return "not tried".into() };
    let images = counted(images, "image");
    match campaign.is_broken() {
        false => format!("none broken\nin {images}"),
        true => format!("{} broken\nin {images}", levels(broken(campaign))),
    }
}

pub(crate) fn undocumented(name: &str, reason: Option<&str>) -> Option<String> {
    reason.map(|reason| format!("{name}: judged by the least that any file system owes, as {reason}."))
}

/// Each level, in words.
pub(crate) fn all_levels() -> impl Iterator<Item = String> {
    Level::ALL.into_iter().map(|level| super::crash::promise(level).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_written_as_ranges() {
        use Level::{L0, L1, L2, L4, L6, L7};
        let written = |all: &[Level]| levels(all.iter().copied().collect());
        assert_eq!(written(&[L0, L1, L2, L4, L6, L7]), "L0-L2 L4 L6 L7");
        assert_eq!((written(&[]), written(&[L1])), ("none".to_owned(), "L1".to_owned()));
        assert_eq!(levels(Level::ALL.into_iter().collect()), "L0-L7");
    }
}
