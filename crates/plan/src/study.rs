//! Reads published figures, a CSV file beside a study's TOML, without guessing.
//!
//! Every fault is reported with its line and the expected value. This file does not know what figures are compared
//! with.

use std::collections::BTreeSet;

use mountmark_model::{CaseClaim, Claim, Figure, Metric, Printed, Qualifier, Study, Unit};

use crate::PlanError;
use crate::error::listed;

/// The columns, in any order.
const COLUMNS: [&str; 9] = ["study", "run", "fs", "task", "metric", "unit", "value", "qualifier", "note"];

/// Maximum number of tasks, and of file systems, in a table: each is compared with each.
const MOST_NAMES: usize = 1000;

/// Maximum number of faults of a file shown at once; further ones are counted.
const TOLD: usize = 10;

/// Why a well-formed study is unusable.
pub(crate) fn faults(study: &Study) -> Vec<String> {
    let mut faults = Vec::new();
    if study.runs.is_empty() {
        faults.push("the study has no run: add a [[run]] with id, about and filesystems".into());
    }
    let mut seen = BTreeSet::new();
    for run in &study.runs {
        if run.id.is_empty() || run.id.contains(|letter: char| letter.is_whitespace() || letter == '#') {
            faults.push(format!("run {:?}: an id has no blank and no #, and at least one letter", run.id));
        }
        if !seen.insert(&run.id) {
            faults.push(format!("there are two runs with the id {:?}: rename one", run.id));
        }
    }
    let mut seen = BTreeSet::new();
    for claim in &study.claims {
        if !seen.insert(&claim.id) {
            faults.push(format!("there are two claims with the id {:?}: rename one", claim.id));
        }
        faults.extend(claim_fault(study, claim).map(|fault| format!("claim {}: {fault}", claim.id)));
    }
    faults.extend(group_faults(study));
    let mut seen = BTreeSet::new();
    for case in &study.cases {
        if !seen.insert(&case.id) {
            faults.push(format!("there are two cases with the id {:?}: rename one", case.id));
        }
    }
    faults
}

/// Names of groups that stand for something else already, and groups without tasks.
fn group_faults(study: &Study) -> impl Iterator<Item = String> + '_ {
    study.groups.iter().filter_map(|(name, tasks)| {
        let is_known = name == "all" || study.tasks.contains_key(name);
        match is_known {
            true => Some(format!("the group {name:?} has the name of a task: rename it")),
            false => tasks.is_empty().then(|| format!("the group {name:?} has no tasks")),
        }
    })
}

/// Why what a claim says of power cuts is unusable.
fn power_cuts_fault(study: &Study, claim: &CaseClaim) -> Option<String> {
    if [&claim.only, &claim.seen, &claim.rarer].into_iter().filter(|fates| !fates.is_empty()).count() != 1 {
        return Some("power_cuts has either `only` or `seen`, or `rarer` with `than`".into());
    }
    if claim.rarer.is_empty() != claim.than.is_empty() {
        return Some("power_cuts needs `rarer` and `than` together: than which configurations is it rarer?".into());
    }
    if claim.on.is_empty() || claim.cases.is_empty() {
        return Some("power_cuts names `cases` of the study, and in `on` the configurations that it is about".into());
    }
    let is_known = |id: &&String| study.cases.iter().any(|case| case.id == **id);
    let unknown = claim.cases.iter().find(|id| !is_known(id))?;
    let known: Vec<&str> = study.cases.iter().map(|case| case.id.as_str()).collect();
    Some(format!("{unknown:?} is none of the study's cases, {}", listed(&known)))
}

/// Why a well-formed claim is unusable.
fn claim_fault(study: &Study, claim: &Claim) -> Option<String> {
    let given = [
        ("clauses", !claim.clauses.is_empty()),
        ("`undecidable`", claim.undecidable.is_some()),
        ("`answered`", claim.answered.is_some()),
        ("`power_cuts`", claim.power_cuts.is_some()),
    ];
    let given: Vec<&str> = given.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
    match given[..] {
        [] => {
            return Some(
                "add clauses, or say in `undecidable` why there are none, or in `power_cuts` what it says of them"
                    .into(),
            );
        }
        [_] => {}
        _ => return Some(format!("it has {}: keep one of them", given.join(" and "))),
    }
    if let Some(fault) = claim.power_cuts.as_ref().and_then(|about| power_cuts_fault(study, about)) {
        return Some(fault);
    }
    let named = claim.clauses.iter().flat_map(|clause| clause.runs().into_iter().flatten());
    let unknown = named.into_iter().find(|id| study.run(Some(id)).is_none())?;
    let known: Vec<&str> = study.runs.iter().map(|run| run.id.as_str()).collect();
    Some(format!("{unknown:?} is none of the study's runs, {}", listed(&known)))
}

