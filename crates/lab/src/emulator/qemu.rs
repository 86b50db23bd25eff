//! One QEMU process: its command line, its pipes, its end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::qmp::Qmp;
use crate::MEDIA_START;

/// The emulator's program.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// How guest time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Every instruction takes 2^shift ns; waiting takes no host time.
    Instructions {
        /// log2 of nanoseconds.
        shift: u8,
    },
    /// The host's clock, under KVM.
    Kvm,
}

/// Everything that QEMU's command line depends on.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// How time passes.
    pub clock: Clock,
    /// Guest RAM in bytes, the image's share included.
    pub ram: u64,
    /// Size of the media in bytes.
    pub media: u64,
    /// `memmap=` arguments that keep the kernel off the media, or make pmem devices of them.
    pub memory_map: Vec<String>,
    /// The kernel.
    pub vmlinux: PathBuf,
    /// The initramfs.
    pub image: PathBuf,
}

/// Where guest RAM lies on the host.
pub enum Ram<'a> {
    /// In memory that goes with the process.
    Anonymous,
    /// In a file that is written: the making of a snapshot.
    Written(&'a Path),
    /// A private copy of a file: a restored snapshot.
    Restored(&'a Path),
}

/// What follows `-append`, without the memory map. No address-space randomisation and no entropy but RDRAND, which
/// the emulator derives from its seed: two boots are the same boot. Mitigations are for machines that run strangers'
/// code; a bug in a file system's kernel code ends the cell.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet nokaslr norandmaps random.trust_cpu=on numa=off tsc=reliable \
                                mitigations=off oops=panic panic=-1 clearcpuid=erms,fsrm";

impl Hardware {
    /// The kernel's command line.
    pub fn kernel_arguments(&self) -> String {
        format!("{KERNEL_ARGUMENTS} {}", self.memory_map.join(" "))
    }

    /// What a snapshot depends on beyond files: the parts of QEMU's command line.
    pub fn identity(&self) -> Vec<String> {
        let mut parts = self.machine_arguments();
        parts.extend([self.ram.to_string(), self.media.to_string(), self.kernel_arguments()]);
        parts
    }

    fn machine_arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        // A fixed machine type and processor model: "pc" and "max" change with QEMU's version, and with them the boot.
        add("-machine", format!("pc-i440fx-7.2,suppress-vmdesc=on,max-ram-below-4g={}", self.ram));
        match self.clock {
            Clock::Instructions { shift } => {
                add("-accel", "tcg,thread=single".into());
                // While nobody records, QEMU's main loop may look at a processor that has halted and not yet booked
                // its last instructions; it then moves the clock past the next timer by as many. A recording (of
                // which nothing is kept) makes the two take turns.
                add("-icount", format!("shift={shift},sleep=off,rr=record,rrfile=/dev/null"));
                add("-cpu", "Nehalem-v1,+rdrand".into());
                add("-rtc", "base=2006-01-01T00:00:00,clock=vm".into());
            }
            Clock::Kvm => {
                add("-accel", "kvm".into());
                add("-cpu", "host".into());
                add("-rtc", "base=2006-01-01T00:00:00,clock=host".into());
            }
        }
        add("-seed", "1".into());
        add("-smp", "1".into());
        arguments
    }
}

/// A started QEMU. Dropping it ends the process.
pub struct Qemu {
    child: Child,
    /// Its control socket.
    pub qmp: Qmp,
    /// Lines from the guest's debug console; closed when QEMU ends.
    pub lines: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
}

