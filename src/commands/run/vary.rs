//! `--vary`: the points that the user asked for, checked before anything is fetched.

use anyhow::{Result, bail};
use mountmark_model::{Vary, counted, format_count};
use mountmark_plan::{Catalogue, Options};
use mountmark_record::{RunStatus, RunSummary};

use super::Arguments;
use crate::common::WrongUse;

/// More cells than these need `--yes`.
const MANY: usize = 1000;

/// Wall seconds of a cell where no run says how long one takes.
const A_CELL: f64 = 10.0;

/// The parameter to vary, on so many configurations and sides; `None` if none was asked for. Refuses many cells of what is
/// varied or crossed.
pub fn asked(
    arguments: &Arguments,
    catalogue: &Catalogue,
    options: &Options,
    [configurations, sides]: [usize; 2],
) -> Result<Option<Vary>> {
    let is_crossed = sides > 1 || arguments.options.is_some();
    let text = match &arguments.vary[..] {
        [] if arguments.yes && !is_crossed => {
            bail!(WrongUse("--yes confirms many cells of what is varied or crossed; leave it away without".into()))
        }
        [] => None,
        [one] => Some(one),
        [one, other, ..] => bail!(WrongUse(twice(one, other))),
    };
    if text.is_some_and(|text| mountmark_plan::varies_scale(text)) && arguments.scale.is_some() {
        bail!(WrongUse("--vary scale: --scale gives it one value; leave one of the two away".into()));
    }
    let vary = text.map(|text| mountmark_plan::vary(catalogue, options, text)).transpose()?;
    let points = vary.as_ref().map_or(1, |vary| vary.points.len());
    let cells = points.saturating_mul(configurations).saturating_mul(sides).saturating_mul(options.repeats as usize);
    if cells > MANY && !arguments.yes && (vary.is_some() || is_crossed) {
        let (time, basis) = time(arguments, options, cells);
        let of_points = text.map_or(String::new(), |text| format!("--vary {text}: {}, ", counted(points, "point")));
        let of_sides =
            if sides > 1 { format!("{} of what is crossed, ", counted(sides, "combination")) } else { String::new() };
        bail!(WrongUse(format!(
            "{of_points}{of_sides}{} and {} are {} cells, which take about {time} ({basis}); give fewer, or --yes to run \
             them all",
            counted(configurations, "configuration"),
            counted(options.repeats as usize, "repeat"),
            format_count(cells as f64)
        )));
    }
    Ok(vary)
}

fn twice(one: &str, other: &str) -> String {
    let name = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    match (name(one), name(other)) {
        (one, other) if one == other => format!("--vary {one} is given twice; give it one range"),
        (one, other) => format!("--vary {one} and --vary {other}: a run varies one parameter; make a run of each"),
    }
}

/// How long so many cells take, and how that is known.
fn time(arguments: &Arguments, options: &Options, cells: usize) -> (String, String) {
    let runs = arguments.store.open_read_only().and_then(|store| Ok(store.runs()?)).unwrap_or_default();
    let is_like = |run: &&RunSummary| {
        run.status == RunStatus::Done && run.suite == options.suite && run.lab == options.lab.name() && run.recorded > 0
    };
    let known = runs.iter().filter(is_like).max_by_key(|run| run.started).and_then(|run| Some((run, run.ended?)));
    let (each, basis) = match known {
        Some((run, ended)) => {
            let each = (ended.0 - run.started.0).max(0) as f64 / 1000.0 / f64::from(run.recorded);
            // Work grows with the scale, but for what every cell costs.
            let each = each * (options.scale.factor() / run.scale).max(1.0);
            (each, format!("{each:.1} s a cell, as in run {}", run.id))
        }
        None => {
            let jobs = std::thread::available_parallelism().map_or(1, usize::from);
            let each = A_CELL / jobs as f64;
            (each, format!("if a cell takes {A_CELL:.0} s and {jobs} run at a time"))
        }
    };
    let seconds = each * cells as f64;
    let time = match seconds {
        few if few < 5400.0 => format!("{:.0} minutes", few / 60.0),
        some if some < 172_800.0 => format!("{:.0} hours", some / 3600.0),
        many => format!("{:.0} days", many / 86_400.0),
    };
    (time, basis)
}
