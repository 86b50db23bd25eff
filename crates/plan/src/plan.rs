//! Turns options and definitions into ordered cells.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mountmark_cells::{Plan, PlannedCell, Pool};
use mountmark_model::{
    Bytes, Cell, Configuration, CorpusSource, Disk, Fill, Machine, Own, RealisedCorpus, Scale, Source, SourceMedium,
    Suite,
};

use crate::bounds::MOST_REPEATS;
use crate::computer::Computer;
use crate::conditions::{drawn, in_order};
use crate::corpora::{corpus_source, realise_all};
use crate::options::parameters;
use crate::order::{block, repeat_seed};
use crate::title::filled;
use crate::{
    Catalogue, Options, PlanError, Realise, Result, brought, configuration, configurations_for, disks, fill, needs,
    restart, size, tasks,
};

/// What a point of `--vary` and a side of `--compare` change that no option does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// The machine's memory.
    pub ram: Option<Bytes>,
    /// A parameter of the suite and its value.
    pub parameter: Option<(String, u64)>,
    /// What the suite brings, in the place of what it has of that name.
    pub own: Option<Own>,
}

/// The plan for `options`. Definitions are checked completely before `realise` is first called; it is called once per
/// repeat, or once in total for the user's own files.
pub fn plan(catalogue: &Catalogue, options: &Options, realise: &mut Realise<'_>) -> Result<Plan> {
    planned(catalogue, options, &Changed::default(), realise)
}

pub(crate) fn planned(
    catalogue: &Catalogue,
    options: &Options,
    changed: &Changed,
    realise: &mut Realise<'_>,
) -> Result<Plan> {
    repeats_suit(options.repeats)?;
    let mut suite = catalogue.suite(&options.suite)?;
    if let Some(own) = &changed.own {
        brought::replace(&mut suite, own);
    }
    let mut computer = Computer::of(catalogue, options, suite.source != Source::None)?;
    if let Some(ram) = changed.ram {
        computer = computer.with_ram(ram)?;
    }
    let rows = Rows { kept: configurations_for(options.lab, catalogue, &options.fs)?, skipped: Vec::new() };
    let known_faults = configuration::known_faults(catalogue, &rows.kept);
    if let Some(reason) = Plan::too_large(suite.tasks.len(), rows.kept.len()) {
        return Err(PlanError::Options(reason));
    }
    disks::suit(&computer.disk, &rows.kept)?;
    let corpus = corpus_source(catalogue, &suite, options.corpus.as_deref())?;
    let (parameters, titles) = scaled(&mut suite, options, changed)?;
    brought::allowed(&suite, options.lab)?;
    needs::enough_memory(&suite, &parameters, computer.machine.ram)?;
    restart::allowed(&suite, options.lab, &computer.disk)?;

    let rows = rows.that_suit(&suite, &parameters)?;
    options.disk_size.map_or(Ok(()), |given| computer.suits(given))?;
    let corpora = realise_all(corpus.as_ref(), options, realise)?;
    let facts: Vec<RealisedCorpus> = corpora.iter().map(|(_, facts)| facts.clone()).collect();
    let (Rows { kept, skipped }, disk_size) = rows.that_hold(&facts, catalogue, &computer, &suite, options)?;
    let second_size = size::second(&suite, options.scale, &facts);
    let disk_written = size::written(&suite, options, &facts, disk_size);
    computer.hold(disk_size, second_size)?;
    let Computer { machine, disk, second_disk, kernel, .. } = computer;

    let cells = Cells {
        options,
        suite: &suite,
        kept: &kept,
        machine: &machine,
        disk: &disk,
        disk_size: Bytes(disk_size),
        second: second_disk.as_ref().map(|disk| (disk, Bytes(second_size))),
        source: corpus.as_ref(),
        corpora: &corpora,
        parameters: &parameters,
    };
    let cells = cells.all();
    let head = mountmark_model::Plan {
        configurations: kept.into_iter().map(|configuration| configuration.name).collect(),
        tasks: titles,
        disk_written,
        skipped,
        known_faults,
        ..without_cells(options, suite, machine, kernel)
    };
    Ok(Plan::with_cells(head, cells))
}

fn repeats_suit(repeats: u32) -> Result<()> {
    let is_possible = (1..=MOST_REPEATS).contains(&repeats);
    let reason = || PlanError::Options(format!("--repeat {repeats}: give a number from 1 to {MOST_REPEATS}"));
    if is_possible { Ok(()) } else { Err(reason()) }
}

