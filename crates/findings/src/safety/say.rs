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
use crate::safety::find::survive::{Obstacle, Survive, left_out, without};
use crate::safety::find::{AfterCut, BrokenPromise};

pub(crate) const LEVELS: &str = "Promises";
/// Behind [`losses`].
const NO_STAR: &str = "Where a test syncs, what loses synced files has no star.";
/// Of other runs: what power cuts took.
const LOST_ROW: &str = "synced files lost (%)";
pub(crate) const HOW: &str = "A promise is what a file system's own documents say of the time after a power cut. Images are what a campaign of power cuts tried (`mountmark crash`); that none of them breaks a promise says nothing about others. Synced files lost are of one power cut that took the disk's cache. Speed and safety are of the same configuration and kernel where no other kernel is named.";

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

/// Of a run in which something syncs: what power cuts take of what was synced, an item each.
pub(crate) fn beside(findings: &Findings) -> Vec<String> {
    let mut out = losses(findings);
    if !out.is_empty() {
        out.push(NO_STAR.into());
    }
    let is_of_syncs = |fault: &BrokenPromise| matches!(fault.level, Level::L1 | Level::L2);
    let syncing = known(findings, |at| findings.safety[at].flushes.is_some());
    out.extend(broken_promises(syncing.into_iter().filter(|(_, fault)| is_of_syncs(fault))));
    out
}

/// Promises that are known to be broken, each with a configuration that has it, of those that are meant.
pub(crate) fn known(findings: &Findings, is_meant: impl Fn(usize) -> bool) -> Vec<(&str, &BrokenPromise)> {
    let meant = (0..findings.safety.len()).filter(|at| is_meant(*at));
    meant
        .flat_map(|at| findings.safety[at].faults.iter().map(move |fault| (findings.headings[at].as_str(), fault)))
        .collect()
}

/// A sentence for each.
pub(crate) fn broken_promises<'a>(all: impl IntoIterator<Item = (&'a str, &'a BrokenPromise)>) -> Vec<String> {
    let by_fault = by_key(all.into_iter().map(|(name, fault)| (fault, name)));
    let sentence = |(fault, names): (&BrokenPromise, Vec<&str>)| {
        let (BrokenPromise { level, about, release, date }, names) = (fault, and(names));
        format!("{names}: {about} (breaks {level}; kernel {release}, {date}; `mountmark list faults`).")
    };
    by_fault.into_iter().map(sentence).collect()
}

fn without_layers(safety: &AfterCut) -> &'static str {
    if safety.without_layers { ", on one disk without layers" } else { "" }
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

/// What is known to be broken on a configuration of a run, sentences.
pub fn known_faults(findings: &Findings, configuration: &str) -> Vec<String> {
    broken_promises(known(findings, |at| findings.configurations[at] == configuration))
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

/// What power cuts showed, in a cell of a table; `kernel` is the run's.
pub(crate) fn shown(campaign: Option<&Campaign>, kernel: Option<&str>) -> String {
    // One that was interrupted may have no image yet.
    let tried = campaign.map(|campaign| (campaign, campaign.total(|explored| explored.states)));
    let Some((campaign, images)) = tried.filter(|(_, images)| *images > 0) else { return "not tried".into() };
    let other = kernel.filter(|kernel| *kernel != campaign.kernel).map(|_| format!("\non {}", campaign.kernel));
    let images = counted(images, "image") + &other.unwrap_or_default();
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
