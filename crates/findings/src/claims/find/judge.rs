//! Combines comparisons into verdicts on clauses, and those into verdicts on claims.

use std::collections::BTreeMap;

use mountmark_model::{Claim, Clause, Order, Over, Study, Test};

use crate::claims::find::clause::{Context, Demand, Prepared, Rule, Standing, prepare};
use crate::claims::find::decide::Decision;
use crate::claims::find::fit::Figures;
use crate::claims::find::lack::MissingReason;
use crate::claims::find::missing::{Decided, Missing};
use crate::claims::find::reach::Reach;
use crate::claims::find::{ClaimOutcome, Counts, JudgedClaim, JudgedClause, JudgedComparison, Judges, decide};
use crate::studies::find::Table;
use crate::verdicts::find::contrast::Tested;

/// Judges the claims of `studies` by a run, or by two where claims compare a study's runs.
///
/// Claims are in the order of the studies: first those of the study that the run's suite is named after, then those of
/// others that it repeats.
pub fn judge_claims(judges: &Judges<'_>, studies: &[&Study], reach: &Reach) -> Vec<JudgedClaim> {
    let tables = judges.tables(studies);
    let mut studies = studies.to_vec();
    let suite = judges.run.map(|run| &run.plan.suite);
    studies.sort_by_key(|study| (study.suite.as_ref() != suite, Some(&study.name) != suite));
    let studies = &studies[..];
    let judged = judge(studies, &|study, claim, clause| judges.figures(study, claim, clause, reach, &tables));
    let own = own_figures(studies);
    judged
        .into_iter()
        .map(|(study, claim, clauses)| {
            let missing = Missing { judges, table: tables.first(), study, claim, reach, clauses: &clauses };
            let (lacks, commands) = missing.found();
            let key = (study.name.clone(), claim.id.clone());
            let used = clauses.iter().filter(|decided| decided.prepared.is_ok());
            let stretched = used.filter_map(|decided| judges.misfit(study, claim, decided.clause, reach)).next();
            JudgedClaim {
                run: judges.run.map_or_else(String::new, |run| run.id.as_str().to_owned()),
                stretched,
                ..finish(study, claim, clauses, lacks, commands, own.get(&key).copied())
            }
        })
        .collect()
}

/// Verdicts by the studies' own figures, by study and claim, and whether all that the claim names is printed; claims
/// without such figures are omitted.
pub fn own_figures(studies: &[&Study]) -> BTreeMap<(String, String), (ClaimOutcome, bool)> {
    let of = |study: &Study| study.runs.iter().map(|run| Table::of_study(study, &run.id)).collect();
    let tables: Vec<(&Study, Vec<Table>)> = studies.iter().map(|study| (*study, of(study))).collect();
    let source = |study: &Study, _: &Claim, clause: &Clause| {
        let is_it = |other: &Study| match &clause.suite {
            // Of studies that share a suite, one that measured file systems.
            Some(suite) => {
                other.suite.as_ref() == Some(suite) && other.runs.iter().any(|run| !run.filesystems.is_empty())
            }
            None => other.name == study.name,
        };
        let Some((of, tables)) = tables.iter().find(|(other, _)| is_it(other)) else {
            return Err(MissingReason::TooFew);
        };
        let runs = of.runs.iter().map(|run| run.id.as_str()).zip(tables);
        Ok(runs.map(|(id, table)| Standing { id, name: format!("{}#{id}", of.name), table }).collect())
    };
    judge(studies, &source)
        .into_iter()
        .filter_map(|(study, claim, clauses)| {
            let outcome = together(claim, &clauses);
            let is_whole =
                |ready: &Prepared| ready.unmeasured == 0 && ready.gaps.is_empty() && ready.filesystems.is_empty();
            let complete = clauses.iter().all(|decided| decided.prepared.as_ref().is_ok_and(is_whole));
            (outcome.is_decided() && claim.answered.is_none())
                .then(|| ((study.name.clone(), claim.id.clone()), (outcome, complete)))
        })
        .collect()
}

