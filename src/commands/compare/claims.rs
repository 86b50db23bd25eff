//! Judges claims of the old studies by a run.

use anyhow::Result;
use mountmark_analyse::claim::{Reach, judge_claims};
use mountmark_model::{FileSystem, Study, Suite};
use mountmark_plan::Catalogue;
use mountmark_report::{Claims, ClaimsHead};

use super::{Arguments, study};
use crate::common::{self, WrongUse};

pub fn run(arguments: &Arguments, run: &str) -> Result<u8> {
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
    let judged = judge_claims(&record, &studies, &reach(&catalogue));
    let head = ClaimsHead {
        run: record.id.as_str().to_owned(),
        suite: record.plan.suite.clone(),
        repeats: record.plan.repeats,
        filesystems: mountmark_analyse::configurations(&record),
        warnings: mountmark_analyse::study::unfinished(&record).into_iter().collect(),
        titles: studies
            .iter()
            .map(|study| (study.name.clone(), format!("{}, {}", study.title, study.published)))
            .collect(),
    };
    common::print(&common::written(&Claims { head: &head, claims: &judged }, arguments.format.as_deref())?)?;
    Ok(common::DONE)
}

/// The parts of the catalogue that can be measured.
pub fn reach(catalogue: &Catalogue) -> Reach {
    Reach {
        suites: catalogue.list::<Suite>().map(|suite| suite.name.clone()).collect(),
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
