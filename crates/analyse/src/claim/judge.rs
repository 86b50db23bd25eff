//! Combines comparisons into verdicts on clauses, and those into verdicts on claims.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::{Claim, Clause, Order, Over, Study, Test};
use mountmark_record::RunRecord;

use super::clause::{Context, Demand, Prepared, Rule, is_of_every_suite, prepare};
use super::decide::{self, Decision};
use super::missing::{Lack, Missing};
use super::{ClaimOutcome, Counts, JudgedClaim, JudgedClause, JudgedComparison};
use crate::contrast::Tested;
use crate::study::Table;

/// What this program can measure; used to name commands and reasons for missing figures.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    pub suites: BTreeSet<String>,
    /// Configurations that cannot be measured, with the reason.
    pub unavailable: BTreeMap<String, String>,
    /// File systems that need a kernel from the user.
    pub own_kernel: BTreeSet<String>,
}

/// Judges the claims of `studies` by a run.
///
/// Claims are in the order of the studies. Each is judged by the run's figures if the run's suite is the one that the
/// claim is about; claims about mkfs, mount, umount and capacity by any run. The studies' own figures too.
pub fn judge_claims(run: &RunRecord, studies: &[&Study], reach: &Reach) -> Vec<JudgedClaim> {
    let table = Table::of_run(run);
    let source = |study: &Study, clause: &Clause| suits(study, clause, &run.plan.suite).then_some(&table);
    let own = own_figures(studies);
    let judged = judge(studies, &source);
    judged
        .into_iter()
        .map(|(study, claim, clauses)| {
            let missing = Missing { run, table: &table, study, claim, reach, clauses: &clauses };
            let (lacks, commands) = missing.found();
            let key = (study.name.clone(), claim.id.clone());
            finish(study, claim, clauses, lacks, commands, own.get(&key).copied())
        })
        .collect()
}

/// Verdicts by the studies' own figures, by study and claim; claims without such figures are omitted.
pub fn own_figures(studies: &[&Study]) -> BTreeMap<(String, String), ClaimOutcome> {
    let tables: Vec<(&Study, Table)> =
        studies.iter().filter_map(|study| Some((*study, Table::of_study(study, &study.runs.first()?.id)))).collect();
    let source = |study: &Study, clause: &Clause| {
        let is_it = |other: &Study| match &clause.suite {
            // Where two studies share a suite, the claim's own study comes first.
            Some(suite) => other.suite.as_ref() == Some(suite) && !other.figures.is_empty(),
            None => other.name == study.name,
        };
        tables.iter().find(|(other, _)| is_it(other)).map(|(_, table)| table)
    };
    judge(studies, &source)
        .into_iter()
        .filter_map(|(study, claim, clauses)| {
            let outcome = together(claim, &clauses);
            let decided = !matches!(outcome, ClaimOutcome::NotMeasured | ClaimOutcome::Undecidable);
            decided.then(|| ((study.name.clone(), claim.id.clone()), outcome))
        })
        .collect()
}

/// Whether a run of `suite` has figures for a clause.
fn suits(study: &Study, clause: &Clause, suite: &str) -> bool {
    is_of_every_suite(clause)
        || match &clause.suite {
            Some(wanted) => wanted == suite,
            None => study.is_repeated_by(suite),
        }
}

/// A clause with its comparisons, and their decisions if there are any.
pub(super) struct Decided<'a> {
    pub clause: &'a Clause,
    /// `None` if the source has another suite.
    pub prepared: Option<Prepared>,
    pub judged: JudgedClause,
}

