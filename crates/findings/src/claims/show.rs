//! Judged claims.

pub(crate) mod section;
pub(crate) mod worded;

use std::collections::BTreeMap;

use anyhow::Result;
use mountmark_document::forms::{Block, Object, Rows, Subject};
use mountmark_model::Study;
use mountmark_record::RunRecord;
use serde::Serialize;

use crate::claims::find::{ClaimOutcome, JudgedClaim};
use crate::claims::say;
use crate::claims::say::outcome;
use crate::claims::show::worded::WordedClaim;
use crate::run::show::about::labels;
use crate::studies::find::{Warning, unfinished};
use crate::{analysis, figures, studies, verdicts};

/// The run and studies behind judged claims.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimsHead {
    pub run: String,
    pub suite: String,
    pub machine: String,
    /// The run that stands for the studies' earlier ones.
    pub earlier: Option<String>,
    /// What each run is of, in words.
    #[serde(skip)]
    judges: Vec<(String, String)>,
    /// Number of cells of each configuration.
    pub repeats: u32,
    pub filesystems: Vec<String>,
    /// Reasons why some claims cannot be judged.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
    /// Titles of studies, by name.
    pub titles: BTreeMap<String, String>,
}

impl ClaimsHead {
    pub fn new(run: &RunRecord, earlier: Option<&RunRecord>, studies: &[&Study]) -> ClaimsHead {
        let name = |run: &RunRecord| run.id.as_str().to_owned();
        let title = |study: &&Study| (study.name.clone(), format!("{}, {}", study.title, study.published));
        let mut judges = vec![("run".to_owned(), format!("{}, {}", name(run), say::judge(run)))];
        judges.extend(earlier.map(|run| ("earlier run".into(), format!("{}, {}", name(run), say::judge(run)))));
        ClaimsHead {
            run: name(run),
            suite: run.plan.suite.clone(),
            machine: run.plan.machine.name.clone(),
            earlier: earlier.map(name),
            judges,
            repeats: run.plan.repeats,
            filesystems: analysis::configurations(run),
            warnings: [Some(run), earlier].into_iter().flatten().filter_map(unfinished).collect(),
            titles: studies.iter().map(title).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Claims<'a> {
    pub head: &'a ClaimsHead,
    pub claims: &'a [JudgedClaim],
}

impl Subject for Claims<'_> {
    const COMMAND: &'static str = "compare --claims";
    const NAME: &'static str = "judged claims";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

fn object(Claims { head, claims }: &Claims, out: &mut Object) -> Result<()> {
    let summary: BTreeMap<&str, usize> =
        ClaimOutcome::counts(claims).into_iter().map(|(found, count)| (outcome(found), count)).collect();
    out.head(head)?;
    out.head(&BTreeMap::from([("warnings", studies::say::warnings(&head.warnings))]))?;
    out.head(&BTreeMap::from([("summary", summary)]))?;
    out.list("claims", claims.iter().map(WordedClaim::new))
}

const HEAD: &str = "run,suite,machine,study,claim,outcome,complete,own_figures,clause,clause_outcome,holds,exceeded,against,undecided,unmeasured,text,sentence,figures";

/// One line per clause; a claim without clauses has one line.
fn rows(Claims { head, claims }: &Claims, out: &mut Rows) -> Result<()> {
    out.head(HEAD)?;
    for claim in *claims {
        let own = claim.own_figures.map_or("", outcome);
        let complete = claim.complete.to_string();
        let of_run = [head.run.as_str(), &head.suite, &head.machine];
        let start = of_run.into_iter().chain([claim.study.as_str(), &claim.id, outcome(claim.outcome), &complete, own]);
        let mut line = |middle: [&str; 7], sentence: &str, figures: &str| {
            out.line(start.clone().chain(middle).chain([claim.text.as_str(), sentence, figures]))
        };
        if claim.clauses.is_empty() {
            line([""; 7], &say::sentence(claim), "")?;
        }
        for clause in &claim.clauses {
            let counts = clause.counts;
            let counts = [counts.holds, counts.exceeded, counts.against, counts.undecided, counts.unmeasured];
            let [holds, exceeded, against, undecided, unmeasured] = counts.map(|count| count.to_string());
            let test = say::test(&clause.clause);
            let middle = [&test, outcome(clause.outcome), &holds, &exceeded, &against, &undecided, &unmeasured];
            line(middle, &say::clause(clause), &say::figures(clause))?;
        }
    }
    Ok(())
}

fn parts(Claims { head, claims }: &Claims) -> Vec<Block> {
    let judges = head.judges.iter().map(|(label, text)| Block::Fact(label.clone(), text.clone()));
    let mut out: Vec<Block> = judges.collect();
    out.push(Block::Fact("file systems".into(), figures::say::quantity::headings(&head.filesystems)));
    out.extend(labels(head.filesystems.iter().map(String::as_str)));
    out.push(Block::Fact("judged".into(), verdicts::say::rule::of_claims(head.repeats)));
    out.extend(studies::say::warnings(&head.warnings).into_iter().map(|text| Block::Fact("note".into(), text)));
    for of_study in claims.chunk_by(|one, next| one.study == next.study) {
        let study = &of_study[0].study;
        let title = head.titles.get(study).map_or(String::new(), |title| format!(": {title}"));
        out.push(Block::Heading(format!("{study}{title}")));
        out.extend(section::verdicts(&[], of_study));
    }
    out
}

#[cfg(test)]
mod tests;
