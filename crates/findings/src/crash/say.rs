//! Sentences about power cuts.

pub(crate) mod explored;

use std::collections::BTreeSet;

use mountmark_crash::application::Verdict;
use mountmark_crash::campaign::{Campaign, Cause, Fault, Standing, Told, Tried};
use mountmark_crash::oracle::Level;
use mountmark_crash::stateless::Finding as Suspicion;
use mountmark_crash::states::Fault as DeviceFault;
use mountmark_crash::trace::{Mark, Request};
use mountmark_crash::tree::{Entry, Kind, Source};
use mountmark_crash::workload::Workload;
use mountmark_model::{Bytes, counted};

use crate::figures::say::quantity::headings;

/// What a file system promises, by its documents.
pub(crate) fn promised(campaign: &Campaign) -> String {
    let levels: Vec<&str> = Level::ALL.into_iter().filter(|level| campaign.promises.has(*level)).map(promise).collect();
    let levels = match levels.as_slice() {
        [] => "nothing".to_owned(),
        levels => levels.join("; "),
    };
    let said = match &campaign.undocumented {
        None => format!("It promises: {levels}."),
        Some(reason) => format!("Judged by the least that any file system owes, as {reason}: {levels}."),
    };
    if campaign.has_check { said } else { format!("{said} There is no check of it, so none is run.") }
}

pub(crate) fn title(configurations: &[&str]) -> String {
    format!("Power cuts on {}", headings(configurations))
}

/// What findings of a standing have in common.
pub(crate) fn lead(standing: Standing) -> &'static str {
    match standing {
        Standing::Broken => "Promises that were broken:",
        Standing::Torn => {
            "Promises that were broken only where the disk tore a request between its sectors, as few do:"
        }
        Standing::Application => {
            "What an application's check found that does not count on its steps (durable = false): the application's own \
             affair, and no broken promise of the file system:"
        }
        Standing::AfterLoss => "What was seen after the medium had lost data, of which nothing is promised:",
        Standing::GivenUp => "What it does not promise, and what was seen:",
    }
}

/// A fault of one image.
pub(crate) fn told(told: &Told, workload: &Workload) -> String {
    let beyond = if told.promised { "" } else { "Not promised: " };
    format!("{beyond}{}", fault(&told.fault, workload))
}

pub(crate) fn promise(level: Level) -> &'static str {
    match level {
        Level::L0 => "it mounts, can be read and passes its check (L0)",
        Level::L1 => "what fsync and its like have covered is intact (L1)",
        Level::L2 => "names are durable after fsync of their file or folder (L2)",
        Level::L3 => "rename, link and unlink happen whole or not at all (L3)",
        Level::L4 => "operations on one object become durable in order (L4)",
        Level::L5 => "all changes of metadata become durable in order (L5)",
        Level::L6 => "files do not grow, and are not replaced, before their data is there (L6)",
        Level::L7 => "data becomes durable in the order of operations (L7)",
    }
}

/// Number, size and promises of the disks of campaigns, of which there is one.
pub(crate) fn disk(campaigns: &[Campaign]) -> String {
    let first = &campaigns[0];
    let count = match first.disks {
        disks if campaigns.iter().any(|other| other.disks != disks) => "each ".to_owned(),
        0 | 1 => String::new(),
        disks => format!("{disks} of "),
    };
    format!("{count}{}, {}", Bytes(first.disk_size), device(first))
}

fn device(campaign: &Campaign) -> String {
    match campaign.device.fault {
        None => "which keeps its promises".to_owned(),
        Some(fault) => {
            let name = fault.to_string();
            let form = |form: &str| form.split([':', '@', '^']).next() == name.split([':', '@', '^']).next();
            let about = DeviceFault::LIST.iter().find(|(written, _)| form(written)).map_or("", |(_, about)| about);
            format!("which has the fault {name}: {about}")
        }
    }
}

/// A cause, by the finding in its shortest workload.
pub(crate) fn found(cause: &Cause) -> String {
    format!("{}{} ({}). {}", cause.signature, torn(cause), seen(cause), shown(cause))
}

/// The same under a heading that says the signature.
pub(crate) fn found_below(cause: &Cause) -> String {
    format!("Seen in {}{}. {}", seen(cause), torn(cause), shown(cause))
}

fn seen(cause: &Cause) -> String {
    format!("{} of {}", counted(cause.images, "image"), counted(cause.workloads, "run"))
}

fn torn(cause: &Cause) -> &'static str {
    if cause.torn { ", only where a request is torn at sectors" } else { "" }
}

