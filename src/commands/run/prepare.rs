//! What stands before a run: the user's words are checked, the lab is opened, the plan made, its cells prepared.

use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use mountmark_cells::Plan;
use mountmark_lab::OpenLab;
use mountmark_lab::emulator::Profiler;
use mountmark_model::{Configuration, Machine, Program, Vary, heading};
use mountmark_plan::{Catalogue, CrossedFactor, Options, check_factors, control, side_computers, with_options};
use mountmark_shelf::Shelved;

use super::corpus::{Make, corpora};
use super::works::{self, leave_out_programs};
use super::{
    Arguments, DEFAULT_FILESYSTEMS, DEFAULT_SUITE, Ended, LabOptions, STUDY, SideLab, Stop, check_jobs, elsewhere,
    held, scripts, targets, vary,
};
use crate::catalogue;
use crate::common::WrongUse;
use crate::work_options::Work;

/// What a user wrote, found to be sound.
pub(super) struct Checked {
    pub options: Options,
    pub machine: Machine,
    pub catalogue: Catalogue,
    pub wanted: Vec<Configuration>,
    pub vary: Option<Vary>,
    /// What is crossed, with `--compare`.
    pub factors: Vec<CrossedFactor>,
    /// With the first of what is crossed.
    pub lab: LabOptions,
    pub work: Work,
}

/// Checks all user input before anything is fetched or generated.
pub(super) fn checked(arguments: &Arguments) -> Result<Checked> {
    let scale = arguments.work.scale(arguments.scale.as_deref())?;
    check_jobs(arguments.jobs)?;
    arguments.lab.check_new()?;
    arguments.refuse_jobs()?;
    if let Some(on) = &arguments.on {
        elsewhere::check(arguments, on)?;
    }
    // Before all else: a device that must not be touched is refused, whatever else is wrong.
    let own = arguments.lab.kind().own_computer(&arguments.lab.place())?;
    let mut catalogue = catalogue::load()?;
    let (lab, mut factors) = arguments.lab.crossed();
    let machine = catalogue.get::<Machine>(&lab.machine())?.clone();
    let told = lab.options(&machine);
    let work = arguments.work.fit(&mut catalogue)?;
    factors.extend(work.compared.clone());
    let (fill, filled) = held::fill(arguments.fill.as_deref())?;
    factors.extend(filled);
    let (age, aged) = held::age(arguments.age.as_deref(), arguments.seed, &catalogue, !arguments.dry_run)?;
    factors.extend(aged);
    let fs = if arguments.fs.is_empty() { vec![DEFAULT_FILESYSTEMS.into()] } else { arguments.fs.clone() };
    let mut options = Options {
        fs: match &arguments.options {
            Some(levels) => with_options(&fs, levels)?,
            None => fs,
        },
        suite: work.suite.clone().unwrap_or_else(|| DEFAULT_SUITE.into()),
        lab: arguments.lab.lab,
        own,
        machine: lab.machine(),
        disk: lab.disk(),
        disk_size: arguments.disk_size,
        kernel: told.kernel,
        scale,
        repeats: arguments.sampling.repeats(arguments.repeat, &arguments.vary)?,
        seed: arguments.seed,
        conditions: arguments.conditions,
        corpus: arguments.corpus.clone(),
        fill,
        age,
    };
    let wanted = targets::fit(arguments, &mut options, &mut catalogue)?;
    catalogue.suite(&options.suite)?;
    if options.own.is_none() {
        mountmark_plan::disk(&catalogue, &machine, options.disk.as_deref())?;
    }
    if options.repeats == 0 {
        bail!(WrongUse("--repeat 0: give at least 1".into()));
    }
    check_factors(&catalogue, &options, None, &factors)?;
    let sides = factors.iter().map(|factor| factor.levels.len()).product::<usize>();
    let vary = vary::asked(arguments, &catalogue, &options, [wanted.len(), sides])?;
    // Last, as they write.
    arguments.shelf.check(arguments.lab.lab, arguments.dry_run)?;
    if !arguments.dry_run {
        work.save()?;
    }
    Ok(Checked { options, machine, catalogue, wanted, vary, factors, lab, work })
}

/// An open lab with a plan.
pub(super) struct Prepared<'a> {
    /// With shelves, if there are any.
    pub lab: &'a dyn OpenLab,
    pub shelved: Option<&'a Shelved<'a>>,
    pub profiler: Option<&'a Profiler>,
}

