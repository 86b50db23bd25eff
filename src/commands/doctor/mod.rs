//! `mountmark doctor`: checks what the labs need on this machine by trying it.

mod kernel;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use mountmark_lab::emulator::{Profiler, qemu};
use mountmark_lab::image::kernel::{DEFAULT, Kernel};
use mountmark_lab::image::packages::{Lists, Packages};
use mountmark_lab::{cache, child};
use mountmark_model::format_bytes;

use crate::common::{self, StoreOptions};

/// Space for packages, kernel, images and snapshots of the demo, with a margin.
const ROOM: u64 = 2 << 30;
/// Space for a further configuration.
const ROOM_FOR_MORE: u64 = 256 << 20;
/// Memory of a guest of `mountmark run` without options, at most.
const MEMORY: u64 = 7 << 29;

/// Try what the labs need, and print the command that installs what is missing
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark doctor\n  mountmark doctor --kernel 6.1\n  mountmark doctor --kernel ./vmlinux,./modules\n  MOUNTMARK_CACHE=/scratch/mountmark mountmark doctor --out /scratch/results\n\nEach line begins with ok, note (no obstacle to the virtual lab), missing or broken. No packages are downloaded.\nExit codes: 0 the virtual lab can work, 3 it cannot."
)]
pub struct Arguments {
    /// The kernel that guests are to boot, as for `mountmark run`
    #[arg(long, value_name = "KERNEL", default_value = DEFAULT)]
    kernel: String,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Ok,
    /// Worth knowing, but the virtual lab works.
    Note,
    Missing,
    /// Exists, but does not work.
    Broken,
}

struct Finding {
    state: State,
    found: String,
    /// Details, one per line.
    details: Vec<String>,
    /// How to correct it: a command, or a sentence.
    mend: Option<String>,
}

impl Finding {
    fn new(state: State, found: impl Into<String>) -> Finding {
        Finding { state, found: found.into(), details: Vec::new(), mend: None }
    }

    fn mend(self, mend: impl Into<String>) -> Finding {
        Finding { mend: Some(mend.into()), ..self }
    }
}

struct Check {
    name: &'static str,
    find: fn(&Machine) -> Finding,
    /// Whether it uses what is in the cache, or writes there.
    in_cache: bool,
}

impl Check {
    fn find(&self, machine: &Machine) -> Finding {
        match self.in_cache && machine.accepted.is_err() {
            true => Finding::new(State::Note, "not tried: the cache cannot be used"),
            false => (self.find)(machine),
        }
    }
}

/// All checks, in the order of output.
const CHECKS: &[Check] = &[
    Check { name: "emulator", find: emulator, in_cache: false },
    Check { name: "package tools", find: package_tools, in_cache: false },
    Check { name: "package lists", find: package_lists, in_cache: true },
    Check { name: "kernel", find: kernel::in_question, in_cache: true },
    Check { name: "cache", find: cache_folder, in_cache: false },
    Check { name: "memory", find: memory, in_cache: false },
    Check { name: "results", find: results, in_cache: false },
    Check { name: "virtual lab", find: kernel::virtual_lab, in_cache: true },
    Check { name: "kvm lab", find: kernel::kvm_lab, in_cache: true },
    Check { name: "host lab", find: host_lab, in_cache: false },
];

/// Input of the checks.
struct Machine {
    cache: PathBuf,
    /// Whether runs accept the cache.
    accepted: Result<()>,
    kernel: String,
    store: StoreOptions,
    /// Found once: that reads and unpacks megabytes, and several checks need it.
    found: OnceLock<Result<Kernel, String>>,
}

impl Machine {
    fn packages(&self) -> Packages {
        Packages::new(&self.cache)
    }

    fn has_kernel(&self) -> bool {
        Kernel::is_here(&self.kernel, &self.packages(), &self.cache)
    }

