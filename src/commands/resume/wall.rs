//! When a run under wall time may go on: on its machine, with its kernel, tools, build and target, so that what was
//! measured before differs from what follows by the time alone. That difference is left to the analysis, which takes each
//! sitting for blocks of its own.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_cells::Plan;
use mountmark_lab::host::{self, Undone};
use mountmark_model::{Bytes, Environment, OwnComputer, Sitting};
use mountmark_record::RunRecord;

use super::super::run::LabOptions;
use super::{sittings, unlike};
use crate::common::WrongUse;

/// Rejects a run of another machine, and for a lab without guests one whose store another user could have written: its
/// plan holds commands that run as root.
pub fn is_own(run: &RunRecord, store: &Path) -> Result<()> {
    let id = run.id.as_str();
    let recorded = sittings(run).chain(&run.environment.sitting).next();
    if let Some(reason) = elsewhere(recorded, &mountmark_lab::sitting(0)) {
        bail!(WrongUse(format!(
            "run {id} cannot be resumed: {reason}. Run it anew: {}",
            mountmark_findings::again(run)
        )));
    }
    if run.plan.lab.capabilities().guest {
        return Ok(());
    }
    if let Some(path) = writable_by_others(store)? {
        bail!(
            "run {id} cannot be resumed: {} belongs to another user, or others may write to it, and the commands in it would \
             run on this machine. If only you wrote there, make it root's alone (chown root, chmod go-w); else run it anew: {}",
            path.display(),
            mountmark_findings::again(run)
        );
    }
    Ok(())
}

/// The store or its folder, if another user than root may have written there: SQLite takes up what a log beside the store has.
fn writable_by_others(store: &Path) -> Result<Option<PathBuf>> {
    let file = fs::canonicalize(store).with_context(|| format!("cannot look at {}", store.display()))?;
    for path in file.ancestors().take(2) {
        let data = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
        // The lab runs as root alone.
        if data.uid() != 0 || data.mode() & 0o022 != 0 {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

/// Why this machine is not, or may not be, the one that a run began on.
fn elsewhere(recorded: Option<&Sitting>, here: &Sitting) -> Option<String> {
    let Some(then) = recorded else {
        return Some("an older version of mountmark recorded it, which did not write down on which machine".into());
    };
    if then.boot == here.boot && !here.boot.is_empty() {
        return None;
    }
    if then.machine.is_empty() || here.machine.is_empty() {
        return Some(
            "this machine was started anew since, or it is another one: it has no /etc/machine-id by which to tell"
                .into(),
        );
    }
    (then.machine != here.machine).then(|| "it was measured on another machine (/etc/machine-id)".to_owned())
}

/// A difference between two environments of a configuration that a lab under wall time does not keep from its figures.
pub fn difference(then: &Environment, now: &Environment) -> Option<String> {
    if then.build != now.build {
        return Some(format!("another build of mountmark ({}) measured it", then.mountmark));
    }
    let pairs = [
        ("the build of its kernel", &then.kernel_build, &now.kernel_build),
        ("this machine's kernel", &then.host_kernel, &now.host_kernel),
        ("this machine's processor", &then.host_cpu, &now.host_cpu),
        ("its place", &then.clock, &now.clock),
    ];
    for (what, then, now) in pairs {
        // A guest names the build of its kernel when it runs.
        if then != now && !then.is_empty() && !now.is_empty() {
            return Some(format!("{what} was {then}, and is {now} now"));
        }
    }
    let version =
        |packages: &Environment, name: &str| packages.packages.get(name).map_or("missing", |text| text).to_owned();
    let names = then.packages.keys().chain(now.packages.keys());
    names
        .map(|name| (name, version(then, name), version(now, name)))
        .find(|(_, then, now)| then != now)
        .map(|(name, then, now)| format!("the package {name} was {then}, and is {now} now"))
}

/// Puts back what the killed run left, and makes sure that its target is the same thing.
pub fn make_ready(run: &RunRecord, options: &LabOptions, cache: &Path) -> Result<()> {
    options.kind().check_rights()?;
    say!("mountmark: the suite's commands run as root on this machine");
    for undone in host::clean(cache, false) {
        match undone {
            Ok(Undone::PutBack(thing)) => say!("mountmark: removed {thing}"),
            Ok(Undone::Left(thing)) => say!("mountmark: left {thing}"),
            // What it hinders is refused below, with the reason.
            Err(error) => say!("mountmark: {error:#}"),
        }
    }
    let Some(own) = options.kind().own_computer(&options.place())? else { return Ok(()) };
    match target_differs(&run.plan, &own) {
        Some(difference) => Err(unlike(run, &difference)),
        None => Ok(()),
    }
}

/// Why the machine or the targets are not those of the plan.
fn target_differs(plan: &Plan, now: &OwnComputer) -> Option<String> {
    /// Memory that a kernel may keep for itself at one boot and not at the next, as part of all.
    const KEPT: u64 = 50;
    let (then, is) = (plan.machine.ram.0, now.machine.ram.0);
    if then.abs_diff(is) > then / KEPT {
        return Some(format!("this machine had {} of memory, and has {} now", Bytes(then), Bytes(is)));
    }
    if plan.targets.len() != now.targets.len() {
        return Some(format!("it had {} targets, and there are {} now", plan.targets.len(), now.targets.len()));
    }
    let mut pairs = plan.targets.iter().zip(&now.targets);
    pairs.find_map(|(then, now)| {
        let difference = then.difference(&now.target)?;
        Some(format!("its target {} is another one now: {difference}", then.name()))
    })
}

#[cfg(test)]
mod tests;
