//! Sentences about what safety costs.

use mountmark_crash::campaign::Campaign;
use mountmark_document::number::and;
use mountmark_model::promises::{Level, Levels, SyncedLost};
use mountmark_model::{Metric, counted};
use mountmark_record::RunRecord;

use crate::crash;
use crate::figures::find::TaskFindings;
use crate::found::Findings;
use crate::group::by_key;
use crate::safety::find::AfterCut;
use crate::safety::find::survive::{Obstacle, Survive, left_out, without};

pub(crate) const LEVELS: &str = "Promises";
/// Beside [`losses`].
pub(crate) const NO_STAR: &str = "Where a test syncs, what loses synced files has no star.";
/// Of other runs: what power cuts took.
const LOST_ROW: &str = "synced files lost (%)";
pub(crate) const HOW: &str = "A promise is what a file system's own documents say of the time after a power cut. Images are what a campaign of power cuts tried (`mountmark crash`); that none of them breaks a promise says nothing about others. Synced files lost are of one power cut that took the disk's cache. Speed and safety are of the same configuration and kernel where the campaign's is the run's.";

/// What these file systems risk, in a clause: "after a power cut, ext2 may have to be repaired and may lose what was not
/// synced; ext4 may lose what was not synced".
pub(crate) fn risks(findings: &Findings, of: &[usize]) -> String {
    let risks = of.iter().map(|one| (risk(&findings.safety[*one]), findings.headings[*one].as_str()));
    let group = |(risk, names): (String, Vec<&str>)| format!("{} {risk}", and(names));
    let all: Vec<String> = by_key(risks).into_iter().map(group).collect();
    format!("after a power cut, {}", all.join("; "))
}

/// A configuration's heading, and that it loses synced files if one of the tasks that are meant syncs.
pub(crate) fn named(findings: &Findings, configuration: usize, is_meant: impl Fn(&TaskFindings) -> bool) -> String {
    let name = &findings.headings[configuration];
    let loses = findings.safety[configuration].loses_synced();
    match loses && findings.tasks.iter().any(|task| is_meant(task) && task.syncs()) {
        true => format!("{name} (loses synced files)"),
        false => name.clone(),
    }
}

/// "jfs loses synced files".
pub(crate) fn lose(names: &[&str]) -> String {
    format!("{} {} synced files", and(names.iter().copied()), if names.len() == 1 { "loses" } else { "lose" })
}

/// Of configurations that lose what they said to be durable, where a task of the run syncs: a sentence for those alike.
pub(crate) fn losses(findings: &Findings) -> Vec<String> {
    // Whether its syncs flush, and how many files a power cut took, and in which.
    let all = findings.headings.iter().zip(&findings.safety).filter_map(|(name, safety)| {
        let flushes = safety.flushes.filter(|_| safety.loses_synced())?;
        let lost = match &safety.known {
            _ if safety.lost > 0.0 => Some([format!("{:.0} files", safety.lost), ", in this run".to_owned()]),
            Some(known) if known.files > 0 => Some([
                format!("{} of {} files", known.files, known.of),
                format!(" (kernel {}, measured {}{})", known.release, known.date, without_layers(safety)),
            ]),
            _ => None,
        };
        Some(((flushes > 0.0, lost), name.as_str()))
    });
    let sentence = |((flushes, lost), names): ((bool, Option<[String; 2]>), Vec<&str>)| {
        let [sends, their, each] = match names.len() {
            1 => ["sends", "its", ""],
            _ => ["send", "their", " of each"],
        };
        let loses = lose(&names);
        let names = and(names);
        let took = lost.map(|[files, when]| format!("a power cut took {files}{each} whose fsync had returned{when}."));
        match (flushes, took) {
            (false, Some(took)) => format!("{names} {sends} no flush for {their} syncs here, and {took}"),
            (false, None) => format!(
                "{names} {sends} no flush for {their} syncs here: a power cut takes what the disk's cache still holds."
            ),
            (true, took) => format!("{loses}: {}", took.unwrap_or_default()),
        }
    };
    by_key(all).into_iter().map(sentence).collect()
}

fn without_layers(safety: &AfterCut) -> &'static str {
    if safety.without_layers { ", without its layers" } else { "" }
}

/// A row of a run's table: per cent of synced files that a power cut took, by configuration; `None` where nothing syncs, or
/// the run measured it itself.
pub(crate) fn row(findings: &Findings) -> Option<Vec<String>> {
    let is_asked = findings.safety.iter().any(|safety| safety.flushes.is_some() && safety.known.is_some());
    let is_measured = findings.tasks.iter().any(|task| task.figures(&Metric::LOST).is_some());
    let cell = |safety: &AfterCut| match &safety.known {
        Some(known) => format!("{:.0}", 100.0 * f64::from(known.files) / f64::from(known.of)),
        None => "-".to_owned(),
    };
    let cells = findings.safety.iter().map(cell);
    (is_asked && !is_measured).then(|| std::iter::once(LOST_ROW.to_owned()).chain(cells).collect())
}

