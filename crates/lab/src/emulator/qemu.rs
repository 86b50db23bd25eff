//! One QEMU process: its command line, its pipes, its end.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use super::hardware::Hardware;
use super::qmp::Qmp;
use crate::{child, event_receiver};
use anyhow::{Context, Result};

pub const PROGRAM: &str = "qemu-system-x86_64";

/// Limit in bytes of a file that a guest writes: its kernel's messages.
const LONGEST_FILE: libc::rlim_t = 256 << 20;

/// The host memory behind guest RAM.
pub enum Ram<'a> {
    /// Memory freed with the process.
    Anonymous,
    /// A file that is written, to make a snapshot.
    Written(&'a Path),
    /// A private mapping of a file, to restore a snapshot.
    Restored(&'a Path),
    /// A private mapping of an in-memory copy of such a file: for a snapshot in a read-only cache.
    Copied(OwnedFd),
}

impl Ram<'_> {
    /// The object of QEMU that is this memory.
    fn backend(&self, size: u64) -> String {
        let (path, share) = match self {
            Ram::Anonymous => return format!("memory-backend-ram,id=ram,size={size}"),
            Ram::Written(path) => (option_value(path), "on"),
            Ram::Restored(path) => (option_value(path), "off"),
            Ram::Copied(memory) => (format!("/proc/self/fd/{}", memory.as_raw_fd()), "off"),
        };
        format!("memory-backend-file,id=ram,size={size},mem-path={path},share={share}")
    }
}

/// A started QEMU. Dropping it ends the process.
pub struct Qemu {
    child: Child,
    pub qmp: Qmp,
    /// Lines from the guest's debug console; closed when QEMU ends.
    pub lines: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
}

/// QEMU with the guest's hardware, without the files that connect it to this program.
fn command(hardware: &Hardware, ram: &Ram, media: &OwnedFd) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.args(hardware.machine_arguments());
    command.args(["-m", &format!("{}K", (hardware.ram + hardware.media) >> 10)]);
    command.args(["-object", &ram.backend(hardware.ram)]);
    let media_backend = format!(
        "memory-backend-file,id=media,size={},mem-path=/proc/self/fd/{},share=on",
        hardware.media,
        media.as_raw_fd()
    );
    command.args(["-object", &media_backend]);
    command.args(["-numa", "node,nodeid=0,memdev=ram,cpus=0", "-numa", "node,nodeid=1,memdev=media"]);
    command.arg("-kernel").arg(&hardware.kernel).arg("-initrd").arg(&hardware.image);
    command.args(["-append", &hardware.kernel_arguments()]);
    command.args(["-chardev", "stdio,id=events,signal=off", "-device", "isa-debugcon,iobase=0xe9,chardev=events"]);
    command.args(["-device", "ib700", "-action", "watchdog=pause,shutdown=poweroff,reboot=shutdown"]);
    command
}

