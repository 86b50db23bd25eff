//! Judges claims of the old studies by a run.

use std::collections::BTreeSet;

use anyhow::Result;
use mountmark_crash::campaign::Campaign;
use mountmark_crash::cases;
use mountmark_crash::record::Record;
use mountmark_crash::workload::Workload;
use mountmark_findings::claims::{Claims, ClaimsHead, CutsSeen, JudgedClaim, Judges, Reach, judge_claims};
use mountmark_model::{FileSystem, Study, Suite};
use mountmark_plan::Catalogue;
use mountmark_record::Campaigns;

use super::{Arguments, study};
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};

/// Judges by `run`; `earlier` stands for the studies' earlier runs.
pub fn run(arguments: &Arguments, earlier: Option<&str>, run: &str) -> Result<u8> {
    common::format_of::<Claims>(arguments.format.as_deref())?;
    let catalogue = catalogue::load()?;
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
    let judges = Judges { run: Some(&record), earlier: earlier.as_ref(), anyway: arguments.between.anyway };
    let judged = judged(&judges, &studies, &catalogue, &arguments.store)?;
    let head = ClaimsHead::new(&record, earlier.as_ref(), &studies);
    common::show(&Claims { head: &head, claims: &judged }, arguments.format.as_deref())
}

/// The claims of `studies`, by runs and, where they are about power cuts, by the newest campaigns of the store.
pub fn judged(
    judges: &Judges<'_>,
    studies: &[&Study],
    catalogue: &Catalogue,
    store: &StoreOptions,
) -> Result<Vec<JudgedClaim>> {
    let mut judged = judge_claims(judges, studies, &reach(catalogue));
    let listed = Campaigns::beside(&store.path()).list(Record::from_pieces)?;
    let parts = listed.iter().rev().flat_map(|listed| &listed.record.parts);
    let newest_first: Vec<&Campaign> = parts.map(|part| &part.campaign).collect();
    let names: BTreeSet<&str> =
        studies.iter().flat_map(|study| &study.cases).map(|case| case.workload.as_str()).collect();
    let workloads: Vec<Workload> =
        names.into_iter().map(|name| catalogue::workload(catalogue, name)).collect::<Result<_, _>>()?;
    let campaigns = cases::joined(&newest_first, &workloads);
    let hurried = cases::hurried(&campaigns);
    for seen in cases::claims(studies, &campaigns) {
        let own = |name: &&str| (*name).to_owned();
        let cuts = CutsSeen {
            holds: seen.holds.iter().map(|(name, holds)| (own(name), *holds)).collect(),
            images: seen.images.iter().map(|(name, images)| (own(name), images.clone())).collect(),
            missing: seen.missing.iter().map(own).collect(),
            hurried: seen.images.iter().map(|(name, _)| name).filter(|name| hurried.contains(name)).map(own).collect(),
        };
        let is_it = |claim: &&mut JudgedClaim| claim.study == seen.study && claim.id == seen.id;
        if let Some(claim) = judged.iter_mut().find(is_it) {
            claim.by_power_cuts(cuts);
        }
    }
    Ok(judged)
}

/// Whether power cuts judge a claim of this study, and the store has campaigns of them.
pub fn cuts_judge(study: &Study, store: &StoreOptions) -> Result<bool> {
    let is_any = study.claims.iter().any(|claim| claim.power_cuts.is_some());
    Ok(is_any && !Campaigns::beside(&store.path()).list(Record::from_pieces)?.is_empty())
}

/// The parts of the catalogue that can be measured.
pub fn reach(catalogue: &Catalogue) -> Reach {
    Reach {
        suites: catalogue.list::<Suite>().map(|suite| suite.name.clone()).collect(),
        machines: catalogue
            .list::<Study>()
            .filter_map(|study| Some((study.suite.clone()?, study.machine.clone()?)))
            .collect(),
        needs: catalogue.list::<Study>().filter_map(|study| Some((study.suite.clone()?, study.needs))).collect(),
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
