//! Further repeats of a plan whose run decides on its way how many it makes: made from the plan alone, so that a resumed
//! run goes on as the one that was cut would have.

use std::sync::Arc;

use mountmark_cells::{Plan, PlannedCell, Tasks};
use mountmark_model::conditions::Way;
use mountmark_model::{CorpusSource, Sampling, SourceMedium};

use crate::conditions::{drawn, ordered};
use crate::corpora::corpus_source;
use crate::order::block;
use crate::{Catalogue, CorpusRequest, Options, PlanError, Realise, Result, repeat_seed};

/// How much larger a corpus may be than the first repeats' largest, for which the disks were made: they have a quarter more.
const LARGER: f64 = 1.1;

/// The plan for `options` with a number of repeats that is found on the way: `options.repeats` are the least.
/// `precision` and `budget` as in [`Sampling`].
///
/// # Errors
/// As [`crate::plan`] for the suite and its corpus.
pub fn with_sampling(
    catalogue: &Catalogue,
    options: &Options,
    precision: Option<f64>,
    budget: Option<f64>,
    mut plan: Plan,
) -> Result<Plan> {
    let suite = catalogue.suite(&options.suite)?;
    let corpus = match corpus_source(catalogue, &suite, options.corpus.as_deref())? {
        Some(CorpusSource::Catalogue(corpus)) => Some(corpus),
        _ => None,
    };
    let any_order = suite.any_order && options.conditions == Way::Varied;
    let sampling = Sampling { precision, budget, least: options.repeats, any_order, corpus, ended: None };
    plan.sampling = Some(sampling);
    Ok(plan)
}

/// The plan's next repeat of the configurations that are `wanted`, in the order that a plan with more repeats has.
///
/// # Errors
/// A plan that is of another kind, and a corpus that cannot be made or is larger than the disks allow.
pub fn next_block(plan: &Plan, wanted: &dyn Fn(&str) -> bool, realise: &mut Realise<'_>) -> Result<Vec<PlannedCell>> {
    let Some(sampling) = plan.sampling.as_ref().filter(|_| plan.vary.is_none()) else {
        return Err(PlanError::Options("the plan's number of repeats is fixed".into()));
    };
    let repeat = plan.repeats;
    let mut medium: Option<Option<Arc<SourceMedium>>> = None;
    let mut cells = Vec::new();
    for name in block(plan.seed, repeat, plan.configurations.len()).into_iter().map(|at| &plan.configurations[at]) {
        // Blocks take turns on targets: the model of a cell is one on the same.
        let turns = plan.targets.len().max(1) as u32;
        let is_like = |cell: &&PlannedCell| cell.configuration.name == *name && cell.repeat % turns == repeat % turns;
        let Some(like) = plan.cells.iter().find(is_like).filter(|_| wanted(name)) else { continue };
        // A corpus that is generated is one for all; what users bring may be a build of its own for each.
        let medium = match &medium {
            Some(medium) if sampling.corpus.is_some() => medium.clone(),
            _ => medium.insert(self::medium(plan, sampling, like, realise)?).clone(),
        };
        cells.push(PlannedCell {
            index: (plan.cells.len() + cells.len()) as u32,
            repeat,
            seed: repeat_seed(plan.seed, repeat),
            second_disk: medium,
            conditions: drawn(plan.conditions(), plan.lab, plan.seed, repeat, like.ram).map(Arc::new),
            tasks: tasks(plan, sampling, like, repeat),
            ..like.clone()
        });
    }
    Ok(cells)
}

fn tasks(plan: &Plan, sampling: &Sampling, like: &PlannedCell, repeat: u32) -> Tasks {
    if !sampling.any_order {
        return like.tasks.clone();
    }
    let mut tasks = like.tasks.to_vec();
    tasks.sort_by_key(|task| plan.tasks.iter().position(|(id, _)| *id == task.id));
    ordered(&tasks, plan.seed, repeat).into()
}

/// The second disk of the repeat, with a corpus of its seed.
fn medium(
    plan: &Plan,
    sampling: &Sampling,
    like: &PlannedCell,
    realise: &mut Realise<'_>,
) -> Result<Option<Arc<SourceMedium>>> {
    let (Some(medium), Some(corpus)) = (&like.second_disk, &sampling.corpus) else {
        return Ok(like.second_disk.clone());
    };
    let source = CorpusSource::Catalogue(corpus.clone());
    let seed = Some(repeat_seed(plan.seed, plan.repeats));
    let request = CorpusRequest { source, seed, scale: plan.scale };
    let (tar, facts) = realise(&request).map_err(PlanError::Corpus)?;
    let known =
        plan.cells.iter().filter(|cell| cell.repeat < sampling.least).filter_map(|cell| cell.second_disk.as_ref());
    let largest = known.map(|medium| medium.corpus.tar_bytes).max().unwrap_or(0);
    if facts.tar_bytes as f64 > largest as f64 * LARGER {
        return Err(PlanError::Options(format!(
            "the corpus of repeat {} has {} bytes, and the disks were made for {largest}; begin with more repeats (--repeat)",
            plan.repeats + 1,
            facts.tar_bytes
        )));
    }
    let tar = tar.to_string_lossy().into_owned();
    Ok(Some(Arc::new(SourceMedium { corpus: facts, tar, ..SourceMedium::clone(medium) })))
}