fn judge<'a, 't>(
    studies: &[&'a Study],
    source: &dyn Fn(&Study, &Clause) -> Option<&'t Table>,
) -> Vec<(&'a Study, &'a Claim, Vec<Decided<'a>>)> {
    let mut stratum = 0;
    let mut prepared = Vec::new();
    for study in studies {
        let own = study.runs.first().map_or(&[][..], |run| &run.filesystems);
        for claim in &study.claims {
            for clause in &claim.clauses {
                let ready =
                    source(study, clause).map(|table| prepare(clause, &Context { table, filesystems: own, stratum }));
                stratum += ready.as_ref().map_or(0, |ready| ready.figures.len() + 1);
                prepared.push(ready);
            }
        }
    }
    // One family, so that a claim is not more likely to be shown for being one of many.
    let units = prepared.iter().flatten().flat_map(|ready| &ready.units);
    let comparisons: Vec<_> = units.flat_map(|unit| &unit.comparisons).collect();
    let mut tested = decide::test(&comparisons).into_iter();
    let mut prepared = prepared.into_iter();
    let mut out = Vec::new();
    for study in studies {
        for claim in &study.claims {
            let mut clauses = Vec::new();
            for clause in &claim.clauses {
                let ready = prepared.next().flatten();
                let count = ready.iter().flat_map(|ready| &ready.units).map(|unit| unit.comparisons.len()).sum();
                let tested: Vec<Option<Tested>> = tested.by_ref().take(count).collect();
                let judged = judge_clause(clause, ready.as_ref(), &tested);
                clauses.push(Decided { clause, prepared: ready, judged });
            }
            out.push((*study, claim, clauses));
        }
    }
    out
}

fn judge_clause(clause: &Clause, ready: Option<&Prepared>, tested: &[Option<Tested>]) -> JudgedClause {
    let mut counts = Counts::default();
    let mut comparisons = Vec::new();
    let mut decided: Vec<(usize, Decision)> = Vec::new();
    let mut tested = tested.iter();
    for unit in ready.iter().flat_map(|ready| &ready.units) {
        let mut decisions = Vec::new();
        for comparison in &unit.comparisons {
            let tested = tested.next().and_then(Option::as_ref);
            let decision = comparison.decide(tested);
            decisions.push(decision);
            let shows_ratio = matches!(clause.test, Test::Ratio { .. } | Test::Spread { .. }) || tested.is_some();
            comparisons.push(JudgedComparison {
                subject: comparison.subject.clone(),
                left: comparison.left.clone(),
                right: comparison.right.clone(),
                left_value: comparison.left_value,
                right_value: comparison.right_value,
                ratio: comparison.ratio().filter(|_| shows_ratio),
                interval: comparison.interval(tested),
                outcome: outcome_of(decision, is_order(&clause.test)),
            });
        }
        let of_unit = unit_decisions(unit, &decisions);
        decided.extend(of_unit.iter().map(|decision| (unit.task, *decision)));
    }
    for (_, decision) in &decided {
        match decision {
            Decision::Holds => counts.holds += 1,
            Decision::Against => counts.against += 1,
            Decision::Undecided => counts.undecided += 1,
        }
    }
    counts.unmeasured = ready.map_or(0, |ready| ready.unmeasured);
    let outcome = clause_outcome(clause, &decided);
    let figures = ready.map_or_else(Vec::new, |ready| ready.figures.clone());
    JudgedClause { clause: clause.clone(), outcome, counts, figures, comparisons }
}

/// Whether a clause says which of two figures is better.
fn is_order(test: &Test) -> bool {
    let has_better = |order: &Order| order.to_string().contains('>');
    match test {
        Test::FileSystems { order, .. } | Test::Tasks { order, .. } | Test::Metrics { order, .. } => has_better(order),
        _ => false,
    }
}

fn outcome_of(decision: Decision, is_order: bool) -> ClaimOutcome {
    match (decision, is_order) {
        (Decision::Holds, _) => ClaimOutcome::Holds,
        (Decision::Undecided, _) => ClaimOutcome::NoDifference,
        (Decision::Against, true) => ClaimOutcome::Reversed,
        (Decision::Against, false) => ClaimOutcome::Fails,
    }
}

/// The decisions of a unit that count: each comparison's, or one of all.
fn unit_decisions(unit: &Demand, decisions: &[Decision]) -> Vec<Decision> {
    if decisions.is_empty() {
        return Vec::new();
    }
    let count = |wanted: Decision| decisions.iter().filter(|decision| **decision == wanted).count();
    let (holds, against, all) = (count(Decision::Holds), count(Decision::Against), decisions.len());
    let decide = |yes: bool, no: bool| match (yes, no) {
        (true, _) => Decision::Holds,
        (_, true) => Decision::Against,
        _ => Decision::Undecided,
    };
    match unit.rule {
        Rule::Each => decisions.to_vec(),
        Rule::Any => vec![decide(holds > 0, against == all)],
        // The comparisons say that this one is better than each other one.
        Rule::First(places) => vec![decide(all - holds < places, against >= places)],
        Rule::Last => vec![decide(against == all, holds > 0)],
        Rule::NotLast => vec![decide(holds > 0, against == all)],
    }
}

fn clause_outcome(clause: &Clause, decided: &[(usize, Decision)]) -> ClaimOutcome {
    if decided.is_empty() {
        return ClaimOutcome::NotMeasured;
    }
    let needed = match clause.over {
        Over::Most => |share: f64| share > 0.5,
        Over::NearlyAll => |share: f64| share >= 0.9,
        Over::Some => |share: f64| share > 0.0,
        _ => {
            let decisions: Vec<Decision> = decided.iter().map(|(_, decision)| *decision).collect();
            let all = |wanted: Decision| decisions.iter().all(|decision| *decision == wanted);
            return match () {
                () if all(Decision::Holds) => ClaimOutcome::Holds,
                () if all(Decision::Against) => outcome_of(Decision::Against, is_order(&clause.test)),
                () if all(Decision::Undecided) => ClaimOutcome::NoDifference,
                // Nothing supports it, and something contradicts it.
                () if !decisions.contains(&Decision::Holds) => outcome_of(Decision::Against, is_order(&clause.test)),
                () => ClaimOutcome::Partly,
            };
        }
    };
    let mut tasks: BTreeMap<usize, Vec<Decision>> = BTreeMap::new();
    for (task, decision) in decided {
        tasks.entry(*task).or_default().push(*decision);
    }
    let share = |pass: &dyn Fn(&Decision) -> bool| {
        tasks.values().filter(|decisions| decisions.iter().all(pass)).count() as f64 / tasks.len() as f64
    };
    if needed(share(&|decision| *decision == Decision::Holds)) {
        ClaimOutcome::Holds
    } else if needed(share(&|decision| *decision != Decision::Against)) {
        ClaimOutcome::NoDifference
    } else {
        ClaimOutcome::Fails
    }
}

fn together(claim: &Claim, clauses: &[Decided<'_>]) -> ClaimOutcome {
    if claim.undecidable.is_some() {
        return ClaimOutcome::Undecidable;
    }
    let outcomes: Vec<ClaimOutcome> = clauses
        .iter()
        .map(|decided| decided.judged.outcome)
        .filter(|outcome| *outcome != ClaimOutcome::NotMeasured)
        .collect();
    let all = |wanted: &[ClaimOutcome]| outcomes.iter().all(|outcome| wanted.contains(outcome));
    match &outcomes[..] {
        [] => ClaimOutcome::NotMeasured,
        [first, ..] if all(&[*first]) => *first,
        _ if all(&[ClaimOutcome::Reversed, ClaimOutcome::Fails, ClaimOutcome::NoDifference]) => {
            if outcomes.contains(&ClaimOutcome::Reversed) { ClaimOutcome::Reversed } else { ClaimOutcome::Fails }
        }
        _ => ClaimOutcome::Partly,
    }
}

fn finish(
    study: &Study,
    claim: &Claim,
    clauses: Vec<Decided<'_>>,
    missing: Vec<Lack>,
    commands: Vec<String>,
    own_figures: Option<ClaimOutcome>,
) -> JudgedClaim {
    let outcome = together(claim, &clauses);
    JudgedClaim {
        study: study.name.clone(),
        id: claim.id.clone(),
        text: claim.text.clone(),
        note: claim.note.clone(),
        outcome,
        complete: claim.undecidable.is_some() || missing.is_empty(),
        undecidable: claim.undecidable.clone(),
        clauses: clauses.into_iter().map(|decided| decided.judged).collect(),
        missing,
        commands,
        own_figures,
    }
}