impl Qemu {
    /// Starts QEMU; `media` is the memory behind the disks, `serial` gets the kernel's messages, `job` goes in by
    /// fw_cfg, `incoming` makes it wait for a snapshot's state.
    pub fn start(
        hardware: &Hardware,
        ram: &Ram,
        media: &OwnedFd,
        serial: &Path,
        job: Option<&Path>,
        incoming: bool,
    ) -> Result<Qemu> {
        let (ours, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
        let mut command = Command::new(PROGRAM);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        command.args(hardware.machine_arguments());
        command.args(["-m", &format!("{}K", (hardware.ram + hardware.media) >> 10)]);
        let backend = match ram {
            Ram::Anonymous => format!("memory-backend-ram,id=ram,size={}", hardware.ram),
            Ram::Written(path) => {
                format!("memory-backend-file,id=ram,size={},mem-path={},share=on", hardware.ram, option_value(path))
            }
            Ram::Restored(path) => {
                format!("memory-backend-file,id=ram,size={},mem-path={},share=off", hardware.ram, option_value(path))
            }
        };
        command.args(["-object", &backend]);
        let media_backend = format!(
            "memory-backend-file,id=media,size={},mem-path=/proc/self/fd/{},share=on",
            hardware.media,
            media.as_raw_fd()
        );
        command.args(["-object", &media_backend]);
        command.args(["-numa", "node,nodeid=0,memdev=ram,cpus=0", "-numa", "node,nodeid=1,memdev=media"]);
        command.arg("-kernel").arg(&hardware.vmlinux).arg("-initrd").arg(&hardware.image);
        command.args(["-append", &hardware.kernel_arguments()]);
        command.args(["-chardev", "stdio,id=events,signal=off", "-device", "isa-debugcon,iobase=0xe9,chardev=events"]);
        command.args(["-device", "ib700", "-action", "watchdog=pause,shutdown=poweroff,reboot=shutdown"]);
        command.args([
            "-chardev",
            &format!("file,id=kernel,path={}", option_value(serial)),
            "-serial",
            "chardev:kernel",
        ]);
        command.args([
            "-chardev",
            &format!("socket,id=qmp,fd={}", theirs.as_raw_fd()),
            "-mon",
            "chardev=qmp,mode=control",
        ]);
        if let Some(job) = job {
            command.arg("-fw_cfg").arg(format!("name=opt/mountmark/job,file={}", option_value(job)));
        }
        if incoming {
            command.args(["-S", "-incoming", "defer", "-global", "migration.send-configuration=off"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A terminal's Ctrl-C is ours to handle: QEMU is in a process group of its own.
        command.process_group(0);
        let inherited = [theirs.as_raw_fd(), media.as_raw_fd()];
        // SAFETY: between fork and exec only async-signal-safe calls are made: prctl and fcntl.
        unsafe {
            command.pre_exec(move || {
                // If this program is killed, QEMU goes with it.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                for fd in inherited {
                    libc::fcntl(fd, libc::F_SETFD, 0);
                }
                Ok(())
            });
        }
        let mut child = command.spawn().with_context(|| {
            format!("cannot start {PROGRAM}; install it: apt-get install --no-install-recommends qemu-system-x86")
        })?;
        drop(theirs);
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                let Ok(line) = line else { break };
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("piped");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let qmp = match Qmp::connect(ours) {
            Ok(qmp) => qmp,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                let said = errors.join().unwrap_or_default();
                return Err(error).with_context(|| format!("QEMU did not start: {}", said.trim()));
            }
        };
        Ok(Qemu { child, qmp, lines, errors: Some(errors) })
    }

    /// Where a signal from outside ended the process: which, its usual reason and the mend. A process that is on its way
    /// out has a moment to get there.
    pub fn killed(&mut self, cache: &Path) -> Option<String> {
        let end = Instant::now() + Duration::from_secs(1);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
                _ => return None,
            }
        };
        Some(match status.signal()? {
            libc::SIGKILL => "QEMU was killed, most likely as this machine ran out of memory: --jobs 1 or a smaller \
                              --scale takes less"
                .to_owned(),
            libc::SIGBUS => format!(
                "QEMU had no room for the guest's memory in {} or in this machine's own; free some, or set \
                 MOUNTMARK_CACHE to a folder with room",
                cache.display()
            ),
            signal => format!("QEMU was ended by signal {signal}"),
        })
    }

    /// Ends the process and returns what it said on stderr.
    pub fn end(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    /// The process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.end();
    }
}

/// A path as part of an option of QEMU's, in which a comma is doubled.
fn option_value(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// A path as one word of the shell that QEMU starts for an `exec:` address.
pub fn shell_word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Memory for the media: sparse, gone with the last process that holds it.
pub fn media(size: u64) -> Result<OwnedFd> {
    let fd =
        rustix::fs::memfd_create("mountmark-media", rustix::fs::MemfdFlags::CLOEXEC).context("cannot make a memfd")?;
    rustix::fs::ftruncate(&fd, size).with_context(|| format!("cannot make {size} bytes of sparse memory"))?;
    Ok(fd)
}

/// Puts `file` into the media at `offset`.
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
    let output = Command::new(PROGRAM).arg("--version").output().with_context(|| {
        format!("cannot start {PROGRAM}; install it: apt-get install --no-install-recommends qemu-system-x86")
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

/// `memmap=` arguments for regions that become pmem devices, the rest of the media reserved.
pub fn memory_map(media: u64, pmem: &[crate::Region]) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut at = 0;
    for region in pmem {
        if region.offset > at {
            arguments.push(format!("memmap={:#x}${:#x}", region.offset - at, MEDIA_START + at));
        }
        arguments.push(format!("memmap={:#x}!{:#x}", region.size, MEDIA_START + region.offset));
        at = region.offset + region.size;
    }
    if at < media {
        arguments.push(format!("memmap={:#x}${:#x}", media - at, MEDIA_START + at));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;

    #[test]
    fn paths_may_hold_any_sign() {
        assert_eq!(option_value(Path::new("/a,b/c")), "/a,,b/c");
        assert_eq!(shell_word(Path::new("/it's a")), "'/it'\\''s a'");
    }

    #[test]
    fn all_media_are_kept_from_the_kernel() {
        assert_eq!(memory_map(1 << 30, &[]), ["memmap=0x40000000$0x100000000"]);
        let pmem = [Region { offset: 0, size: 1 << 28 }];
        assert_eq!(memory_map(1 << 30, &pmem), ["memmap=0x10000000!0x100000000", "memmap=0x30000000$0x110000000"]);
    }
}
