//! The drill's own environment: a cache, a user's folder, stores, and an undisturbed run.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use super::cache::{PACKAGE, entries};
use super::leftovers;
use super::moment;
use super::program::{Ended, Program};
use super::round::Target;
use crate::lab::{Figure, Results, binary};

/// Several file systems whose images are cheap.
const FILESYSTEMS: &str = "ext4,jfs";
/// As many for the host lab, whose kernel may know few.
const HOST_FILESYSTEMS: &str = "ext2,ext4";
const REPEATS: usize = 2;
/// Number of cells of a run.
pub const CELLS: usize = 2 * REPEATS;
/// Every step that a cell can have, as short as possible.
const SUITE: &str = r#"
name = "drill"
about = "small tasks to be disturbed"
room = "16 MiB"
packages = ["diffutils"]
tools = ["cmp"]

[[task]]
id = "write"
title = "write 40 files"
prepare = "mkdir work"
run = "i=0; while [ $i -lt 40 ]; do echo $i > work/$i; i=$((i+1)); done"
cleanup = "rm -r work"

[[task]]
id = "list"
title = "list"
cold = true
run = "ls -lR > /dev/null"
"#;
/// Size of the user's empty image, in bytes.
const IMAGE: usize = 4096;
/// Size of the device, in bytes.
const DEVICE: u64 = 256 << 20;

/// Why no drill is possible here.
pub fn obstacle() -> Result<(), String> {
    let started = Command::new("qemu-system-x86_64").arg("--version").output();
    started.map(drop).map_err(|error| format!("qemu-system-x86_64 cannot be started: {error}"))
}

pub struct Field {
    root: TempDir,
    /// Maximum number of guests of a run at once.
    pub jobs: u64,
    /// Why there is no host lab.
    pub host: Option<String>,
    /// A loop device of the drill.
    device: Option<String>,
    /// Why nothing can be fetched.
    pub network: Option<String>,
    /// Whether packages can be fetched again, with the same contents.
    pub can_fetch: bool,
    /// Duration of an undisturbed run: in the virtual lab, in the host lab.
    pub usual: (Duration, Duration),
    figures: BTreeMap<Figure, u64>,
}

