//! Shows the progress of a plan on standard error: current work, share done, time left.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mountmark_model::{Cell, Plan, Stage, Vary, counted};
use mountmark_run::schedule;

use crate::terminal;

/// Shows progress as an updated line on a terminal, and otherwise as a line per cell.
pub struct Progress {
    begin: Instant,
    cells: usize,
    ended: usize,
    running: BTreeMap<u32, Running>,
    bar: Option<ProgressBar>,
    verbose: bool,
    vary: Option<Vary>,
}

struct Running {
    name: String,
    stage: String,
    tasks: usize,
    done: usize,
}

impl Progress {
    /// For all cells of a plan.
    /// `verbose`: every step of every cell is a line.
    pub fn new(plan: &Plan, jobs: usize, verbose: bool) -> Progress {
        let bar = (std::io::stderr().is_terminal() && !verbose).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{bar:24} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(if terminal::shows_unicode() { style } else { style.progress_chars("#>-") });
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let text = format!(
            "{}: {} ({}, {}), {jobs} at a time",
            plan.suite,
            counted(plan.cells.len(), "cell"),
            counted(plan.configurations.len(), "configuration"),
            counted(plan.repeats as usize, "repeat")
        );
        say!("mountmark: {text}");
        let vary = plan.vary.clone();
        Progress {
            begin: Instant::now(),
            cells: plan.cells.len(),
            ended: 0,
            running: BTreeMap::new(),
            bar,
            verbose,
            vary,
        }
    }

    /// Records one step.
    pub fn show(&mut self, step: &schedule::Progress) {
        match step {
            schedule::Progress::Started(cell) => {
                let running =
                    Running { name: self.name(cell), stage: "starting".into(), tasks: cell.tasks.len() + 3, done: 0 };
                self.running.insert(cell.index, running);
            }
            schedule::Progress::Stage(cell, stage) => {
                if let Some(running) = self.running.get_mut(&cell.index) {
                    running.done += usize::from(matches!(stage, Stage::Measured(_)));
                    running.stage = stage.name().to_owned();
                    if self.verbose {
                        say!("{:9.3} s  {}: {}", self.begin.elapsed().as_secs_f64(), running.name, running.stage);
                    }
                }
            }
            schedule::Progress::Ended(cell, result) => {
                self.running.remove(&cell.index);
                self.ended += 1;
                let failed = result.tasks.iter().filter(|ended| ended.outcome.is_failed()).count();
                let seconds = result.ended.duration_since(result.started).unwrap_or_default().as_secs_f64();
                let how = match (result.outcome.reason(), failed) {
                    (Some(reason), _) => format!("failed: {reason}"),
                    (None, 0) => "done".to_owned(),
                    (None, failed) => format!("done, {} failed", counted(failed, "task")),
                };
                let line = format!(
                    "[{}/{}] {} {how} ({seconds:.1} s){}",
                    self.ended,
                    self.cells,
                    self.name(cell),
                    self.left()
                );
                let unremarkable = result.outcome.is_ok() && failed == 0;
                match &self.bar {
                    Some(bar) if !unremarkable => bar.suspend(|| say!("{line}")),
                    Some(_) => {}
                    None => say!("{line}"),
                }
            }
        }
        if let Some(bar) = &self.bar {
            let running: Vec<String> =
                self.running.values().map(|cell| format!("{}: {}", cell.name, cell.stage)).collect();
            bar.set_position((self.fraction() * 1000.0) as u64);
            let running = running.join(", ").replace('\n', " ");
            let message = format!("{}/{}{}  {running}", self.ended, self.cells, self.left());
            bar.set_message(terminal::line(&message));
        }
    }

    /// Removes the updated line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn name(&self, cell: &Cell) -> String {
        let name = format!("{} #{}", cell.configuration.name, cell.repeat + 1);
        let point = self.vary.as_ref().zip(cell.point);
        point.map_or_else(|| name.clone(), |(vary, point)| vary.name(&name, point as usize))
    }

    fn fraction(&self) -> f64 {
        let share = |cell: &Running| (cell.done as f64 / cell.tasks.max(1) as f64).min(1.0);
        let running: f64 = self.running.values().map(share).sum();
        (self.ended as f64 + running) / self.cells.max(1) as f64
    }

    /// `, about 40 s left`, once there is a basis for an estimate.
    fn left(&self) -> String {
        let fraction = self.fraction();
        let passed = self.begin.elapsed().as_secs_f64();
        if !(0.05..1.0).contains(&fraction) {
            return String::new();
        }
        let left = passed / fraction - passed;
        if left < 90.0 { format!(", about {left:.0} s left") } else { format!(", about {:.0} min left", left / 60.0) }
    }
}
