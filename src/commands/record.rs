//! `mountmark record`: runs a command of the user, and packs what it needs as a suite that runs it again in guests.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_capture::{Command, Contents, Ended, Pack, Packed, Recording, Refusal, record, suite_name};
use mountmark_model::{Bytes, counted};

use super::run::Stop;
use crate::common::{self, WrongUse};

/// Run a command here, and pack it with all files that it needs as a suite
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark record -- make -j4 check\n  mountmark record -o ./mine -- sort -o sorted.txt words.txt\n  mountmark record --no-contents -o ./mine -- tar -cf all.tar mail\n  mountmark record -- sh -c 'sort < words.txt | uniq -c > counts.txt'\n  mountmark run --suite ./mine/sort.toml --scale 1 --fs ext4,xfs   what was packed, in the virtual lab\n\nThe command runs as you, in this folder, and changes what it changes. Its files are packed as they were before. It has the variables of the environment that programs commonly act by (PATH, HOME, LANG and others), standard input from a file (< FILE) or none, and no terminal. What cannot run in a guest is refused with a sentence: network, daemons, devices, set-user-ID programs.\n\nExit codes: 0 recorded, 1 the command failed or cannot be recorded, 2 wrong use, 3 cannot run here, 128+N ended by signal N."
)]
pub struct Arguments {
    /// The folder for the suite and its files: new or empty, and not the working directory [default: ./NAME.recorded]
    #[arg(short = 'o', long, value_name = "FOLDER")]
    out_dir: Option<PathBuf>,
    /// Replace what files below the working directory and the home folder hold by other bytes that compress as well, and
    /// their names by hashes. Programs, libraries and scripts stay
    #[arg(long)]
    no_contents: bool,
    /// Most bytes of all files that are packed
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    limit: Bytes,
    /// Keep the recording of a command that fails; the task then expects that failure
    #[arg(long)]
    even_if_failed: bool,
    /// Keep a variable of the environment beside those that are kept always
    #[arg(long, value_name = "NAME")]
    environment: Vec<String>,
    /// The command and its words
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let here = std::env::current_dir().context("the working directory")?;
    if let Some(name) = arguments.environment.iter().find(|name| std::env::var_os(name).is_none()) {
        bail!(WrongUse(format!(
            "--environment {name}: there is no such variable here; set it, and give its name alone"
        )));
    }
    let mut command = match Command::new(arguments.command, &here, &arguments.environment) {
        Ok(command) => command,
        Err(refusal) => return Err(WrongUse(refusal.to_string()).into()),
    };
    if command.folder.starts_with("/tmp") {
        bail!(WrongUse(format!(
            "the working directory {} is below /tmp, and a guest has a /tmp of its own: run the command in another folder, \
             such as one in /var/tmp",
            command.folder.display()
        )));
    }
    if let Some(unread) = command.take_input(std::io::stdin())? {
        say!("mountmark: {unread}");
    }
    let name = suite_name(&command);
    let output = arguments.out_dir.unwrap_or_else(|| PathBuf::from(format!("{name}.recorded")));
    let output = usable(&output, &command.folder)?;
    let spool = spool(&output, &command.folder)?;
    let stop = Stop::on_signals()?;
    let line = command.line();
    let result = record(command, spool.path(), &output, arguments.limit.0, &stop).and_then(|mut recording| {
        if recording.ended != Ended::Code(0) && !arguments.even_if_failed {
            return Ok(Err(recording.ended));
        }
        let contents = if arguments.no_contents { Contents::Replaced } else { Contents::Kept };
        let packed = packed(&Pack { name, contents, limit: arguments.limit.0 }, &mut recording, &output)?;
        Ok(Ok((recording, packed)))
    });
    match result {
        Ok(Ok((recording, packed))) => {
            for note in notes(&recording, &packed) {
                say!("mountmark: {note}");
            }
            common::print(&summary(&recording, &packed))?;
            Ok(common::DONE)
        }
        Ok(Err(ended)) => {
            say!("mountmark: nothing was kept: {line} {ended}; --even-if-failed keeps it, as a task that is to end so");
            Ok(common::FAILED)
        }
        Err(Refusal::Interrupted) => Ok(stop.code()),
        Err(refusal @ (Refusal::Forbidden(_) | Refusal::Machine)) => Err(refusal.into()),
        Err(refusal) => {
            say!("mountmark: nothing was kept: {refusal}");
            Ok(common::FAILED)
        }
    }
}

