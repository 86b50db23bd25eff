//! Searches over grids whose every speed is known: how often the answer is near the best, and what it cost.

mod measured;

use std::collections::BTreeMap;

use mountmark_random::Stream;

use super::narrow::USUAL_REPEATS;
use super::*;

/// Differences between options as they were seen in the lab: most do nothing, some a little, few much.
const LITTLE: f64 = 0.03;
const MUCH: f64 = 0.15;

/// Five file systems with their options, and the logarithm of each combination's speed.
struct Grid {
    options: BTreeMap<String, Vec<TuningOption>>,
    speeds: BTreeMap<String, f64>,
    /// Differences between repeats of one configuration: a standard deviation, of logarithms.
    noise: f64,
    seed: u64,
    /// Repeats that each configuration was measured in.
    measured: BTreeMap<String, u32>,
    /// Cells that there is time for.
    most: usize,
    skipped: Vec<String>,
}

impl Grid {
    fn new(seed: u64, noise: f64) -> Grid {
        let mut random = Stream::new(seed, "advise.grid");
        let (mut options, mut speeds) = (BTreeMap::new(), BTreeMap::new());
        for (name, count) in [("a", 6), ("b", 6), ("c", 5), ("d", 4), ("e", 3)] {
            let defaults = 0.2 * random.normal();
            let effect = |random: &mut Stream| match random.below(10) {
                0..5 => 0.002 * random.normal(),
                5..8 => LITTLE * random.normal(),
                _ => MUCH * random.normal(),
            };
            let effects: Vec<f64> = (0..count).map(|_| effect(&mut random)).collect();
            let pairs: Vec<f64> =
                (0..count * count).map(|_| if random.below(5) == 0 { 0.02 * random.normal() } else { 0.0 }).collect();
            let all: Vec<TuningOption> = (0..count)
                .map(|at| TuningOption {
                    option: format!("o{at}"),
                    about: "it".into(),
                    risk: None,
                    alone: false,
                    source: "here".into(),
                    date: "2026-11-28".into(),
                })
                .collect();
            for trial in screening::full(count) {
                let on: Vec<usize> = (0..count).filter(|at| trial[*at]).collect();
                let together = on.iter().flat_map(|one| on.iter().map(move |other| (one, other)));
                let of_pairs: f64 =
                    together.filter(|(one, other)| one < other).map(|(one, other)| pairs[one * count + other]).sum();
                let speed = defaults + on.iter().map(|at| effects[*at]).sum::<f64>() + of_pairs;
                let words: Vec<&str> = on.iter().map(|at| all[*at].option.as_str()).collect();
                speeds.insert(candidate(name, &words).name, speed);
            }
            options.insert(name.to_owned(), all);
        }
        let (measured, skipped) = (BTreeMap::new(), Vec::new());
        Grid { options, speeds, noise, seed, measured, most: usize::MAX, skipped }
    }

    fn cells(&self) -> usize {
        self.measured.values().map(|repeats| *repeats as usize).sum()
    }

    fn best(&self) -> f64 {
        self.speeds.values().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The speed of what is advised.
    fn advised(&mut self) -> (Candidate, f64) {
        let options = self.options.clone();
        let answer = search(self, &options, "a");
        let speed = self.speeds[&answer.name];
        (answer, speed)
    }
}

/// What a search through these options ends with.
fn search(track: &mut dyn Track, options: &BTreeMap<String, Vec<TuningOption>>, simplest: &str) -> Candidate {
    let mut race = Race::default();
    let defaults: Vec<Candidate> = options.keys().map(|name| candidate(name, &[])).collect();
    assert!(race.measure(track, &defaults, 1).unwrap());
    let order: Vec<String> = advice::in_order(&race.speeds, &defaults).iter().map(|one| one.name.clone()).collect();
    for name in order {
        assert!(race.screen(track, &name, &options[&name].iter().collect::<Vec<_>>()).unwrap());
    }
    let left = race.narrow(track, simplest).unwrap();
    advice::decide(&race.speeds, &left, simplest, race.searched()).unwrap().clone()
}

impl Track for Grid {
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>> {
        let mut speeds = Speeds::new();
        for Candidate { name, .. } in candidates {
            let known = self.measured.entry(name.clone()).or_default();
            *known = repeats.max(*known);
            let speed = |block: u32| {
                // A repeat has a workload of its own, which is that of all.
                let common = 0.1 * Stream::numbered(self.seed, "advise.repeat", u64::from(block)).normal();
                let own = Stream::numbered(self.seed, &format!("advise.cell.{name}"), u64::from(block)).normal();
                Some(self.speeds[name] + common + self.noise * own)
            };
            speeds.insert(name.clone(), (0..repeats).map(speed).collect());
        }
        Ok(Some(Measured { speeds, skipped: Vec::new() }))
    }

