//! A command as what power cuts interrupt.

use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_corpus::bring::LARGE;
use mountmark_crash::application::Said;
use mountmark_crash::scenario::Scenario;
use mountmark_crash::workload::Workload;
use mountmark_model::{Bring, Bytes, CorpusSource, Own, Scale};

use super::WorkOptions;
use crate::common::WrongUse;

/// What is checked after a power cut.
pub struct Checked<'a> {
    /// The command whose exit status is 0 if the image is sound; `None` if none was given.
    pub check: Option<&'a str>,
    /// How often the command is run.
    pub times: Option<u16>,
}

/// Options of a command that say how it is measured: where the power is cut they are refused.
pub const MEASURED: [&str; 6] = ["suite", "cold", "root", "figure", "compare", "save"];

impl WorkOptions {
    /// The command as an application; `None` if there is none.
    ///
    /// # Errors
    /// Options that have no meaning there, and those that need a command.
    pub fn application(&self, Checked { check, times }: Checked) -> Result<Option<Workload>> {
        if !self.is_command() {
            self.refuse_without_command()?;
            let own = [("--check", check.is_some()), ("--times", times.is_some()), ("--suite", self.suite.is_some())];
            if let Some((option, _)) = own.iter().find(|(_, given)| *given) {
                bail!(WrongUse(format!(
                    "{option}: power cuts interrupt workloads, applications, and a command after --"
                )));
            }
            return Ok(None);
        }
        self.refuse_measured()?;
        let Some(check) = check else {
            bail!(WrongUse(
                "say how to tell whether a file system is sound after the cut: --check LINE, a command whose exit status is 0 \
                 then, such as --check 'test -s saved'"
                    .into()
            ));
        };
        let command = self.command_line()?;
        self.refuse_path_of_here(&command)?;
        let tar = brought(&command.with)?;
        let suite = command.suite()?;
        let times = times.unwrap_or(1);
        let said = Said {
            words: self.command.clone(),
            then: self.then.clone(),
            times,
            prepare: self.prepare.clone(),
            with: command.with.clone(),
            parameters: command.parameters.iter().map(|(name, value)| format!("{name}={}", value.0)).collect(),
            tar: tar.clone(),
        };
        let exports = said.exports();
        let with_exports = |line: &str| format!("{exports}{line}");
        let copied = tar.is_some().then(|| format!("cp -R {}/. .", Said::BROUGHT));
        let prepare: Vec<String> = copied.into_iter().chain(self.prepare.clone()).collect();
        let scenario = Scenario {
            name: suite.name.clone(),
            title: suite.name.clone(),
            about: suite.about.clone(),
            prepare: (!prepare.is_empty()).then(|| with_exports(&prepare.join("\n"))),
            steps: suite.tasks.iter().map(|task| with_exports(&task.run)).collect(),
            count: Some(times),
            check: Some(with_exports(check)),
            ..Scenario::default()
        };
        let faults = scenario.faults();
        if !faults.is_empty() {
            bail!(WrongUse(format!("the command: {}", faults.join("; "))));
        }
        let mut workload = scenario.runs(&suite.name).map_err(|reason| WrongUse(format!("the command: {reason}")))?;
        if let Some(application) = &mut workload.application {
            application.whole_packages = self.package.clone();
            application.said = Some(Box::new(said));
        }
        Ok(Some(workload))
    }

    /// Rejects options that tell how a command is measured.
    fn refuse_measured(&self) -> Result<()> {
        let given = [
            self.suite.is_some(),
            self.cold,
            self.root.is_some(),
            !self.figure.is_empty(),
            self.compare.is_some(),
            self.save.is_some(),
        ];
        match MEASURED.iter().zip(given).find(|(_, given)| *given) {
            Some((option, _)) => {
                bail!(WrongUse(format!("--{option} has no meaning where the power is cut; leave it away")))
            }
            None => Ok(()),
        }
    }
}

/// A tar of these files, with the hash of its bytes, for the memory of guests; `None` if there are none.
fn brought(with: &[String]) -> Result<Option<(String, String)>> {
    if with.is_empty() {
        return Ok(None);
    }
    let with: Vec<Own> = with.iter().map(|own| Own::parse(own)).collect();
    let bring = Bring { root: None, over: true, with, folder: Said::BROUGHT.to_owned() };
    let found = mountmark_corpus::bring::examine(&bring).map_err(|error| WrongUse(format!("{error:#}")))?;
    for reason in &found.unsound {
        say!("mountmark: {reason}; it comes as it is");
    }
    if let Some((path, size, _)) = found.large.first() {
        bail!(WrongUse(format!(
            "--with {}: it has {}, and what power cuts interrupt lies in the guest's memory, which has room for {}",
            path.display(),
            Bytes(*size),
            Bytes(LARGE)
        )));
    }
    let folder = mountmark_lab::cache::default_folder().join("corpora");
    let source = CorpusSource::Bring(bring);
    let (tar, _) = mountmark_corpus::realise(&source, Scale::ONE, 0, &folder, &mut |_| {})?;
    let hash = mountmark_lab::cache::sha256_file(&tar)?;
    Ok(Some((tar.to_string_lossy().into_owned(), hash)))
}

/// The tar that guests have in memory, if the workloads bring one.
///
/// # Errors
/// It is not in the cache as it was.
pub fn brought_by(workloads: &[Workload]) -> Result<Option<std::path::PathBuf>> {
    let said = workloads.iter().filter_map(|workload| workload.said()).find_map(|(_, said)| said.tar.as_ref());
    let Some((tar, hash)) = said else { return Ok(None) };
    let path = Path::new(tar);
    let now =
        mountmark_lab::cache::sha256_file(path).with_context(|| format!("what was brought, {tar}, cannot be read"))?;
    if now != *hash {
        bail!("what was brought, {tar}, is not in the cache as it was; begin anew");
    }
    Ok(Some(path.to_owned()))
}