/// The figures in `text`, which was read from `shown`.
pub(crate) fn figures(study: &Study, text: &str, shown: &str) -> Result<Vec<Figure>, PlanError> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let whole = |sentence: String| PlanError::File { faults: vec![sentence] };
    let head = reader.headers().map_err(|error| whole(format!("{shown}:1: {error}")))?.clone();
    let places = columns(&head).map_err(|reason| whole(format!("{shown}:1: {reason}")))?;
    let (mut figures, mut faults, mut more, mut seen) = (Vec::new(), Vec::new(), 0_usize, BTreeSet::new());
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                faults.push(format!("{shown}: {error}"));
                break;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        let read = figure(study, &record, &places).and_then(|figure| {
            let key = (figure.run.clone(), figure.fs.clone(), figure.task.clone(), figure.metric.clone());
            if figure.point().is_some() && !seen.insert(key) {
                let Figure { run, fs, task, metric, .. } = &figure;
                return Err(format!("{metric} of {fs} at {task} in run {run} is there twice: remove one"));
            }
            Ok(figure)
        });
        match read {
            Ok(figure) => figures.push(figure),
            Err(reason) if faults.len() < TOLD => faults.push(format!("{shown}:{line}: {reason}")),
            Err(_) => more += 1,
        }
    }
    let count = |name: fn(&Figure) -> &String| figures.iter().map(name).collect::<BTreeSet<_>>().len();
    for (what, names) in [("tasks", count(|figure| &figure.task)), ("file systems", count(|figure| &figure.fs))] {
        if names > MOST_NAMES {
            faults.push(format!("{shown}: it names {names} {what}, and {MOST_NAMES} are the most"));
        }
    }
    if faults.is_empty() {
        return Ok(figures);
    }
    if more > 0 {
        faults.push(format!("{shown}: and {more} more"));
    }
    Err(PlanError::File { faults })
}

/// The positions of [`COLUMNS`].
fn columns(head: &csv::StringRecord) -> Result<[usize; 9], String> {
    let expected = || format!("the columns are {}", COLUMNS.join(","));
    for (index, name) in head.iter().enumerate() {
        if !COLUMNS.contains(&name) {
            // A file that is not a table may belong to another user: its text is not repeated.
            let is_word = name.len() <= 32 && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
            let shown = if is_word { format!("{name:?}") } else { format!("{}", index + 1) };
            return Err(format!("column {shown} is unknown: {}", expected()));
        }
        if head.iter().take(index).any(|other| other == name) {
            return Err(format!("column {name:?} is there twice: {}", expected()));
        }
    }
    let mut places = [0; 9];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        *place = head
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| format!("column {name:?} is missing: {}", expected()))?;
    }
    Ok(places)
}

fn figure(study: &Study, record: &csv::StringRecord, places: &[usize; 9]) -> Result<Figure, String> {
    if record.len() != COLUMNS.len() {
        return Err(format!("{} fields, {} expected; quote a field that has a comma", record.len(), COLUMNS.len()));
    }
    let [name, run, fs, task, metric, unit, value, qualifier, note] =
        places.map(|place| record.get(place).unwrap_or_default());
    if name != study.name {
        return Err(format!("column study: {name:?} in a file of {:?}", study.name));
    }
    if study.run(Some(run)).is_none() {
        let known: Vec<&str> = study.runs.iter().map(|run| run.id.as_str()).collect();
        return Err(format!("column run: {run:?} is none of the study's runs, {}", listed(&known)));
    }
    for (column, text) in [("fs", fs), ("task", task), ("metric", metric), ("unit", unit)] {
        if text.is_empty() {
            return Err(format!("column {column} is empty"));
        }
    }
    let qualifier = Qualifier::find(qualifier).ok_or_else(|| {
        let known: Vec<&str> = Qualifier::ALL.iter().map(|known| known.word()).collect();
        format!("column qualifier: {qualifier:?} is unknown: one of {}", known.join(", "))
    })?;
    let value = printed(metric, unit, value, qualifier)?;
    let own = |text: &str| text.to_owned();
    Ok(Figure {
        run: own(run),
        fs: own(fs),
        task: own(task),
        metric: own(metric),
        unit: own(unit),
        value,
        qualifier,
        note: own(note),
    })
}

fn printed(metric: &str, unit: &str, value: &str, qualifier: Qualifier) -> Result<Printed, String> {
    if qualifier.is_empty() != value.is_empty() {
        let rule = if qualifier.is_empty() { "must be empty" } else { "must not be empty" };
        return Err(format!("column value: with the qualifier {} it {rule}", qualifier.word()));
    }
    let known = Metric::find(metric);
    if unit == "text" {
        return match known {
            _ if value.is_empty() => Ok(Printed::Nothing),
            Some(_) if qualifier.is_point() => Err(format!("column unit: {metric} is no text: words are qualitative")),
            _ => Ok(Printed::Text(value.to_owned())),
        };
    }
    if let Some(known) = known {
        // A rate counts data at some tasks and operations at others.
        let units = match known.unit {
            Unit::Throughput => &["KiB/s", "1/s"][..],
            _ => &[known.unit_text()][..],
        };
        if !units.contains(&unit) {
            return Err(format!("column unit: {metric} is in {}, not in {unit:?}", units.join(" or ")));
        }
    }
    if value.is_empty() {
        return Ok(Printed::Nothing);
    }
    let number: f64 = value.parse().map_err(|_| format!("column value: {value:?} is no number such as 12.5"))?;
    if !number.is_finite() {
        return Err(format!("column value: {value:?} is not a finite number"));
    }
    if known.is_some() && number < 0.0 {
        return Err(format!("column value: {metric} cannot be below 0, as {value} is"));
    }
    Ok(Printed::Number(number))
}
