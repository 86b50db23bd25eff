//! Campaigns by the cases that studies tell apart: what became of a file when the power failed at such a moment, and
//! what that says of the studies' claims.

use std::collections::BTreeMap;

use mountmark_model::{Case, Claim, FileOutcome, Study};
use serde::Serialize;

use crate::campaign::{Campaign, Tried};
use crate::oracle::Fates;
use crate::workload::Workload;

/// A case, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseSeen<'a> {
    pub study: &'a str,
    #[serde(flatten)]
    pub case: &'a Case,
    /// Of each configuration, in the campaigns' order: images by fate. `None` if the workload was not tried; empty if no
    /// image of it is of that moment.
    pub seen: Vec<(&'a str, Option<BTreeMap<FileOutcome, usize>>)>,
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
    /// Images by fate, over its cases, of these and of those that they are compared with.
    pub images: Vec<(&'a str, BTreeMap<FileOutcome, usize>)>,
    /// Configurations that it is about and that have no image of one of its cases.
    pub missing: Vec<&'a str>,
}

/// Of each configuration one campaign of those in `newest_first`, on disks without a fault: it has each of `workloads` from
/// the newest that tried it as it is now and has images of it.
pub fn joined(newest_first: &[&Campaign], workloads: &[Workload]) -> Vec<Campaign> {
    let mut out: Vec<Campaign> = Vec::new();
    for campaign in newest_first.iter().filter(|campaign| campaign.device.fault.is_none()) {
        let at = out.iter().position(|joined| joined.configuration == campaign.configuration);
        let at = at.unwrap_or_else(|| {
            // Of a campaign that was cut short those workloads may be whole that are taken: each says it itself.
            out.push(Campaign { tried: Vec::new(), cut_short: false, ..(*campaign).clone() });
            out.len() - 1
        });
        for workload in workloads {
            let is_it = |tried: &&Tried| tried.workload == *workload && tried.explored.states > 0;
            if !out[at].tried.iter().any(|tried| is_it(&tried)) {
                out[at].tried.extend(campaign.chosen().filter(is_it).cloned());
            }
        }
    }
    out.retain(|campaign| !campaign.tried.is_empty());
    out
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

/// Configurations whose time ended before all their images were made.
pub fn hurried(campaigns: &[Campaign]) -> Vec<&str> {
    let is_hurried = |one: &&Campaign| one.cut_short || one.chosen().any(|tried| tried.explored.cut_short);
    campaigns.iter().filter(is_hurried).map(|one| one.configuration.as_str()).collect()
}

/// What campaigns say of claims about such cases.
pub fn claims<'a>(studies: &[&'a Study], campaigns: &'a [Campaign]) -> Vec<ClaimSeen<'a>> {
    let all = studies.iter().flat_map(|study| study.claims.iter().map(move |claim| (*study, claim)));
    all.filter_map(|(study, claim)| judged(study, claim, campaigns)).collect()
}

fn judged<'a>(study: &'a Study, claim: &'a Claim, campaigns: &'a [Campaign]) -> Option<ClaimSeen<'a>> {
    let about = claim.power_cuts.as_ref()?;
    let cases: Vec<&Case> = study.cases.iter().filter(|case| about.cases.contains(&case.id)).collect();
    // Images of all cases together; `None` if one of them has none.
    let seen = |name: &String| {
        let campaign = campaigns.iter().find(|campaign| campaign.configuration == *name)?;
        let mut all: BTreeMap<FileOutcome, usize> = BTreeMap::new();
        for case in &cases {
            let found = fates(campaign, case).filter(|found| !found.is_empty())?;
            found.into_iter().for_each(|(fate, images)| *all.entry(fate).or_default() += images);
        }
        Some(all)
    };
    let (mut holds, mut images, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let others: Vec<Option<BTreeMap<FileOutcome, usize>>> = about.than.iter().map(seen).collect();
    let lacking = about.than.iter().zip(&others).filter(|(_, seen)| seen.is_none());
    missing.extend(lacking.map(|(name, _)| name.as_str()));
    let others: Vec<BTreeMap<FileOutcome, usize>> = others.into_iter().flatten().collect();
    for name in &about.on {
        match seen(name).filter(|_| others.len() == about.than.len()) {
            None => missing.push(name.as_str()),
            Some(found) => {
                holds.push((name.as_str(), about.holds(&found, &others)));
                images.push((name.as_str(), found));
            }
        }
    }
    images.extend(about.than.iter().map(String::as_str).zip(others));
    let note = claim.note.as_deref();
    Some(ClaimSeen { study: &study.name, id: &claim.id, text: &claim.text, note, holds, images, missing })
}

/// Images of a case by fate, over all policies of the disk; `None` if it was not tried.
fn fates(campaign: &Campaign, case: &Case) -> Option<BTreeMap<FileOutcome, usize>> {
    let mut all = BTreeMap::new();
    let mut of_case = campaign.chosen().filter(|tried| tried.workload.name == case.workload).peekable();
    of_case.peek()?;
    for tried in of_case {
        let is_own = |fates: &&Fates| fates.path == case.file && fates.repaired == case.repaired;
        let own = tried.explored.fates.iter().filter(is_own);
        for fates in own.filter(|fates| case.when.is_none_or(|when| fates.when == when)) {
            *all.entry(fates.fate).or_default() += fates.images;
        }
    }
    Some(all)
}