/// What is known of a plan before its configurations, of one computer and one set of options.
fn without_cells(options: &Options, suite: Suite, machine: Machine, kernel: String) -> mountmark_model::Plan {
    mountmark_model::Plan {
        suite: suite.name,
        suite_about: suite.about,
        lab: options.lab,
        machine,
        scale: options.scale,
        repeats: options.repeats,
        seed: options.seed,
        configurations: Vec::new(),
        kernel,
        tasks: Vec::new(),
        disk_written: None,
        decisions: suite.decisions,
        cells: Vec::new(),
        skipped: Vec::new(),
        known_faults: Vec::new(),
        vary: None,
        sides: Vec::new(),
        factors: Vec::new(),
        computers: Vec::new(),
        targets: Vec::new(),
        sampling: None,
        memory_limit: None,
        precondition: None,
    }
}

/// The suite's parameters and the titles of its tasks, at the plan's scale. Gives the suite the room that it needs there.
fn scaled(suite: &mut Suite, options: &Options, changed: &Changed) -> Result<(BTreeMap<String, u64>, Titles)> {
    let own = parameters(suite, Scale::ONE);
    let mut parameters = parameters(suite, options.scale);
    if let Some((name, value)) = &changed.parameter {
        enlarge(suite, *value as f64 / parameters.get(name).map_or(1.0, |own| *own as f64).max(1.0));
        parameters.insert(name.clone(), *value);
    }
    let titles = suite.tasks.iter().map(|task| (task.id.clone(), filled(&task.title, &own, &parameters))).collect();
    // Cells keep the titles of scale 1: a job of another length would change the guest's reading time.
    for task in &mut suite.tasks {
        task.title = filled(&task.title, &own, &own);
    }
    // Computed at this scale (which job files ignore), and compared with the suite's value for scale 1.
    let workloads = needs::room(suite, &parameters)?.max(tasks::job_files_room(suite, &parameters)?);
    suite.room = Bytes(suite.room.0.max((workloads as f64 / options.scale.factor()).ceil() as u64));
    let repeated = (needs::written_again(suite) / options.scale.factor()).ceil() as u64;
    if repeated > 0 {
        suite.written = Some(Bytes(suite.written.unwrap_or(suite.room).0.saturating_add(repeated)));
    }
    Ok((parameters, titles))
}

/// Names of tasks in records, and their titles.
type Titles = Vec<(String, String)>;

/// What the cells of a plan have in common.
struct Cells<'a> {
    options: &'a Options,
    suite: &'a Suite,
    kept: &'a [Configuration],
    machine: &'a Machine,
    disk: &'a Disk,
    disk_size: Bytes,
    /// The second disk and its size.
    second: Option<(&'a Disk, Bytes)>,
    source: Option<&'a CorpusSource>,
    corpora: &'a [(PathBuf, RealisedCorpus)],
    parameters: &'a BTreeMap<String, u64>,
}

impl Cells<'_> {
    /// All cells, repeat by repeat, in the order of each repeat's block.
    fn all(&self) -> Vec<PlannedCell> {
        let Cells { options, suite, kept, .. } = self;
        let programs = tasks::programs(&suite.tasks);
        let tools = programs.iter().flat_map(|program| std::iter::once(&program.tool).chain(program.files));
        let tools: Vec<String> = suite.tools.iter().cloned().chain(tools.map(|tool| (*tool).to_owned())).collect();
        let packages = programs.iter().map(|program| program.package.to_owned());
        let packages: Vec<String> = suite.packages.iter().cloned().chain(packages).collect();
        let ram = self.machine.ram;
        let (mut pool, mut cells) = (Pool::default(), Vec::new());
        for repeat in 0..options.repeats {
            for configuration in block(options.seed, repeat, kept.len()).into_iter().map(|index| &kept[index]) {
                cells.push(pool.cell(Cell {
                    index: cells.len() as u32,
                    repeat,
                    point: None,
                    target: None,
                    is_mounted: false,
                    configuration: configuration.clone(),
                    seed: repeat_seed(options.seed, repeat),
                    disk: self.disk.clone(),
                    disk_size: self.disk_size,
                    on_loop: suite.on_loop,
                    second_disk: self.medium(repeat),
                    source_prepare: suite.source_prepare.clone(),
                    ram,
                    parameters: self.parameters.clone(),
                    pause_seconds: suite.pause_seconds,
                    conditions: drawn(options.conditions, options.lab, options.seed, repeat, ram),
                    age: options.age.clone(),
                    fill: self.fill(repeat),
                    tasks: restart::possible(in_order(suite, options, repeat), configuration),
                    tools: union(&tools, &configuration.filesystem.tools),
                    packages: union(&packages, &configuration.filesystem.packages),
                    whole_packages: suite.whole_packages.clone(),
                    root: brought::task_root(suite),
                    modules: suite.modules.clone(),
                }));
            }
        }
        cells
    }

    fn corpus(&self, repeat: u32) -> Option<&(PathBuf, RealisedCorpus)> {
        self.corpora.get(repeat as usize).or(self.corpora.first())
    }

    /// The fill of a repeat.
    fn fill(&self, repeat: u32) -> Option<Fill> {
        let corpus = self.corpus(repeat).map(|(_, facts)| facts);
        self.options.fill.map(|percent| fill::of(percent, self.source, corpus))
    }

    /// The second disk of a repeat, with its corpus.
    fn medium(&self, repeat: u32) -> Option<SourceMedium> {
        let (path, facts) = self.corpus(repeat)?;
        let (disk, size) = self.second?;
        Some(SourceMedium {
            disk: disk.clone(),
            size,
            layout: self.suite.source,
            corpus: facts.clone(),
            tar: path.to_string_lossy().into_owned(),
        })
    }
}

