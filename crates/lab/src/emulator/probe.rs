//! Whether guests boot here: boots an image that holds only the guest's program until its init sends its greeting.
//!
//! It fetches and caches nothing, so the answer comes in seconds, or after the limit.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::MODULES_FILE;
use mountmark_model::{Event, Processor};

use super::hardware::{self, Clock, Hardware};
use super::layout::ALIGNMENT;
use super::qemu::{self, Qemu, Ram};
use crate::cache::lock::Scratch;
use crate::image::GuestProgram;
use crate::image::cpio::Archive;
use crate::image::kernel::Kernel;

/// A whole GiB, or QEMU warns; pages that the guest does not touch take no memory.
const RAM: u64 = 1 << 30;

/// Wall time in which a guest under KVM boots wherever that works.
pub const KVM_LIMIT: Duration = Duration::from_secs(10);
/// What a probe that failed means.
const NO_KVM: &str = "the kvm lab boots no guest here, although /dev/kvm is there (a virtual machine without nested \
                                 virtualisation?); use --lab virtual, whose clock needs no KVM, or --lab host as root";

/// Boots a guest under KVM, if `booted` does not say that one has booted: `/dev/kvm` may be there and useless.
pub(super) fn kvm_once(kernel: &Kernel, booted: &OnceLock<()>) -> Result<()> {
    if booted.get().is_none() {
        boot(kernel, Clock::Kvm, KVM_LIMIT).context(NO_KVM)?;
        let _ = booted.set(());
    }
    Ok(())
}

/// An error if KVM is out of reach.
pub(super) fn check_kvm() -> Result<()> {
    let opened = fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    opened.map(drop).context(
        "the kvm lab needs /dev/kvm: load the kernel's module (modprobe kvm_intel or kvm_amd) and let this user open it \
         (group kvm), or use --lab virtual",
    )
}

/// Boots a guest; returns the wall time it took.
pub fn boot(kernel: &Kernel, clock: Clock, limit: Duration) -> Result<Duration> {
    let program = GuestProgram::get()?.bytes.clone();
    if goblin::elf::Elf::parse(&program).is_ok_and(|elf| elf.interpreter.is_some()) {
        bail!(
            "mountmark-guest is linked dynamically and cannot be an init alone; build it with the project's settings"
        );
    }
    let mut archive = Archive::default();
    for folder in ["dev", "etc", "proc", "run", "sys", "tmp"] {
        archive.folder(folder);
    }
    archive.character("dev/console", 5, 1);
    archive.character("dev/null", 1, 3);
    archive.file(MODULES_FILE.trim_start_matches('/'), Vec::new(), 0o644);
    archive.file("init", program, 0o755);
    let folder = Scratch::for_guest()?;
    let image = folder.path().join("initramfs.cpio");
    fs::write(&image, archive.to_bytes()).with_context(|| format!("cannot write {}", image.display()))?;
    let serial = folder.path().join("kernel.log");
    let media = qemu::media(ALIGNMENT)?;
    let hardware = Hardware {
        clock,
        processor: Processor::default(),
        ram: RAM,
        media: ALIGNMENT,
        arguments: hardware::memory_map(ALIGNMENT, &[]),
        kernel: kernel.image.clone(),
        image,
    };
    let begin = Instant::now();
    let mut guest = Qemu::start(&hardware, &Ram::Anonymous, &media, &serial, None, false, None)?;
    let ready = guest.qmp.wait_for("STOP", limit, &AtomicBool::new(false));
    let took = begin.elapsed();
    let first = guest.lines.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    let said = guest.end();
    if ready.is_ok() && matches!(serde_json::from_str(&first), Ok(Event::Hello { .. })) {
        return Ok(took);
    }
    let log = mountmark_job::kernel_log::telling_lines(&super::read_log(&serial), 3);
    let detail: Vec<&str> =
        [first.trim(), said.trim(), log.trim()].into_iter().filter(|text| !text.is_empty()).collect();
    let reason = if took >= limit {
        format!("the guest's init did not start within {} s", limit.as_secs())
    } else {
        "QEMU ended before the guest's init started".to_owned()
    };
    bail!("{}", std::iter::once(reason.as_str()).chain(detail).collect::<Vec<_>>().join("; "))
}
