//! When the answer would be another: the same work in other situations.

use anyhow::Result;
use mountmark_findings::advice::{self, Candidate, OnMachines, Order, Speeds, Turn, Unmeasured};
use mountmark_findings::over_all_tasks;
use mountmark_model::Bytes;
use mountmark_plan::{Catalogue, fill_percent};
use mountmark_record::RunRecord;

use super::race::Track;
use super::search::Search;
use crate::costs::CostsOptions;

/// Repeats in each situation.
const REPEATS: u32 = 2;

/// The kernel series before the usual one.
const BEFORE: &str = "6.1";

/// How full it may become, in percent.
const FILLED: [u32; 3] = [50, 80, 95];

/// Bytes of a fill for a second of this machine's time, and seconds that a history takes: as measured on two processors, so that a
/// budget is kept.
const FILL_RATE: f64 = 40e6;
const AGE_TIME: f64 = 45.0;

/// A situation: its name, and the words of `mountmark run` that make it.
struct Situation {
    name: String,
    words: Vec<String>,
    /// The memory in bytes, if it is that point of a curve.
    ram: Option<u64>,
    /// Seconds of this machine's time that a cell takes beyond those of the search.
    longer: f64,
}

/// What an answer is compared with in other situations: the second, and the simplest.
pub fn compared(answer: &Candidate, second: Option<&Candidate>, simplest: &str) -> Vec<String> {
    let mut others: Vec<String> = second.iter().map(|second| second.name.clone()).collect();
    if simplest != answer.name && !others.iter().any(|other| other == simplest) {
        others.push(simplest.to_owned());
    }
    others
}

/// The answer first, then what it is compared with.
fn names(answer: &Candidate, others: &[String]) -> Vec<String> {
    std::iter::once(&answer.name).chain(others).cloned().collect()
}

/// One repeat of the answer and the others with the profiler, which says why it is faster, and where it would not be; `None` if
/// there is no time for it, or nothing beside it.
pub fn profiled(search: &mut Search, answer: &Candidate, others: &[String]) -> Result<Option<RunRecord>> {
    let names = names(answer, others);
    let what = format!("why it is faster, and {WHAT}");
    if let Some(reason) = search.runs.no_profiles.as_ref().filter(|_| !others.is_empty()) {
        search.runs.not_asked.push(format!("{what}: {reason}"));
        return Ok(None);
    }
    if others.is_empty() || search.runs.does_not_fit(names.len(), 0.0, &what) {
        return Ok(None);
    }
    say!("mountmark: looking for what makes the difference");
    let found = search.runs.beside(&names, 1, &["--profile"], 0.0)?;
    if found.is_none() {
        search.runs.skip(what);
    }
    Ok(found)
}

/// What [`on_machines`] asks.
const WHAT: &str = "on machines where work costs otherwise";

/// The answer beside the others, whatever classes of work cost on a machine.
pub fn on_machines(
    catalogue: &Catalogue,
    search: &mut Search,
    run: &RunRecord,
    answer: &Candidate,
    others: &[String],
) -> Result<Vec<OnMachines>> {
    let asked = CostsOptions::default().asked(catalogue, &search.arguments.store.open_read_only()?, run)?;
    let gains = search.race.gains_of(&answer.name);
    let leads = |beside: &String| gains.get(beside).is_some_and(|gain| advice::order(gain) == Order::Holds);
    let mut found = Vec::new();
    let (ahead, level): (Vec<&String>, Vec<&String>) = others.iter().partition(|beside| leads(beside));
    search.runs.not_asked.extend(level.iter().map(|beside| format!("{WHAT}, beside {beside}: {NONE_SHOWN}")));
    for beside in ahead {
        match over_all_tasks(run, &asked, &answer.name, beside) {
            Some(survival) => found.push(OnMachines { beside: beside.clone(), survival }),
            None => search.runs.not_asked.push(format!("{WHAT}, beside {beside}: {NO_LEAD}")),
        }
    }
    Ok(found)
}

/// Why nobody asks for machines' costs.
const NONE_SHOWN: &str = "the search shows no lead of the answer";

/// Why nothing is known of machines' costs.
const NO_LEAD: &str = "the repeat that was profiled has no lead of the answer that could be asked about";

