//! The virtual lab with a profiler in the emulator: the same guests, the same figures, and where their time went.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use mountmark_job::{Job, Region, Token, kernel_log::read_log};
use mountmark_model::profile::{Interval, TaskProfile};
use mountmark_model::{Cell, Configuration, Environment, Event, Lab, Program, protocol_task};

use super::cell::plain_job;
use super::layout::Layout;
use super::qemu::{self, PROGRAM, option_value};
use super::{Emulator, image_key, snapshot};
use crate::cache;
use crate::cache::lock::Scratch;
use crate::cell_key::CellKey;
use crate::event_receiver::{EventReceiver, Expected, Heard};
use crate::image::cpio;
use crate::lab::{Ended, OpenLab, Options};
use crate::profile::pipes::Pipes;
use crate::profile::programs::{self, Code};
use crate::profile::recording::Recording;
use crate::profile::symbols::{self, Symbols};
use crate::profile::{Disk, parts};
use crate::{child, profile};

/// Guest-virtual address of the start of physical memory in the kernel's own map; it is not moved (`nokaslr`).
const KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;
/// No description of a task is longer, in bytes.
const TASK_MOST: u64 = 32 << 10;

/// The list of the kernel's symbols, beside the snapshot of the guest that has them.
const SYMBOLS: &str = "symbols";

/// A plugin of QEMU, and who is given the guest's media, with the place of the disk under test, before it starts.
pub(super) struct PluginArguments<'a> {
    /// As [`qemu::Qemu::start`] takes it.
    pub argument: String,
    pub on_media: &'a dyn Fn(OwnedFd, Region),
}

/// A guest's image, and the tar of what its user brings.
type Files = (PathBuf, Option<PathBuf>);

/// The virtual lab, with a profiler. As a lab it keeps what it recorded of each cell, until it is taken.
pub struct Profiler {
    lab: Emulator,
    /// Whether paths of calls are recorded.
    callers: bool,
    /// By where a cell's programs were.
    codes: Mutex<BTreeMap<Files, Arc<Code>>>,
    /// By the cell's index in the plan; why there is nothing, in a sentence.
    kept: Mutex<BTreeMap<u32, Result<Vec<TaskProfile>, String>>>,
}

impl Profiler {
    /// Finds QEMU and the kernel; an error if this QEMU cannot load the profiler. Without `callers` functions have times and
    /// no paths of calls, which takes less time on this machine.
    pub fn open(options: Options, callers: bool) -> Result<Profiler> {
        let lab = Emulator::open(Lab::DEFAULT, options)?;
        Profiler::check(&lab.qemu)?;
        Ok(Profiler { lab, callers, codes: Mutex::default(), kept: Mutex::default() })
    }

    /// Whether the emulator of this machine has what the profiler needs.
    ///
    /// # Errors
    /// That it has not, with the package that has it; or that there is no emulator.
    pub fn available() -> Result<()> {
        Profiler::check(&qemu::version()?)
    }

    /// The same of an emulator that says this of its version.
    ///
    /// # Errors
    /// As [`Profiler::available`].
    pub fn check(version: &str) -> Result<()> {
        let help = child::output(Command::new(PROGRAM).arg("-help"), child::QUICK)?;
        profile::check_emulator(version, &String::from_utf8_lossy(&help.stdout))
    }

    /// The same lab without a profiler.
    pub fn plain(&self) -> &dyn OpenLab {
        &self.lab
    }