/// Configurations that will run, and skipped ones with their reasons.
struct Rows {
    kept: Vec<Configuration>,
    skipped: Vec<(String, String)>,
}

impl Rows {
    fn skip(&mut self, reason: impl Fn(&Configuration) -> Option<String>) {
        let skipped = &mut self.skipped;
        self.kept.retain(|configuration| match reason(configuration) {
            Some(reason) => {
                skipped.push((configuration.name.clone(), reason));
                false
            }
            None => true,
        });
    }

    /// Those that can do what the suite asks for.
    fn that_suit(mut self, suite: &Suite, parameters: &BTreeMap<String, u64>) -> Result<Rows> {
        self.skip(|configuration| configuration.filesystem.unavailable.clone());
        self.skip(|configuration| needs::too_full(suite, parameters, &configuration.filesystem));
        self.skip(|configuration| {
            let reason = format!("The suite {} needs names that differ in case alone, modes or links.", suite.name);
            (suite.posix && !configuration.filesystem.posix).then_some(reason)
        });
        self.not_empty()
    }

    /// Those that can hold the corpora, with the size of the disks in bytes, which all of them can have.
    fn that_hold(
        mut self,
        corpora: &[RealisedCorpus],
        catalogue: &Catalogue,
        computer: &Computer,
        suite: &Suite,
        options: &Options,
    ) -> Result<(Rows, u64)> {
        self.skip(|configuration| {
            let reason = || "The corpus has symbolic links or special files, which it cannot hold.".to_owned();
            (!configuration.filesystem.posix && corpora.iter().any(|corpus| corpus.others > 0)).then(reason)
        });
        let disk_size = match options.disk_size {
            Some(given) => {
                given_size_suits(given, &self.kept, computer, suite, options, corpora)?;
                given.0
            }
            None => size::usual(catalogue, &self.kept, suite, options, computer.disk.capacity(), corpora),
        };
        self.skip(|configuration| {
            let max = configuration.filesystem.max_size.filter(|max| max.0 < disk_size)?;
            Some(format!("It cannot be larger than {max}, and the disks of this plan have {}.", Bytes(disk_size)))
        });
        Ok((self.not_empty()?, disk_size))
    }

    fn not_empty(self) -> Result<Rows> {
        if self.kept.is_empty() { Err(PlanError::AllSkipped(self.skipped)) } else { Ok(self) }
    }
}

/// Gives tasks room for a parameter that is `times` as large: what they need of it is not known.
fn enlarge(suite: &mut Suite, times: f64) {
    let enlarged = |room: &mut Bytes| room.0 = (room.0 as f64 * times.max(1.0)).ceil() as u64;
    suite.peaks.iter_mut().map(|peak| &mut peak.room).chain(&mut suite.written).for_each(enlarged);
    enlarged(&mut suite.room);
}

/// Rejects a `--disk-size` that is too small for some configuration, and names a sufficient one.
fn given_size_suits(
    given: Bytes,
    kept: &[Configuration],
    computer: &Computer,
    suite: &Suite,
    options: &Options,
    corpora: &[RealisedCorpus],
) -> Result<()> {
    let needs = |configuration: &&Configuration| size::least_of(suite, options, corpora, configuration);
    let Some(hungriest) = kept.iter().max_by_key(needs).filter(|configuration| needs(configuration) > given.0) else {
        return Ok(());
    };
    let (enough, name) = (size::round_up(needs(&hungriest)), &hungriest.name);
    let cause = if hungriest.filesystem.min_size > given {
        format!("{name} can only be made on {} and more", hungriest.filesystem.min_size)
    } else {
        let fill = options.fill.filter(|percent| *percent > 0);
        let beside = fill.map_or(String::new(), |percent| format!(" beside a fill of {percent}%"));
        format!("the suite {} at scale {} does not fit on it with {name}{beside}", suite.name, options.scale)
    };
    Err(computer.too_small(given, &cause, enough >> 20))
}

fn union(one: &[String], other: &[String]) -> Vec<String> {
    let mut all: Vec<String> = one.iter().chain(other).cloned().collect();
    all.sort();
    all.dedup();
    all
}