/// Opens the lab, makes the plan, and prepares its cells for `ending`.
pub(super) fn with_plan<T>(
    arguments: &Arguments,
    Checked { options, machine, catalogue, wanted, vary, factors, lab: one, work }: Checked,
    stop: &Stop,
    ending: &dyn Fn(&Prepared, &Plan) -> Ended<T>,
) -> Ended<T> {
    let is_guest = arguments.lab.capabilities().guest;
    let cache = mountmark_lab::cache::default_folder();
    let _in_use = mountmark_lab::cache::open(&cache)?;
    let sides = side_labs(&catalogue, &options, &factors)?;
    let mut kernels: Vec<&str> = sides.iter().map(|side| side.kernel.as_str()).collect();
    kernels.dedup();
    let kernel = match &kernels[..] {
        _ if !is_guest => "this machine's".to_owned(),
        [] => options.kernel.clone(),
        several => several.join(", "),
    };
    if !is_guest {
        say!("mountmark: the suite's commands run as root on this machine; --dry-run shows them");
        for line in arguments.lab.kind().about(&arguments.lab.place()) {
            say!("mountmark: {line}");
        }
    }
    if !arguments.is_part {
        say!("mountmark: preparing the lab (kernel {kernel}, cache {})", cache.display());
    }
    let opened = one.open_sides(&machine, &sides)?;
    let profiler = opened.profiler();
    let shelved = arguments.shelf.over(arguments.lab.lab, opened.lab(), profiler.is_some())?;
    let lab = shelved.as_ref().map_or(opened.lab(), |shelved| shelved as &dyn OpenLab);
    let asked = Asked {
        unavailable: &|configuration| lab.make_available(configuration),
        lacks: &|program| lab.lacks(program),
        make: mountmark_corpus::realise,
        is_stopped: &|| stop.load(Ordering::SeqCst),
    };
    let wanted = Wanted { configurations: &wanted, vary: vary.as_ref(), factors: &factors };
    let Some(plan) = planned(arguments, options, &catalogue, wanted, &asked)? else { return Ok(Err(stop.code())) };
    for cell in &plan.cells {
        if stop.load(Ordering::SeqCst) {
            return Ok(Err(stop.code()));
        }
        lab.prepare(&cell.whole())?;
    }
    if let Some(cell) = plan.cells.first() {
        work.check_programs(lab, &cell.whole())?;
    }
    lab.precondition(stop, &mut |line| say!("mountmark: preconditioning {line}"))?;
    ending(&Prepared { lab, shelved: shelved.as_ref(), profiler }, &plan)
}

/// The computers of all sides.
fn side_labs(catalogue: &Catalogue, options: &Options, factors: &[CrossedFactor]) -> Result<Vec<SideLab>> {
    let lab = |(label, kernel, machine): (String, String, String)| {
        Ok(SideLab { label, kernel, machine: catalogue.get::<Machine>(&machine)?.clone() })
    };
    side_computers(factors, options).into_iter().map(lab).collect()
}

/// What is measured beside each other.
pub(super) struct Wanted<'a> {
    pub configurations: &'a [Configuration],
    /// The parameter that is varied.
    pub vary: Option<&'a Vary>,
    /// What is crossed.
    pub factors: &'a [CrossedFactor],
}

/// Callbacks of planning.
pub(super) struct Asked<'a> {
    /// As [`mountmark_lab::OpenLab::unavailable`].
    pub unavailable: &'a dyn Fn(&Configuration) -> Result<Option<String>>,
    /// As [`mountmark_lab::OpenLab::lacks`].
    pub lacks: &'a dyn Fn(&Program) -> Result<Option<String>>,
    /// [`mountmark_corpus::realise`], or its dry variant.
    pub make: Make,
    /// Whether the user has requested an end.
    pub is_stopped: &'a dyn Fn() -> bool,
}

fn say_skipped(skipped: &[(String, String)]) {
    for (name, reason) in skipped {
        say!("mountmark: {} is skipped: {reason}", heading(name));
    }
}

/// The plan, without what cannot run here; `None` if the user requested an end.
pub(super) fn planned(
    arguments: &Arguments,
    mut options: Options,
    catalogue: &Catalogue,
    Wanted { configurations, vary, factors }: Wanted,
    asked: &Asked,
) -> Result<Option<Plan>> {
    let mut skipped = Vec::new();
    options.fs = Vec::new();
    for configuration in configurations {
        if (asked.is_stopped)() {
            return Ok(None);
        }
        match (asked.unavailable)(configuration)? {
            None => options.fs.push(configuration.name.clone()),
            Some(reason) => skipped.push((configuration.name.clone(), reason)),
        }
    }
    say_skipped(&skipped);
    if !arguments.lab.capabilities().exact_clock && !arguments.no_control {
        let runs: Vec<_> = configurations.iter().filter(|one| options.fs.contains(&one.name)).cloned().collect();
        if let Some(control) = control(&runs) {
            say!("mountmark: {control} is added: what differs between equals is chance (--no-control leaves it out)");
            options.fs.push(control);
        }
    }
    if options.fs.is_empty() {
        bail!("none of the file systems can run here");
    }
    let mut realise = corpora(asked.make);
    let plan = mountmark_plan::plan_with(catalogue, &options, vary, factors, &mut realise)?;
    let mut plan = arguments.sampling.of(catalogue, &options, plan)?;
    let keeps = arguments.pauses.as_ref().map_or(plan.lab.capabilities().exact_clock, |pauses| pauses == STUDY);
    if !keeps {
        plan.change(|cell| cell.pause_seconds = 0.0);
    }
    scripts::check(&plan)?;
    let told = arguments.lab.options(&plan.machine);
    plan.memory_limit = told.memory;
    plan.precondition = told.precondition;
    if plan.precondition.is_some() {
        mountmark_plan::keep_written(&mut plan, catalogue)?;
    }
    if let Some(own) = &options.own {
        plan = mountmark_plan::on_targets(plan, &own.targets)?;
    }
    say_skipped(&plan.skipped);
    for (name, size, roomy) in plan.cramped() {
        say!("mountmark: {}", mountmark_findings::cramped(name, size, roomy));
    }
    plan.skipped.splice(0..0, skipped);
    works::check(&plan)?;
    leave_out_programs(&mut plan, asked.lacks)?;
    if plan.cells.is_empty() {
        bail!("none of the file systems can run this suite");
    }
    Ok(Some(plan))
}