    /// Runs one cell as a lab without a profiler does, and tells where the time of its tasks went, or why that cannot be
    /// told. If it was interrupted, this holds the tasks that had ended.
    pub fn record(
        &self,
        cell: &Cell,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(Ended, Result<Recording>)> {
        let Some((mut symbols, name_at)) = self.symbols(cell, stop)? else {
            return Ok((Ended::Interrupted, Ok(Recording::default())));
        };
        let folder = Scratch::for_guest()?;
        let code = self.code(cell)?;
        let [table, pages] = ["functions", "pages"].map(|name| folder.path().join(name));
        let write = |path: &Path, bytes: Vec<u8>| {
            fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
        };
        write(&pages, code.pages())?;
        symbols.add(&code);
        write(&table, symbols.table())?;
        let shift = self.lab.options.machine.shift;
        let plugin = profile::plugin(&self.lab.options.cache)?;
        let pipes = Pipes::new(folder.path())?;
        let argument = format!(
            "file={},symbols={},pages={},out={},go={},shift={shift},name={name_at},flat={}",
            option_value(&plugin),
            option_value(&table),
            option_value(&pages),
            option_value(&pipes.lines),
            option_value(&pipes.go),
            u8::from(!self.callers)
        );
        // A file system on a loop device lies in the sectors of a file.
        let disk: OnceLock<Disk> = OnceLock::new();
        let on_media = |media: OwnedFd, region: Region| {
            if !cell.on_loop {
                let _first = disk.set(Disk { media: media.into(), region });
            }
        };
        let look = |sectors: &BTreeSet<u64>| {
            let found = || disk.get().map_or_else(BTreeMap::new, |disk| parts(disk, sectors));
            // The guest stands still until there is an answer.
            catch_unwind(AssertUnwindSafe(found)).unwrap_or_default()
        };
        let (mut lines, mut go) = pipes.ends()?;
        thread::scope(|scope| {
            let names = &symbols.names;
            let reading = scope.spawn(move || Recording::read(&mut lines, names, shift, &mut { look }, &mut go));
            let ended =
                self.lab.run_with(cell, Some(&PluginArguments { argument, on_media: &on_media }), stop, on_event);
            pipes.close();
            let recording = reading.join().unwrap_or_else(|_| bail!("the reader of the profiler's lines failed"));
            Ok((ended?, recording))
        })
    }

    /// What was recorded of a cell that this lab ran, or why nothing was.
    pub fn take(&self, cell: &Cell) -> Result<Vec<TaskProfile>, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&cell.index).unwrap_or_else(|| Err("the cell did not run".into()))
    }

    /// The profiles of a cell's tasks and steps, each time that they ran.
    fn profiles(cell: &Cell, recording: &Recording) -> Vec<TaskProfile> {
        let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT, protocol_task::FSCK];
        let tasks = cell.tasks.iter().map(|task| task.id.as_str());
        let mut out = Vec::new();
        for task in tasks.chain(steps) {
            for iteration in 0.. {
                let profile = |interval| recording.profile(task, interval, iteration).cloned();
                let Some(returned) = profile(Interval::Returned) else { break };
                let sync = profile(Interval::Sync).unwrap_or_default();
                out.push(TaskProfile { task: task.to_owned(), iteration, returned, sync });
            }
        }
        out
    }

    /// The names of all functions of a cell's kernel and its modules; `None` if `stop` was set.
    pub fn functions(&self, cell: &Cell, stop: &AtomicBool) -> Result<Option<BTreeSet<String>>> {
        Ok(self.symbols(cell, stop)?.map(|(symbols, _)| symbols.names.into_iter().collect()))
    }

    /// The code of the programs and libraries in a cell's image, and of those that a user brings. This program's own is the
    /// line of its process.
    fn code(&self, cell: &Cell) -> Result<Arc<Code>> {
        let image = self.lab.image(cell)?.path.clone();
        let brought =
            cell.second_disk.as_ref().filter(|_| cell.root.is_some()).map(|second| PathBuf::from(&second.tar));
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (image, brought);
        if let Some(code) = codes.get(&from) {
            return Ok(Arc::clone(code));
        }
        let (image, brought) = &from;
        let archive = fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
        let code = Arc::new(Code::of(|take| {
            // First, as a file under two names is known by its first: what a user brings is called as he calls it.
            if let Some(tar) = brought {
                programs_in(tar, take).with_context(|| format!("cannot read {}", tar.display()))?;
            }
            cpio::files(&archive).filter(|(path, _)| *path != "init").for_each(|(path, bytes)| take(path, bytes));
            Ok(())
        })?);
        codes.insert(from, Arc::clone(&code));
        Ok(code)
    }

    /// The functions of a cell's kernel, and where a task's name lies in its description; `None` if `stop` was set.
    fn symbols(&self, cell: &Cell, stop: &AtomicBool) -> Result<Option<(Symbols, usize)>> {
        let lab = &self.lab;
        let image = lab.image(cell)?;
        let layout = Layout::of(cell)?;
        let hardware = lab.hardware(cell, &image, &layout)?;
        let Some(snapshot) = lab.snapshot(&hardware, &image, stop)? else { return Ok(None) };
        let kept: PathBuf = snapshot.ram.with_file_name(SYMBOLS);
        let list = match fs::read_to_string(&kept) {
            Ok(list) => list,
            Err(_) => {
                let media = qemu::media(hardware.media)?;
                let folder = Scratch::for_guest()?;
                let (job, serial) = (folder.path().join("job.json"), folder.path().join("kernel.log"));
                let token = Token::new()?;
                let expected =
                    Expected { token: token.clone(), kernel: lab.kernel.release.clone(), memory: 0..=hardware.ram };
                let text = Job { symbols: Some(layout.test), ..plain_job(token, image_key(cell), layout.test) };
                text.write(&job)?;
                let mut guest = snapshot::restore(&hardware, &snapshot, &media, &serial, &job, None)?;
                guest.qmp.run("cont", serde_json::json!({}))?;
                let mut watch = EventReceiver::new(expected);
                let heard = watch.listen(&guest.lines, stop, lab.options.silence_limit, &mut |_| {});
                guest.end();
                if heard == Heard::Interrupted {
                    return Ok(None);
                }
                if !watch.done {
                    let reason = watch.outcome.as_ref().and_then(|outcome| outcome.reason().map(str::to_owned));
                    bail!(
                        "a guest did not give its kernel's symbols: {}\n{}",
                        reason.or(watch.fault).unwrap_or_else(|| "it ended before".into()),
                        read_log(&serial)
                    );
                }
                let list = list_in(File::from(media), layout.test.offset)?;
                cache::note(&kept, list.as_bytes())?;
                list
            }
        };
        let symbols = Symbols::parse(&list)?;
        let init_task = read_at(&snapshot.ram, symbols.init_task.wrapping_sub(KERNEL_MAP), TASK_MOST)?;
        let name_at = symbols::name_offset(&init_task)?;
        Ok(Some((symbols, name_at)))
    }
}

