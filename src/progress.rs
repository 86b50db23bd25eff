//! Shows the progress of a plan on standard error: current work, share done, time left.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Stage, Vary, counted};
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
    ahead: Option<Ahead>,
}

/// What a run that decides on its way knew of its rest at a moment, in seconds.
struct Ahead {
    at: Instant,
    likely: Option<f64>,
    most: Option<f64>,
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
        let vary = plan.vary.clone();
        let of: Vec<String> = std::iter::once(counted(plan.configurations.len(), "configuration"))
            .chain(vary.as_ref().map(|vary| counted(vary.points.len(), "point")))
            .chain([counted(plan.repeats as usize, "repeat")])
            .collect();
        let cells = counted(plan.cells.len(), "cell");
        say!("mountmark: {}: {cells} ({}), {jobs} at a time", plan.suite, of.join(", "));
        Progress {
            begin: Instant::now(),
            cells: plan.cells.len(),
            ended: 0,
            running: BTreeMap::new(),
            bar,
            verbose,
            vary,
            ahead: None,
        }
    }

    /// For a run that decides on its way: `cells` more than before, and the seconds that all of the rest is likely to take
    /// and takes at most.
    pub fn look_ahead(&mut self, cells: usize, likely: Option<f64>, most: Option<f64>) {
        self.cells += cells;
        self.ahead = Some(Ahead { at: Instant::now(), likely, most });
    }

    /// A line, unless all is on the updated one.
    pub fn note(&self, text: &str) {
        if self.bar.is_none() {
            say!("mountmark: {text}{}", self.left());
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
                    self.planned(),
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
            let message = format!("{}/{}{}  {running}", self.ended, self.planned(), self.left());
            bar.set_message(terminal::line(&message));
        }
    }

    /// Removes the updated line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// `15`, or `15+` if there may be more.
    fn planned(&self) -> String {
        format!("{}{}", self.cells, if self.ahead.is_some() { "+" } else { "" })
    }

    fn name(&self, cell: &PlannedCell) -> String {
        let name = format!("{} #{}", cell.configuration.heading(), cell.repeat + 1);
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
        let (how, left) = match &self.ahead {
            Some(Ahead { at, likely: Some(likely), .. }) => ("about", Some(likely - at.elapsed().as_secs_f64())),
            Some(Ahead { at, most: Some(most), .. }) => ("at most", Some(most - at.elapsed().as_secs_f64())),
            Some(_) => ("at least", self.of_planned()),
            None => ("about", self.of_planned()),
        };
        match left.map(|left| left.max(0.0)) {
            None => String::new(),
            Some(left) if left < 90.0 => format!(", {how} {left:.0} s left"),
            Some(left) => format!(", {how} {:.0} min left", left / 60.0),
        }
    }

    /// Seconds until the planned cells have ended.
    fn of_planned(&self) -> Option<f64> {
        let fraction = self.fraction();
        let passed = self.begin.elapsed().as_secs_f64();
        (0.05..1.0).contains(&fraction).then(|| passed / fraction - passed)
    }
}
