//! What the agent starts is what a dry run shows, in its order.

use std::cell::RefCell;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use mountmark_job::{CorpusData, Device, Devices, Member, Power, Share, Unseen};
use mountmark_model::conditions::Way;
use mountmark_model::{Cell, Lab, Layer, RealisedCorpus, Scale, Suite, Task};
use mountmark_plan::{Catalogue, Options};

use super::command::{Finished, Kept};
use super::ground::{Ground, Process};
use super::probes::{Counters, DeviceCounters};
use super::sandbox::Confined;
use super::scratch::Scratch;
use super::settle::Settled;
use super::{Agent, places};
use crate::protocol::outline;
use crate::settings::{Mounts, Settings};

/// A machine on which nothing runs and everything succeeds.
#[derive(Default)]
struct Book(RefCell<Vec<String>>);

impl Ground for Book {
    fn start(
        &self,
        command: &Command,
        _: Kept,
        _: Option<BorrowedFd>,
        _: Option<Confined>,
        _: Option<BorrowedFd>,
    ) -> Result<Box<dyn Process>> {
        let mut words = vec![command.get_program().to_string_lossy().into_owned()];
        words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
        self.0.borrow_mut().extend(lines(&words));
        Ok(Box::new(Done))
    }

    fn sync(&self) {}

    fn flush(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _: &[&Device], _: &[u32], _: bool) -> Result<Settled> {
        let counters = Counters { busy: 0, device: DeviceCounters::default() };
        Ok(Settled { took: 0, counters, rest: None, unfinished: None })
    }

    fn drop_caches(&self) -> Result<()> {
        self.0.borrow_mut().push("sync; echo 3 > /proc/sys/vm/drop_caches".into());
        Ok(())
    }

    fn settings(&self, _: &[&str], _: &Mounts) -> Settings {
        Settings::default()
    }

    fn mounts(&self, _: &Mounts) -> Settings {
        Settings::default()
    }
}

struct Done;

impl Process for Done {
    fn go(&mut self) -> Result<()> {
        Ok(())
    }

    fn wait(&mut self, _: f64) -> Result<Finished> {
        // A count of lost files.
        Ok(Finished { stdout: "0\n".into(), ..Finished::default() })
    }

    fn stay(&mut self) {}