fn judge<'a>(
    studies: &[&'a Study],
    source: &dyn Fn(&'a Study, &Claim, &Clause) -> Figures<'a>,
) -> Vec<(&'a Study, &'a Claim, Vec<Decided<'a>>)> {
    let mut stratum = 0;
    let mut prepared = Vec::new();
    for study in studies {
        let clauses = study.claims.iter().flat_map(|claim| claim.clauses.iter().map(move |clause| (claim, clause)));
        for (claim, clause) in clauses {
            let ready = source(study, claim, clause).and_then(|runs| {
                let is_it = |run: &&Standing| clause.run.as_deref().is_none_or(|id| run.id == id);
                let table = runs.iter().find(is_it).ok_or(MissingReason::TooFew)?.table;
                let filesystems = study.run(clause.run.as_deref()).map_or(&[][..], |run| &run.filesystems);
                let groups = &study.groups;
                Ok(prepare(clause, &Context { table, runs: &runs, filesystems, groups, stratum }))
            });
            stratum += ready.as_ref().map_or(0, |ready| ready.figures.len() + 1);
            prepared.push(ready);
        }
    }
    // One family, so that a claim is not more likely to be shown for being one of many.
    let units = prepared.iter().flatten().flat_map(|ready: &Prepared| &ready.units);
    let comparisons: Vec<_> = units.flat_map(|unit| &unit.comparisons).collect();
    let mut tested = decide::test(&comparisons).into_iter();
    let mut prepared = prepared.into_iter();
    let mut out = Vec::new();
    for study in studies {
        for claim in &study.claims {
            let mut clauses = Vec::new();
            for clause in &claim.clauses {
                let ready = prepared.next().unwrap_or(Err(MissingReason::TooFew));
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

fn judge_clause(clause: &Clause, ready: Result<&Prepared, &MissingReason>, tested: &[Option<Tested>]) -> JudgedClause {
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
            Decision::Exceeded => counts.exceeded += 1,
            Decision::Against => counts.against += 1,
            Decision::Undecided => counts.undecided += 1,
        }
    }
    counts.unmeasured = ready.map_or(0, |ready| ready.unmeasured);
    let outcome = match ready {
        Err(MissingReason::Misfit(_)) => ClaimOutcome::NotJudged,
        _ => clause_outcome(clause, &decided),
    };
    let figures = ready.map(|ready| ready.figures.clone()).unwrap_or_default();
    JudgedClause { clause: clause.clone(), outcome, counts, figures, comparisons }
}

/// Whether a clause says which of two figures is better.
fn is_order(test: &Test) -> bool {
    let has_better = |order: &Order| order.to_string().contains('>');
    match test {
        Test::FileSystems { order, .. }
        | Test::Tasks { order, .. }
        | Test::Metrics { order, .. }
        | Test::StudyRuns { order, .. } => has_better(order),
        _ => false,
    }
}

fn outcome_of(decision: Decision, is_order: bool) -> ClaimOutcome {
    match (decision, is_order) {
        (Decision::Holds, _) => ClaimOutcome::Holds,
        (Decision::Exceeded, _) => ClaimOutcome::Exceeded,
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
        _ if count(Decision::Exceeded) > 0 => Decision::Exceeded,
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
        Over::Most => |passed: usize, all: usize| 2 * passed > all,
        Over::NearlyAll => |passed: usize, all: usize| 10 * passed >= 9 * all,
        Over::Several => |passed: usize, _| passed >= 3,
        Over::Some => |passed: usize, _| passed > 0,
        _ => {
            let decisions: Vec<Decision> = decided.iter().map(|(_, decision)| *decision).collect();
            let all = |wanted: Decision| decisions.iter().all(|decision| *decision == wanted);
            return match () {
                () if all(Decision::Holds) => ClaimOutcome::Holds,
                () if all(Decision::Against) => outcome_of(Decision::Against, is_order(&clause.test)),
                () if all(Decision::Undecided) => ClaimOutcome::NoDifference,
                // As claimed, and in a part of the comparisons by more.
                () if decisions.contains(&Decision::Exceeded) && !decisions.contains(&Decision::Against) => {
                    ClaimOutcome::Exceeded
                }
                // Nothing supports it, and something contradicts it.
                () if !decisions.iter().any(|found| matches!(found, Decision::Holds | Decision::Exceeded)) => {
                    outcome_of(Decision::Against, is_order(&clause.test))
                }
                () => ClaimOutcome::Partly,
            };
        }
    };
    let mut tasks: BTreeMap<usize, Vec<Decision>> = BTreeMap::new();
    for (task, decision) in decided {
        tasks.entry(*task).or_default().push(*decision);
    }
    let passes = |pass: &dyn Fn(&Decision) -> bool| {
        let passed = tasks.values().filter(|decisions| decisions.iter().all(pass)).count();
        needed(passed, tasks.len())
    };
    if passes(&|decision| *decision == Decision::Holds) {
        ClaimOutcome::Holds
    } else if passes(&|decision| matches!(decision, Decision::Holds | Decision::Exceeded)) {
        ClaimOutcome::Exceeded
    } else if passes(&|decision| *decision != Decision::Against) {
        ClaimOutcome::NoDifference
    } else {
        ClaimOutcome::Fails
    }
}

fn together(claim: &Claim, clauses: &[Decided<'_>]) -> ClaimOutcome {
    if claim.undecidable.is_some() {
        return ClaimOutcome::Undecidable;
    }
    if let Some(answered) = &claim.answered {
        return if answered.holds { ClaimOutcome::Holds } else { ClaimOutcome::Fails };
    }
    if claim.power_cuts.is_some() {
        return ClaimOutcome::NeedsCrashLab;
    }
    let of = |decided: &Decided| decided.judged.outcome;
    let outcomes: Vec<ClaimOutcome> = clauses.iter().map(of).filter(|outcome| outcome.is_decided()).collect();
    let all = |wanted: &[ClaimOutcome]| outcomes.iter().all(|outcome| wanted.contains(outcome));
    match &outcomes[..] {
        [] if clauses.iter().any(|decided| of(decided) == ClaimOutcome::NotJudged) => ClaimOutcome::NotJudged,
        [] => ClaimOutcome::NotMeasured,
        [first, ..] if all(&[*first]) => *first,
        _ if all(&[ClaimOutcome::Holds, ClaimOutcome::Exceeded]) => ClaimOutcome::Exceeded,
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
    missing: Vec<MissingReason>,
    commands: Vec<String>,
    own_figures: Option<(ClaimOutcome, bool)>,
) -> JudgedClaim {
    let outcome = together(claim, &clauses);
    JudgedClaim {
        study: study.name.clone(),
        id: claim.id.clone(),
        run: String::new(),
        text: claim.text.clone(),
        note: claim.note.clone(),
        outcome,
        complete: claim.undecidable.is_some() || missing.is_empty(),
        undecidable: claim.undecidable.clone(),
        answered: claim.answered.as_ref().map(|answered| answered.why.clone()),
        clauses: clauses.into_iter().map(|decided| decided.judged).collect(),
        missing,
        commands,
        own_figures: own_figures.map(|(outcome, _)| outcome),
        own_complete: own_figures.is_some_and(|(_, complete)| complete),
        stretched: None,
        cuts: None,
    }
}
