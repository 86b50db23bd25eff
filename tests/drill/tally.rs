//! Counts kills, and the faults found after them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::moment::Phase;

pub struct Fault {
    /// Round and kill in it, from 1.
    at: (u64, usize),
    text: String,
}

impl Fault {
    /// The round that reproduces it.
    pub fn round(&self) -> u64 {
        self.at.0
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}: {}", self.at.0, self.at.1, self.text)
    }
}

/// One kill, with the data of its output line.
pub struct Kill<'a> {
    /// Round and kill in it, from 1.
    pub at: (u64, usize),
    pub lab: &'static str,
    pub phase: Phase,
    pub signal: &'a str,
    /// Whether it hit the program before its end.
    pub met: bool,
    /// Whether `clean` left the image or device unchanged because the owner of its data is unknown, and said so.
    pub told: bool,
    /// Run time of the program before it was killed.
    pub after: Duration,
}

#[derive(Default)]
struct Row {
    kills: usize,
    missed: usize,
    told: usize,
    faulty: usize,
}

#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<(&'static str, Phase), Row>,
    faults: Vec<Fault>,
}

impl Tally {
    /// Number of kills that hit their program.
    pub fn kills(&self) -> usize {
        self.rows.values().map(|row| row.kills).sum()
    }

    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Records a kill and the faults after it, and prints its line.
    pub fn add(&mut self, kill: &Kill, wrong: Vec<String>) {
        let row = self.rows.entry((kill.lab, kill.phase)).or_default();
        row.kills += usize::from(kill.met);
        row.missed += usize::from(!kill.met);
        row.told += usize::from(kill.told);
        row.faulty += usize::from(!wrong.is_empty());
        let verdict = match (wrong.as_slice(), kill.met) {
            ([], true) if kill.told => "ok, what may be a user's is left as it is".to_owned(),
            ([], true) => "ok".to_owned(),
            ([], false) => "ok, it had ended before".to_owned(),
            (wrong, _) => format!("FAULT {}", wrong.join("; ")),
        };
        let number = format!("{}.{}", kill.at.0, kill.at.1);
        println!(
            "{number:>6} {:7} {:20} {:13} after {:6.2} s  {verdict}",
            kill.lab,
            kill.phase.to_string(),
            kill.signal,
            kill.after.as_secs_f64()
        );
        self.blame(kill.at, wrong);
    }

    /// Adds another tally's numbers.
    pub fn add_up(&mut self, other: &Tally) {
        for (key, row) in &other.rows {
            let sum = self.rows.entry(*key).or_default();
            sum.kills += row.kills;
            sum.missed += row.missed;
            sum.told += row.told;
            sum.faulty += row.faulty;
        }
    }

    /// Records faults without a kill.
    pub fn blame(&mut self, at: (u64, usize), wrong: Vec<String>) {
        self.faults.extend(wrong.into_iter().map(|text| Fault { at, text }));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:7} {:20} {:>6} {:>7} {:>5} {:>7}", "lab", "phase", "kills", "missed", "told", "faulty")?;
        for ((lab, phase), row) in &self.rows {
            let phase = phase.to_string();
            writeln!(f, "{lab:7} {phase:20} {:>6} {:>7} {:>5} {:>7}", row.kills, row.missed, row.told, row.faulty)?;
        }
        let sum = |of: fn(&Row) -> usize| self.rows.values().map(of).sum::<usize>();
        let faulty = sum(|row| row.faulty);
        let [kills, missed, told] = [sum(|row| row.kills), sum(|row| row.missed), sum(|row| row.told)];
        writeln!(f, "{:28} {kills:>6} {missed:>7} {told:>5} {faulty:>7}", "all")
    }
}