    fn end(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Cut;

impl Power for Cut {
    fn watch(&self) -> Result<()> {
        Ok(())
    }

    fn cut(&self) {}

    fn restore(&self, _: bool) -> Result<()> {
        Ok(())
    }
}

/// A started program as a dry run writes it.
fn lines(words: &[String]) -> Vec<String> {
    match words {
        [sh, c, script] if sh == "sh" && c == "-c" => {
            // Several commands of the protocol in one process.
            let is_joint = |line: &&str| !line.starts_with("code=$?") && !line.starts_with("case $code in ");
            let lines = script.lines().filter(|line| !line.trim().is_empty()).filter(is_joint);
            lines.map(|line| line.strip_prefix("exec ").unwrap_or(line).to_owned()).collect()
        }
        [program, ..] if program == "/proc/self/exe" => vec!["mountmark's own engine".into()],
        [program, .., folder, _] if program == "fio" => {
            vec![format!("{}, with this job:", words.join(" ").replace(folder, "FOLDER"))]
        }
        _ => vec![shlex::try_join(words.iter().map(String::as_str)).unwrap()],
    }
}

/// What a dry run shows of a cell that must start, in the form of [`lines`].
fn shown(cell: &Cell, devices: &Devices) -> Vec<String> {
    let mut shown = Vec::new();
    let job = |id: &str| cell.tasks.iter().any(|task| task.id == id && task.fio.is_some());
    for line in outline(cell, &places(devices)) {
        let is_word = ["nothing: ", "the power fails", "the disk holds", "the corpus becomes", "if it is not mounted"]
            .iter()
            .any(|words| line.text.starts_with(words));
        let is_job = line.part == "run" && job(&line.step) && !line.text.starts_with("fio ");
        if line.part == "title" || line.step == "conditions" || is_word || is_job {
            continue;
        }
        let engine = line.text.starts_with("mountmark's own engine, ");
        shown.push(if engine { "mountmark's own engine".into() } else { line.text });
    }
    shown
}

/// A cell's commands, as the agent starts them and as they are shown.
fn both(cell: &Cell, folder: &Path) -> (Vec<String>, Vec<String>) {
    let device = |name: &str| {
        let path = folder.join(name);
        fs::write(&path, "").unwrap();
        Device { path: path.display().to_string(), name: String::new(), size: 1, server: None, backing: None }
    };
    let medium = cell.second_disk.as_ref();
    let devices = Devices {
        test: device("test.img"),
        more: (1..cell.configuration.disks())
            .map(|at| Member { device: device(&format!("more-{at}.img")), trace: Box::new(Unseen("none".into())) })
            .collect(),
        source: medium.map(|_| device("source.img")),
        corpus: medium.map(|_| CorpusData::File(folder.join("source.img"))),
        history: None,
        share: Share::Whole,
        measuring: Box::new(|_| {}),
        trace: Box::new(Unseen("nothing runs".into())),
        power: Some(Box::new(Cut)),
        test_folder: folder.join("test"),
        source_folder: folder.join("source"),
        hold: None,
        exclusive: false,
    };
    let book = Book::default();
    let mut cell = cell.clone();
    cell.pause_seconds = 0.0;
    cell.tasks.iter_mut().for_each(|task| task.repeat = 1);
    let scratch = Scratch::of(folder.join("scratch")).unwrap();
    Agent::new(&cell, &devices, &book, scratch, &mut |_| {}).run().unwrap();
    (book.0.into_inner(), shown(&cell, &devices))
}

/// The cells of one repeat of a suite on one file system; none if they do not go together.
fn cells(catalogue: &Catalogue, fs: &str, suite: &str) -> Vec<Cell> {
    let options = Options {
        fs: vec![fs.into()],
        suite: suite.into(),
        lab: Lab::Virtual,
        own: None,
        machine: "modern".into(),
        disk: Some("hdd".into()),
        disk_size: None,
        kernel: "6.12".into(),
        scale: "0.01".parse::<Scale>().unwrap(),
        repeats: 1,
        seed: 1,
        conditions: Way::Fixed,
        corpus: None,
        fill: None,
        age: None,
    };
    let corpus = RealisedCorpus { name: "c".into(), tar_bytes: 10_240, bytes: 1, files: 1, ..Default::default() };
    let plan = mountmark_plan::plan(catalogue, &options, &mut |_| Ok(("/c.tar".into(), corpus.clone())));
    plan.map(|plan| plan.whole().cells).unwrap_or_default()
}

#[test]
fn what_starts_is_what_a_dry_run_shows() {
    let catalogue = Catalogue::built_in().unwrap();
    let folder = tempfile::tempdir_in(super::base_folder()).unwrap();
    let (mut seen, mut repaired, mut stacked, mut again, mut over) = (0, 0, 0, 0, 0);
    let plain = catalogue.list::<mountmark_model::FileSystem>().map(|fs| fs.name.clone());
    // Each layer once, and one on another on two disks.
    let layered = catalogue.list::<Layer>().map(|layer| format!("btrfs@{}", layer.name));
    for fs in plain.chain(layered).chain(["xfs@luks@lvm:stripes=2", "overlay@ext4@luks"].map(str::to_owned)) {
        for suite in catalogue.list::<Suite>() {
            for mut cell in cells(&catalogue, &fs, &suite.name) {
                let layers = cell.configuration.layers.len();
                let refused = |task: &Task| crate::engine::refusal(task.workload.as_ref()?, &cell.parameters);
                assert_eq!(cell.tasks.iter().find_map(refused), None, "{}", suite.name);
                for is_mounted in [false, true] {
                    cell.is_mounted = is_mounted;
                    if is_mounted
                        && (layers > 0
                            || cell.configuration.filesystem.has_own_commands()
                            || cell.tasks.iter().any(|task| task.restart.is_some()))
                    {
                        continue;
                    }
                    let (started, shown) = both(&cell, folder.path());
                    assert_eq!(started, shown, "{} on {fs}, mounted: {is_mounted}", suite.name);
                    let attached = started.iter().filter(|line| line.starts_with("cryptsetup open")).count();
                    let detached = started.iter().filter(|line| line.starts_with("cryptsetup close")).count();
                    assert_eq!(attached, detached, "{} on {fs}", suite.name);
                    let below = |program: &str| {
                        let is_of_below = |line: &&String| line.starts_with(program) && line.contains("/test-below");
                        started.iter().filter(is_of_below).count()
                    };
                    if cell.configuration.below.is_some() {
                        assert_eq!(below("mount -i -t ext4"), below("umount"), "{} on {fs}", suite.name);
                        over += usize::from(below("umount") > 1);
                    }
                    stacked += usize::from(layers == 2);
                    again += usize::from(attached > 1);
                    seen += 1;
                    repaired +=
                        usize::from(started.iter().any(|line| line.contains("fsck -") || line.contains("e2fsck -p")));
                }
            }
        }
    }
    assert!(seen > 200 && repaired > 5 && stacked > 5 && again > 0, "{seen} {repaired} {stacked} {again}");
    assert!(over > 5, "{over}");
}