impl Qemu {
    /// Starts QEMU. `media` is the memory behind the disks, `serial` receives the kernel's messages, `job` is passed by
    /// fw_cfg, `incoming` makes it wait for a snapshot's state, `plugin` follows `-plugin`.
    pub fn start(
        hardware: &Hardware,
        ram: &Ram,
        media: &OwnedFd,
        serial: &Path,
        job: Option<&Path>,
        incoming: bool,
        plugin: Option<&str>,
    ) -> Result<Qemu> {
        let (ours, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
        let mut command = command(hardware, ram, media);
        let kernel = format!("file,id=kernel,path={}", option_value(serial));
        command.args(["-chardev", &kernel, "-serial", "chardev:kernel"]);
        let control = format!("socket,id=qmp,fd={}", theirs.as_raw_fd());
        command.args(["-chardev", &control, "-mon", "chardev=qmp,mode=control"]);
        if let Some(job) = job {
            command.arg("-fw_cfg").arg(format!("name=opt/mountmark/job,file={}", option_value(job)));
        }
        if let Some(plugin) = plugin {
            command.args(["-plugin", plugin]);
        }
        if incoming {
            command.args(["-S", "-incoming", "defer", "-global", "migration.send-configuration=off"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In its own process group, so that a terminal's Ctrl-C reaches only this program.
        command.process_group(0);
        let copied = if let Ram::Copied(memory) = ram { Some(memory.as_raw_fd()) } else { None };
        let inherited = [Some(theirs.as_raw_fd()), Some(media.as_raw_fd()), copied];
        // A snapshot's memory is a file too; the guest that writes it has no job yet.
        bound(&mut command, inherited, !matches!(ram, Ram::Written(_)));
        let mut child = command.spawn().with_context(no_qemu)?;
        drop(theirs);
        // If the host runs out of memory, the OOM killer takes a guest before the user's processes.
        let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "1000");
        let stdout = child.stdout.take().expect("piped");
        let lines = event_receiver::lines(BufReader::new(stdout));
        let mut stderr = child.stderr.take().expect("piped");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let qmp = match Qmp::connect(ours, child.id()) {
            Ok(qmp) => qmp,
            Err(error) => {
                let signal = ended_by(&mut child).map(|signal| signal + "; ").unwrap_or_default();
                let _ = child.kill();
                let _ = child.wait();
                let said = errors.join().unwrap_or_default();
                return Err(error).with_context(|| format!("QEMU did not start: {signal}{}", said.trim()));
            }
        };
        Ok(Qemu { child, qmp, lines, errors: Some(errors) })
    }

    /// If an outside signal ended the process: the signal, its usual reason, and the remedy.
    pub fn killed(&mut self) -> Option<String> {
        ended_by(&mut self.child)
    }

    /// Ends the process and returns its stderr.
    pub fn end(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.end();
    }
}

/// Hands on `inherited`, ends the process with this program, and limits its files if they are to be bounded.
fn bound(command: &mut Command, inherited: [Option<RawFd>; 3], is_bounded: bool) {
    child::die_with_us(command);
    // SAFETY: between fork and exec only async-signal-safe calls are made: fcntl, signal and setrlimit.
    unsafe {
        command.pre_exec(move || {
            for fd in inherited.into_iter().flatten() {
                libc::fcntl(fd, libc::F_SETFD, 0);
            }
            if is_bounded {
                // Output beyond the limit is lost, and QEMU goes on.
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                let limit = libc::rlimit { rlim_cur: LONGEST_FILE, rlim_max: LONGEST_FILE };
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            }
            Ok(())
        });
    }
}

/// The signal that ended QEMU, its usual reason, and the remedy. Waits a moment for a process that is about to end.
fn ended_by(child: &mut Child) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(1);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            _ => return None,
        }
    };
    Some(match status.signal()? {
        libc::SIGKILL => "QEMU was killed, most likely as this machine ran out of memory: --jobs 1 or a smaller \
                          --scale takes less"
            .to_owned(),
        libc::SIGBUS => "QEMU had no room for the guest's memory, in the cache folder or in this machine's own: free \
                         some, set MOUNTMARK_CACHE to a folder with room, or take --jobs 1 or a smaller --scale"
            .to_owned(),
        signal => format!("QEMU was ended by signal {signal}"),
    })
}

/// A path as part of a QEMU option, with commas doubled.
pub fn option_value(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Memory for the media: sparse, freed with the last process that holds it.
pub fn media(size: u64) -> Result<OwnedFd> {
    let fd =
        rustix::fs::memfd_create("mountmark-media", rustix::fs::MemfdFlags::CLOEXEC).context("cannot make a memfd")?;
    rustix::fs::ftruncate(&fd, size).with_context(|| format!("cannot make {size} bytes of sparse memory"))?;
    Ok(fd)
}

/// Copies `file` into the media at `offset`.
pub fn fill(media: &OwnedFd, offset: u64, file: &Path) -> Result<()> {
    let source = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut buffer = vec![0; 1 << 20];
    let mut at = offset;
    let mut source = source;
    loop {
        let read = source.read(&mut buffer).with_context(|| format!("cannot read {}", file.display()))?;
        if read == 0 {
            return Ok(());
        }
        let mut written = 0;
        while written < read {
            written += rustix::io::pwrite(media, &buffer[written..read], at + written as u64)
                .context("out of memory for the media")?;
        }
        at += read as u64;
    }
}

/// The first line of `qemu-system-x86_64 --version`.
pub fn version() -> Result<String> {
    let output = child::output(Command::new(PROGRAM).arg("--version"), child::QUICK).with_context(no_qemu)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

fn no_qemu() -> String {
    format!("cannot start {PROGRAM}; install it: apt-get install --no-install-recommends qemu-system-x86")
}

/// QEMU's stderr without its warnings, which it prints for every guest.
pub fn without_warnings(said: &str) -> String {
    said.lines().filter(|line| !line.contains(": warning: ")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_hold_any_sign() {
        assert_eq!(option_value(Path::new("/a,b/c")), "/a,,b/c");
    }
}
