//! How many repeats a run made that decided on its way, and how well its figures are known.

use std::borrow::Cow;

use mountmark_cells::Plan;
use mountmark_document::number::{and, counted, percent};
use mountmark_document::text::clean;
use mountmark_model::{Sampling, WhyEnded, heading};
use mountmark_record::RunRecord;

use crate::sampling::find::{Look, Width, look};

/// Number of figures that are named.
const NAMED: usize = 3;

/// What was asked for, whether it was reached and what it took; `None` if the number of repeats was fixed.
pub fn sentence(run: &RunRecord) -> Option<String> {
    let sampling = run.plan.sampling.as_ref()?;
    let look = look(run, sampling.precision);
    let text = match sampling.precision {
        Some(precision) => targeted(run, sampling, precision, &look),
        None => {
            let widest = look.widths.first().map(|width| format!("; the widest figure is {}", about(&look, width)));
            format!("{} in {}{}{}", repeats(run), time(sampling.budget), used(sampling), widest.unwrap_or_default())
        }
    };
    Some(clean(&text))
}

fn targeted(run: &RunRecord, sampling: &Sampling, precision: f64, look: &Look) -> String {
    let target = percent(precision);
    let wide: Vec<&Width> = look.wide(precision).collect();
    let (many, used) = (repeats(run), used(sampling));
    let all = counted(look.widths.len(), "figure", "figures");
    let ended = sampling.ended.map(|ended| ended.why);
    let cause = match ended {
        Some(WhyEnded::Time) => format!(" in {}", time(sampling.budget)),
        Some(WhyEnded::Most) => format!(" in {} repeats, the most", run.plan.repeats),
        Some(WhyEnded::Settled) => String::new(),
        None => "; the run has not ended".into(),
    };
    if look.widths.is_empty() {
        return format!("target +-{target}, and no test has a figure: {many}{used}");
    }
    if wide.is_empty() {
        let pairs = match ended {
            Some(WhyEnded::Settled) => String::new(),
            _ => format!("; not all comparisons are as narrow{cause}"),
        };
        return format!("target +-{target} reached by all {all} of the tests: {many}{used}{pairs}");
    }
    let named = and(wide.iter().take(NAMED).map(|width| about(look, width)));
    let more = if wide.len() > NAMED { " and more" } else { "" };
    format!("{named}{more}, target +-{target} not reached by {} of {all}{cause}: {many}{used}", wide.len())
}

/// What was asked for: `at least 5 repeats if they fit into 30 min, then more of what is wider than +-2 %, 1000 at most`.
pub fn asked(plan: &Plan) -> Option<String> {
    let sampling = plan.sampling.as_ref()?;
    let least = counted(sampling.least as usize, "repeat", "repeats");
    let further = match sampling.precision {
        Some(precision) => format!("what is wider than +-{}", percent(precision)),
        None => "all".into(),
    };
    // The budget is kept in any case.
    let budget = sampling.budget.map(|budget| format!(" if they fit into {}", time(Some(budget))));
    let most = plan.most_repeats();
    Some(format!("at least {least}{}, then more of {further}, {most} at most", budget.unwrap_or_default()))
}

/// What is known of the run's figures at this moment, for its progress.
pub fn progress(look: &Look, precision: f64) -> String {
    let wide = look.wide(precision).count();
    let widest = look.widths.first().filter(|_| wide > 0).map(|width| format!(" ({})", about(look, width)));
    let all = counted(look.widths.len(), "figure", "figures");
    format!("wider than +-{}: {wide} of {all}{}", percent(precision), widest.unwrap_or_default())
}

fn about(look: &Look, width: &Width) -> String {
    let name = look.configurations.get(width.configuration).map_or(Cow::Borrowed(""), |name| heading(name));
    /// Beyond this nothing is known: two repeats have such intervals.
    const UNKNOWN: f64 = 10.0;
    match width.half {
        half if half.is_infinite() => format!("{} of {name}: one repeat", width.task),
        half if half > UNKNOWN => format!("{} of {name}: more than +-{}", width.task, percent(UNKNOWN)),
        half => format!("{} of {name}: +-{}", width.task, percent(half)),
    }
}

/// How many repeats configurations have: `3 repeats`, `5 to 9 repeats` where each has its own number.
pub(crate) fn repeats(run: &RunRecord) -> String {
    if run.plan.sampling.is_none() {
        return counted(run.plan.repeats as usize, "repeat", "repeats");
    }
    let cells = || run.cells.iter().filter(|cell| run.plan.is_planned(cell.index));
    let of = |name: &String| cells().filter(|cell| cell.configuration == *name).count();
    let counts: Vec<usize> = run.plan.configurations.iter().map(of).collect();
    let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    if least == most { counted(most, "repeat", "repeats") } else { format!("{least} to {most} repeats") }
}

fn used(sampling: &Sampling) -> String {
    sampling.ended.map_or_else(String::new, |ended| format!(", {} used", time(Some(ended.used))))
}

/// Seconds of this machine's time.
fn time(seconds: Option<f64>) -> String {
    match seconds.unwrap_or(0.0) {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}
