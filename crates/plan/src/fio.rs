//! Job files of fio: read far enough to know which figures they give and how much room they need, and to refuse what
//! would leave the file system under test. The job itself is run as it is.

use std::path::Path;

use mountmark_model::{Bytes, Program, Source, Suite, Task};

use crate::{PlanError, Result};

/// I/O engines that work on files of a mounted file system (fio's HOWTO, "I/O engine").
const ENGINES: [&str; 18] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "posixaio",
    "mmap",
    "splice",
    "io_uring",
    "null",
    "filecreate",
    "filestat",
    "filedelete",
    "ftruncate",
    "falloc",
    "e4defrag",
    "cpuio",
];
/// Options whose values are paths; several are apart by colons.
const PATHS: [&str; 13] = [
    "filename",
    "directory",
    "opendir",
    "filename_format",
    "read_iolog",
    "write_iolog",
    "write_bw_log",
    "write_lat_log",
    "write_hist_log",
    "write_iops_log",
    "merge_blktrace_file",
    "replay_redirect",
    "iomem",
];
/// Options that start commands or read other files as jobs.
const FORBIDDEN: [&str; 3] = ["exec_prerun", "exec_postrun", "include"];

/// What is known of a job file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobFile {
    /// Its sections but for `global`, in their order.
    pub jobs: Vec<Job>,
}

/// One section.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Job {
    /// As fio prints it.
    pub name: String,
    /// Whether it reads and writes.
    pub mixed: bool,
    /// Bytes of all its files and copies.
    pub bytes: u64,
}

/// An option as it stands in a line.
#[derive(Clone, Debug)]
struct Entry<'a> {
    line: usize,
    key: &'a str,
    value: &'a str,
}

/// Reads a job file; `shown` is its name in messages.
///
/// # Errors
/// All faults, each with its line.
pub(crate) fn read(text: &str, shown: &str) -> Result<JobFile> {
    let mut faults = Vec::new();
    let mut global: Vec<Entry<'_>> = Vec::new();
    let mut sections: Vec<(usize, &str, Vec<Entry<'_>>)> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let content = raw.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // A job has what the global sections before it say.
            let inherited = if name == "global" { Vec::new() } else { global.clone() };
            sections.push((line, name, inherited));
            continue;
        }
        let (key, value) = content.split_once('=').unwrap_or((content, ""));
        let entry = Entry { line, key: key.trim(), value: value.trim() };
        if let Some(reason) = refusal(&entry) {
            faults.push(format!("{shown}:{line}: {content}: {reason}"));
        }
        match sections.last_mut() {
            Some((_, "global", _)) => global.push(entry),
            Some((_, _, entries)) => entries.push(entry),
            None if entry.key.starts_with("include") => {}
            None => faults.push(format!("{shown}:{line}: {content}: an option stands before the first [section]")),
        }
    }
    let mut jobs = Vec::new();
    for (line, name, entries) in sections.iter().filter(|(_, name, _)| *name != "global") {
        match job(name, entries) {
            Ok(job) => jobs.push(job),
            Err(reason) => faults.push(format!("{shown}:{line}: [{name}]: {reason}")),
        }
    }
    if jobs.is_empty() && faults.is_empty() {
        faults.push(format!("{shown}: it has no job: add a section such as [randread]"));
    }
    if faults.is_empty() { Ok(JobFile { jobs }) } else { Err(PlanError::File { faults }) }
}

/// Why an option is refused.
fn refusal(entry: &Entry<'_>) -> Option<String> {
    if FORBIDDEN.contains(&entry.key.split_whitespace().next().unwrap_or_default()) {
        return Some("it would start a command or read a file outside of the file system under test; remove it".into());
    }
    if entry.key == "ioengine" && !ENGINES.contains(&entry.value) {
        return Some(format!(
            "this engine does not work on files of the file system under test; use one of {}",
            ENGINES.join(", ")
        ));
    }
    if !PATHS.contains(&entry.key) {
        return None;
    }
    // `iomem=mmap:/path`: what stands before the colon is a word.
    entry.value.split(':').find_map(|path| {
        let inside = path.strip_prefix("${TEST}").map(|rest| rest.trim_start_matches('/')).unwrap_or(path);
        let leaves = inside.starts_with(['/', '~', '-']) || inside.split('/').any(|part| part == "..");
        if leaves || inside.contains('$') {
            return Some(format!(
                "{path:?} is outside of the file system under test, in whose root the job is run; write a relative path, \
                 or ${{TEST}}, or remove the line"
            ));
        }
        None
    })
}

