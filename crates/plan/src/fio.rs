//! Reads job files of fio far enough to know their figures and the space they need, and to reject options that would
//! leave the file system under test. The job itself runs unchanged.

use std::collections::BTreeMap;
use std::path::Path;

use mountmark_model::{Bytes, Program, Suite, Task};

use crate::error::fault;
use crate::{PlanError, Result};

mod include;
mod layout;
mod number;
mod refusal;
mod time;

pub(crate) use include::Job as Text;
use layout::Layout;

/// Maximum number of sections of a file, options of a section, and jobs of all sections with their copies: typical
/// files have some ten, and each job is a process in the guest.
const MOST: usize = 1000;
/// Maximum number of faults shown at once; further ones are counted.
const TOLD: usize = 10;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JobFile {
    /// The jobs that fio reports, in its order.
    pub jobs: Vec<Job>,
    /// Bytes of all files of all sections and their copies; those that fill the disk have none.
    pub bytes: u64,
    /// The number of these files.
    pub files: u64,
    /// Run time in seconds stated in the job; 0 if it ends when its data is moved.
    pub seconds: f64,
    /// Seconds that its data take at least.
    pub least: f64,
}

/// A job in fio's report: one section, or a group that is reported together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Job {
    /// As fio prints it: the name of its first section.
    pub name: String,
    /// The names of all its sections.
    pub sections: Vec<String>,
    /// Whether it reads, writes and trims.
    pub moves: [bool; 3],
    /// Number of its group: groups may run one after the other.
    pub group: u32,
}

impl Job {
    /// Adds a section that is reported together with it.
    fn add(&mut self, sections: &[String], moves: [bool; 3]) {
        self.sections.extend_from_slice(sections);
        for (all, one) in self.moves.iter_mut().zip(moves) {
            *all |= one;
        }
    }
}

/// An option in a line.
#[derive(Clone, Debug)]
struct Entry<'a> {
    line: usize,
    /// The number of the section's head before it, which tells global sections apart.
    part: usize,
    key: &'a str,
    /// With the suite's parameters in place of their names.
    value: String,
}

/// What surrounds a job file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    /// The suite's parameters at this scale.
    pub parameters: &'a BTreeMap<String, u64>,
    /// Whether other commands may have made files and folders before the job.
    pub prepared: bool,
}

/// A section with the options of the global sections before it.
struct Section<'a> {
    line: usize,
    name: &'a str,
    entries: Vec<Entry<'a>>,
}

impl Section<'_> {
    /// fio accepts every name with this prefix as global.
    fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }

    /// The last entry, which overrides earlier ones.
    fn find(&self, keys: &[&str]) -> Option<&Entry<'_>> {
        self.entries.iter().rev().find(|entry| keys.contains(&entry.key))
    }

    /// Whether an option that needs no value is on.
    fn is_on(&self, keys: &[&str]) -> bool {
        self.find(keys).is_some_and(|entry| entry.value != "0")
    }
}

/// Reads a job file.
///
/// # Errors
/// The first faults, each with its line. If the file does not begin like a job file, its text is not repeated: it may
/// belong to another user, with private contents.
pub(crate) fn read(job: &Text, given: Given<'_>) -> Result<JobFile> {
    let mut faults = Vec::new();
    let sections = sections(job, given, &mut faults)?;
    let mut told = |section: &Section<'_>, reason: String| {
        faults.push(format!("{}: [{}]: {reason}", job.place(section.line), section.name));
    };
    let counted = |section: &Section<'_>| section.count("numjobs");
    let copies = sections.iter().fold(0_u64, |sum, section| sum.saturating_add(counted(section).unwrap_or(1)));
    let mut layout = Layout::default();
    for section in sections.iter().filter(|_| copies <= MOST as u64) {
        if let Err(reason) = layout.add(section, given.prepared) {
            told(section, reason);
        }
    }
    let mut seconds = |of| {
        time::seconds(&sections, of).unwrap_or_else(|(section, reason)| {
            told(section, reason);
            0.0
        })
    };
    let (seconds, least) = (seconds(time::stated), seconds(time::least));
    let shown = job.place(1);
    if sections.is_empty() && faults.is_empty() {
        faults.push(format!("{shown}: it has no job: add a section such as [randread]"));
    }
    let jobs = jobs(&sections);
    if jobs.is_empty() && !sections.is_empty() {
        faults.push(format!("{shown}: all its jobs have stats=0, so fio reports none: remove it from one"));
    }
    if copies > MOST as u64 {
        faults.push(format!("{shown}: it has {copies} jobs with their copies (numjobs), and {MOST} are the most"));
    }
    if faults.is_empty() {
        return Ok(JobFile { jobs, bytes: layout.bytes(), files: layout.count(), seconds, least });
    }
    let more = faults.len().saturating_sub(TOLD);
    faults.truncate(TOLD);
    if more > 0 {
        faults.push(format!("{shown}: and {more} more"));
    }
    Err(PlanError::File { faults })
}