    fn find_kernel(&self) -> Result<&Kernel> {
        let find = || Kernel::find(&self.kernel, &self.packages(), &self.cache).map_err(|error| format!("{error:#}"));
        self.found.get_or_init(find).as_ref().map_err(|error| anyhow!("{error}"))
    }
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let cache = cache::default_folder();
    let machine = Machine {
        accepted: cache::check_trust(&cache).and_then(|()| cache::check_own(&cache)),
        cache,
        kernel: arguments.kernel,
        store: arguments.store,
        found: OnceLock::new(),
    };
    let mut works = true;
    // Some boot a guest: all run in parallel, and are printed in order.
    std::thread::scope(|scope| -> Result<()> {
        let machine = &machine;
        let tried: Vec<_> = CHECKS.iter().map(|check| (check, scope.spawn(|| check.find(machine)))).collect();
        for (check, thread) in tried {
            let finding = thread.join().unwrap_or_else(|_| Finding::new(State::Broken, "this check failed itself"));
            works &= matches!(finding.state, State::Ok | State::Note);
            common::print(&lines(check.name, &finding))?;
        }
        Ok(())
    })?;
    common::print(if works {
        "\nThe virtual lab can work: mountmark run\n"
    } else {
        "\nThe virtual lab cannot work until what is missing or broken is fixed.\n"
    })?;
    Ok(if works { common::DONE } else { common::CANNOT_RUN })
}

fn lines(name: &str, finding: &Finding) -> String {
    let mark = match finding.state {
        State::Ok => "ok",
        State::Note => "note",
        State::Missing => "missing",
        State::Broken => "broken",
    };
    let mut text = format!("{mark:<8} {name:<14} {}\n", finding.found.trim().replace('\n', "; "));
    for detail in &finding.details {
        writeln!(text, "{:<8} {:<14}  - {detail}", "", "").expect("text takes everything");
    }
    if let Some(mend) = &finding.mend {
        writeln!(text, "{:<8} {:<14} -> {mend}", "", "").expect("text takes everything");
    }
    text
}

fn emulator(_: &Machine) -> Finding {
    let Ok(output) = child::output(Command::new(qemu::PROGRAM).arg("--version"), child::QUICK) else {
        return Finding::new(State::Missing, format!("there is no program {}", qemu::PROGRAM))
            .mend(install("qemu-system-x86"));
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(version) if output.status.success() => match Profiler::check(version) {
            Ok(()) => Finding::new(State::Ok, version),
            Err(reason) => {
                let mut finding = Finding::new(State::Note, version);
                finding.details =
                    vec!["run, compare and crash work; why, bisect, advise and baseline name no cause".into()];
                finding.mend(format!("{reason:#}"))
            }
        },
        _ => Finding::new(State::Broken, format!("{} does not start: {}", qemu::PROGRAM, last_line(&output.stderr)))
            .mend(format!("{} --reinstall", install("qemu-system-x86"))),
    }
}

fn package_tools(_: &Machine) -> Finding {
    let programs = ["apt-get", "apt-cache"];
    let starts = |program: &&str| {
        child::output(Command::new(program).arg("--version"), child::QUICK).is_ok_and(|out| out.status.success())
    };
    let missing: Vec<&str> = programs.into_iter().filter(|program| !starts(program)).collect();
    if missing.is_empty() {
        return Finding::new(State::Ok, programs.join(", "));
    }
    Finding::new(
        State::Missing,
        format!("no {}: the lab's kernel and programs are Debian packages", missing.join(", ")),
    )
    .mend("use Debian 12 or newer, or a container of it")
}

fn package_lists(machine: &Machine) -> Finding {
    match machine.packages().lists() {
        Lists::System => Finding::new(
            State::Note,
            "this machine's own, in /var/lib/apt/lists: none could be fetched; they may be old",
        ),
        Lists::Cache => Finding::new(State::Ok, format!("in {}", machine.cache.join("apt/lists").display())),
        Lists::Nowhere => Finding::new(State::Note, "none yet: the first run fetches them into the cache, about 10 MB"),
    }
}

