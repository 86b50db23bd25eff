//! Commands to type next, valid in the shell that started this program. This file does not know what they do.

use std::env;
use std::path::{Path, PathBuf};

use mountmark_record::{RunRecord, Store};

use crate::common::out_option;

/// This program as its user has to type it: its name if the shell finds it by that, else its path.
pub fn program() -> String {
    let Ok(program) = env::current_exe().map(still_there) else { return NAME.into() };
    let here = env::current_dir().unwrap_or_default();
    typed(&program, found(&env::var_os("PATH").unwrap_or_default()).as_deref(), &here)
}

/// The path without what Linux adds to it where the program was replaced, as by a newer one, since it started.
fn still_there(program: PathBuf) -> PathBuf {
    let name = program.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    name.filter(|_| !program.exists()).unwrap_or(program)
}

const NAME: &str = "mountmark";

/// The program that a shell starts by this program's name.
fn found(path: &std::ffi::OsStr) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(NAME)).find(|file| file.is_file())?.canonicalize().ok()
}

fn typed(program: &Path, found: Option<&Path>, here: &Path) -> String {
    if found == Some(program) {
        return NAME.into();
    }
    let short = program.strip_prefix(here).unwrap_or(program);
    // A shell looks up a plain name only in PATH.
    let path = if short.components().count() == 1 { Path::new(".").join(short) } else { short.to_owned() };
    mountmark_findings::shell_word(&path.to_string_lossy())
}

/// Sides for which commands are printed: all with all would be a page.
const MOST_SIDES: usize = 3;

/// Prints how to look closer at a run that has ended.
pub fn say_next(run: &RunRecord, store: &Store) {
    let out = out_option(store.path());
    let name = match store.resolve("latest") {
        Ok(latest) if latest == run.id => String::new(),
        _ => format!(" {}", run.id.as_str()),
    };
    let program = program();
    if let Some(scale) = mountmark_findings::reduced(run) {
        say!("mountmark: {scale}");
    }
    if let Some(task) = failed(run) {
        say!("mountmark: what was printed where a test failed, and what the kernel said:");
        say!("  {program} show{name} --raw {}{out}", mountmark_findings::shell_word(task));
    }
    if let [first, others @ ..] = &run.plan.sides[..] {
        let name = if name.is_empty() { "latest" } else { run.id.as_str() };
        for other in others.iter().take(MOST_SIDES) {
            say!("mountmark: {other} beside {first}, and what makes the difference:");
            say!("  {program} compare {name}#{first} {name}#{other}{out}");
            if let Some((task, _)) = run.plan.tasks.first().filter(|_| run.plan.vary.is_none()) {
                let task = mountmark_findings::shell_word(task);
                say!("  {program} why {name}#{first} {name}#{other} --task {task}{out}");
            }
        }
    }
    say!("mountmark: charts and rankings, as a page for a browser:");
    say!("  {program} report{name} --format html -o report.html{out}");
    say!("mountmark: which file system is best at which test, and how sure that is:");
    say!("  {program} show{name} --verdict{out}");
}

/// The first task or step that failed.
fn failed(run: &RunRecord) -> Option<&str> {
    let outcomes = run.cells.iter().flat_map(|cell| &cell.outcomes);
    outcomes.into_iter().find(|ended| ended.outcome.is_failed()).map(|ended| ended.task.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_called_as_its_user_has_to() {
        let program = Path::new("/home/me/src/target/release/mountmark");
        let of = |found: Option<&str>, here: &str| typed(program, found.map(Path::new), Path::new(here));
        assert_eq!(of(Some("/home/me/src/target/release/mountmark"), "/"), "mountmark");
        assert_eq!(of(Some("/usr/bin/mountmark"), "/home/me/src"), "target/release/mountmark");
        assert_eq!(of(None, "/home/me/src/target/release"), "./mountmark");
        assert_eq!(of(None, "/tmp"), "/home/me/src/target/release/mountmark");
        let there = std::env::current_exe().unwrap();
        assert_eq!(still_there(format!("{} (deleted)", there.display()).into()), there);
        assert_eq!(still_there(there.clone()), there);
        assert_eq!(typed(Path::new("/my files/mountmark"), None, Path::new("/")), "'my files/mountmark'");
    }
}