    fn room(&self, share: f64) -> usize {
        ((self.most as f64 * share) as usize).saturating_sub(self.cells())
    }

    fn skip(&mut self, what: String) {
        self.skipped.push(what);
    }

    fn asked(&mut self, what: &str) {
        self.skipped.retain(|skipped| skipped != what);
    }
}

/// What became of many searches.
#[derive(Debug, Default)]
struct Ended {
    /// Within 2 % of the best of the grid.
    near: usize,
    /// With something that is slower than what is taken if nothing is better.
    worse: usize,
    /// Cells of a search, in the mean.
    cells: f64,
    /// Cells of the grid in so many repeats as the search has at the end, usually.
    grid: usize,
}

fn searches(count: u64, noise: f64, most: usize) -> Ended {
    let mut ended = Ended::default();
    for seed in 0..count {
        let mut grid = Grid { most, ..Grid::new(seed, noise) };
        let (answer, speed) = grid.advised();
        ended.near += usize::from(speed >= grid.best() - 0.02);
        ended.worse += usize::from(answer.name != "a" && speed < grid.speeds["a"]);
        ended.cells += grid.cells() as f64 / count as f64;
        ended.grid = grid.speeds.len() * USUAL_REPEATS as usize;
    }
    ended
}

#[test]
fn answers_are_near_the_best_of_the_grid() {
    // Differences of 1 % between repeats are those of a mail server at its own size.
    for (noise, least) in [(0.002, 200), (0.005, 198), (0.01, 190)] {
        let found = searches(200, noise, 400);
        assert!(found.near >= least && found.worse == 0, "noise {noise}: {found:?}");
        assert!(3.0 * found.cells < found.grid as f64, "noise {noise}: {found:?}");
    }
    // Much noise costs speed, and never leads to what is worse.
    let found = searches(200, 0.04, 400);
    assert!(found.near >= 100 && found.worse == 0, "{found:?}");
}

#[test]
fn a_small_budget_asks_the_options_of_the_fastest_and_says_what_it_left() {
    for most in [60, 100, 150] {
        let found = searches(50, 0.01, most);
        assert!(found.worse == 0 && found.cells <= most as f64, "{most}: {found:?}");
    }
    let mut grid = Grid { most: 100, ..Grid::new(1, 0.01) };
    grid.advised();
    assert!(
        grid.skipped.iter().any(|what| what.starts_with("what ") && what.contains(" options of ")),
        "{:?}",
        grid.skipped
    );
    assert!(grid.measured.keys().any(|name| name.contains(':')), "some options are asked");
    let mut grid = Grid { most: 5, ..Grid::new(1, 0.01) };
    assert_eq!(grid.advised().0.name, "a", "nothing is shown by one repeat");
    assert_eq!(grid.cells(), 5);
}

/// Two options that go with no other: one fails, and one cannot be run.
struct Failing;

impl Track for Failing {
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>> {
        let (out, run): (Vec<&Candidate>, Vec<_>) = candidates.iter().partition(|one| one.name.ends_with("absent"));
        let speed = |one: &Candidate| (!one.name.ends_with("broken")).then_some(1.0);
        Ok(Some(Measured {
            speeds: run.iter().map(|one| (one.name.clone(), vec![speed(one); repeats as usize])).collect(),
            skipped: out.iter().map(|one| LeftOut { what: one.name.clone(), why: "it is too old".into() }).collect(),
        }))
    }

