//! Options of `run` that have no meaning where something else runs it.

use anyhow::{Result, bail};
use mountmark_model::conditions::Way;

use super::Arguments;
use crate::common::WrongUse;

impl Arguments {
    /// Refuses what is about a table that is not printed.
    pub fn refuse_printing(&self, reason: &str) -> Result<()> {
        let given = [
            ("--format", self.format.format.is_some()),
            ("--metric", self.format.metric.is_some()),
            ("--advice", self.advice.is_some()),
        ];
        refuse_first(&given, reason)
    }

    /// Refuses several cells at once where there are no guests.
    pub(super) fn refuse_jobs(&self) -> Result<()> {
        let lab = self.lab.lab.name();
        let is_several = self.jobs.is_some_and(|jobs| jobs > 1) && !self.lab.capabilities().guest;
        let reason = format!("--jobs is about guests, and the {lab} lab runs one cell at a time: leave it away");
        if is_several { bail!(WrongUse(reason)) } else { Ok(()) }
    }

    /// Refuses what no baseline can be made of.
    pub fn refuse_for_baseline(&self) -> Result<()> {
        let lab = self.lab.lab;
        if !lab.capabilities().exact_clock {
            bail!(WrongUse(format!(
                "--lab {}: a baseline has exact figures, and wall time has none: leave it out, or keep runs and use compare",
                lab.name()
            )));
        }
        if self.repeat == Some(1) && self.conditions == Way::Varied {
            bail!(WrongUse(
                "--repeat 1: one repeat under varied conditions shows no change; take --repeat 3, or --conditions fixed".into()
            ));
        }
        let other = [
            ("--vary", !self.vary.is_empty()),
            ("--compare", self.work.is_compared()),
            ("--precision and --budget", self.sampling.is_sampled()),
            ("--study", self.study.is_some()),
            ("--on", self.on.is_some()),
            ("--dry-run", self.dry_run),
        ];
        refuse_first(&other, "a baseline is of one plan that is measured here; leave it away")
    }
}

/// Refuses the first option that is given.
pub(super) fn refuse_first(options: &[(&str, bool)], reason: &str) -> Result<()> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => bail!(WrongUse(format!("{option}: {reason}"))),
        None => Ok(()),
    }
}