/// The answer beside these others, in each situation.
pub fn ask(search: &mut Search, answer: &Candidate, others: &[String]) -> Result<Vec<Turn>> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let names = names(answer, others);
    let situations = situations(search);
    let (mut all, mut asked) = (Speeds::new(), Vec::new());
    for situation in situations {
        let (cells, what) = (names.len() * REPEATS as usize, format!("with {}", situation.name));
        if search.runs.does_not_fit(cells, situation.longer, &what) {
            continue;
        }
        say!("mountmark: {what}");
        let words: Vec<&str> = situation.words.iter().map(String::as_str).collect();
        let found = match search.runs.beside(&names, REPEATS, &words, situation.longer) {
            Ok(Some(run)) => speeds(&run, situation.ram, &search.runs.unmeasured),
            // The others are said to be not asked, as this one.
            Ok(None) => {
                search.runs.skip(what);
                continue;
            }
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => {
                all.extend(found.into_iter().map(|(name, speeds)| (in_situation(&situation.name, &name), speeds)));
            }
            Err(error) => {
                search.runs.not_asked.push(format!("{what}: {error:#}"));
                continue;
            }
        }
        asked.extend(others.iter().map(|other| (situation.name.clone(), other.clone())));
    }
    // All situations together: few repeats of each say more so.
    let both = |(situation, other): &(String, String)| [&answer.name, other].map(|name| in_situation(situation, name));
    let pairs: Vec<[String; 2]> = asked.iter().map(both).collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|[one, other]| (one.as_str(), other.as_str())).collect();
    let mut turns = Vec::new();
    // Each situation has its noise.
    let place = |(situation, other): &(String, String)| {
        let first = asked.iter().position(|(known, _)| known == situation);
        (first.unwrap_or_default(), others.iter().position(|known| known == other).unwrap_or_default())
    };
    let places: Vec<(usize, usize)> = asked.iter().map(place).collect();
    for ((situation, beside), gain) in asked.iter().zip(advice::gains_in(&all, &pairs, &places, pairs.len())) {
        match gain {
            Some(gain) => {
                let (situation, beside) = (situation.clone(), beside.clone());
                turns.push(Turn { situation, beside, order: advice::order(&gain), gain });
            }
            None => {
                search.runs.not_asked.push(format!("with {situation}, beside {beside}: one of the two failed there"))
            }
        }
    }
    Ok(turns)
}

/// The speeds of a run, or of its point with so much memory.
fn speeds(run: &RunRecord, ram: Option<u64>, unmeasured: &[Unmeasured]) -> Result<Speeds> {
    let points = || run.plan.vary.iter().flat_map(|vary| &vary.points);
    let point = ram.and_then(|ram| points().find(|point| point.value as u64 == ram));
    Ok(advice::speeds_at(run, point.map(|point| point.text.as_str()), unmeasured)?)
}

/// What a configuration is called in a situation.
fn in_situation(situation: &str, name: &str) -> String {
    format!("{situation}: {name}")
}

fn situations(search: &Search) -> Vec<Situation> {
    let Some(plan) = search.runs.plan() else { return Vec::new() };
    let one = |name: String, words: &[&str]| Situation {
        name,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        ram: None,
        longer: 0.0,
    };
    let mut out = Vec::new();
    let disk = plan.cells.first().map(|cell| cell.disk.name.clone()).unwrap_or_default();
    for other in ["hdd", "ssd", "nvme"].into_iter().filter(|other| *other != disk) {
        out.push(one(format!("disk {other}"), &["--disk", other]));
    }
    if !plan.kernel.starts_with(BEFORE) || plan.kernel.starts_with("6.12") {
        out.push(one(format!("kernel {BEFORE}"), &["--kernel", BEFORE]));
    }
    let ram = plan.machine.ram.0;
    // Above it there is no place for disks in a guest's addresses.
    const MOST: u64 = 2944 << 20;
    let (low, high) = (ram / 2, (2 * ram).min(MOST));
    let range = format!("ram={}MiB..{}MiB:2", low >> 20, high >> 20);
    for other in [low, high].into_iter().filter(|other| *other != ram) {
        // One run has both, and the shelf has it the second time.
        out.push(Situation { ram: Some(other), ..one(format!("memory {}", Bytes(other)), &["--vary", &range]) });
    }
    let has_size = plan.cells.first().is_some_and(|cell| !cell.parameters.is_empty() || cell.second_disk.is_some());
    let scale = plan.scale.factor();
    for (name, times) in [("half the work", 0.5), ("twice the work", 2.0)].into_iter().filter(|_| has_size) {
        out.push(one(name.into(), &["--scale", &format!("{}", scale * times)]));
    }
    // These take the longest.
    let size = plan.cells.first().map_or(0.0, |cell| cell.disk_size.0 as f64);
    let room = search.arguments.room.as_deref().and_then(|room| fill_percent(room).ok());
    for share in FILLED.into_iter().filter(|share| Some(*share) != room) {
        let text = format!("{share}%");
        let longer = size * f64::from(share) / 100.0 / FILL_RATE;
        out.push(Situation { longer, ..one(format!("{share} % full"), &["--fill", &text]) });
    }
    if search.arguments.age.is_none() {
        out.push(Situation { longer: AGE_TIME, ..one("40 commits of age".into(), &["--age", "seed:40"]) });
    }
    out
}
