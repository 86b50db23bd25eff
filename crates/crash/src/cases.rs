//! Campaigns by the cases that studies tell apart: what became of a file when the power failed at such a moment, and
//! what that says of the studies' claims.

use std::collections::BTreeMap;

use mountmark_model::{Case, Claim, Fate, Study};
use serde::Serialize;

use crate::campaign::Campaign;
use crate::oracle::Fates;

/// A case, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseSeen<'a> {
    pub study: &'a str,
    #[serde(flatten)]
    pub case: &'a Case,
    /// Of each configuration, in the campaigns' order: images by fate. Empty if the workload was not tried.
    pub seen: Vec<(&'a str, BTreeMap<Fate, usize>)>,
}

/// A claim about cases, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimSeen<'a> {
    pub study: &'a str,
    pub id: &'a str,
    pub text: &'a str,
    pub note: Option<&'a str>,
    /// Of each configuration that it is about and that was tried: whether it holds in all of its cases.
    pub holds: Vec<(&'a str, bool)>,
    /// Configurations that it is about and that were not tried.
    pub missing: Vec<&'a str>,
}

/// What campaigns say of the cases of studies.
pub fn cases<'a>(studies: &[&'a Study], campaigns: &'a [Campaign]) -> Vec<CaseSeen<'a>> {
    let all = studies.iter().flat_map(|study| study.cases.iter().map(|case| (study.name.as_str(), case)));
    let seen = |case: &'a Case| {
        let of = |campaign: &'a Campaign| (campaign.configuration.as_str(), fates(campaign, case));
        campaigns.iter().map(of).collect()
    };
    all.map(|(study, case)| CaseSeen { study, case, seen: seen(case) }).collect()
}

/// What campaigns say of claims about such cases.
pub fn claims<'a>(studies: &[&'a Study], campaigns: &'a [Campaign]) -> Vec<ClaimSeen<'a>> {
    let all = studies.iter().flat_map(|study| study.claims.iter().map(move |claim| (*study, claim)));
    all.filter_map(|(study, claim)| judged(study, claim, campaigns)).collect()
}

fn judged<'a>(study: &'a Study, claim: &'a Claim, campaigns: &'a [Campaign]) -> Option<ClaimSeen<'a>> {
    let about = claim.power_cuts.as_ref()?;
    let cases: Vec<&Case> = study.cases.iter().filter(|case| about.cases.contains(&case.id)).collect();
    let (mut holds, mut missing) = (Vec::new(), Vec::new());
    for name in &about.on {
        let campaign = campaigns.iter().find(|campaign| campaign.configuration == *name);
        let seen: Vec<_> = cases.iter().filter_map(|case| campaign.map(|campaign| fates(campaign, case))).collect();
        if seen.is_empty() || seen.iter().any(BTreeMap::is_empty) {
            missing.push(name.as_str());
        } else {
            let is_so = about.holds(seen.iter().flat_map(|fates| fates.keys().copied()));
            holds.push((name.as_str(), is_so));
        }
    }
    let note = claim.note.as_deref();
    Some(ClaimSeen { study: &study.name, id: &claim.id, text: &claim.text, note, holds, missing })
}

/// Images of a case by fate, over all policies of the disk.
fn fates(campaign: &Campaign, case: &Case) -> BTreeMap<Fate, usize> {
    let mut all = BTreeMap::new();
    for tried in campaign.chosen().filter(|tried| tried.workload.name == case.workload) {
        let is_own = |fates: &&Fates| fates.path == case.file && fates.repaired == case.repaired;
        let own = tried.explored.fates.iter().filter(is_own);
        for fates in own.filter(|fates| case.when.is_none_or(|when| fates.when == when)) {
            *all.entry(fates.fate).or_default() += fates.images;
        }
    }
    all
}
