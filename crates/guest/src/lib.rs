//! The program of a guest: process 1, its disk servers, the agent, and the witness of power cuts. Process 1 sets the kernel up,
//! waits for its job, and hands the job's disks to the agent or to the witness.
//!
//! Figures depend on this program's every byte, so it has a file of its own, `mountmark-guest`, and nothing of the host's side.

mod carrier;
mod exchange;
mod lock;
pub(crate) mod media;
mod nbd;
mod netlink;
mod ports;
pub mod questions;
mod recorded;
mod setup;
mod shared;
mod symbols;
mod witness;

use std::fs;
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mountmark_disk::DiskModel;
use mountmark_job::{
    CorpusData, Device, DeviceTrace, Devices, Job, MEDIA_START, MODULES_FILE, Member, Power, Region, SOURCE_FOLDER,
    Share, TEST_FOLDER, Unseen, line_auth, machine,
};
use mountmark_model::{Event, Outcome, PROTOCOL, Subject};

use media::Medium;
use ports::Ports;
use shared::{Ordered, ServedTrace, SetupFlag};

pub use exchange::Exchange;
pub use recorded::RecordedDisk;

const DISK_SERVER: &str = "disk-server";
/// The number of the second disk, and of the first of further disks under test.
const SOURCE: usize = 1;
const MORE: usize = 2;
/// Seconds. A file system that was used before is used later, whatever date the tasks have: its own checks ask.
const DAY: i64 = 86_400;
/// The last argument of a server whose requests are recorded: that of a disk under test.
const TRACED: &str = "traced";
/// Why the disk `ram` shows no requests.
const UNSEEN: &str = "The disk ram is memory that file systems copy to and from (pmem): it has no queue and no server \
                      that would see requests, and the kernel does not count them, so nothing is known of its use.";

/// The main function of `mountmark-guest`. Never returns.
pub fn main() -> ! {
    mountmark_agent::become_child();
    if !is_guest() {
        eprintln!("mountmark-guest is what `mountmark` starts in its guests; it does nothing outside of them");
        std::process::exit(2);
    }
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == DISK_SERVER) {
        if let Err(error) = serve_disk(&arguments[2..]) {
            eprintln!("mountmark disk server: {error:#}");
        }
        std::process::exit(1);
    }
    // Opened once: the kernel may be locked down later.
    let ports = Ports::open();
    if let Err(error) = &ports {
        // If no event arrives, the host reads the kernel's messages.
        eprintln!("mountmark: {error:#}");
    }
    if let Ok(ports) = ports {
        let failure = match std::panic::catch_unwind(AssertUnwindSafe(|| live(&ports))) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("{error:#}")),
            Err(_) => Some("the agent panicked; its message is in the guest's log".to_owned()),
        };
        if let Some(reason) = failure {
            let outcome = Outcome::Failed { reason, detail: String::new() };
            send(&ports, &Event::Ended { task: Subject::Cell, outcome });
        }
    }
    power_off()
}

/// Whether this process runs inside a guest: as process 1 of an image, or started by it as a disk server. Process 1 of
/// a container is neither.
fn is_guest() -> bool {
    let first = std::process::id() == 1;
    let server = std::env::args_os().nth(1).is_some_and(|argument| argument == DISK_SERVER);
    (first || server) && Path::new(MODULES_FILE).exists()
}

fn live(ports: &Ports) -> Result<()> {
    setup::mount_system()?;
    setup::allow_open_files();
    let loaded = setup::load_modules();
    send(ports, &Event::Hello { protocol: PROTOCOL, kernel: machine::kernel_version(), memory: machine::memory()? });
    for note in loaded? {
        send(ports, &Event::Note { text: note });
    }
    // Up to here all cells of a configuration are alike: the host takes its snapshot at this moment.
    ports.pause();
    let job: Job = serde_json::from_slice(&ports.read_file("opt/mountmark/job")?).context("the job is damaged")?;
    line_auth::bear(job.token);
    if let Some(region) = &job.symbols {
        symbols::write(region, !job.cell.disk.model.has_drive())?;
        send(ports, &Event::Done);
        return Ok(());
    }
    setup::seed_random(job.cell.seed)?;
    setup::set_clock(match job.share {
        Share::Contents => Some(setup::START - DAY),
        Share::Whole | Share::Tasks => job.cell.conditions.as_ref().and_then(|conditions| conditions.date),
    });
    if let Some(regions) = &job.crash {
        let more = job.cell.configuration.disks().saturating_sub(1) as usize;
        let numbers: Vec<usize> = std::iter::once(0).chain(MORE..MORE + more).collect();
        let disk = RecordedDisk::start(&job.test, &numbers, regions)?;
        let mut exchange = Exchange::open(ports, &regions.exchange)?;
        lock::close()?;
        return witness::answer(&job.cell, &disk, &mut exchange);
    }
    let flag = SetupFlag::open()?;
    flag.set(true);
    let mut servers = Vec::new();
    let test = start_disk(&job.cell.disk.model, 0, &job.test, job.undo, &mut servers)?;
    let mut more = Vec::new();
    for (at, region) in job.more.iter().enumerate() {
        let (model, index) = (job.cell.disk.model_of(1 + at), MORE + at);
        let device = start_disk(model, index, region, None, &mut servers)?;
        let trace = trace_of(&device, index)?;
        more.push(Member { device, trace });
    }
    let source = match (&job.cell.second_disk, &job.source) {
        (Some(medium), Some(region)) => Some(start_disk(&medium.disk.model, SOURCE, region, None, &mut servers)?),
        _ => None,
    };
    let corpus = job.corpus.as_ref().map(mapped).transpose()?;
    let history = job.history.as_ref().map(mapped).transpose()?;
    let trace = trace_of(&test, 0)?;
    let power = test.server.filter(|_| job.undo.is_some());
    let power = power.map(|_| Box::new(flag.switch(&test.path)) as Box<dyn Power>);
    let test = if job.cell.on_loop { carrier::carry(test, job.cell.disk_size.0)? } else { test };
    let measuring: Box<dyn Fn(bool)> = Box::new(move |measuring| flag.set(!measuring));
    // A command that wrote there could change the disks' timing.
    shared::forget_names(std::iter::once(0).chain(MORE..MORE + more.len()));
    lock::close()?;
    let devices = Devices {
        test,
        more,
        source,
        corpus,
        history,
        share: job.share,
        measuring,
        trace,
        power,
        test_folder: TEST_FOLDER.into(),
        source_folder: SOURCE_FOLDER.into(),
        hold: None,
        exclusive: true,
    };
    mountmark_agent::run_cell(&job.cell, &devices, &mut |event| send(ports, &event))?;
    send(ports, &Event::Done);
    Ok(())
}

