//! Sentences about what safety costs.

use mountmark_crash::campaign::Campaign;
use mountmark_document::number::and;
use mountmark_model::counted;
use mountmark_model::promises::{Level, Levels};

use crate::crash;
use crate::found::Findings;
use crate::safety::find::AfterCut;

pub(crate) const LEVELS: &str = "Promises";
pub(crate) const HOW: &str = "A promise is what a file system's own documents say of the time after a power cut. Images are what a campaign of power cuts tried (`mountmark crash`); that none of them breaks a promise says nothing about others. Synced files lost are of one power cut that took the disk's cache. Speed and safety are of the same configuration and kernel where the campaign's is the run's.";

/// What these file systems risk, in a clause: "after a power cut, ext2 may have to be repaired and may lose what was not
/// synced; ext4 may lose what was not synced".
pub(crate) fn risks(findings: &Findings, of: &[usize]) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for one in of {
        let (name, risk) = (findings.headings[*one].as_str(), risk(&findings.safety[*one]));
        match groups.iter_mut().find(|(known, _)| *known == risk) {
            Some((_, names)) => names.push(name),
            None => groups.push((risk, vec![name])),
        }
    }
    let group = |(risk, names): (String, Vec<&str>)| format!("{} {risk}", and(names));
    let all: Vec<String> = groups.into_iter().map(group).collect();
    format!("after a power cut, {}", all.join("; "))
}

/// What a file system risks after a power cut, as a predicate: by what its documents promise, and what this run showed.
pub(crate) fn risk(safety: &AfterCut) -> String {
    let (promises, lost) = (&safety.promises, safety.lost);
    if lost > 0.0 {
        return format!("lost {lost:.0} files here that were synced");
    }
    if safety.undocumented.is_some() {
        return "may lose more than what was not synced, as nothing is documented".into();
    }
    let lose = match (promises.has(Level::L1), promises.has(Level::L7)) {
        (false, _) => "may lose even what was synced",
        (true, false) => "may lose what was not synced",
        (true, true) => "may lose the latest of what was not synced",
    };
    let repaired = if promises.has(Level::L0) { "" } else { "may have to be repaired and " };
    let stale = if promises.exposes_stale { " and show what the disk held before" } else { "" };
    format!("{repaired}{lose}{stale}")
}

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
    Level::ALL.into_iter().map(|level| crash::say::promise(level).to_owned())
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
