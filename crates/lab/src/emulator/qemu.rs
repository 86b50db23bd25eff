//! One QEMU process: its command line, its pipes, its end.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mountmark_model::Processor;
use mountmark_model::processor::FEATURES;

use super::qmp::Qmp;
use crate::{MEDIA_START, child, watch};

/// The emulator's program.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// The most bytes of a file that a guest writes: its kernel's messages.
const LONGEST_FILE: libc::rlim_t = 256 << 20;

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
    /// What the processor can do; under KVM it is the host's.
    pub processor: Processor,
    /// Guest RAM in bytes, the image's share included.
    pub ram: u64,
    /// Size of the media in bytes.
    pub media: u64,
    /// What follows on the kernel's command line: `memmap=` that keeps it off the media, or makes pmem devices of them,
    /// and parameters of drivers that are part of it.
    pub arguments: Vec<String>,
    /// The kernel: an ELF image with a PVH entry, or a bzImage.
    pub kernel: PathBuf,
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
    /// A private copy of memory that holds such a file: a snapshot in a cache that cannot be written.
    Copied(OwnedFd),
}

/// What follows `-append`, without the memory map. No address-space randomisation and no entropy but RDRAND, which
/// the emulator derives from its seed: two boots are the same boot. Mitigations are for machines that run strangers'
/// code; a bug in a file system's kernel code ends the cell.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet nokaslr norandmaps random.trust_cpu=on numa=off tsc=reliable \
                                mitigations=off oops=panic panic=-1";

/// `-cpu`: one model for all machines, so that nothing but the named features differs between them, and RDRAND for the
/// kernel's random numbers. Which implementations of checksums and ciphers the guest uses follows from this alone: its
/// kernel looks at the processor. The model has no ERMS: an instruction that moves one byte a step would make every
/// copy slow under a clock that counts steps.
fn model(processor: &Processor) -> String {
    let features = FEATURES
        .iter()
        .map(|feature| format!(",{}={}", feature.emulator, if processor.has(feature) { "on" } else { "off" }));
    format!("Nehalem-v1,rdrand=on{}", features.collect::<String>())
}

impl Hardware {
    /// The kernel's command line.
    pub fn kernel_arguments(&self) -> String {
        format!("{KERNEL_ARGUMENTS} {}", self.arguments.join(" "))
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
                add("-cpu", model(&self.processor));
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
            Ram::Copied(memory) => format!(
                "memory-backend-file,id=ram,size={},mem-path=/proc/self/fd/{},share=off",
                hardware.ram,
                memory.as_raw_fd()
            ),
        };
        command.args(["-object", &backend]);
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
        let copied = if let Ram::Copied(memory) = ram { Some(memory.as_raw_fd()) } else { None };
        let inherited = [Some(theirs.as_raw_fd()), Some(media.as_raw_fd()), copied];
        // A snapshot's memory is a file that is written, by a guest that has no job yet.
        let is_bounded = !matches!(ram, Ram::Written(_));
        child::die_with_us(&mut command);
        // SAFETY: between fork and exec only async-signal-safe calls are made: fcntl, signal and setrlimit.
        unsafe {
            command.pre_exec(move || {
                for fd in inherited.into_iter().flatten() {
                    libc::fcntl(fd, libc::F_SETFD, 0);
                }
                if is_bounded {
                    // What is beyond is lost, and QEMU goes on.
                    libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                    let limit = libc::rlimit { rlim_cur: LONGEST_FILE, rlim_max: LONGEST_FILE };
                    libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
                }
                Ok(())
            });
        }
        let mut child = command.spawn().with_context(no_qemu)?;
        drop(theirs);
        // Where this machine's memory ends, a guest that fills its disks goes first, and nothing of the user's.
        let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "1000");
        let stdout = child.stdout.take().expect("piped");
        let lines = watch::lines(BufReader::new(stdout));
        let mut stderr = child.stderr.take().expect("piped");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let qmp = match Qmp::connect(ours) {
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

    /// Where a signal from outside ended the process: which, its usual reason and the mend.
    pub fn killed(&mut self) -> Option<String> {
        ended_by(&mut self.child)
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

/// Which signal ended a QEMU, its usual reason and the mend. A process that is on its way out has a moment to get there.
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
    let output = child::output(Command::new(PROGRAM).arg("--version"), child::QUICK).with_context(no_qemu)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

fn no_qemu() -> String {
    format!("cannot start {PROGRAM}; install it: apt-get install --no-install-recommends qemu-system-x86")
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
    fn every_feature_is_said_to_be_there_or_not() {
        let all = model(&Processor::default());
        assert!(FEATURES.iter().all(|feature| all.contains(&format!(",{}=on", feature.emulator))), "{all}");
        let one = model(&Processor(vec!["sse4_2".into()]));
        assert!(one.contains(",sse4.2=on") && one.contains(",sse4.1=off") && one.contains(",aes=off"), "{one}");
    }

    #[test]
    fn all_media_are_kept_from_the_kernel() {
        assert_eq!(memory_map(1 << 30, &[]), ["memmap=0x40000000$0x100000000"]);
        let pmem = [Region { offset: 0, size: 1 << 28 }];
        assert_eq!(memory_map(1 << 30, &pmem), ["memmap=0x10000000!0x100000000", "memmap=0x30000000$0x110000000"]);
    }
}