fn job(name: &str, entries: &[Entry<'_>]) -> Result<Job, String> {
    // The last one counts.
    let find = |keys: &[&str]| entries.iter().rev().find(|entry| keys.contains(&entry.key));
    let size = |keys: &[&str]| -> Result<Option<u64>, String> {
        let Some(entry) = find(keys) else { return Ok(None) };
        // A range of file sizes: the larger end.
        let text = entry.value.rsplit(['-', ',']).next().unwrap_or_default();
        let parsed = text.parse::<Bytes>().map(|bytes| Some(bytes.0));
        parsed.map_err(|_| {
            format!(
                "line {}: {} is no plain size, so the room is unknown; write one such as 1g",
                entry.line, entry.value
            )
        })
    };
    let count = |key: &str| -> Result<u64, String> {
        let Some(entry) = find(&[key]) else { return Ok(1) };
        entry.value.parse().map_err(|_| format!("line {}: {} is no number", entry.line, entry.value))
    };
    let files = count("nrfiles")?;
    let bytes = match (size(&["size"])?, size(&["filesize"])?) {
        (Some(size), _) => size,
        (None, Some(each)) => each.saturating_mul(files),
        (None, None) => return Err("it has no size=, so the room that it needs is unknown; add one".into()),
    };
    let way = find(&["rw", "readwrite"]).map_or("read", |entry| entry.value.split(':').next().unwrap_or_default());
    Ok(Job {
        name: name.to_owned(),
        mixed: matches!(way, "rw" | "readwrite" | "randrw" | "trimwrite" | "randtrimwrite"),
        bytes: bytes.saturating_mul(count("numjobs")?),
    })
}

/// The tasks that a job file's figures are, as parts of `whole`.
pub(crate) fn parts(whole: &Task, file: &JobFile, taken: &[&str]) -> Vec<Task> {
    let mut parts: Vec<Task> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for job in &file.jobs {
        // Sections of one name are one figure.
        if names.contains(&job.name.as_str()) {
            continue;
        }
        names.push(&job.name);
        let figures: &[&str] = if job.mixed { &["", "/read", "/write"] } else { &[""] };
        for suffix in figures {
            let figure = format!("{}{suffix}", job.name);
            let mut id = word(&figure);
            while taken.contains(&id.as_str()) || parts.iter().any(|part| part.id == id) || id == whole.id {
                id += "-2";
            }
            parts.push(Task {
                title: if id == figure { format!("fio {figure}") } else { figure.clone() },
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

/// A suite of one job file: what `--suite job.fio` means.
pub(crate) fn suite(path: &Path, text: &str) -> Result<Suite> {
    let shown = path.display().to_string();
    let file = read(text, &shown)?;
    let name = word(&path.file_stem().unwrap_or_default().to_string_lossy());
    let whole = Task {
        id: if name.is_empty() { "fio".into() } else { name.clone() },
        title: "the whole job file".into(),
        category: "fio".into(),
        fio: Some(text.to_owned()),
        ..Task::default()
    };
    let mut tasks = vec![whole.clone()];
    tasks.extend(parts(&whole, &file, &[]));
    Ok(Suite {
        name: whole.id,
        about: format!("fio's job file {shown}"),
        corpus: None,
        source: Source::None,
        pause_seconds: 0.0,
        parameters: Default::default(),
        packages: Vec::new(),
        tools: Vec::new(),
        room: Bytes(bytes(&file)),
        corpus_copies: 0,
        peaks: Vec::new(),
        written: None,
        corpus_written: 0,
        source_copies: 0,
        source_room: Bytes(0),
        source_prepare: None,
        posix: false,
        directory_links: None,
        decisions: vec![format!(
            "The job file is run as it is by Debian's {}; --scale does not change it.",
            Program::find("fio").map_or("fio", |fio| fio.package)
        )],
        tasks,
    })
}

/// The room that all jobs need together.
pub(crate) fn bytes(file: &JobFile) -> u64 {
    file.jobs.iter().fold(0, |sum, job| sum.saturating_add(job.bytes))
}

/// A task id made of any text.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str =
        "; a mix\n[global]\nioengine=psync\nsize=4m\n\n[seq]\nrw=write\n[a b]\nrw=randrw\nnumjobs=2\nsize=1m\n";

    #[test]
    fn jobs_become_parts_and_room() {
        let suite = suite(Path::new("/x/my job.fio"), JOB).unwrap();
        assert_eq!((suite.name.as_str(), suite.room), ("my-job", Bytes(6 << 20)));
        let ids: Vec<(&str, Option<&str>)> =
            suite.tasks.iter().map(|task| (task.id.as_str(), task.figure.as_deref())).collect();
        assert_eq!(
            ids,
            [
                ("my-job", None),
                ("seq", Some("seq")),
                ("a-b", Some("a b")),
                ("a-b-read", Some("a b/read")),
                ("a-b-write", Some("a b/write")),
            ]
        );
    }

    #[test]
    fn what_leaves_the_file_system_is_refused_with_its_line() {
        for line in [
            "filename=/dev/sda",
            "filename=a:/dev/sda",
            "directory=/mnt/other",
            "filename=../up",
            "filename=${HOME}/x",
            "ioengine=net",
            "ioengine=external:/tmp/x.so",
            "exec_prerun=rm -rf /",
            "write_bw_log=/tmp/x",
            "iomem=mmap:/etc/passwd",
        ] {
            let error = read(&format!("[a]\nsize=1m\n{line}\n"), "a.fio").unwrap_err().to_string();
            assert!(error.contains("a.fio:3: ") && error.contains(line), "{error}");
        }
        for line in ["filename=a:b", "directory=${TEST}/sub", "filename=sub/x", "ioengine=io_uring", "iomem=mmap"] {
            read(&format!("[a]\nsize=1m\n{line}\n"), "a.fio").unwrap();
        }
        assert!(read("include /etc/x\n[a]\nsize=1m\n", "a.fio").unwrap_err().to_string().contains("a.fio:1: "));
    }

    #[test]
    fn jobs_without_a_known_size_are_refused() {
        let text = |body: &str| read(&format!("[a]\n{body}\n"), "a.fio").unwrap_err().to_string();
        assert!(text("rw=read").contains("no size="));
        assert!(text("size=50%").contains("50% is no plain size"));
        assert!(text("size=1m\nnumjobs=many").contains("many is no number"));
        assert!(read("", "a.fio").unwrap_err().to_string().contains("no job"));
        assert!(read("size=1m\n[a]\nsize=1m", "a.fio").unwrap_err().to_string().contains("before the first"));
    }
}