impl OpenLab for Profiler {
    fn title(&self) -> String {
        self.lab.title()
    }

    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.lab.unavailable(configuration)
    }

    fn make_available(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.lab.make_available(configuration)
    }

    fn lacks(&self, program: &Program) -> Result<Option<String>> {
        self.lab.lacks(program)
    }

    fn prepare(&self, cell: &Cell) -> Result<()> {
        self.lab.prepare(cell)
    }

    fn programs(&self, cell: &Cell) -> Result<Option<Vec<String>>> {
        self.lab.programs(cell)
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let (ended, recording) = self.record(cell, stop, on_event)?;
        // Figures do not depend on it, and are kept without it too.
        let profiles =
            recording.map(|recording| Profiler::profiles(cell, &recording)).map_err(|error| format!("{error:#}"));
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(cell.index, profiles);
        Ok(ended)
    }

    fn key(&self, cell: &Cell) -> Result<Option<CellKey>> {
        self.lab.key(cell)
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        self.lab.environment(cell)
    }
}

/// Gives each program and library in a tar, by its path.
fn programs_in(tar: &Path, take: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(tar)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let mut bytes = Vec::new();
        entry.by_ref().take(programs::MAGIC.len() as u64).read_to_end(&mut bytes)?;
        if bytes == programs::MAGIC {
            entry.read_to_end(&mut bytes)?;
            take(&String::from_utf8_lossy(&entry.path_bytes()), &bytes);
        }
    }
    Ok(())
}

/// The list that a guest wrote into its reserved memory.
fn list_in(mut media: File, offset: u64) -> Result<String> {
    let mut length = [0; 8];
    media.seek(SeekFrom::Start(offset))?;
    media.read_exact(&mut length)?;
    let mut list = Vec::new();
    media.take(u64::from_le_bytes(length)).read_to_end(&mut list)?;
    Ok(String::from_utf8_lossy(&list).into_owned())
}

fn read_at(path: &Path, offset: u64, length: u64) -> Result<Vec<u8>> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}
