//! The history of a git repository, as git's own commands tell it: the first parents of its current commit.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use mountmark_model::stays_below;

use super::{Builder, Change, Content, WrongHistory};

/// The mode of a regular file begins so; links and submodules are left out.
const REGULAR: &str = "100";

/// Where git knows of files and has them not, and what mends it.
const PARTIAL: &str = "as a partial clone does: fetch them with `git fetch --refetch --no-filter`, or clone it whole";

/// What says in the environment, as of a hook, that the repository is another one than is named.
const ELSEWHERE: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// Records the tree before the last `commits` commits, and these.
pub(super) fn record(path: &Path, commits: u32, builder: &mut Builder) -> Result<()> {
    if run(path, &["rev-parse", "--git-dir"], None).is_err() {
        bail!(WrongHistory(format!("{} is no git repository", path.display())));
    }
    let all: u32 = run(path, &["rev-list", "--first-parent", "--count", "HEAD"], None)
        .map_err(|_| WrongHistory(format!("{} has no commit", path.display())))?
        .trim()
        .parse()?;
    if all == 1 {
        bail!(WrongHistory(format!("{} has one commit, and a history begins with the one before", path.display())));
    }
    if all <= commits {
        bail!(WrongHistory(format!(
            "{} has {all} commits in the history of first parents; give at most commits={}",
            path.display(),
            all - 1
        )));
    }
    let first = format!("HEAD~{commits}");
    let tree = run(path, &["ls-tree", "--full-tree", "-r", "-l", "-z", &first], None)?;
    let lacks = || WrongHistory(format!("{} lacks the contents of some of its files, {PARTIAL}", path.display()));
    let first_tree: Option<Vec<Change>> = tree.split('\0').filter_map(of_tree).collect();
    builder.commit(&first_tree.ok_or_else(lacks)?);
    let range = format!("{first}..HEAD");
    let log = [
        "log",
        "--first-parent",
        "--reverse",
        "--diff-merges=first-parent",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--no-ext-diff",
        // It would start the program that the repository's own configuration names.
        "--no-show-signature",
        "--format=%x01",
        &range,
    ];
    let log = run(path, &log, None)?;
    let commits: Vec<Vec<Raw>> = log.split('\x01').skip(1).map(of_commit).collect();
    let sizes = sizes(path, commits.iter().flatten())?;
    for commit in commits {
        let changes: Option<Vec<Change>> = commit.into_iter().map(|raw| raw.change(&sizes)).collect();
        let mut changes = changes.ok_or_else(lacks)?;
        // What is removed makes room for a folder of its name, or the other way round.
        changes.sort_by_key(|change| change.to.is_some());
        builder.commit(&changes);
    }
    Ok(())
}

/// A line of `ls-tree -l`: mode, type, object, size, tab, path. `None` if it is no file, and within if the file has no size.
fn of_tree(line: &str) -> Option<Option<Change>> {
    let (facts, path) = line.split_once('\t').filter(|(facts, path)| facts.starts_with(REGULAR) && is_ours(path))?;
    let size = facts.split_whitespace().nth(3).and_then(|size| size.parse().ok());
    Some(size.map(|size| Change { path: path.to_owned(), to: Some(Content { size, appended: false }) }))
}

/// Whether a history can have the path: a tree may not have a `.git` of its own.
fn is_ours(path: &str) -> bool {
    stays_below(path) && !path.starts_with(".git/")
}

/// A file of a commit: the object and mode after it; `None`: it is removed.
struct Raw {
    path: String,
    object: Option<String>,
}

/// The changes of a commit: `:MODE MODE OBJECT OBJECT STATUS`, and the path.
fn of_commit(text: &str) -> Vec<Raw> {
    let mut words = text.split('\0');
    let mut out = Vec::new();
    while let Some(facts) = words.next() {
        let facts: Vec<&str> = facts.trim_start_matches('\n').split(' ').collect();
        let [_, mode, _, object, _] = facts[..] else { continue };
        let Some(path) = words.next() else { break };
        if is_ours(path) {
            // A link in the place of a file takes the file away.
            let object = mode.starts_with(REGULAR).then(|| object.to_owned());
            out.push(Raw { path: path.to_owned(), object });
        }
    }
    out
}

impl Raw {
    /// `None` if the file has no size.
    fn change(self, sizes: &BTreeMap<String, u64>) -> Option<Change> {
        let to = match self.object {
            None => None,
            Some(object) => Some(Content { size: *sizes.get(&object)?, appended: false }),
        };
        Some(Change { path: self.path, to })
    }
}

/// The sizes of objects.
fn sizes<'a>(path: &Path, raws: impl Iterator<Item = &'a Raw>) -> Result<BTreeMap<String, u64>> {
    let objects: BTreeSet<&str> = raws.filter_map(|raw| raw.object.as_deref()).collect();
    let asked: String = objects.iter().flat_map(|object| [*object, "\n"]).collect();
    let told = run(path, &["cat-file", "--batch-check=%(objectname) %(objectsize)"], Some(asked))?;
    let line = |line: &str| {
        let (object, size) = line.split_once(' ')?;
        Some((object.to_owned(), size.parse().ok()?))
    };
    Ok(told.lines().filter_map(line).collect())
}

fn run(path: &Path, words: &[&str], input: Option<String>) -> Result<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(path).args(["--no-replace-objects", "--no-pager"]).args(words);
    command.envs([
        ("LC_ALL", "C"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        // For a git that does not know that: nothing is fetched, by no program that the repository names.
        ("GIT_ALLOW_PROTOCOL", ""),
    ]);
    ELSEWHERE.iter().for_each(|name| _ = command.env_remove(name));
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("git cannot be started; install it")?;
    // Written beside reading: git answers while it is asked.
    let writer = child.stdin.take().zip(input).map(|(mut to, input)| {
        std::thread::spawn(move || {
            // If git ended early, its own message says why.
            let _ = to.write_all(input.as_bytes());
        })
    });
    let output = child.wait_with_output()?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("git {}: {said}", words.first().unwrap_or(&""));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
