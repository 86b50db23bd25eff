//! Judges claims of the old studies by a run.

use anyhow::Result;
use mountmark_analyse::claim::{Judges, Reach, judge_claims};
use mountmark_model::{FileSystem, Study, Suite};
use mountmark_plan::Catalogue;
use mountmark_report::{Claims, ClaimsHead};

use super::{Arguments, study};
use crate::common::{self, WrongUse};

/// Judges by `run`; `earlier` stands for the studies' earlier runs.
pub fn run(arguments: &Arguments, earlier: Option<&str>, run: &str) -> Result<u8> {
    common::format_of::<Claims>(arguments.format.as_deref())?;
    let catalogue = Catalogue::load(None)?;
    let studies: Vec<&Study> = match &arguments.study {
        Some(text) if text.contains('#') => {
            return Err(WrongUse(format!("--claims: claims are of a whole study, not of {text}")).into());
        }
        Some(text) => vec![study::find(&catalogue, text)?.0],
        None => catalogue.list::<Study>().collect(),
    };
    let record = arguments.store.load(run)?;
    let earlier = earlier.map(|name| arguments.store.load(name)).transpose()?;
    if earlier.as_ref().is_some_and(|earlier| earlier.id == record.id) {
        return Err(WrongUse(format!("run {} is named twice: name an earlier run and a later one", record.id)).into());
    }
    let judges = Judges { run: &record, earlier: earlier.as_ref(), anyway: arguments.between.anyway };
    let judged = judge_claims(&judges, &studies, &reach(&catalogue));
    let head = ClaimsHead::new(&record, earlier.as_ref(), &studies);
    common::print(&common::written(&Claims { head: &head, claims: &judged }, arguments.format.as_deref())?)?;
    Ok(common::DONE)
}

/// The parts of the catalogue that can be measured.
pub fn reach(catalogue: &Catalogue) -> Reach {
    Reach {
        suites: catalogue.list::<Suite>().map(|suite| suite.name.clone()).collect(),
        machines: catalogue
            .list::<Study>()
            .filter_map(|study| Some((study.suite.clone()?, study.machine.clone()?)))
            .collect(),
        unavailable: catalogue
            .list::<FileSystem>()
            .filter_map(|filesystem| Some((filesystem.name.clone(), filesystem.unavailable.clone()?)))
            .collect(),
        own_kernel: catalogue
            .list::<FileSystem>()
            .filter(|filesystem| filesystem.own_kernel)
            .map(|filesystem| filesystem.name.clone())
            .collect(),
    }
}