    fn room(&self, _: f64) -> usize {
        100
    }

    fn skip(&mut self, what: String) {
        panic!("{what}");
    }

    fn asked(&mut self, what: &str) {
        panic!("{what}");
    }
}

/// A grid whose budget is used before options are screened.
struct Tight(Grid);

impl Track for Tight {
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>> {
        self.0.measure(candidates, repeats)
    }

    fn room(&self, share: f64) -> usize {
        if share == SCREENING { 0 } else { 1000 }
    }

    fn skip(&mut self, what: String) {
        self.0.skip(what);
    }

    fn asked(&mut self, what: &str) {
        self.0.asked(what);
    }
}

#[test]
fn options_that_were_asked_after_all_are_not_said_to_be_not_asked() {
    let (mut track, mut race) = (Tight(Grid::new(1, 0.01)), Race::default());
    let options = track.0.options.clone();
    let defaults: Vec<Candidate> = options.keys().map(|name| candidate(name, &[])).collect();
    assert!(race.measure(&mut track, &defaults, 1).unwrap());
    for (name, options) in &options {
        assert!(race.screen(&mut track, name, &options.iter().collect::<Vec<_>>()).unwrap());
    }
    assert_eq!(track.0.skipped.len(), options.len(), "{:?}", track.0.skipped);
    race.narrow(&mut track, "a").unwrap();
    let tried: Vec<&str> =
        race.tried.iter().filter(|one| !one.options.is_empty()).map(|one| one.filesystem.as_str()).collect();
    assert_eq!(track.0.skipped.len(), options.len() - 1, "{:?}", track.0.skipped);
    assert!(track.0.skipped.iter().all(|what| !what.ends_with(&format!(" of {} do", tried[0]))), "{tried:?}");
}

/// What the user stops.
#[derive(Default)]
struct Stopped(Vec<String>);

impl Track for Stopped {
    fn measure(&mut self, _: &[Candidate], _: u32) -> Result<Option<Measured>> {
        Ok(None)
    }

    fn room(&self, _: f64) -> usize {
        100
    }

    fn skip(&mut self, what: String) {
        self.0.push(what);
    }

    fn asked(&mut self, what: &str) {
        panic!("{what}");
    }
}

#[test]
fn what_was_stopped_is_said_and_what_failed_in_one_repeat_is_left_out() {
    let (mut track, mut race) = (Stopped::default(), Race::default());
    race.speeds.insert("a".into(), vec![Some(1.0)]);
    let options = three_options();
    assert!(!race.screen(&mut track, "a", &options.iter().collect::<Vec<_>>()).unwrap());
    race.narrow(&mut track, "a").unwrap();
    assert_eq!(track.0, ["what 3 options of a do", "1 configuration in 2 repeats"]);
    race.speeds.insert("b".into(), vec![Some(1.0), None, Some(1.0)]);
    race.speeds.insert("c".into(), vec![None, None]);
    race.leave_out_interrupted();
    let left_out: Vec<(&str, &str)> =
        race.left_out.iter().map(|left| (left.what.as_str(), left.why.as_str())).collect();
    assert_eq!(left_out, [("b", "it failed in 1 of 3 repeats")]);
}

fn three_options() -> [TuningOption; 3] {
    ["fine", "broken", "absent"].map(|name| TuningOption {
        option: name.into(),
        about: "it".into(),
        risk: None,
        alone: true,
        source: "here".into(),
        date: "2026-11-28".into(),
    })
}

#[test]
fn an_option_that_fails_is_shown_and_one_that_cannot_be_run_is_left_out() {
    let options = three_options();
    let mut race = Race::default();
    assert!(race.measure(&mut Failing, &[candidate("a", &[])], 1).unwrap());
    assert!(race.screen(&mut Failing, "a", &options.iter().collect::<Vec<_>>()).unwrap());
    let screened: Vec<(&str, Option<f64>)> = race.screened.iter().map(|one| (one.option.as_str(), one.ratio)).collect();
    assert_eq!(screened, [("fine", Some(1.0)), ("broken", None)]);
    assert!(race.is_out("a:absent"));
}
