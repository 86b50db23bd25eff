//! What a suite brings of the user's own: programs, files and whole trees, which become its corpus.

use std::path::{Component, Path};

use mountmark_model::{Bring, Lab, Own, Source, Suite, TaskRoot};

use crate::error::fault;
use crate::{PlanError, Result};

/// The module with which a tree is laid over the guest's own programs.
const OVERLAY: &str = "overlay";
/// Where tasks find the second disk.
const SOURCE: &str = "/source";
/// Variables that every task has.
const OWN: [&str; 3] = ["TEST", "SOURCE", "SEED"];

/// Why what a suite brings cannot be brought, as sentences.
pub(crate) fn faults(suite: &Suite) -> Vec<String> {
    let mut faults = Vec::new();
    if !brings(suite) {
        return faults;
    }
    if suite.corpus.is_some() || suite.source != Source::None {
        faults.push("it has a corpus or a source, and with or root: a cell has one tree of files; keep one".into());
    }
    faults.extend(task_root(suite).iter().flat_map(tree_faults));
    faults
}

/// Why tasks cannot have such a tree, as sentences.
pub(crate) fn tree_faults(root: &TaskRoot) -> Vec<String> {
    let (mut faults, folder) = (Vec::new(), Path::new(&root.folder));
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    if !folder.is_absolute() || !folder.components().all(is_plain) || folder.components().count() < 2 {
        faults.push(format!("root.folder is {:?}: give a whole path below /, such as /home/me", root.folder));
    }
    if ["/proc", "/sys", "/dev", SOURCE, TaskRoot::LARGE].iter().any(|taken| folder.starts_with(taken)) {
        faults.push(format!("root.folder is {:?}, which a guest has for itself; choose another", root.folder));
    }
    for (name, value) in &root.environment {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || name.starts_with(|c: char| c.is_ascii_digit()) || OWN.contains(&name.as_str()) {
            faults.push(format!("root.environment has {name:?}, which is no variable's name, or is set by the lab"));
        }
        if name.contains('\0') || value.contains('\0') {
            faults.push(format!("root.environment: {name} holds a null character, and no variable can"));
        }
    }
    faults
}

fn brings(suite: &Suite) -> bool {
    !suite.with.is_empty() || suite.root.is_some()
}

/// The suite of a file with the paths of what it brings, from its own folder.
///
/// # Errors
/// A path that leads out of the suite's folder: a suite may be a stranger's.
pub(crate) fn beside(mut suite: Suite, path: &Path) -> Result<Suite> {
    let found = |field: &str, name: &str| {
        let found = mountmark_input::beside(path, name).and_then(|found| found.canonicalize());
        let found = found.map_err(|reason| fault(&path.display(), format!("{field} {name:?}: {reason}")))?;
        Ok::<_, PlanError>(found.to_string_lossy().into_owned())
    };
    for own in &mut suite.with {
        let Own { name, path } = Own::parse(own);
        *own = Own { path: found("with", &path.to_string_lossy())?.into(), name }.text();
    }
    if let Some(root) = &mut suite.root {
        root.path = found("root.path", &root.path)?;
    }
    Ok(settled(suite))
}

/// The suite with the disk and the driver that what it brings needs.
pub(crate) fn settled(mut suite: Suite) -> Suite {
    if brings(&suite) {
        suite.source = Source::Tree;
        suite.corpus_copies = suite.corpus_copies.max(1);
        suite.corpus_written = suite.corpus_written.max(1);
        suite.modules.push(OVERLAY.into());
    }
    suite
}

/// Refuses a suite that brings what a lab without guests has no place for.
///
/// # Errors
/// What it brings.
pub(crate) fn allowed(suite: &Suite, lab: Lab) -> Result<()> {
    if lab.capabilities().guest || !brings(suite) && suite.whole_packages.is_empty() {
        return Ok(());
    }
    Err(PlanError::Options(format!(
        "the suite {} brings programs or packages, which guests get; the {} lab has this machine's own: install them, and name \
         files by their whole paths",
        suite.name,
        lab.name()
    )))
}

/// Puts `own` in the place of what the suite brings of that name.
pub(crate) fn replace(suite: &mut Suite, own: &Own) {
    for with in &mut suite.with {
        if Own::parse(with).called() == own.called() {
            *with = own.text();
        }
    }
}

/// What the suite brings, if it brings anything.
pub fn of(suite: &Suite) -> Option<Bring> {
    brings(suite).then(|| Bring {
        root: suite.root.as_ref().map(|root| root.path.clone().into()),
        over: suite.root.as_ref().is_none_or(|root| root.over),
        with: suite.with.iter().map(|own| Own::parse(own)).collect(),
        folder: task_root(suite).map(|root| root.folder).unwrap_or_default(),
    })
}

/// The tree of the suite's tasks.
pub(crate) fn task_root(suite: &Suite) -> Option<TaskRoot> {
    brings(suite).then(|| suite.root.as_ref().map_or_else(TaskRoot::of_files, TaskRoot::from))
}
