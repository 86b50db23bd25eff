//! `--vary NAME=FROM..TO:POINTS`: one plan whose cells are at several points of a parameter.
//!
//! Each point is planned like a plan of its own (`plan.rs`), with one disk size for all, and the cells of one repeat are
//! shuffled over points and configurations (`merge.rs`). This folder does not know what a parameter does.

mod merge;
mod range;

use mountmark_cells::Plan;
use mountmark_model::{Bytes, Scale, Suite, Vary, VaryPoint};

use crate::bounds::RAM_UNIT;
use crate::computer::Computer;
use crate::plan::{Changed, planned};
use crate::{Catalogue, Options, PlanError, Realise, Result};
use range::{Kind, Range};

/// Whether `text`, the value of `--vary`, is a range of scales.
pub fn varies_scale(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| name.trim() == Vary::SCALE)
}

/// The points of `text`, the value of `--vary`, for the suite and computer of `options`.
///
/// # Errors
/// A parameter that the suite lacks, or points that it cannot have.
pub fn vary(catalogue: &Catalogue, options: &Options, text: &str) -> Result<Vary> {
    let refused = |reason: String| PlanError::Options(format!("--vary {text}: {reason}"));
    let range = Range::parse(text).map_err(refused)?;
    let suite = catalogue.suite(&options.suite)?;
    let (parameter, kind) = kind(catalogue, options, &suite, &range)?;
    let points = kind.points(&range).map_err(refused)?;
    let vary = Vary { parameter, points };
    for point in [vary.points.first(), vary.points.last()].into_iter().flatten() {
        possible(catalogue, options, &vary, point, &suite).map_err(|error| at(&vary, point, error))?;
    }
    Ok(vary)
}

/// Rejects a point that the suite or the computer cannot have, as far as can be known before corpora are made.
fn possible(catalogue: &Catalogue, options: &Options, vary: &Vary, point: &VaryPoint, suite: &Suite) -> Result<()> {
    let (options, changed) = change(vary, point, options, suite)?;
    let computer = Computer::of(catalogue, &options, false)?;
    match (changed.ram, vary.parameter.as_str()) {
        (Some(ram), _) => computer.with_ram(ram).map(drop),
        (None, DISK_SIZE) => options.disk_size.map_or(Ok(()), |size| computer.suits(size)),
        (None, _) => Ok(()),
    }
}

/// The plan for `options` at all points, as [`crate::plan`], each with what is `changed` beside its point.
pub(crate) fn plan_varied(
    catalogue: &Catalogue,
    options: &Options,
    vary: &Vary,
    changed: &Changed,
    realise: &mut Realise<'_>,
) -> Result<Plan> {
    let suite = catalogue.suite(&options.suite)?;
    let mut plans = |options: &Options| -> Result<Vec<Plan>> {
        let plan = |point| {
            let of_point = |(options, point): (Options, Changed)| {
                let changed = Changed {
                    ram: point.ram,
                    parameter: point.parameter.or_else(|| changed.parameter.clone()),
                    own: changed.own.clone(),
                };
                planned(catalogue, &options, &changed, realise)
            };
            change(vary, point, options, &suite).and_then(of_point).map_err(|error| at(vary, point, error))
        };
        all(vary.points.iter().map(plan))
    };
    let found = if vary.parameter == DISK_SIZE { plans(options)? } else { on_one_size(options, &mut plans)? };
    let machine = Computer::of(catalogue, options, false)?.machine;
    merge::merge(&found, options, vary, machine)
}

/// All plans; of disks that are too small the one that lacks most, since what would do for it does for the others.
pub(crate) fn all(plans: impl Iterator<Item = Result<Plan>>) -> Result<Vec<Plan>> {
    let (mut found, mut lacks): (Vec<Plan>, Option<(u64, PlanError)>) = (Vec::new(), None);
    for plan in plans {
        match plan {
            Ok(plan) => found.push(plan),
            Err(PlanError::TooSmall { enough, reason }) => {
                if lacks.as_ref().is_none_or(|(most, _)| enough > *most) {
                    lacks = Some((enough, PlanError::TooSmall { enough, reason }));
                }
            }
            Err(error) => return Err(error),
        }
    }
    lacks.map_or(Ok(found), |(_, error)| Err(error))
}

/// Plans of which only what is varied or compared may differ: all have the disk of the one that needs most.
pub(crate) fn on_one_size(
    options: &Options,
    plans: &mut dyn FnMut(&Options) -> Result<Vec<Plan>>,
) -> Result<Vec<Plan>> {
    let found = plans(options)?;
    let sizes = || found.iter().flat_map(|plan| &plan.cells).map(|cell| cell.disk_size);
    match sizes().min() == sizes().max() {
        true => Ok(found),
        false => plans(&Options { disk_size: sizes().max(), ..options.clone() }),
    }
}

const RAM: &str = "ram";
const DISK_SIZE: &str = "disk-size";

/// The parameter's name and the kind of its values.
fn kind(catalogue: &Catalogue, options: &Options, suite: &Suite, range: &Range) -> Result<(String, Kind)> {
    let name = range.parameter.as_str();
    let refused = |reason: String| Err(PlanError::Options(format!("--vary {name}: {reason}")));
    let is_own = options.own.is_some();
    let kind = match name {
        RAM | DISK_SIZE if is_own => {
            return refused(format!(
                "the {} lab measures this machine as it is; vary something else",
                options.lab.name()
            ));
        }
        RAM => Kind::Bytes { unit: RAM_UNIT },
        DISK_SIZE if options.disk_size.is_some() => {
            return refused("--disk-size gives it one value; leave one of the two away".into());
        }
        DISK_SIZE => Kind::Bytes { unit: Computer::of(catalogue, options, false)?.unit().max(1 << 20) },
        Vary::SCALE => Kind::Factor,
        _ => match suite.parameters.keys().find(|known| known.eq_ignore_ascii_case(name)) {
            Some(known) => return Ok((known.clone(), Kind::of_parameter(range))),
            None => {
                let own: Vec<&str> = suite.parameters.keys().map(String::as_str).collect();
                let all = crate::error::listed(&[&[RAM, Vary::SCALE, DISK_SIZE], &own[..]].concat());
                return refused(format!("the suite {} has no such parameter; it has {all}", suite.name));
            }
        },
    };
    Ok((name.to_owned(), kind))
}

/// The options of one point.
fn change(vary: &Vary, point: &VaryPoint, options: &Options, suite: &Suite) -> Result<(Options, Changed)> {
    let (mut options, mut changed) = (options.clone(), Changed::default());
    let whole = point.value as u64;
    match vary.parameter.as_str() {
        RAM => changed.ram = Some(Bytes(whole)),
        DISK_SIZE => options.disk_size = Some(Bytes(whole)),
        Vary::SCALE => {
            options.scale = point.text.parse::<Scale>().map_err(|error| PlanError::Options(error.to_string()))?
        }
        name => {
            let least = suite.parameters.get(name).map_or(0, |parameter| parameter.min.0);
            if whole < least {
                return Err(PlanError::Options(format!("{name} is at least {least}; begin there")));
            }
            changed.parameter = Some((name.to_owned(), whole));
        }
    }
    Ok((options, changed))
}

/// An error of one point.
fn at(vary: &Vary, point: &VaryPoint, error: PlanError) -> PlanError {
    let of_point = |reason: String| format!("--vary, at {}={}: {reason}", vary.parameter, point.text);
    match error {
        PlanError::Options(reason) => PlanError::Options(of_point(reason)),
        PlanError::TooSmall { enough, reason } => PlanError::TooSmall { enough, reason: of_point(reason) },
        other => other,
    }
}
