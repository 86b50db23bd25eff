//! The search in a user's git tree, by git itself: the folder's own files build each commit.

use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use mountmark_findings::bisect::Verdict;

use super::trial::Journal;
use super::{Arguments, Ended, last};
use crate::common::WrongUse;

/// Exit codes from here on end `git bisect run`, too.
const ABORT: i32 = 128;

/// A git tree and how it is built.
pub struct Tree {
    folder: PathBuf,
    build: String,
    /// As `run --kernel` takes it.
    kernel: String,
    /// Good and bad, by their whole hashes.
    ends: [String; 2],
}

/// What became of a commit's build.
enum Built {
    Yes,
    No(String),
    Stopped,
}

impl Tree {
    /// The tree that was asked for, if any, without touching it.
    pub fn of(arguments: &Arguments) -> Result<Option<Tree>> {
        let (Some(good), Some(bad), Some(build)) = (&arguments.good_commit, &arguments.bad_commit, &arguments.build)
        else {
            return Ok(None);
        };
        let folder = arguments.tree.clone().unwrap_or_else(|| ".".into());
        let folder = fs::canonicalize(&folder)
            .map_err(|_| WrongUse(format!("--tree {}: there is no such folder", folder.display())))?;
        if let Err(error) = git(&folder, &["rev-parse", "--show-toplevel"]) {
            if error.chain().any(|cause| cause.is::<std::io::Error>()) {
                return Err(error);
            }
            bail!(WrongUse(format!("{} is in no git tree: name one with --tree", folder.display())));
        }
        if git(&folder, &["bisect", "log"]).is_ok() {
            bail!(WrongUse(format!("{} is being bisected already: end that with git bisect reset", folder.display())));
        }
        if !git(&folder, &["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            bail!(WrongUse(format!(
                "{} has changes that are not committed, which would be built into every commit: commit or stash them",
                folder.display()
            )));
        }
        let ends = [commit(&folder, "--good-commit", good)?, commit(&folder, "--bad-commit", bad)?];
        let is_before = |one: &str, other: &str| git(&folder, &["merge-base", "--is-ancestor", one, other]).is_ok();
        match &ends {
            [one, other] if one == other => {
                bail!(WrongUse(format!("{good} and {bad} are the same commit: name two")));
            }
            [one, other] if is_before(other, one) => bail!(WrongUse(format!(
                "--bad-commit {bad} is an ancestor of --good-commit {good}: name the older one after --good-commit; if it is \
                 the slower one, add --any"
            ))),
            [one, other] if !is_before(one, other) => bail!(WrongUse(format!(
                "--good-commit {good} is no ancestor of {bad}: name one, such as what git merge-base {good} {bad} prints"
            ))),
            _ => {}
        }
        let parts = arguments.kernel_path.as_deref().unwrap_or(".").split(',');
        let kernel: Vec<String> = parts.map(|part| folder.join(part).to_string_lossy().into_owned()).collect();
        Ok(Some(Tree { build: build.clone(), kernel: kernel.join(","), ends, folder }))
    }

    /// The search; the tree is as it was afterwards.
    pub fn search(&self, journal: &mut Journal) -> Result<Ended> {
        self.git(&["bisect", "start"])?;
        let _reset = Reset(&self.folder);
        let mut hashes = Vec::new();
        for hash in &self.ends {
            self.git(&["checkout", "--quiet", "--detach", hash])?;
            if self.try_commit(journal, hash)?.is_none() {
                return Ok(Ended::Stopped);
            }
            hashes.push(hash.clone());
            journal.say("");
        }
        if let Some(sentence) = journal.nothing_between() {
            return Ok(Ended::NotThere(sentence));
        }
        self.git(&["bisect", "bad", &self.ends[1]])?;
        say!("mountmark: {}", first_line(&self.git(&["bisect", "good", &self.ends[0]])?));
        loop {
            let log = self.git(&["bisect", "log"])?;
            if let Some(ended) = self.ended(journal, &hashes, &log) {
                return Ok(ended);
            }
            let hash = self.git(&["rev-parse", "HEAD"])?;
            let Some(verdict) = self.try_commit(journal, &hash)? else { return Ok(Ended::Stopped) };
            hashes.push(hash);
            let word = if verdict == Verdict::Skipped { "skip" } else { verdict.word() };
            // git fails when only skipped commits are left, and says so in its log.
            let said = self.git(&["bisect", word]);
            let left = match said {
                Err(error) if possible(&self.git(&["bisect", "log"])?).is_empty() => return Err(error),
                Err(_) => String::new(),
                Ok(said) => format!("; {}", first_line(&said)),
            };
            journal.say(&left);
        }
    }

    /// Builds and measures what is checked out; `None` if the user stopped it.
    fn try_commit(&self, journal: &mut Journal, hash: &str) -> Result<Option<Verdict>> {
        let name = self.git(&["log", "-1", "--abbrev=12", "--format=%h %s", hash])?;
        say!("mountmark: building {name}");
        match self.build(journal)? {
            Built::Stopped => Ok(None),
            Built::No(reason) => journal.skip(&name, reason).map(Some),
            Built::Yes => journal.try_kernel(&name, &self.kernel),
        }
    }

    fn build(&self, journal: &Journal) -> Result<Built> {
        /// Between two looks at the user's wish.
        const LOOK: Duration = Duration::from_millis(50);
        let stop = journal.trial.stop;
        // Standard output is for what was found.
        let output = std::io::stderr().as_fd().try_clone_to_owned().context("no standard error for the build")?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.build).current_dir(&self.folder).stdin(Stdio::null());
        let mut child = command.stdout(output).process_group(0).spawn().context("cannot start a shell for --build")?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if stop.is_set() {
                // SAFETY: kill(2) of the group that this build began; the child was not waited for, so the number is its own.
                unsafe { libc::kill(-(child.id() as i32), libc::SIGTERM) };
                child.wait()?;
                return Ok(Built::Stopped);
            }
            thread::sleep(LOOK);
        };
        match status.code() {
            Some(0) => Ok(Built::Yes),
            Some(code) if code < ABORT => Ok(Built::No(format!("--build ended with {code}"))),
            Some(code) => bail!("--build ended with {code}, so the search ends"),
            None => bail!("--build was ended by signal {}, so the search ends", status.signal().unwrap_or_default()),
        }
    }

    /// What git's log says of the end, if it is there.
    fn ended(&self, journal: &Journal, hashes: &[String], log: &str) -> Option<Ended> {
        let place = |hash: &str| hashes.iter().position(|known| known == hash);
        if let Some(first) = marked(log, "# first bad commit: ").next() {
            let (hash, _) = first.split_once(']')?;
            let parent = self.git(&["rev-parse", &format!("{hash}^")]).ok().and_then(|parent| place(&parent));
            let good = parent.filter(|at| journal.tried[*at].verdict == Verdict::Good);
            let pair = [good.unwrap_or_else(|| last(journal, Verdict::Good)), place(hash)?];
            return Some(Ended::Found { pair, hidden: Vec::new() });
        }
        let possible = possible(log);
        let pair = [last(journal, Verdict::Good), last(journal, Verdict::Bad)];
        let is_bad = |(hash, _): &&(&str, &str)| place(hash) == Some(pair[1]);
        let short = |(hash, title): &(&str, &str)| format!("{} {title}", &hash[..hash.len().min(12)]);
        let hidden: Vec<String> = possible.iter().filter(|one| !is_bad(one)).map(short).collect();
        (!possible.is_empty()).then_some(Ended::Found { pair, hidden })
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        git(&self.folder, arguments)
    }
}