/// What an array does where it lacks a disk.
fn hole(cause: &Cause) -> String {
    let Some(hole) = &cause.finding.hole else { return String::new() };
    format!(" With all its disks the same image is right: it is wrong when one is gone. {hole}")
}

fn shown(cause: &Cause) -> String {
    let unit = if cause.workload.application.is_some() { "step" } else { "operation" };
    format!(
        "{}{} After: {}{}. Image {}, with {} begun and {} returned.",
        fault(&cause.finding.fault, cause.workload),
        hole(cause),
        cause.workload,
        paused(cause.workload),
        cause.finding.state,
        counted(cause.finding.moment.begun.into(), unit),
        cause.finding.moment.returned
    )
}

/// What passed between the steps of an application.
fn paused(workload: &Workload) -> String {
    let Some(application) = &workload.application else { return String::new() };
    let pauses: Vec<String> =
        (0..application.steps.len() as u16).filter_map(|step| application.pause(step)).map(|s| s.to_string()).collect();
    match pauses.as_slice() {
        [] => String::new(),
        [one] => format!(", with a pause of {one} s between its steps"),
        all => format!(", with pauses of {} s between its steps", all.join(", ")),
    }
}

/// What is wrong with an image, in a sentence.
pub(crate) fn fault(fault: &Fault, workload: &Workload) -> String {
    match fault {
        Fault::Broken(violation) => format!("{}.", violation.sentence(workload)),
        Fault::Recovery(check) => {
            format!("What must go before a mount ends with {}: {}", check.status, telling_lines(&check.said))
        }
        Fault::Mount(reason) => format!("It cannot be mounted: {reason}."),
        Fault::Check(check) => {
            format!("After a mount and an unmount its check ends with {}: {}", check.status, telling_lines(&check.said))
        }
        Fault::Application(verdict) => application(verdict),
        Fault::Write(reason) => format!("It can be mounted, and no file can be written: {reason}."),
        Fault::Umount(reason) => format!("It cannot be unmounted: {reason}."),
        Fault::Gone { reason, log } => format!("Looking at it ended the guest: {reason}. {}", last_lines(log)),
    }
}

/// What an application's own check said.
fn application(Verdict { end, said }: &Verdict) -> String {
    match last_lines(said) {
        said if said.is_empty() => format!("The application's check {end}."),
        said => format!("The application's check {end}: {said}"),
    }
}

/// A file or folder that was found.
pub(crate) fn entry(entry: &Entry) -> String {
    let mut text = match entry.kind {
        Kind::Folder => format!("{}/", entry.path),
        Kind::Symlink => format!("{} -> {}", entry.path, entry.target.as_deref().unwrap_or("?")),
        Kind::Fifo => format!("{} (a FIFO)", entry.path),
        Kind::DeviceNode => format!("{} (a node of {})", entry.path, entry.target.as_deref().unwrap_or("?")),
        Kind::File | Kind::Other => {
            let names = counted(entry.links as usize, "name");
            let runs: Vec<String> =
                entry.runs.iter().map(|run| format!("{} bytes {}", run.length, source(run.source))).collect();
            format!("{}: {} bytes, {names}: {}", entry.path, entry.size, runs.join(", "))
        }
    };
    text.extend(entry.xattrs.iter().map(|(name, value)| format!(" user.{name}={value}")));
    text.extend(entry.error.iter().map(|error| format!(" ({error})")));
    text
}

fn source(source: Source) -> String {
    match source {
        Source::Op(op) => format!("from operation {op}"),
        Source::Moved(op) => format!("from operation {op}, from another place"),
        Source::Zero => "zeros".to_owned(),
        Source::Poison => "from before the format".to_owned(),
        Source::Other => "that nobody wrote".to_owned(),
    }
}

pub(crate) fn mark(mark: &Mark, workload: &Workload) -> String {
    let op = |op: &u16| match &workload.application {
        Some(application) => application.step(*op),
        None => workload.ops.get(usize::from(*op)).map(ToString::to_string).unwrap_or_default(),
    };
    match mark {
        Mark::Begin(number) => format!("{number}: {}", op(number)),
        Mark::End(number, 0) => format!("{number} has returned"),
        Mark::End(number, error) => format!("{number} has failed with errno {error}"),
        Mark::Acknowledged(number) => format!("acknowledged: {number}"),
    }
}