/// The real path of a folder that can be written to: new or empty, and not that of the command.
fn usable(output: &Path, folder: &Path) -> Result<PathBuf> {
    let wrong = |why: &str| WrongUse(format!("{}: {why}", output.display()));
    let path = match fs::canonicalize(output) {
        Ok(path) => path,
        Err(_) => {
            let name = output.file_name().ok_or_else(|| wrong("names no folder"))?;
            let above = output.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::canonicalize(above).map_err(|_| wrong("the folder above it is not there"))?.join(name)
        }
    };
    if path == folder {
        return Err(wrong("is the working directory, which is recorded; name a folder of its own").into());
    }
    match fs::read_dir(&path) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(wrong("is not empty; name another folder, --out-dir FOLDER").into()),
            None => Ok(path),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(path),
        Err(error) => Err(wrong(&error.to_string()).into()),
    }
}

/// Where files are saved before the command changes them, out of its sight.
fn spool(output: &Path, folder: &Path) -> Result<tempfile::TempDir> {
    let above = output.parent().unwrap_or(Path::new("/"));
    let place = match above.starts_with(folder) {
        true => std::env::temp_dir(),
        false => above.to_owned(),
    };
    if fs::canonicalize(&place).is_ok_and(|place| place.starts_with(folder)) {
        let message =
            format!("{} is in the working directory: name a folder elsewhere, --out-dir FOLDER", place.display());
        return Err(WrongUse(message).into());
    }
    tempfile::Builder::new()
        .prefix(".mountmark-record-")
        .tempdir_in(&place)
        .with_context(|| format!("cannot write to {}", place.display()))
}

/// Writes the pack; a folder that was made for it goes if that fails.
fn packed(pack: &Pack, recording: &mut Recording, output: &Path) -> mountmark_capture::Result<Packed> {
    let input = |error| Refusal::Input { what: output.display().to_string(), error };
    let is_new = !output.exists();
    if is_new {
        fs::create_dir(output).map_err(input)?;
    }
    let packed = pack.write(recording, output);
    if packed.is_err() && is_new {
        let _ = fs::remove_dir(output);
    }
    packed
}

fn summary(recording: &Recording, packed: &Packed) -> String {
    format!(
        "{} {}: {}, {}, at most {} of memory\n{}: {} of {}, {} compressed; the file system needs {}\nnext: mountmark run --suite {} --scale 1 --fs ext4,xfs\n",
        recording.command.line(),
        recording.ended,
        counted(recording.programs.len(), "program"),
        counted(recording.made().len(), "new path"),
        Bytes(recording.memory),
        packed.files.display(),
        counted(packed.count, "file"),
        Bytes(packed.bytes),
        Bytes(packed.size),
        Bytes(packed.room),
        common::shell_line(&[packed.suite.display().to_string()]),
    )
}

/// What a user should know before he trusts, or gives away, the recording.
fn notes(recording: &Recording, packed: &Packed) -> Vec<String> {
    let notes = &recording.notes;
    let mut said = Vec::new();
    if let Some(list) = shown(&notes.outside) {
        said.push(format!("wrote to {list}, which in the guest is memory"));
    }
    if let Some(list) = shown(&notes.kernel) {
        said.push(format!("read {list}: the guest's kernel says something else there"));
    }
    if let Some(list) = shown(&notes.listed) {
        said.push(format!("listed {list}: the guest has other names there"));
    }
    for program in &notes.io_uring {
        said.push(format!("{program} wanted io_uring, which recording cannot follow, and did without; so it does in the guest's run only if it is refused there"));
    }
    if !notes.left.is_empty() {
        let left = notes.left.join(", ");
        said.push(format!("{left} still ran when the command had ended, and was ended; so it is after a task"));
    }
    if let Some(list) = shown(&packed.home) {
        said.push(format!("holds files of your home folder: {list}; look at them before you give the pack away"));
    }
    let left_out = recording.command.left_out();
    if !left_out.is_empty() {
        let count = counted(left_out.len(), "variable");
        said.push(format!("{count} of the environment left out; --environment NAME keeps one: {}", left_out.join(" ")));
    }
    if let Some(replaced) = &packed.replaced {
        said.push(format!("the contents of {} were replaced", counted(replaced.count, "file")));
        if let Some(list) = shown(&replaced.kept) {
            said.push(format!("kept as they are, since the command runs by them: {list}"));
        }
    }
    said
}

/// The first paths of a list.
fn shown<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Option<String> {
    const FIRST: usize = 5;
    let all: Vec<String> = paths.into_iter().map(|path| path.display().to_string()).collect();
    let more = all.len().saturating_sub(FIRST);
    let first = all.into_iter().take(FIRST).collect::<Vec<_>>().join(", ");
    match (first.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(first),
        (false, more) => Some(format!("{first} and {more} more")),
    }
}