/// What a file system risks after a power cut, as a predicate: by what its documents promise, and what this run showed.
pub(crate) fn risk(safety: &AfterCut) -> String {
    let (promises, lost) = (&safety.promises, safety.lost);
    if lost > 0.0 {
        return format!("lost {lost:.0} files here that were synced");
    }
    if let Some(known) = safety.known.as_ref().filter(|known| known.files > 0) {
        let (SyncedLost { files, of, kernel, .. }, without) = (known, without_layers(safety));
        return format!("lost {files} of {of} files that were synced (kernel {kernel}{without})");
    }
    if safety.flushes == Some(0.0) {
        return "may lose even what was synced, as it sends the disk no flush".into();
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
    let stale = if promises.exposes_stale { " and show deleted data of others in files" } else { "" };
    format!("{repaired}{lose}{stale}")
}

/// The configurations of a run on which it does not survive, each with a sentence's end: "its documents do not promise L6".
pub fn obstacles(run: &RunRecord, survive: Survive) -> Vec<(String, String)> {
    left_out(run, survive).iter().map(|(name, why)| (name.clone(), obstacle(why))).collect()
}

/// What a power cut does to a configuration of a run, a sentence's end: "may lose what was not synced"; with what power
/// cuts took of synced files, where the catalogue has it.
pub fn after_cut(findings: &Findings, configuration: &str) -> Option<String> {
    let at = findings.configurations.iter().position(|name| name == configuration)?;
    let safety = &findings.safety[at];
    let seen = safety.known.as_ref().filter(|known| known.files == 0).map(|known| {
        format!(
            "; a power cut took {} of {} synced files (kernel {}, {})",
            known.files, known.of, known.release, known.date
        )
    });
    Some(format!("it {}{}", risk(safety), seen.unwrap_or_default()))
}

/// The run with those configurations alone on which it survives; the others are skipped, each with the reason.
///
/// # Errors
///
/// A sentence if none is left.
pub fn surviving(run: RunRecord, survive: Survive) -> Result<RunRecord, String> {
    let left_out = left_out(&run, survive);
    let name = survive.name();
    let names: Vec<&str> = left_out.iter().map(|(name, _)| name.as_str()).collect();
    let mut run = without(run, &names);
    if run.cells.is_empty() && !left_out.is_empty() {
        let all: Vec<String> = left_out.iter().map(|(of, why)| format!("{of}: {}", obstacle(why))).collect();
        return Err(format!("--survive {name} leaves no file system. {}", all.join("; ")));
    }
    let skipped =
        |(of, why): &(String, Obstacle)| (of.clone(), format!("left out by --survive {name}: {}", obstacle(why)));
    run.plan.skipped.extend(left_out.iter().map(skipped));
    Ok(run)
}

fn obstacle(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Loses(safety) => format!("it {}", risk(safety)),
        Obstacle::Lacks(lacking) => format!("its documents do not promise {}", levels(*lacking)),
        Obstacle::Undocumented(reason) => reason.clone(),
        Obstacle::NotSynchronous => "it is not mounted with sync".to_owned(),
    }
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
    use mountmark_model::promises::SyncedLost;

    use super::*;
    use crate::tests::{page, run};

    #[test]
    fn levels_are_written_as_ranges() {
        use Level::{L0, L1, L2, L4, L6, L7};
        let written = |all: &[Level]| levels(all.iter().copied().collect());
        assert_eq!(written(&[L0, L1, L2, L4, L6, L7]), "L0-L2 L4 L6 L7");
        assert_eq!((written(&[]), written(&[L1])), ("none".to_owned(), "L1".to_owned()));
        assert_eq!(levels(Level::ALL.into_iter().collect()), "L0-L7");
    }

    /// Three file systems in a run with syncs: one that keeps them, one that lost some elsewhere, one that nothing is known of.
    fn found(flushes: [Option<f64>; 3]) -> Findings {
        let run = run(&["ext4", "jfs", "udf"], 2);
        let mut found = page::findings(&run);
        let known = |files| SyncedLost {
            option: None,
            kernel: "6.12".into(),
            release: "6.12.117".into(),
            date: "2026-11-27".into(),
            files,
            of: 100,
        };
        for ((safety, known), flushes) in
            found.safety.iter_mut().zip([Some(known(0)), Some(known(98)), None]).zip(flushes)
        {
            (safety.known, safety.flushes) = (known, flushes);
        }
        found
    }

    #[test]
    fn what_loses_synced_files_is_said_where_something_syncs() {
        assert_eq!(losses(&found([None; 3])), Vec::<String>::new(), "nothing syncs");
        let said = losses(&found([Some(4.0), Some(0.0), Some(0.0)]));
        assert_eq!(
            said,
            [
                "jfs sends no flush for its syncs here, and a power cut took 98 of 100 files whose fsync had returned \
                 (kernel 6.12.117, measured 2026-11-27).",
                "udf sends no flush for its syncs here: a power cut takes what the disk's cache still holds.",
            ]
        );
        let mut kept = found([Some(4.0), Some(7.0), Some(2.0)]);
        kept.safety[2].lost = 3.0;
        assert_eq!(
            losses(&kept),
            [
                "jfs loses synced files: a power cut took 98 of 100 files whose fsync had returned (kernel 6.12.117, \
                 measured 2026-11-27).",
                "udf loses synced files: a power cut took 3 files whose fsync had returned, in this run.",
            ]
        );
        let mut both = found([Some(4.0), Some(0.0), Some(0.0)]);
        both.safety[2].known = both.safety[1].known.clone();
        let said = losses(&both);
        assert!(
            said.len() == 1 && said[0].starts_with("jfs and udf send no flush for their syncs here, and a"),
            "{said:?}"
        );
        assert!(said[0].contains("took 98 of 100 files of each whose fsync had returned ("), "{said:?}");
        assert_eq!(row(&kept).unwrap(), ["synced files lost (%)", "0", "98", "-"]);
        assert_eq!(row(&found([None; 3])), None);
        assert_eq!(risk(&kept.safety[1]), "lost 98 of 100 files that were synced (kernel 6.12)");
        assert!(risk(&found([None, None, Some(0.0)]).safety[2]).contains("no flush"));
        kept.safety[1].without_layers = true;
        assert!(losses(&kept)[0].ends_with("(kernel 6.12.117, measured 2026-11-27, without its layers)."));
        assert_eq!(risk(&kept.safety[1]), "lost 98 of 100 files that were synced (kernel 6.12, without its layers)");
    }
}
