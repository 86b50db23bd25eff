//! Finds the guest's kernel, checks its options, and boots it.

use std::time::Duration;

use mountmark_job::kernel_options::For;
use mountmark_lab::cache;
use mountmark_lab::emulator::{Clock, probe, qemu};
use mountmark_lab::image::kernel::Kernel;
use mountmark_lab::image::packages::Lists;

use super::{Finding, Machine, State, as_root};

/// A kernel boots in 4 s on an idle machine; this is for machines under load.
const BOOT_LIMIT: Duration = Duration::from_secs(60);

/// Whether the kernel for --kernel exists, and what it lacks.
pub fn in_question(machine: &Machine) -> Finding {
    if machine.has_kernel() {
        return match machine.find_kernel() {
            Ok(kernel) => judge(kernel, Kernel::is_own(&machine.kernel)),
            // An invalid path is no fault of the cache.
            Err(error) if Kernel::is_own(&machine.kernel) => Finding::new(State::Missing, format!("{error:#}")),
            Err(error) => Finding::new(State::Broken, format!("{error:#}")).mend(fetch_anew(machine)),
        };
    }
    if cache::room(&machine.cache).is_err() {
        return Finding::new(State::Note, "not looked for: it needs the cache");
    }
    let packages = machine.packages();
    if packages.lists() == Lists::Nowhere {
        return Finding::new(State::Note, "not in the cache: the first run fetches it and programs, about 170 MB");
    }
    match Kernel::candidate(&machine.kernel, &packages) {
        Ok(name) => Finding::new(State::Note, format!("the first run fetches {name} and programs, about 170 MB")),
        Err(error) => Finding::new(State::Missing, format!("{error:#}"))
            .mend(format!("{}, or name another after --kernel, here and for mountmark run", as_root("apt-get update"))),
    }
}

/// Removes kernels alone: a run fetches them again, in the same versions.
fn fetch_anew(machine: &Machine) -> String {
    let cache = machine.cache.display();
    format!("rm -r {cache}/kernels {cache}/packages/linux-*")
}

/// Describes a kernel, and which of the options that guests need it lacks.
fn judge(kernel: &Kernel, own: bool) -> Finding {
    let lacking = kernel.lacking();
    let lacks = |by: For| lacking.iter().any(|need| need.by == by);
    // Either is enough for a run; without both there is no disk.
    let state = match (lacks(For::All), lacks(For::Modelled) && lacks(For::Ram), lacking.is_empty()) {
        (true, _, _) | (_, true, _) => State::Missing,
        (_, _, false) => State::Note,
        _ => State::Ok,
    };
    let mut found = match kernel.version.as_str() {
        "" => kernel.release.clone(),
        version => format!("{}, Debian's {version}", kernel.release),
    };
    match kernel.modules_folder() {
        Some(folder) if own => found += &format!(", modules in {}", folder.display()),
        None => found += ", no folder of modules",
        _ => {}
    }
    match kernel.config_from() {
        Some(from) if own || !lacking.is_empty() => found += &format!(", configuration in {from}"),
        None => {
            found += ", no configuration to check (CONFIG_IKCONFIG=y would put it into the image): a guest that misses an \
                      option says so"
        }
        _ => {}
    }
    let who = |by: For| match by {
        For::All => "every guest",
        For::Modelled => "disks with a model, all but ram",
        For::HardDisk => "hard disks",
        For::Ram => "the disk ram",
        For::Loop => "suites whose file system lies in a file",
        For::Some => "some figures and programs",
    };
    let details: Vec<String> = lacking.iter().map(|need| format!("for {}: {need}", who(need.by))).collect();
    let finding = Finding { details, ..Finding::new(state, found) };
    if lacking.is_empty() {
        return finding;
    }
    finding.mend(
        "merge kernel.config of Mountmark's source (docs/) or package (/usr/share/doc/mountmark/examples/) into its \
         configuration and build it again",
    )
}

/// The kernel, if it has what every guest needs; otherwise its own check reports what is missing.
fn bootable(machine: &Machine) -> Result<&Kernel, Finding> {
    let kernel = machine.find_kernel().ok().filter(|kernel| kernel.check(&[For::All]).is_ok());
    kernel.ok_or_else(|| Finding::new(State::Missing, "not tried: needs a kernel that a guest can boot"))
}

/// Whether a guest boots.
pub fn virtual_lab(machine: &Machine) -> Finding {
    if qemu::version().is_err() {
        return Finding::new(State::Missing, "needs the emulator");
    }
    if !machine.has_kernel() {
        return Finding::new(State::Note, "not tried: that kernel is not in the cache; a run fetches it");
    }
    let kernel = match bootable(machine) {
        Ok(kernel) => kernel,
        Err(finding) => return finding,
    };
    match probe::boot(kernel, Clock::Instructions { shift: 0 }, BOOT_LIMIT) {
        Ok(took) => Finding::new(State::Ok, format!("a guest booted in {:.1} s", took.as_secs_f64())),
        Err(error) => {
            let finding = Finding::new(State::Broken, format!("{error:#}"));
            let other = "try another kernel: mountmark doctor --kernel 6.1";
            if Kernel::is_own(&machine.kernel) {
                return finding.mend(other);
            }
            finding.mend(format!("{}, if what they hold is damaged; or {other}", fetch_anew(machine)))
        }
    }
}

/// Whether KVM is absent, forbidden, unusable or working: only a booting guest distinguishes the last two.
pub fn kvm_lab(machine: &Machine) -> Finding {
    let device = "/dev/kvm";
    match std::fs::OpenOptions::new().read(true).write(true).open(device) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::new(
                State::Note,
                format!("no {device}: this machine offers no virtualisation; --lab virtual needs none"),
            );
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Finding::new(State::Note, format!("{device} is there, but not for this user"))
                .mend("sudo usermod -aG kvm \"$USER\", then log in again");
        }
        Err(error) => return Finding::new(State::Note, format!("{device} is there and cannot be opened: {error}")),
    }
    if qemu::version().is_err() || !machine.has_kernel() {
        return Finding::new(
            State::Note,
            format!("{device} is there; not tried before there is an emulator and a kernel"),
        );
    }
    let kernel = match bootable(machine) {
        Ok(kernel) => kernel,
        Err(finding) => return Finding { state: State::Note, ..finding },
    };
    match probe::boot(kernel, Clock::Kvm, probe::KVM_LIMIT) {
        Ok(took) => Finding::new(State::Ok, format!("a guest booted in {:.1} s", took.as_secs_f64())),
        Err(error) => Finding::new(State::Note, format!("{device} is there and does not work: {error:#}")),
    }
}
