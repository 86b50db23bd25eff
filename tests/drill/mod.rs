//! The drill: runs are killed in every phase, cleaned up after and resumed, until they are done.
//!
//! After each kill: no cell is lost or duplicated, no file of the user is changed, `clean` leaves nothing, and a run
//! that was resumed until it completed has the figures of an undisturbed one, to the last bit. A run of the host lab
//! works on an image of the user's, in a folder or on a loop device; it has each cell once. Kill points are found
//! from outside: by the output of `--verbose`, by new entries in the cache and the store, by the processes that the
//! program starts, and by the clock.
//!
//! `cargo test` does a few kills. `make drill` does many, in two lanes side by side, each with a cache and files of its
//! own, since a killed run mostly waits: DRILL_MINUTES limits it, DRILL_SEED repeats its choices, and DRILL_LANE and
//! DRILL_ROUND repeat one round of them.

mod cache;
mod chance;
mod field;
mod leftovers;
mod moment;
mod program;
mod record;
mod round;
mod tally;

use std::time::{Duration, Instant};

use crate::lab::skip;
use chance::Chance;
use field::Field;
use moment::Phase;
use round::{Kind, Round, Target};
use tally::Tally;

/// Minimum number of kills of `make drill`, if time allows.
const KILLS: usize = 200;

/// A number from the environment.
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: give a whole number")))
}

/// The phases in which a round of each kind is killed, repeated as often as they should occur.
fn virtual_phases(field: &Field) -> Vec<Phase> {
    let mut phases = vec![
        Phase::Image,
        Phase::Image,
        Phase::Begin,
        Phase::Boot,
        Phase::Store,
        Phase::Store,
        Phase::Store,
        Phase::End,
        Phase::End,
        Phase::Render,
        Phase::Any,
        Phase::Any,
        Phase::Any,
        Phase::Any,
    ];
    phases.extend(moment::STAGES.map(Phase::Stage));
    if field.can_fetch {
        phases.extend([Phase::Fetch, Phase::Unpack]);
    }
    phases
}

fn host_phases() -> Vec<Phase> {
    let stages = ["mkfs", "mount", "write", "settle", "umount", "fsck"].map(Phase::Stage);
    stages.into_iter().chain([Phase::Begin, Phase::Store, Phase::End, Phase::Any, Phase::Any]).collect()
}

/// Lanes of `make drill`. Only the first has the host lab, whose folders and devices are the machine's.
const LANES: u64 = 2;

/// Runs rounds until there were `kills` or the time is over; returns the results.
fn drill(field: &mut Field, seed: u64, kills: usize, end: Instant, only: Option<u64>) -> Tally {
    let mut tally = Tally::default();
    // Each phase in turn, in random order, so that a short drill covers as many as possible.
    let mut waiting: Vec<Phase> = Vec::new();
    let mut waiting_host: Vec<Phase> = Vec::new();
    for number in 1.. {
        if tally.kills() >= kills || Instant::now() >= end || only.is_some_and(|only| number > only) {
            break;
        }
        let mut chance = Chance::new(seed, number);
        let is_host = field.host.is_none() && number % 4 == 0;
        let target = Target::ALL[chance.below(Target::ALL.len() as u64) as usize];
        let (kind, count) = (if is_host { Kind::Host(target) } else { Kind::Virtual }, 1 + chance.below(4));
        let mut phases = Vec::new();
        for _ in 0..count {
            let (waiting, all) = match kind {
                Kind::Host(_) => (&mut waiting_host, host_phases()),
                Kind::Virtual => (&mut waiting, virtual_phases(field)),
            };
            if waiting.is_empty() {
                waiting.extend(all);
                Chance::new(seed ^ 0x5eed, number).shuffle(waiting);
            }
            phases.extend(waiting.pop());
        }
        if only.is_none_or(|only| only == number) {
            Round { field, number, chance, kind, tally: &mut tally }.run(&phases);
        }
    }
    tally
}

#[test]
fn a_run_survives_a_few_kills() {
    if let Err(reason) = field::obstacle() {
        return skip("a_run_survives_a_few_kills", &reason);
    }
    let _permit = crate::lab::Permit::take("drill", 1);
    let mut field = Field::new(1);
    field.host = Some("in the bounded drill".into());
    let seed = given("DRILL_SEED").unwrap_or(1);
    let tally = drill(&mut field, seed, 5, Instant::now() + Duration::from_secs(20), None);
    assert!(tally.kills() > 0, "nothing was killed");
    let faults: Vec<String> = tally.faults().iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "seed {seed}:\n{}", faults.join("\n"));
}

#[test]
#[ignore = "make drill: many kills, twenty minutes"]
fn runs_survive_many_kills() {
    if let Err(reason) = field::obstacle() {
        return skip("runs_survive_many_kills", &reason);
    }
    let chance = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |passed| passed.as_nanos() as u64 % 1_000_000);
    let seed = given("DRILL_SEED").unwrap_or(chance);
    let minutes = given("DRILL_MINUTES").unwrap_or(20);
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    println!("drill: seed {seed}, at most {minutes} minutes, {KILLS} kills or more");
    let lanes: Vec<u64> = given("DRILL_LANE").map_or((0..LANES).collect(), |lane| vec![lane]);
    let tallies: Vec<(u64, Tally)> = std::thread::scope(|scope| {
        let lanes: Vec<_> =
            lanes.iter().map(|lane| (*lane, scope.spawn(move || drill_lane(*lane, seed, end)))).collect();
        lanes.into_iter().map(|(lane, tally)| (lane, tally.join().expect("a lane ends"))).collect()
    });
    let mut all = Tally::default();
    for (lane, tally) in &tallies {
        for fault in tally.faults() {
            let round = fault.round();
            println!("FAULT {fault}\n  again: make drill DRILL_SEED={seed} DRILL_LANE={lane} DRILL_ROUND={round}");
        }
        all.add_up(tally);
    }
    print!("{all}");
    assert!(tallies.iter().all(|(_, tally)| tally.faults().is_empty()), "the faults are above");
}

/// One lane, with its own field and choices.
fn drill_lane(lane: u64, seed: u64, end: Instant) -> Tally {
    let mut field = Field::new(2);
    if lane > 0 {
        field.host = Some("in the first lane".into());
    }
    field.probe();
    for (what, obstacle) in [("the host lab", &field.host), ("the network", &field.network)] {
        if let Some(obstacle) = obstacle {
            println!("drill: lane {lane} without {what}: {obstacle}");
        }
    }
    let kills = given("DRILL_KILLS").map_or(KILLS, |kills| kills as usize).div_ceil(LANES as usize);
    drill(&mut field, seed.wrapping_add(lane << 32), kills, end, given("DRILL_ROUND"))
}