pub(crate) fn request(number: u32, request: &Request) -> String {
    let text = match request {
        Request::Write { offset, length, fua: false, .. } => format!("write {length} bytes at {offset}"),
        Request::Write { offset, length, fua: true, .. } => format!("write {length} bytes at {offset} with FUA"),
        Request::Flush => "flush".to_owned(),
        Request::FlushDisk { offset, .. } => format!("flush of the disk at {offset}"),
        Request::Trim { offset, length } => format!("trim {length} bytes at {offset}"),
        Request::Zero { offset, length, .. } => format!("zero {length} bytes at {offset}"),
    };
    format!("{number}: {text}")
}

pub(crate) fn done(number: u32, error: i32) -> String {
    match error {
        0 => format!("{number} is replied to"),
        error => format!("{number} has failed with errno {error}"),
    }
}

/// Whether the image holds a write, of which it has so many bytes.
pub(crate) fn held(held: u64, length: u64) -> String {
    match held {
        0 => "no, or it changes nothing".to_owned(),
        held if held == length => "yes".to_owned(),
        held => format!("{held} bytes; the others are not there, or were the same before"),
    }
}

/// How a drawing of the write order is to be read.
pub(crate) const DRAWING: &str = "Time goes down. A bar is a write, from its sending to the reply: filled if the image holds it, empty if the power cut has taken it, striped if it is torn. A flush makes durable what was replied to above it.";

pub(crate) const ORDER: &str = "The order of writes";
pub(crate) const CUT: &str = "power cut";

/// The end of what a program said, on one line.
/// What a check says is wrong, without the steps that it goes through (`Pass 1:`, `Phase 2 -`, `[3/7]`).
fn telling_lines(text: &str) -> String {
    let is_step = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let number = words.next().unwrap_or_default();
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        line.starts_with(['[', '-'])
            || number.strip_suffix(':').is_some_and(is_number)
            || (is_number(number) && words.next() == Some("-"))
    };
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_step(line)).take(6).collect();
    if lines.is_empty() { last_lines(text) } else { format!("{}.", lines.join(" / ").trim_end_matches('.')) }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join(" / ")
}

pub(crate) const SUSPICIOUS: &str =
    "What the order of requests alone makes suspicious, whatever images showed (a reason to look, and no proof):";

/// What of each kind is suspicious in a campaign's recordings, in the workload that shows it first.
pub(crate) fn suspicious(campaign: &Campaign) -> Vec<String> {
    let mut kinds: Vec<(&str, String, usize)> = Vec::new();
    for Tried { workload, explored, .. } in campaign.chosen() {
        let mut told = BTreeSet::new();
        for (kind, text) in explored.suspicious.iter().map(|found| suspicion(found, workload)) {
            if !told.insert(kind) {
                continue;
            }
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((_, _, runs)) => *runs += 1,
                None => kinds.push((kind, format!("{text} After: {workload}."), 1)),
            }
        }
    }
    kinds.into_iter().map(|(_, text, runs)| format!("{text} Seen in {}.", counted(runs, "run"))).collect()
}

/// The kind of what is suspicious, and a sentence.
fn suspicion(found: &Suspicion, workload: &Workload) -> (&'static str, String) {
    let op = |op: u16| workload.ops.get(usize::from(op)).map(ToString::to_string).unwrap_or_default();
    match found {
        Suspicion::NotFlushed { op: number, during, before, .. } => {
            let text = format!(
                "{} returned, and no flush and no write with FUA was replied to while it ran; the disk's cache held {} from that \
                 time, and {} from before.",
                op(*number),
                counted(*during, "write"),
                counted(*before, "write")
            );
            ("not flushed", text)
        }
        Suspicion::FlushTooEarly { op: number, flush, writes } => {
            let text = format!(
                "{}: flush {flush} was sent while {} of it had no reply, which it does not cover.",
                op(*number),
                counted(writes.len(), "write")
            );
            ("flush too early", text)
        }
        Suspicion::Race { first, second, offset, length } => {
            let text = format!(
                "Requests {first} and {second} were under way at once and change the same {length} bytes at {offset}."
            );
            ("race", text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_check_what_is_wrong_is_said_and_not_how_far_it_came() {
        let said = "Pass 1: Checking inodes, blocks, and sizes\nInode 7, i_blocks is 5088, should be 5096.  Fix? no\n\nPass 2: \
                    Checking directory structure\nPass 5: Checking group summary information\n\n/dev/md0: 13/65280 files";
        assert_eq!(
            telling_lines(said),
            "Inode 7, i_blocks is 5088, should be 5096.  Fix? no / /dev/md0: 13/65280 files."
        );
        let steps = "Phase 1 - find and verify superblock...\n        - zero log...\n[1/7] checking root items";
        assert!(telling_lines(steps).contains("zero log"), "where there is nothing else, the end");
    }
}
