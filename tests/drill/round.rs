//! One round: a run that is killed several times, cleaned up after each time, and completed.

use std::path::PathBuf;
use std::time::SystemTime;

use super::chance::Chance;
use super::field::{CELLS, Field};
use super::moment::{self, Phase};
use super::program::{Ended, Program};
use super::record::{self, Record};
use super::tally::{Kill, Tally};

/// The lab of a round, and what the host lab works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Virtual,
    Host(Target),
}

/// What a run of the host lab works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The user's empty image.
    Image,
    /// An image of its own in a folder.
    Folder,
    /// A loop device of the drill, as `--device`.
    Device,
}

impl Target {
    pub const ALL: [Target; 3] = [Target::Image, Target::Folder, Target::Device];
}

pub struct Round<'a> {
    pub field: &'a Field,
    pub number: u64,
    pub chance: Chance,
    pub kind: Kind,
    pub tally: &'a mut Tally,
}

impl Round<'_> {
    /// Kills a run in each of `phases`, and completes it.
    pub fn run(mut self, phases: &[Phase]) {
        let mut kills = 0;
        for phase in phases {
            let record = record::read(&self.store()).unwrap_or_default();
            if record.runs.last().is_some_and(|(_, cells)| cells.len() == CELLS) {
                break;
            }
            kills += 1;
            self.kill(*phase, kills, &record);
        }
        let wrong = self.finish();
        self.tally.blame((self.number, kills), wrong);
        let _ = std::fs::remove_dir_all(self.field.out(&self.out()));
    }

    fn out(&self) -> String {
        format!("round-{}", self.number)
    }

    fn store(&self) -> PathBuf {
        self.field.out(&self.out()).join("results.sqlite")
    }

    /// The command that continues the run.
    fn arguments(&mut self, before: &Record) -> Vec<String> {
        let jobs = 1 + self.chance.below(self.field.jobs);
        match self.kind {
            Kind::Host(target) if before.runs.is_empty() => self.field.host_arguments(&self.out(), target),
            Kind::Virtual if before.runs.is_empty() => self.field.run_arguments(jobs, &self.out()),
            Kind::Host(_) => self.field.resume_arguments(1, &self.out()),
            Kind::Virtual => self.field.resume_arguments(jobs, &self.out()),
        }
    }

    /// One kill, and all checks after it.
    fn kill(&mut self, phase: Phase, kill: usize, before: &Record) {
        // Mostly with a warm cache; otherwise with the leftovers of the previous kill.
        if self.chance.percent(75) {
            self.field.refill();
        }
        self.field.arrange(phase, &mut self.chance);
        let (signal, name) = match self.chance.below(100) {
            0..70 => (libc::SIGKILL, "SIGKILL"),
            70..85 => (libc::SIGINT, "SIGINT"),
            _ => (libc::SIGTERM, "SIGTERM"),
        };
        let group = self.chance.percent(40);
        let arguments = self.arguments(before);
        let (users, since) = (self.field.users_files(), SystemTime::now());
        let mut program = Program::start(&mut self.field.command(&arguments), phase == Phase::Render);
        let (cache, store) = (self.field.cache(), self.store());
        let is_host = self.kind != Kind::Virtual;
        let cells = CELLS - before.cells();
        let places = self.field.places(&cache, &store, cells, is_host);
        let met = moment::meet(phase, &mut program, &places, &mut self.chance);
        let after = program.ran();
        if met != Ok(false) {
            program.signal(signal, group);
        }
        let ended = program.wait();
        let mut wrong: Vec<String> = met.as_ref().err().cloned().into_iter().collect();
        match &ended {
            None => wrong.push(format!("it does not end after {name}")),
            Some(ended) => wrong.extend(end(ended, signal, *met.as_ref().unwrap_or(&true))),
        }
        if signal != libc::SIGKILL {
            let left = self.field.leftovers(since, false);
            wrong.extend(left.into_iter().map(|text| format!("before clean: {text}")));
        }
        let cleaned = self.field.say(&["clean"]);
        wrong.extend(self.left(&cleaned, since));
        let mut told = false;
        if self.field.users_files() != users {
            // A kill between the last write of mkfs and its note: the owner of that file system is unknown, so it
            // stays, and the user is told.
            told = is_host && cleaned.1.contains(UNKNOWN) && self.field.empty_image(&users);
            if !told {
                wrong.push("a file of the user's has changed".into());
            }
        }
        if self.kind == Kind::Host(Target::Device) {
            // What a killed run made stays on a device, and is lost by no run before someone gives it up.
            told = cleaned.1.contains("gives it up");
            self.field.empty_device();
        }
        match record::read(&self.store()) {
            Err(text) => wrong.push(text),
            Ok(now) => {
                wrong.extend(now.lost_since(before));
                let said = ended.iter().flat_map(|ended| &ended.lines).filter_map(|line| moment::ended(line));
                let said = said.map(|(k, _)| k as usize).max().unwrap_or(0);
                // Cells that the machine disturbed are measured again, after the plan's own.
                if now.cells() < (before.cells() + said).min(CELLS) {
                    wrong.push(format!("it said that {said} cells ended, and {} are kept", now.cells()));
                }
                wrong.extend(self.status(&now));
            }
        }
        if !wrong.is_empty() {
            // The last lines, as an explanation.
            let last = ended.iter().flat_map(|ended| ended.lines.iter().rev().take(3).rev());
            wrong.push(format!("it said: {}", last.cloned().collect::<Vec<_>>().join(" | ")));
            wrong.push(format!("clean said: {}", cleaned.1.trim()));
        }
        let signal = if group { format!("{name} group") } else { name.to_owned() };
        let met = met != Ok(false);
        let lab = if is_host { "host" } else { "virtual" };
        self.tally.add(&Kill { at: (self.number, kill), lab, phase, signal: &signal, met, told, after }, wrong);
    }

    /// Leftovers and errors of `clean`.
    fn left(&self, (code, said): &(i32, String), since: SystemTime) -> Vec<String> {
        let mut wrong = Vec::new();
        if *code != 0 {
            wrong.push(format!("clean ends with {code}: {said}"));
        }
        wrong.extend(self.field.leftovers(since, true));
        wrong
    }

    /// Errors of `runs` and `show` about the run when no process works on it.
    fn status(&self, record: &Record) -> Vec<String> {
        if record.runs.is_empty() {
            return Vec::new();
        }
        let out = self.field.out(&self.out()).to_string_lossy().into_owned();
        let (code, said) = self.field.say(&["runs", "--out", &out]);
        let mut wrong = Vec::new();
        if code != 0 || said.contains("running") {
            wrong.push(format!("runs ends with {code}: {said}"));
        }
        let (code, said) = self.field.say(&["show", "latest", "--format", "json", "--out", &out]);
        let shown: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        let status = shown["run"]["status"].as_str().or(shown["status"].as_str());
        if code != 0 || !matches!(status, Some("interrupted" | "done")) {
            wrong.push(format!("show ends with {code}, status {status:?}: {said:.300}"));
        }
        wrong
    }

    /// Completes the run; returns its faults.
    fn finish(&mut self) -> Vec<String> {
        let before = match record::read(&self.store()) {
            Ok(before) => before,
            Err(text) => return vec![text],
        };
        if self.chance.percent(75) {
            self.field.refill();
        }
        let arguments = self.arguments(&before);
        let ended = self.field.undisturbed(&arguments);
        let out = self.field.out(&self.out()).to_string_lossy().into_owned();
        // It may have completed before it was killed.
        let ended = if ended.code() == 2 && ended.said().contains("is complete") {
            let words = ["show", "latest", "--format", "json", "--out", &out].map(str::to_owned);
            self.field.undisturbed(&words)
        } else {
            ended
        };
        let mut wrong = match self.kind {
            Kind::Virtual => self.field.compare(&ended),
            // Each cell is there once; what it took is this machine's wall time.
            Kind::Host(_) => {
                Field::figures_of(&ended).err().into_iter().map(|wrong| format!("taken to its end: {wrong}")).collect()
            }
        };
        match record::read(&self.store()) {
            Err(text) => wrong.push(text),
            Ok(now) => {
                wrong.extend(now.lost_since(&before));
                if now.runs.len() != 1 || now.cells() != CELLS {
                    wrong.push(format!("{} runs with {} cells are kept", now.runs.len(), now.cells()));
                }
            }
        }
        let (code, said) = self.field.say(&["resume", "--out", &out]);
        if code != 2 || !said.contains("is complete") {
            wrong.push(format!("once more, resume ends with {code}: {said:.300}"));
        }
        wrong
    }
}

/// What `clean` says of a file system that it leaves where it is.
const UNKNOWN: &str = "that the run may not have made";

/// Faults in how a program has ended after a signal.
fn end(ended: &Ended, signal: libc::c_int, met: bool) -> Vec<String> {
    let code = ended.code();
    // It may have completed its last step.
    if code == 128 + signal || code == 0 {
        return Vec::new();
    }
    let when = if met { "after the signal" } else { "before any signal" };
    vec![format!("it ends with {code} {when}: {}", ended.said())]
}
