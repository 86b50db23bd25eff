//! Which runs may judge which claims: those of the suite and the machine that the claim is about, at the scale and on a
//! disk that it needs.

use mountmark_cells::Plan;
use mountmark_model::{Bytes, Claim, Clause, Needs, Scale, Study, Vary};
use mountmark_record::RunRecord;

use crate::claims::find::clause::Standing;
use crate::claims::find::lack::{Misfit, MissingReason, OtherMachine, OtherSuite, TooSmall};
use crate::claims::find::reach::Reach;
use crate::studies::find::Table;

/// The runs that judge claims.
#[derive(Clone, Copy, Debug)]
pub struct Judges<'a> {
    /// Without one, power cuts alone judge.
    pub run: Option<&'a RunRecord>,
    /// Stands for the second run of a study, where claims compare its runs.
    pub earlier: Option<&'a RunRecord>,
    /// Whether a run of another suite or machine judges as well.
    pub anyway: bool,
}

/// What stands for a study's runs, or why nothing does.
pub(crate) type Figures<'a> = Result<Vec<Standing<'a>>, MissingReason>;

impl<'a> Judges<'a> {
    /// One run, which judges the claims about its own suite and machine.
    pub fn of(run: &'a RunRecord) -> Judges<'a> {
        Judges { run: Some(run), earlier: None, anyway: false }
    }

    /// How the first of these runs that differs from what a clause is about does so.
    pub(crate) fn misfit(&self, study: &Study, claim: &Claim, clause: &Clause, reach: &Reach) -> Option<Misfit> {
        let needed = needed(study, clause).into_iter().filter_map(|place| self.at(place));
        needed.map(|run| misfit(run, study, (claim, clause), reach)).find(Option::is_some).flatten()
    }

    /// The figures that stand for the study's runs, or why there are none for a clause. `tables` are of these runs.
    pub(crate) fn figures<'t>(
        &self,
        study: &'t Study,
        claim: &Claim,
        clause: &Clause,
        reach: &Reach,
        tables: &'t [Table],
    ) -> Figures<'t> {
        if self.run.is_none() {
            return Err(MissingReason::NoRun);
        }
        if let Some(misfit) = self.misfit(study, claim, clause, reach).filter(|_| !self.anyway) {
            return Err(MissingReason::Misfit(Box::new(misfit)));
        }
        if let Some(place) = needed(study, clause).into_iter().find(|place| self.at(*place).is_none()) {
            let run = study.runs.get(place).map(|run| run.id.clone()).unwrap_or_default();
            return Err(MissingReason::StudyRun { run, can_be_given: place == 1 });
        }
        if let Some((parameter, vary)) = clause.test.varies()
            && self.run.and_then(|run| run.plan.vary.as_ref()).is_none_or(|own| own.parameter != parameter)
        {
            return Err(MissingReason::Points(vary.to_owned()));
        }
        let ids = study.runs.iter().map(|run| run.id.as_str());
        let stand = |((place, id), table)| Standing { id, name: self.at(place).map_or_else(String::new, name), table };
        Ok(ids.enumerate().zip(tables).map(stand).collect())
    }

    /// The tables of these runs, with the names of these studies.
    pub(crate) fn tables(&self, studies: &[&Study]) -> Vec<Table> {
        self.run.into_iter().chain(self.earlier).map(|run| Table::beside(studies, run)).collect()
    }

    /// What stands for the study's run at this place.
    fn at(&self, place: usize) -> Option<&'a RunRecord> {
        match place {
            0 => self.run,
            1 => self.earlier,
            _ => None,
        }
    }
}

fn name(run: &RunRecord) -> String {
    run.id.as_str().to_owned()
}

/// The places of the study's runs that a clause needs.
pub(crate) fn needed(study: &Study, clause: &Clause) -> Vec<usize> {
    let place = |id: Option<&str>| {
        id.map_or(0, |id| study.runs.iter().position(|run| run.id == id).unwrap_or(study.runs.len()))
    };
    clause.runs().into_iter().map(place).collect()
}

/// The machine that a clause is about, if one is modelled.
pub(crate) fn machine<'a>(study: &'a Study, clause: &Clause, reach: &'a Reach) -> Option<&'a str> {
    let machine = match &clause.suite {
        Some(suite) => reach.machines.get(suite),
        None => study.machine.as_ref(),
    };
    machine.map(String::as_str)
}

/// What a run needs at least for a clause: as the claim says, else as the study of its suite does.
pub(crate) fn needs(study: &Study, claim: &Claim, clause: &Clause, reach: &Reach) -> Needs {
    let suite = clause.suite.as_ref().filter(|suite| study.suite.as_ref() != Some(*suite));
    let usual = suite.map_or(study.needs, |suite| reach.needs.get(suite).copied().unwrap_or_default());
    claim.needs.or(usual)
}

fn misfit(run: &RunRecord, study: &Study, (claim, clause): (&Claim, &Clause), reach: &Reach) -> Option<Misfit> {
    let plan = &run.plan;
    let fits = match &clause.suite {
        Some(wanted) => *wanted == plan.suite,
        None => study.is_repeated_by(&plan.suite),
    };
    let of_claim = clause.suite.as_ref().or(study.suite.as_ref()).cloned();
    let suite = (!fits).then(|| OtherSuite { of_run: plan.suite.clone(), of_claim });
    let of_run = plan.lab.capabilities().guest.then(|| plan.machine.name.clone());
    let machine = machine(study, clause, reach)
        .filter(|wanted| of_run.as_deref() != Some(*wanted))
        .map(|wanted| OtherMachine { of_run: of_run.clone(), of_claim: wanted.to_owned() });
    // Counts and sizes of another suite are no measure of this one's.
    let needs = if fits { needs(study, claim, clause, reach) } else { Needs::default() };
    let scale = needs.scale.and_then(|needed| too_small(least_scale(plan), needed));
    let disk_size = needs.disk_size.zip(least_disk(plan)).and_then(|(needed, of_run)| too_small(of_run, needed));
    let is_any = suite.is_some() || machine.is_some() || scale.is_some() || disk_size.is_some();
    is_any.then(|| Misfit { run: name(run), suite, machine, scale, disk_size })
}

fn too_small<T: PartialOrd>(of_run: T, needed: T) -> Option<TooSmall<T>> {
    (of_run < needed).then_some(TooSmall { of_run, needed })
}

/// The scale of a plan; the smallest, if it is varied.
fn least_scale(plan: &Plan) -> Scale {
    let varied = plan.vary.as_ref().filter(|vary| vary.parameter == Vary::SCALE);
    let least = varied.and_then(|vary| vary.points.first()).and_then(|point| Scale::try_from(point.value).ok());
    least.unwrap_or(plan.scale)
}

/// The smallest disk under test.
fn least_disk(plan: &Plan) -> Option<Bytes> {
    plan.cells.iter().map(|cell| cell.disk_size).min()
}