impl Field {
    /// With a cache that shares the user's entries, and an undisturbed run.
    pub fn new(jobs: u64) -> Field {
        let root = tempfile::Builder::new().prefix("mountmark-drill-").tempdir().expect("a temporary folder");
        let unknown = (Duration::from_secs(10), Duration::from_secs(10));
        let (figures, can_fetch) = (BTreeMap::new(), false);
        let network = Some("not tried".into());
        let (host, device) = (host_obstacle(), None);
        let mut field = Field { root, jobs, host, device, network, can_fetch, usual: unknown, figures };
        for name in ["home", "tmp", "config", "out"] {
            fs::create_dir(field.path(name)).expect("a folder of the drill");
        }
        field.share_users_cache();
        fs::write(field.home().join("drill.toml"), SUITE).expect("a suite");
        fs::write(field.home().join("notes.txt"), "a user's notes").expect("a file");
        let data: Vec<u8> = (0..100_000_u32).map(|byte| byte.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
        fs::write(field.home().join("data.img"), data).expect("a file");
        fs::write(field.home().join("empty.img"), vec![0; IMAGE]).expect("a file");
        let begin = SystemTime::now();
        // Other processes may have made entries in the user's cache.
        field.leftovers(begin, true);
        // The first run makes missing entries; the second has the usual duration.
        for _ in 0..2 {
            let ended = field.undisturbed(&field.run_arguments(jobs, "whole"));
            let figures = Field::figures_of(&ended).expect("a run that nobody disturbs");
            assert!(field.figures.is_empty() || field.figures == figures, "two runs that nobody disturbed differ");
            (field.figures, field.usual.0) = (figures, ended.ran);
        }
        field.keep_used_since(begin);
        field
    }

    /// Finds out whether packages can be fetched, and how long the host lab takes.
    pub fn probe(&mut self) {
        self.forget_package();
        let images = entries(&self.cache().join("images"));
        let ended = self.undisturbed(&self.run_arguments(1, "fetched"));
        self.network = match Field::figures_of(&ended) {
            Err(wrong) => Some(wrong),
            Ok(_) if entries(&self.cache().join("images")) != images => {
                Some(format!("{PACKAGE} has another version than in the cache by now"))
            }
            Ok(figures) => (figures != self.figures).then(|| "figures differ with a package fetched anew".into()),
        };
        self.can_fetch = self.network.is_none();
        if !self.can_fetch {
            self.share_users_cache();
        }
        if self.host.is_none() {
            self.attach();
            let ended = self.undisturbed(&self.host_arguments("host", Target::Image));
            self.usual.1 = ended.ran;
            if ended.code() != 0 {
                self.host = Some(format!("a run that nobody disturbs ends with {}: {}", ended.code(), ended.said()));
            }
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The user's empty image.
    fn image(&self) -> String {
        self.home().join("empty.img").to_string_lossy().into_owned()
    }

    /// Makes the device, on a file that is not the user's.
    fn attach(&mut self) {
        let file = self.path("disk");
        fs::File::create(&file).and_then(|file| file.set_len(DEVICE)).expect("a file for a device");
        let output = Command::new("losetup").args(["--show", "-f"]).arg(&file).output();
        match output.map(|output| (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned()))
        {
            Ok((true, device)) => self.device = Some(device),
            other => self.host = Some(format!("losetup makes no device: {other:?}")),
        }
    }

    /// Takes everything from the device.
    pub fn empty_device(&self) {
        let Some(device) = &self.device else { return };
        let status = Command::new("blkdiscard").args(["-f", device]).stderr(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "{device} cannot be emptied");
    }

    /// The folder of stores named `out`.
    pub fn out(&self, out: &str) -> PathBuf {
        self.path("out").join(out)
    }

    fn suite(&self) -> String {
        self.home().join("drill.toml").to_string_lossy().into_owned()
    }

    /// A run in the virtual lab.
    pub fn run_arguments(&self, jobs: u64, out: &str) -> Vec<String> {
        let (repeats, suite) = (REPEATS.to_string(), self.suite());
        let plan = ["run", "--fs", FILESYSTEMS, "--suite", &suite, "--repeat", &repeats, "--seed", "7"];
        self.arguments(&plan, jobs, out)
    }

    /// A resumed run in the virtual lab.
    pub fn resume_arguments(&self, jobs: u64, out: &str) -> Vec<String> {
        self.arguments(&["resume", "latest"], jobs, out)
    }

    /// A run in the host lab.
    pub fn host_arguments(&self, out: &str, target: Target) -> Vec<String> {
        let (suite, repeats) = (self.suite(), REPEATS.to_string());
        let (option, place) = match target {
            Target::Image => ("--image", self.image()),
            Target::Folder => ("--image", self.path("tmp").to_string_lossy().into_owned()),
            Target::Device => ("--device", self.device.clone().unwrap_or_default()),
        };
        let plan = ["run", "--lab", "host", "--fs", HOST_FILESYSTEMS, "--no-control", "--suite", &suite];
        let plan: Vec<&str> = plan.into_iter().chain(["--repeat", &repeats, option, &place]).collect();
        self.arguments(&plan, 1, out)
    }

    fn arguments(&self, words: &[&str], jobs: u64, out: &str) -> Vec<String> {
        let (jobs, out) = (jobs.to_string(), self.out(out).to_string_lossy().into_owned());
        // The host lab runs one cell at a time, and is not asked for that.
        let jobs: &[&str] = if words.contains(&"host") { &[] } else { &["--jobs", &jobs] };
        let more = ["--verbose", "--format", "json", "--out", &out];
        words.iter().chain(jobs).chain(&more).map(|word| (*word).to_owned()).collect()
    }

    /// The program with the drill's folders; all its children can be recognised by their environment.
    pub fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(binary());
        let (name, value) = self.mark();
        command.args(arguments).env(name, value).current_dir(self.home());
        command.env("TMPDIR", self.path("tmp")).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("MOUNTMARK_CACHE", self.cache()).env_remove("MOUNTMARK_OUT").env_remove("COLUMNS");
        command
    }

    fn mark(&self) -> (&'static str, String) {
        ("DRILL_MARK", self.root.path().to_string_lossy().into_owned())
    }

    /// Runs the program undisturbed.
    pub fn undisturbed(&self, arguments: &[String]) -> Ended {
        Program::start(&mut self.command(arguments), false).wait().expect("the program ends")
    }

    /// Exit code, and output of a short command on both streams.
    pub fn say(&self, words: &[&str]) -> (i32, String) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let output = self.command(&words).stdin(Stdio::null()).output().expect("the program under test starts");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    /// The figures that a run printed, if it completed.
    pub fn figures_of(ended: &Ended) -> Result<BTreeMap<Figure, u64>, String> {
        if ended.code() != 0 {
            return Err(format!("ended with {}: {}", ended.code(), ended.said()));
        }
        let run = serde_json::from_str(&ended.stdout).map_err(|error| format!("its JSON: {error}"))?;
        let results = Results { run };
        let own =
            results.cells().iter().filter(|cell| cell["cell"].as_u64().is_some_and(|cell| cell < CELLS as u64)).count();
        if own != CELLS || results.run["status"] != "done" {
            return Err(format!("{own} cells, {}", results.run["status"]));
        }
        Ok(results.figures())
    }

    /// Differences of a run from the undisturbed one.
    pub fn compare(&self, ended: &Ended) -> Vec<String> {
        let figures = match Field::figures_of(ended) {
            Ok(figures) => figures,
            Err(wrong) => return vec![format!("taken to its end: {wrong}")],
        };
        let other = self.figures.iter().filter(|(name, bits)| figures.get(*name) != Some(*bits)).map(|(name, _)| name);
        let more = figures.keys().filter(|name| !self.figures.contains_key(*name));
        let differ: Vec<String> = other.chain(more).map(|name| format!("{name:?}")).collect();
        match differ.as_slice() {
            [] => Vec::new(),
            [first, ..] => vec![format!("{} figures differ from an undisturbed run's, first {first}", differ.len())],
        }
    }

    /// Leftovers of processes started since then. Reported once, and removed.
    pub fn leftovers(&self, since: SystemTime, take_away: bool) -> Vec<String> {
        let (name, value) = self.mark();
        let (temporary, cache) = (self.path("tmp"), self.cache());
        let mark = format!("{name}={value}");
        let (mark, root, device) = (mark.as_str(), self.root.path(), self.device.as_deref());
        let host = self.host.is_none();
        let places = leftovers::Places { mark, root, temporary: &temporary, cache: &cache, host, device, since };
        let found = leftovers::find(&places);
        if take_away && !found.is_empty() {
            leftovers::take_away(&places, &found);
        }
        found
    }

    /// The user's files, each with its size and a hash of its contents.
    pub fn users_files(&self) -> BTreeMap<String, (usize, u64)> {
        let files = fs::read_dir(self.home()).into_iter().flatten().flatten();
        let hashed = files.map(|file| {
            let bytes = fs::read(file.path()).unwrap_or_default();
            let mut hash = DefaultHasher::new();
            bytes.hash(&mut hash);
            (file.file_name().to_string_lossy().into_owned(), (bytes.len(), hash.finish()))
        });
        hashed.collect()
    }

    /// Empties the user's image again; returns whether all of the user's files are as they were before.
    pub fn empty_image(&self, users: &BTreeMap<String, (usize, u64)>) -> bool {
        let image = fs::File::options().write(true).open(self.image());
        let size = users.get("empty.img").map_or(0, |(size, _)| *size as u64);
        let is_empty = image.is_ok_and(|image| image.set_len(0).and_then(|()| image.set_len(size)).is_ok());
        is_empty && self.users_files() == *users
    }

    /// The places to watch for a program that writes into `out`.
    pub fn places<'a>(&self, cache: &'a Path, store: &'a Path, cells: usize, is_host: bool) -> moment::Places<'a> {
        let usual = if is_host { self.usual.1 } else { self.usual.0 };
        moment::Places { cache, store, cells: cells as u64, usual }
    }
}

/// Removes all traces of the drill.
impl Drop for Field {
    fn drop(&mut self) {
        let begin = Instant::now();
        let mark = format!("{}={}", self.mark().0, self.mark().1);
        while !leftovers::processes(&mark).is_empty() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").args(["-d", device]).status();
        }
    }
}

/// Why no drill of the host lab is possible here.
fn host_obstacle() -> Option<String> {
    // SAFETY: takes no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("only root may mount".into());
    }
    fs::File::open("/dev/loop-control").err().map(|error| format!("/dev/loop-control: {error}"))
}
