//! Rejects options of job files by which fio would start commands, or open files outside the file system under test.
//! fio compares, cuts and substitutes as implemented here (init.c, parse.c and options.c of fio 3.33).

use std::collections::BTreeMap;

use super::Entry;

/// What stands for the variable that has another number in each repeat.
const SEED: &str = "${SEED}";

/// I/O engines that work on files of a mounted file system (fio's HOWTO, "I/O engine").
const ENGINES: [&str; 18] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "mmap", "splice", "io_uring", "null",
    "filecreate", "filestat", "filedelete", "ftruncate", "falloc", "e4defrag", "cpuio",
];
/// Engines that later versions of fio have beside them.
const LATER: [&str; 3] = ["dircreate", "dirstat", "dirdelete"];
/// What `rw` takes, and `readwrite`, which is another name of it, and whether that reads, writes and trims.
const DIRECTIONS: [(&str, [bool; 3]); 11] = [
    ("read", [true, false, false]),
    ("write", [false, true, false]),
    ("trim", [false, false, true]),
    ("randread", [true, false, false]),
    ("randwrite", [false, true, false]),
    ("randtrim", [false, false, true]),
    ("rw", [true, true, false]),
    ("readwrite", [true, true, false]),
    ("randrw", [true, true, false]),
    ("trimwrite", [false, true, true]),
    ("randtrimwrite", [false, true, true]),
];
/// Options whose values are paths; several are separated by colons, and `mem=mmap:path` has a word before its path.
const PATHS: [&str; 15] = [
    "filename", "directory", "opendir", "filename_format", "read_iolog", "write_iolog", "write_bw_log",
    "write_lat_log", "write_hist_log", "write_iops_log", "merge_blktrace_file", "replay_redirect", "mem", "iomem",
    "donorname",
];
/// Options that may contain paths of files in single quotes.
const PATTERNS: [&str; 2] = ["buffer_pattern", "verify_pattern"];
/// Options that start commands.
const COMMANDS: [&str; 2] = ["exec_prerun", "exec_postrun"];
/// fio reads at most 4095 bytes as a line, and the rest as another.
const LONGEST_LINE: usize = 4000;

/// Whether a value of `rw` reads, writes and trims; `None` if fio has no such pattern. An offset or a count may follow it.
pub(super) fn moves(value: &str) -> Option<[bool; 3]> {
    let pattern = value.split(':').next().unwrap_or_default();
    DIRECTIONS.iter().find(|(name, _)| *name == pattern).map(|(_, moves)| *moves)
}

/// Why a line of the file is rejected.
pub(super) fn of_line(line: &str) -> Option<String> {
    if line.len() > LONGEST_LINE {
        let long = line.len();
        return Some(format!("the line has {long} bytes, and fio would cut it in two; keep it below {LONGEST_LINE}"));
    }
    // fio strips such characters from a line's end, as in `directory=..` and one of them.
    let hidden = line.chars().any(|c| c.is_control() && !c.is_whitespace());
    hidden.then(|| "the line has a control character; remove it".to_owned())
}

/// Why a job's name is rejected: fio makes file names from it, and uses it as a file name if such a folder or device
/// exists.
pub(super) fn of_name(name: &str) -> Option<String> {
    (name.is_empty() || name == "." || name == ".." || name.contains(['/', '$'])).then(|| {
        format!("fio makes a path of the name {name:?}; take one that is neither empty nor . or .., without / and $")
    })
}

/// Why an option is rejected.
pub(super) fn of_option(entry: &Entry<'_>) -> Option<String> {
    // fio compares only the beginning: `includes=x` is an include too.
    if entry.key.starts_with("include") {
        return Some("fio would read another file here; write `include NAME` with a file beside this one".into());
    }
    if COMMANDS.contains(&entry.key) {
        return Some("it would start a command; remove it".into());
    }
    // fio substitutes variables in the whole line: `file${X}name` would become another option.
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if entry.key.is_empty() || !entry.key.chars().all(plain) {
        return Some(format!("{:?} is no option of fio: write a name of small letters, digits and _", entry.key));
    }
    let value = entry.value.replace(SEED, "0");
    if entry.key == "ioengine" && LATER.contains(&value.as_str()) {
        return Some("fio 3.33, which guests have, has no such engine; use filecreate, filestat or filedelete".into());
    }
    if entry.key == "ioengine" && !ENGINES.contains(&value.as_str()) {
        return Some(format!(
            "this engine does not work on files of the file system under test; use one of {}",
            ENGINES.join(", ")
        ));
    }
    if matches!(entry.key, "rw" | "readwrite") && moves(&value).is_none() {
        return Some(format!("fio has no such pattern; use one of {}", DIRECTIONS.map(|(name, _)| name).join(", ")));
    }
    if entry.key == "name" {
        return of_name(&entry.value);
    }
    let outside = match entry.key {
        // The job's number has any other digit.
        "filename_format" => formatted(&value, "x", "0", "0").split(':').find(|path| leaves(path)).map(str::to_owned),
        key if PATHS.contains(&key) => value.split(':').find(|path| leaves(path)).map(str::to_owned),
        key if PATTERNS.contains(&key) => {
            value.split('\'').skip(1).step_by(2).find(|path| leaves(path)).map(str::to_owned)
        }
        _ => None,
    };
    outside.map(|path| {
        format!(
            "{path:?} is outside of the file system under test, in whose root the job is run; write a relative path, \
             or ${{TEST}}, or remove the line"
        )
    })
}

/// A value with the run's variables in it, as fio substitutes them: the suite's parameters at this scale. `${TEST}`
/// stays, and so does [`SEED`], which each repeat has its own of.
pub(super) fn substituted(value: &str, variables: &BTreeMap<String, u64>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
    {
        out += before;
        match (name, variables.get(name)) {
            ("TEST", _) => out += "${TEST}",
            ("SEED", _) => out += SEED,
            (_, Some(number)) => out += &number.to_string(),
            (_, None) => {
                return Err(format!(
                    "the run sets no variable {name:?}, and fio would put nothing in its place; there are TEST, SEED and \
                     the suite's parameters"
                ));
            }
        }
        rest = after;
    }
    Ok(out + rest)
}

/// A value of `filename_format` with fio's own words replaced, in any case. `$clientuid` is empty where fio has no
/// server.
pub(super) fn formatted(format: &str, job: &str, number: &str, file: &str) -> String {
    let words = [("$jobname", job), ("$jobnum", number), ("$clientuid", ""), ("$filenum", file)];
    let mut text = format.to_owned();
    for (word, replacement) in words {
        let mut from = 0;
        while let Some(at) = text[from..].to_ascii_lowercase().find(word).map(|at| from + at) {
            text.replace_range(at..at + word.len(), replacement);
            from = at + replacement.len();
        }
    }
    text
}

/// Devices that keep nothing and lead nowhere.
pub(super) fn is_harmless(path: &str) -> bool {
    ["/dev/null", "/dev/zero"].contains(&path)
}

fn leaves(path: &str) -> bool {
    if is_harmless(path) {
        return false;
    }
    let below = |rest: &&str| rest.is_empty() || rest.starts_with('/');
    let inside = match path.strip_prefix("${TEST}").filter(below) {
        Some(rest) => rest.trim_start_matches('/'),
        None => path,
    };
    // A single `-` is standard input.
    inside == "-"
        || inside.starts_with(['/', '~'])
        || inside.split('/').any(|part| part == "..")
        || inside.contains('$')
}