/// A file that lies among the media.
fn mapped(region: &Region) -> Result<CorpusData> {
    let length = region.size.max(1).next_multiple_of(4096);
    Ok(CorpusData::Mapped(Medium::map(MEDIA_START + region.offset, length)?.bytes(region.size)))
}

fn send(ports: &Ports, event: &Event) {
    ports.send(&line_auth::line(event));
}

/// Ends the machine by a restart, at which QEMU exits. Every kernel can restart; without ACPI it cannot power off and
/// would halt for ever.
fn power_off() -> ! {
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::Restart);
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

/// The recorder of the requests at disk `index`, if it is served.
fn trace_of(device: &Device, index: usize) -> Result<Box<dyn DeviceTrace>> {
    Ok(match device.server {
        Some(_) => Box::new(ServedTrace::open(index, device.size)?),
        None => Box::new(Unseen(UNSEEN.to_owned())),
    })
}

/// Creates disk `index` (0: under test, 1: the source, then further ones under test); `undo` is where it keeps what a power cut takes back.
fn start_disk(
    model: &DiskModel,
    index: usize,
    region: &Region,
    undo: Option<Region>,
    servers: &mut Vec<Child>,
) -> Result<Device> {
    if !model.has_drive() {
        let name = setup::pmem_at(MEDIA_START + region.offset)?;
        return Ok(Device { path: format!("/dev/{name}"), name, size: region.size, server: None, backing: None });
    }
    let name = format!("nbd{index}");
    let path = format!("/dev/{name}");
    setup::check_modelled(&name)?;
    let mut server = Command::new("/init")
        .arg(DISK_SERVER)
        .args([
            &index.to_string(),
            &region.offset.to_string(),
            &region.size.to_string(),
            &serde_json::to_string(model)?,
        ])
        .args((index != SOURCE).then_some(TRACED))
        .args(undo.map(|undo| undo.offset.to_string()))
        .stdin(Stdio::null())
        // In its own process group, so that a task that signals its group does not kill the disk.
        .process_group(0)
        .spawn()
        .context("cannot start the disk server")?;
    setup::favour(server.id())?;
    setup::wait_for(&format!("{path} to appear"), || {
        let size = fs::read_to_string(format!("/sys/block/{name}/size")).ok()?;
        let is_there = size.trim().parse() == Ok(region.size / 512);
        match server.try_wait() {
            Ok(Some(status)) => {
                Some(Err(anyhow!("the server of {path} ended with {status}; its message is in the log")))
            }
            _ => is_there.then_some(Ok(())),
        }
    })??;
    setup::tune_queue(&name, model.rotational())?;
    let device = Device { path, name, size: region.size, server: Some(server.id()), backing: None };
    servers.push(server);
    Ok(device)
}

fn serve_disk(arguments: &[String]) -> Result<()> {
    let [index, offset, size, model, rest @ ..] = arguments else {
        bail!("expected: NUMBER OFFSET SIZE MODEL [{TRACED} [UNDO]]")
    };
    let (offset, size): (u64, u64) = (offset.parse()?, size.parse()?);
    let model: DiskModel = serde_json::from_str(model)?;
    lock::hide_memory();
    let medium = Medium::map(MEDIA_START + offset, size)?;
    let undo: Option<u64> = rest.get(1).map(|offset| offset.parse()).transpose()?;
    let undo = undo.map(|offset| Medium::map(MEDIA_START + offset, size)).transpose()?;
    // Open it before the device exists: process 1 then removes the names.
    let flag = SetupFlag::open()?;
    let index: usize = index.parse()?;
    let traced = rest.first().is_some_and(|argument| argument == TRACED);
    let trace = if traced { Some(ServedTrace::open(index, size)?) } else { None };
    let socket = nbd::attach(index as u32, size, nbd::Offer { flushes: true, trims: model.trims(), zeros: false })?;
    let observer = trace.as_ref().map(|trace| trace as &dyn nbd::Observer);
    let orders = Ordered { flag, has_power: undo.is_some() };
    nbd::serve(socket, medium, &model, undo, &orders, observer)
}