/// The sections that are jobs, with the options that hold for each.
fn sections<'a>(job: &'a Text, given: Given<'_>, faults: &mut Vec<String>) -> Result<Vec<Section<'a>>> {
    let mut global: Vec<Entry<'_>> = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (index, raw) in job.text.lines().enumerate() {
        let line = index + 1;
        let place = || job.place(line);
        if let Some(reason) = refusal::of_line(raw) {
            faults.push(format!("{}: {reason}", place()));
            continue;
        }
        // Comments end a line too, quoted or not.
        let content = raw.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let name = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if sections.is_empty() && name.is_none() {
            let reason = "an option stands before the first [section], so this is no job file of fio";
            return Err(fault(&place(), reason));
        }
        let mut refuse = |reason: String| faults.push(format!("{}: {content}: {reason}", place()));
        if let Some(name) = name {
            refusal::of_name(name).into_iter().for_each(&mut refuse);
            if sections.len() == MOST {
                return Err(fault(&place(), format!("it has more than {MOST} sections, the most")));
            }
            sections.push(Section { line, name, entries: global.clone() });
            continue;
        }
        let (key, value) = content.split_once('=').unwrap_or((content, ""));
        let (value, reason) = match refusal::substituted(value.trim(), given.parameters) {
            Ok(value) => (value, None),
            Err(reason) => (String::new(), Some(reason)),
        };
        let entry = Entry { line, part: sections.len(), key: key.trim(), value };
        reason.or_else(|| refusal::of_option(&entry)).into_iter().for_each(&mut refuse);
        let entries = match sections.last_mut() {
            Some(section) if !section.is_global() => &mut section.entries,
            _ => &mut global,
        };
        if entries.len() == MOST {
            return Err(fault(&place(), format!("its section has more than {MOST} options, the most")));
        }
        entries.push(entry);
    }
    sections.retain(|section| !section.is_global());
    Ok(sections)
}

/// Rejects a job that states or implies a longer run time than the task's limit: it would be killed, and give no figure. `limit`
/// is in seconds.
pub(crate) fn ends_within(file: &JobFile, shown: &str, limit: f64) -> Result<()> {
    let (seconds, cause) = match (file.seconds > limit, file.least > limit) {
        (true, _) => (file.seconds, "by its own words (runtime, ramp_time and startdelay, one group after another)"),
        (_, true) => (file.least.floor(), "at least, by the data that it moves (size or io_size, loops, rate)"),
        _ => return Ok(()),
    };
    Err(fault(
        &shown,
        format!(
            "it runs for {seconds} s {cause}, and its task is ended at its limit of {limit} s; write less, or give its task \
             in a suite a larger limit_seconds"
        ),
    ))
}

