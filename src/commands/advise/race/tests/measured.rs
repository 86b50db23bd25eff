//! Searches over a grid that guests measured: every combination of the options that the catalogue marks, on five file systems.
//! `scripts/try-advise` measures it and starts the test.

use std::collections::BTreeMap;
use std::env;

use clap::Parser;
use mountmark_random::Stream;
use mountmark_record::Store;

use super::super::narrow::USUAL_REPEATS;
use super::super::*;
use super::search;
use crate::catalogue;
use crate::commands::advise::Arguments;
use crate::commands::advise::candidates::refused;

/// The file systems, if `MOUNTMARK_GRID_FS` names no others; ext4 is among them.
const FILESYSTEMS: &str = "ext4 xfs btrfs f2fs nilfs2";
/// Searches of a grid: each takes its repeats in another order.
const SEARCHES: u64 = 20;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// The options that `advise` would ask, by file system, and all that can be combined of them.
fn asked() -> BTreeMap<String, Vec<TuningOption>> {
    let catalogue = catalogue::load().unwrap();
    let Line { arguments } = Line::parse_from(["advise", "--suite", "varmail"]);
    let is_asked = |name: &str, one: &&TuningOption| refused(&catalogue, &arguments, name, one).unwrap().is_none();
    let of = |name: &&str| {
        let tuning = &catalogue.get::<mountmark_model::FileSystem>(name).unwrap().tuning;
        (name.to_string(), tuning.iter().filter(|one| is_asked(name, one)).cloned().collect())
    };
    let all = env::var("MOUNTMARK_GRID_FS").unwrap_or(FILESYSTEMS.to_owned());
    all.split_whitespace().map(|name| of(&name)).collect()
}

fn names(options: &BTreeMap<String, Vec<TuningOption>>) -> Vec<String> {
    let mut out = Vec::new();
    for (name, options) in options {
        let (alone, joint): (Vec<&TuningOption>, Vec<_>) = options.iter().partition(|one| one.alone);
        out.extend(screening::full(joint.len()).iter().map(|trial| chosen(name, &joint, trial).name));
        out.extend(alone.iter().map(|one| candidate(name, &[&one.option]).name));
    }
    out
}

#[test]
#[ignore = "it prints names for scripts/try-advise"]
fn names_of_a_grid() {
    println!("names: {}", names(&asked()).join(","));
}

/// The repeats of a grid in an order of their own.
struct Replay<'a> {
    speeds: &'a Speeds,
    order: Vec<usize>,
    measured: BTreeMap<String, usize>,
    most: usize,
}

impl Replay<'_> {
    fn cells(&self) -> usize {
        self.measured.values().sum()
    }
}

impl Track for Replay<'_> {
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>> {
        let (there, skipped): (Vec<_>, Vec<_>) = candidates.iter().partition(|one| self.speeds.contains_key(&one.name));
        let mut speeds = Speeds::new();
        for Candidate { name, .. } in there {
            let taken = &self.order[..self.order.len().min(repeats as usize)];
            let known = self.measured.entry(name.clone()).or_default();
            *known = taken.len().max(*known);
            speeds.insert(name.clone(), taken.iter().map(|at| self.speeds[name][*at]).collect());
        }
        let left = |one: &Candidate| LeftOut { what: one.name.clone(), why: "it is not in the grid".into() };
        Ok(Some(Measured { speeds, skipped: skipped.into_iter().map(left).collect() }))
    }

    fn room(&self, share: f64) -> usize {
        ((self.most as f64 * share) as usize).saturating_sub(self.cells())
    }

    fn skip(&mut self, what: String) {
        println!("  not asked: {what}");
    }

    fn asked(&mut self, _: &str) {}
}

/// Means over all repeats: what a search with all of them would know.
fn means(speeds: &Speeds) -> BTreeMap<&str, f64> {
    let mean = |all: &Vec<Option<f64>>| Some(all.iter().copied().sum::<Option<f64>>()? / all.len() as f64);
    speeds.iter().filter_map(|(name, all)| Some((name.as_str(), mean(all)?))).collect()
}

#[test]
#[ignore = "it judges what scripts/try-advise measured"]
fn answers_are_near_the_best_of_a_measured_grid() {
    let Some(file) = env::var_os("MOUNTMARK_GRID") else { panic!("MOUNTMARK_GRID names no store: scripts/try-advise") };
    let store = Store::open_read_only(&file).unwrap();
    let (options, mut faults) = (asked(), Vec::new());
    for summary in store.runs().unwrap().into_iter().filter(|run| run.recorded == run.planned) {
        let run = store.load(&summary.id).unwrap();
        let speeds = advice::speeds(&run, &advice::unmeasured(&run)).unwrap();
        let (repeats, means) = (summary.repeats as usize, means(&speeds));
        let (best, speed) = means.iter().max_by(|one, other| one.1.total_cmp(other.1)).unwrap();
        let whole = means.len() * USUAL_REPEATS as usize;
        println!("{}: {} configurations, {repeats} repeats; the best is {best}", summary.suite, means.len());
        let (mut near, mut worse, mut cells) = (0, 0, 0);
        for seed in 0..SEARCHES {
            let mut random = Stream::numbered(seed, "advise.replay", 0);
            let mut order: Vec<usize> = (0..repeats).collect();
            (1..repeats).rev().for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
            let mut replay = Replay { speeds: &speeds, order, measured: BTreeMap::new(), most: whole / 3 };
            let answer = search(&mut replay, &options, "ext4");
            // Against its own file system's defaults too: an option that makes it worse is not recommended.
            let own = means[answer.name.as_str()];
            let is_worse = own < means["ext4"] || own < means[answer.filesystem.as_str()];
            near += usize::from(own >= speed - 0.02);
            worse += usize::from(is_worse);
            cells += replay.cells();
            let behind = 100.0 * (1.0 - (own - speed).exp());
            println!("  seed {seed}: {}, {behind:.1} % behind the best, {} cells", answer.name, replay.cells());
        }
        let share = cells as f64 / SEARCHES as f64 / whole as f64;
        let text =
            format!("{}: {near} of {SEARCHES} within 2 %, {worse} worse, {share:.2} of the cells", summary.suite);
        println!("{text}");
        if near < 19 || worse > 0 || share > 1.0 / 3.0 {
            faults.push(text);
        }
    }
    assert!(faults.is_empty(), "{faults:?}");
}