/// Gives the tree back as it was.
struct Reset<'a>(&'a Path);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        if let Err(error) = git(self.0, &["bisect", "reset"]) {
            say!("mountmark: {} is not as it was: {error:#}", self.0.display());
        }
    }
}

/// The commits that are left where all others were skipped: hash and title.
fn possible(log: &str) -> Vec<(&str, &str)> {
    marked(log, "# possible first bad commit: ").filter_map(|line| line.split_once("] ")).collect()
}

/// What stands behind `mark[` in lines of git's log.
fn marked<'a>(log: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    log.lines().filter_map(move |line| line.strip_prefix(mark)?.strip_prefix('['))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The whole hash of a commit.
fn commit(folder: &Path, option: &str, name: &str) -> Result<String> {
    let unknown = || WrongUse(format!("{option} {name}: {} has no such commit", folder.display()));
    if name.starts_with('-') {
        bail!(unknown());
    }
    git(folder, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]).map_err(|_| unknown().into())
}

/// What a git command prints, without the last line's end.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
    // In a group of its own, so that a terminal's Ctrl-C does not cut it short.
    let said = command.process_group(0).output().context("cannot start git, which searches commits: install it")?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stderr);
        bail!("git {}: {}", arguments.join(" "), text.trim().lines().last().unwrap_or("it failed"));
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim_end().to_owned())
}