/// The jobs that fio reports for these sections (stat.c, `__show_run_stats`).
fn jobs(sections: &[Section<'_>]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let (mut group, mut reported) = (0_u32, None);
    for section in sections {
        if section.is_on(&["stonewall", "wait_for_previous", "new_group"]) {
            group += 1;
        }
        if section.find(&["stats"]).is_some_and(|entry| entry.value == "0") {
            continue;
        }
        let own = section.find(&["name"]).map_or(section.name, |entry| entry.value.as_str());
        let way = section.find(&["rw", "readwrite"]).map_or("read", |entry| entry.value.as_str());
        let moves = refusal::moves(way).unwrap_or_default();
        let together = section.is_on(&["group_reporting"]);
        match jobs.last_mut().filter(|_| together && reported == Some(group)) {
            Some(job) => job.add(&[own.to_owned()], moves),
            None => {
                let job = |name: &str| Job { name: name.to_owned(), sections: vec![name.to_owned()], moves, group };
                jobs.push(job(own));
                // Copies keep the section's name, even if `name=` renames the first one.
                if own != section.name && !together && section.count("numjobs").is_ok_and(|copies| copies > 1) {
                    jobs.push(job(section.name));
                }
            }
        }
        reported = Some(group);
    }
    jobs
}

/// The tasks for the figures of a job file, as parts of `whole`.
pub(crate) fn parts(whole: &Task, file: &JobFile, taken: &[&str]) -> Vec<Task> {
    // Jobs with the same name that run together are one figure.
    let mut jobs: Vec<Job> = Vec::new();
    for job in &file.jobs {
        match jobs.iter_mut().find(|other| other.name == job.name && other.group == job.group) {
            Some(other) => other.add(&job.sections, job.moves),
            None => jobs.push(job.clone()),
        }
    }
    let mut parts: Vec<Task> = Vec::new();
    let before: Vec<usize> =
        (0..jobs.len()).map(|at| jobs[..at].iter().filter(|other| other.name == jobs[at].name).count()).collect();
    for (job, before) in jobs.iter_mut().zip(before) {
        job.sections.dedup();
        let number = if before == 0 { String::new() } else { format!("#{}", before + 1) };
        let mixed = job.moves.iter().filter(|moves| **moves).count() > 1;
        let ways = ["/read", "/write", "/trim"].into_iter().zip(job.moves).filter(|(_, moves)| mixed && *moves);
        for suffix in std::iter::once("").chain(ways.map(|(suffix, _)| suffix)) {
            let figure = format!("{}{number}{suffix}", job.name);
            let mut id = word(&figure);
            while taken.contains(&id.as_str()) || parts.iter().any(|part| part.id == id) || id == whole.id {
                id += "-2";
            }
            let shown = format!("{}{number}{suffix}", job.sections.join(" + "));
            parts.push(Task {
                title: if id == shown { format!("fio {shown}") } else { shown },
                id,
                category: whole.category.clone(),
                part_of: Some(whole.id.clone()),
                figure: Some(figure),
                ..Task::default()
            });
        }
    }
    parts
}

/// Endings of the names by which job files are known.
const ENDINGS: [&str; 3] = ["fio", "job", "ini"];

/// Whether a path names a job file.
pub(crate) fn is_job_file(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ENDINGS.contains(&ending.as_str())
}

/// A suite from one job file, for `--suite job.fio`.
pub(crate) fn suite(path: &Path, text: &str) -> Result<Suite> {
    let shown = path.display().to_string();
    let job = Text::with_included(text, path)?;
    let file = read(&job, Given { parameters: &BTreeMap::new(), prepared: false })?;
    ends_within(&file, &shown, Task::default().limit_seconds)?;
    let name = word(&path.file_stem().unwrap_or_default().to_string_lossy());
    let whole = Task {
        id: if name.is_empty() { "fio".into() } else { name.clone() },
        title: "the whole job file".into(),
        category: "fio".into(),
        fio: Some(job.text),
        ..Task::default()
    };
    let mut tasks = vec![whole.clone()];
    tasks.extend(parts(&whole, &file, &[]));
    Ok(Suite {
        name: whole.id,
        about: format!("fio's job file {shown}"),
        room: Bytes(file.bytes),
        decisions: vec![format!(
            "The job file is run as it is by Debian's {}, with the files that it includes; --scale does not change it.",
            Program::find("fio").map_or("fio", |fio| fio.package)
        )],
        tasks,
        ..Suite::default()
    })
}

/// A task id from any text.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests;
