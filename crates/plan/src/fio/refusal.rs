//! Rejects options of job files by which fio would start commands, or open files outside the file system under test.
//! fio compares, cuts and substitutes as implemented here (init.c, parse.c and options.c of fio 3.33).

use super::Entry;

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
/// Options whose values are paths; several are separated by colons, and `mem=mmap:path` has a word before its path.
const PATHS: [&str; 15] = [
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
    "mem",
    "iomem",
    "donorname",
];
/// Options that may contain paths of files in single quotes.
const PATTERNS: [&str; 2] = ["buffer_pattern", "verify_pattern"];
/// Options that start commands.
const COMMANDS: [&str; 2] = ["exec_prerun", "exec_postrun"];
/// fio reads at most 4095 bytes as a line, and the rest as another.
const LONGEST_LINE: usize = 4000;

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

/// Why an option is rejected. `variables` are the suite's parameters.
pub(super) fn of_option(entry: &Entry<'_>, variables: &[&str]) -> Option<String> {
    // fio compares only the beginning: `includes=x` is an include too.
    if entry.key.starts_with("include") || COMMANDS.contains(&entry.key) {
        return Some("it would start a command or read a file outside of the file system under test; remove it".into());
    }
    // fio substitutes variables in the whole line: `file${X}name` would become another option.
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if entry.key.is_empty() || !entry.key.chars().all(plain) {
        return Some(format!("{:?} is no option of fio: write a name of small letters, digits and _", entry.key));
    }
    let value = match substituted(entry.value, variables) {
        Ok(value) => value,
        Err(reason) => return Some(reason),
    };
    if entry.key == "ioengine" && !ENGINES.contains(&entry.value) {
        return Some(format!(
            "this engine does not work on files of the file system under test; use one of {}",
            ENGINES.join(", ")
        ));
    }
    if entry.key == "name" {
        return of_name(entry.value);
    }
    let outside = match entry.key {
        "filename_format" => formatted(&value).split(':').find(|path| leaves(path)).map(str::to_owned),
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

/// `value` with a digit for each variable that the run sets to a number. `${TEST}` stays.
fn substituted(value: &str, variables: &[&str]) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
    {
        out += before;
        match name {
            "TEST" => out += "${TEST}",
            _ if name == "SEED" || variables.contains(&name) => out.push('0'),
            _ => {
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

/// A value of `filename_format` with fio's own words replaced. The third one is empty, as it is if fio has no server.
fn formatted(value: &str) -> String {
    let words = [("$jobname", "x"), ("$jobnum", "0"), ("$clientuid", ""), ("$filenum", "0")];
    words.iter().fold(value.to_owned(), |text, (word, like)| text.replace(word, like))
}

fn leaves(path: &str) -> bool {
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
