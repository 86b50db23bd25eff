//! The command as it is run here and, with the same words and variables, in a guest.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::refusal::{Refusal, Result};

/// Variables that programs commonly act by. All others are left out, since some hold secrets.
const KEPT: &[&str] = &[
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "EDITOR", "PAGER", "CC", "CXX",
    "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "MAKELEVEL", "CPATH", "LIBRARY_PATH",
    "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "PERL5LIB", "PERL_HASH_SEED",
    "RUBYLIB", "GEM_PATH", "GEM_HOME", "NODE_PATH", "NODE_OPTIONS", "LUA_PATH", "JAVA_HOME", "CLASSPATH", "GOPATH",
    "GOROOT", "GOFLAGS", "CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "VIRTUAL_ENV", "PYENV_ROOT",
    "PYENV_VERSION", "OMP_NUM_THREADS", "SOURCE_DATE_EPOCH", "NO_COLOR", "POSIXLY_CORRECT", "TAR_OPTIONS", "XZ_OPT",
    "GZIP", "ZSTD_CLEVEL", "ZSTD_NBTHREADS",
];

/// Folders of which a guest has its own, so that no file system is mounted there.
const SYSTEM: &[&str] = &["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr"];

/// A command, where it runs and with what.
#[derive(Clone, Debug)]
pub struct Command {
    pub words: Vec<OsString>,
    /// The program's file.
    pub program: PathBuf,
    /// The real path of the working directory.
    pub folder: PathBuf,
    pub environment: BTreeMap<OsString, OsString>,
    /// The file that is its standard input.
    pub input: Option<PathBuf>,
}

impl Command {
    /// A command as the shell of this process would start it. `variables` are kept beside those that are always.
    pub fn new(words: Vec<OsString>, folder: &Path, variables: &[String]) -> Result<Command> {
        let folder = fs::canonicalize(folder).map_err(Refusal::input("the working directory"))?;
        let first = folder.iter().nth(1);
        if first.is_none_or(|first| SYSTEM.iter().any(|name| first == OsStr::new(name))) {
            return Err(Refusal::WorkingFolder(folder));
        }
        let mut environment: BTreeMap<OsString, OsString> = env::vars_os()
            .filter(|(name, _)| {
                let name = name.to_string_lossy();
                KEPT.contains(&&*name) || name.starts_with("LC_") || variables.iter().any(|kept| *kept == name)
            })
            .collect();
        environment.entry("PATH".into()).or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
        // Empty is as good as none, and stands in the place of what a guest has.
        environment.entry("LC_ALL".into()).or_default();
        let name = words.first().ok_or(Refusal::NoCommand)?;
        // Found now, before the command changes what it changes.
        if let Some(word) = words.iter().find(|word| word.to_str().is_none()) {
            return Err(Refusal::NotText(word.to_string_lossy().into_owned()));
        }
        let program = find(name, &folder, &environment[OsStr::new("PATH")])?;
        Ok(Command { words, program, folder, environment, input: None })
    }

    /// Takes standard input if it is a file; says what is not taken if it is something else that could be read.
    pub fn take_input(&mut self, input: impl AsFd) -> Result<Option<&'static str>> {
        let file = File::from(input.as_fd().try_clone_to_owned().map_err(Refusal::input("standard input"))?);
        let kind = file.metadata().map_err(Refusal::input("standard input"))?.file_type();
        if kind.is_file() {
            let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
            self.input = Some(fs::read_link(link).map_err(Refusal::input("standard input"))?);
            return Ok(None);
        }
        Ok((kind.is_fifo() || kind.is_socket()).then_some(
            "standard input is a pipe, which is not recorded: the command reads an empty one; redirect a file (< FILE)",
        ))
    }

    /// The names of the variables of this process that are not kept, without those that each shell sets.
    pub fn left_out(&self) -> Vec<String> {
        const SHELLS: [&str; 5] = ["PWD", "OLDPWD", "SHLVL", "TERM", "_"];
        let is_left_out =
            |name: &OsString| !self.environment.contains_key(name) && !SHELLS.iter().any(|own| name == *own);
        let names = env::vars_os().map(|(name, _)| name).filter(is_left_out);
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The words, as one line for people.
    pub fn line(&self) -> String {
        let words = self.words.iter().map(|word| word.to_string_lossy().into_owned());
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

/// The file that a shell would start.
fn find(name: &OsStr, folder: &Path, path: &OsStr) -> Result<PathBuf> {
    let shown = || name.to_string_lossy().into_owned();
    if name.is_empty() {
        return Err(Refusal::NoCommand);
    }
    let candidates: Vec<PathBuf> = if name.as_bytes().contains(&b'/') {
        vec![folder.join(name)]
    } else {
        env::split_paths(path).map(|place| folder.join(place).join(name)).collect()
    };
    let is_file = |path: &&PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let is_program =
        |path: &&PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let Some(found) = candidates.iter().find(|path| is_file(path) && is_program(path)) else {
        return Err(match candidates.iter().find(is_file) {
            Some(_) => Refusal::NotStarted(shown(), std::io::ErrorKind::PermissionDenied.into()),
            None => Refusal::NotFound(shown()),
        });
    };
    Ok(found.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_no_suite_can_hold_is_refused_before_the_command_runs() {
        let folder = tempfile::tempdir().unwrap();
        let new = |word: &[u8]| Command::new(vec!["sh".into(), OsStr::from_bytes(word).into()], folder.path(), &[]);
        assert!(matches!(new(b"caf\xe9").unwrap_err(), Refusal::NotText(word) if word.starts_with("caf")));
        new("caf\u{e9}".as_bytes()).unwrap();
    }
}