fn cache_folder(machine: &Machine) -> Finding {
    let path = machine.cache.display();
    let mend = "export MOUNTMARK_CACHE=/a/folder/of/yours";
    if let Err(error) = &machine.accepted {
        return Finding::new(State::Broken, format!("{error:#}")).mend(mend);
    }
    let needed = if machine.has_kernel() { ROOM_FOR_MORE } else { ROOM };
    match cache::room(&machine.cache) {
        Ok(free) if free < needed => Finding::new(
            State::Missing,
            format!("{path} has {} free; the lab takes about {}", format_bytes(free), format_bytes(needed)),
        )
        .mend("free some space there, or set MOUNTMARK_CACHE to a folder elsewhere"),
        Ok(free) => Finding::new(State::Ok, format!("{path}, {} free", format_bytes(free))),
        // A cache is often filled once and then only read, as in a container's image.
        Err(error) if machine.has_kernel() => {
            Finding::new(State::Note, format!("{error:#}; runs for which it holds all images and snapshots work"))
        }
        Err(error) => Finding::new(State::Broken, format!("{error:#}")).mend(mend),
    }
}

fn memory(_: &Machine) -> Finding {
    match mountmark_job::machine::available_memory() {
        Some(bytes) if bytes < MEMORY => Finding::new(
            State::Note,
            format!(
                "{} available; a guest of the machine `modern` takes up to {}",
                format_bytes(bytes),
                format_bytes(MEMORY)
            ),
        )
        .mend("mountmark run --jobs 1, with a small --scale or a smaller --machine"),
        Some(bytes) => Finding::new(
            State::Ok,
            format!("{} available, {} guests of the machine `modern`", format_bytes(bytes), bytes / MEMORY),
        ),
        None => Finding::new(State::Note, "cannot be told: /proc/meminfo says nothing"),
    }
}

fn results(machine: &Machine) -> Finding {
    let path = machine.store.path();
    let mend = "mountmark run --out /a/folder/of/yours, or set MOUNTMARK_OUT";
    let folder = path.parent().unwrap_or(&path);
    let can_write = || cache::room(folder).map_err(|_| anyhow!("cannot write to {}", folder.display()));
    if path.metadata().is_ok_and(|data| data.len() > 0) {
        // It is looked at alone: to open it for writing would change the format of an older one.
        let looked = || {
            let runs = machine.store.open_read_only()?.runs()?.len();
            let file = std::fs::OpenOptions::new().write(true).open(&path);
            file.with_context(|| format!("cannot write to {}", path.display()))?;
            can_write()?;
            anyhow::Ok(runs)
        };
        return match looked() {
            Ok(runs) => {
                Finding::new(State::Ok, format!("{}, {runs} run{}", path.display(), if runs == 1 { "" } else { "s" }))
            }
            Err(error) => Finding::new(State::Broken, format!("{error:#}")).mend(mend),
        };
    }
    match can_write() {
        Ok(_) => Finding::new(State::Ok, format!("none yet; the first run makes {}", path.display())),
        Err(error) => Finding::new(State::Broken, error.to_string()).mend(mend),
    }
}

fn host_lab(_: &Machine) -> Finding {
    if !is_root() {
        return Finding::new(State::Note, "needs root").mend("sudo mountmark doctor");
    }
    match free_loop_device() {
        Ok(number) => Finding::new(State::Ok, format!("root, /dev/loop{number} is free")),
        Err(error) => {
            Finding::new(State::Note, format!("root, but without loop devices: {error:#}")).mend("modprobe loop")
        }
    }
}

fn free_loop_device() -> Result<i32> {
    use std::os::fd::AsRawFd;
    /// `LOOP_CTL_GET_FREE` of linux/loop.h.
    const GET_FREE: libc::Ioctl = 0x4C82;
    let control =
        std::fs::OpenOptions::new().read(true).write(true).open("/dev/loop-control").context("/dev/loop-control")?;
    // SAFETY: this request takes no argument, and the descriptor is open.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE) };
    if number < 0 {
        return Err(std::io::Error::last_os_error()).context("no free loop device");
    }
    let path = format!("/dev/loop{number}");
    std::fs::OpenOptions::new().read(true).write(true).open(&path).context(path)?;
    Ok(number)
}

fn install(package: &str) -> String {
    let (update, install) = (as_root("apt-get update"), as_root("apt-get install --no-install-recommends"));
    format!("{update} && {install} {package}")
}

/// The command as this user must type it.
fn as_root(command: &str) -> String {
    if is_root() { command.to_owned() } else { format!("sudo {command}") }
}

fn is_root() -> bool {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().lines().last().unwrap_or("it says nothing").to_owned()
}
