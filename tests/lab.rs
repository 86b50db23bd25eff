//! What the tests that boot guests share: the program with folders of its own, suites, and the figures it prints.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes on a slow and busy machine: a program that hangs fails its test, not all tests.
const LIMIT: Duration = Duration::from_secs(900);

/// The program under test; `MOUNTMARK_BINARY` names another build of it, such as an installed one.
pub fn binary() -> PathBuf {
    std::env::var_os("MOUNTMARK_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_mountmark").into(), PathBuf::from)
}

/// Says on the test run's own standard error that a test is skipped. The test harness swallows what `eprintln!` says
/// in a test that passes.
pub fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr().lock(), "skipped: {test}: {reason}");
}

/// Processors that guests of running tests may keep busy.
static FREE: Mutex<Option<usize>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();

/// Processors that a test keeps busy.
pub struct Permit(usize);

impl Permit {
    /// Waits until `wanted` processors are free, or all there are.
    pub fn take(wanted: usize) -> Permit {
        let all = thread::available_parallelism().map_or(1, usize::from);
        let count = wanted.clamp(1, all);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        while *free.get_or_insert(all) < count {
            free = FREED.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free = free.map(|free| free - count);
        Permit(count)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.map(|free| free + self.0);
        FREED.notify_all();
    }
}

/// The program with a results store, temporary files and a configuration of its own. The cache is the user's, so that
/// nothing is downloaded twice.
pub struct Lab {
    folder: TempDir,
    jobs: usize,
    cache: Option<PathBuf>,
    programs: Option<PathBuf>,
    ignored: Option<libc::c_int>,
    under: Vec<String>,
    _permit: Option<Permit>,
}

impl Lab {
    /// For runs of at most `jobs` guests at once; nothing, and a word why, where there is no emulator.
    pub fn with_guests(test: &str, jobs: usize) -> Option<Lab> {
        if let Err(error) = Command::new("qemu-system-x86_64").arg("--version").output() {
            let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
            assert!(!ci, "{test}: qemu-system-x86_64 cannot be started: {error}");
            skip(test, &format!("qemu-system-x86_64 cannot be started: {error}"));
            return None;
        }
        let permit = Permit::take(jobs);
        let lab = Lab { jobs: permit.0, _permit: Some(permit), ..Lab::without_guests() };
        Some(lab)
    }

    /// For commands that start no guest.
    pub fn without_guests() -> Lab {
        let folder = tempfile::Builder::new().prefix("mountmark-test-").tempdir().expect("a temporary folder");
        for name in ["tmp", "config"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Lab { folder, jobs: 1, cache: None, programs: None, ignored: None, under: Vec::new(), _permit: None }
    }

    /// With another cache folder than the user's.
    pub fn with_cache(self, cache: &Path) -> Lab {
        Lab { cache: Some(cache.to_owned()), ..self }
    }

    /// Programs are looked for in this folder first.
    pub fn with_programs(self, folder: &Path) -> Lab {
        Lab { programs: Some(folder.to_owned()), ..self }
    }

    /// Programs are started by another one, such as `unshare`, whose words these are.
    pub fn under(self, words: &[&str]) -> Lab {
        Lab { under: words.iter().map(|word| (*word).to_owned()).collect(), ..self }
    }

    /// Programs are started with a signal ignored, as nohup does.
    pub fn ignoring(self, signal: libc::c_int) -> Lab {
        Lab { ignored: Some(signal), ..self }
    }

    /// With a cache folder of the test's own that shares what was downloaded with the user's, so that images and
    /// snapshots are made anew. The user's must have been used before.
    pub fn with_new_cache(self, name: &str) -> Lab {
        let (users, cache) = (mountmark_lab::cache::default_folder(), self.path(name));
        fs::create_dir(&cache).expect("a folder of the test");
        for name in ["apt", "closures", "kernels", "packages"] {
            std::os::unix::fs::symlink(users.join(name), cache.join(name)).expect("a link of the test");
        }
        self.with_cache(&cache)
    }

    /// A path of the test's own.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The results store's folder.
    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// The folder of temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.path("tmp")
    }

    /// Writes a suite of `tasks` (TOML) and returns its path. All suites have the same programs, so that all tests
    /// share one image and one snapshot for each file system.
    pub fn suite(&self, name: &str, tasks: &str) -> String {
        let text = format!(
            "name = \"{name}\"\nabout = \"a suite of the tests\"\nroom = \"16 MiB\"\npackages = [\"diffutils\"]\n\
             tools = [\"cmp\"]\n{tasks}"
        );
        self.write(&format!("{name}.toml"), &text)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a file of the test");
        path.to_string_lossy().into_owned()
    }

    /// `mountmark run` with these options, and those that keep it to this test's folders.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.start_run(arguments).wait()
    }

    /// As [`Lab::run`], not waited for.
    pub fn start_run(&self, arguments: &[&str]) -> Started {
        let out = self.out();
        let jobs = self.jobs.to_string();
        let mut all = vec![OsStr::new("run")];
        all.extend(arguments.iter().map(OsStr::new));
        if !arguments.contains(&"--out") {
            all.extend([OsStr::new("--out"), out.as_os_str()]);
        }
        if !arguments.contains(&"--jobs") {
            all.extend([OsStr::new("--jobs"), OsStr::new(&jobs)]);
        }
        if !arguments.contains(&"--format") {
            all.extend([OsStr::new("--format"), OsStr::new("json")]);
        }
        self.start(&all)
    }

    /// Any command line of the program.
    pub fn command(&self, arguments: &[&str]) -> Ran {
        self.start_command(arguments).wait()
    }

    /// As [`Lab::command`], not waited for.
    pub fn start_command(&self, arguments: &[&str]) -> Started {
        self.start(&arguments.iter().map(OsStr::new).collect::<Vec<_>>())
    }

    fn start(&self, arguments: &[&OsStr]) -> Started {
        let shown = arguments.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let printed = tempfile::Builder::new().prefix("printed-").tempdir_in(self.folder.path()).expect("a folder");
        let file = |name: &str| File::create(printed.path().join(name)).expect("a file of the test");
        let program = binary();
        let mut words = self.under.iter().map(OsStr::new).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).args(arguments).env("TMPDIR", self.temporary()).env("XDG_CONFIG_HOME", self.path("config"));
        command.env_remove("MOUNTMARK_OUT").env_remove("COLUMNS");
        if let Some(cache) = &self.cache {
            command.env("MOUNTMARK_CACHE", cache);
        }
        if let Some(folder) = &self.programs {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(folder.clone()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).expect("folders without a colon"));
        }
        let ignored = self.ignored;
        // SAFETY: between fork and exec only signal(2) is called. Who runs the tests may have signals ignored, too.
        unsafe {
            command.pre_exec(move || {
                for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                    libc::signal(signal, if Some(signal) == ignored { libc::SIG_IGN } else { libc::SIG_DFL });
                }
                Ok(())
            });
        }
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", binary().display()));
        Started { child, shown, printed }
    }

    /// Processes that were told a path of this test: guests, and what they need.
    pub fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        entries
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(&folder))
            .collect()
    }

    /// What lies in the folder of temporary files.
    pub fn temporary_files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.temporary()).expect("the folder of temporary files").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// A program that runs. Dropped, it is ended, and its guests with it.
pub struct Started {
    child: Child,
    shown: String,
    printed: TempDir,
}

impl Started {
    /// What it has printed on standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.printed.path().join("stderr")).unwrap_or_default()).into_owned()
    }

    /// Waits until standard error has `text`.
    pub fn wait_for(&mut self, text: &str) {
        let begin = Instant::now();
        while !self.stderr().contains(text) {
            let ended = self.child.try_wait().expect("a child").is_some() && !self.stderr().contains(text);
            assert!(!ended && begin.elapsed() < LIMIT, "{}: never said {text:?}:\n{}", self.shown, self.stderr());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: takes two numbers; the child was not waited for, so the number is still its own.
        let result = unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        assert_eq!(result, 0, "{}: cannot send signal {signal}", self.shown);
    }

    /// What tells its guests that are older than half a second: numbers of processes.
    pub fn guests(&self) -> impl Fn() -> Vec<libc::pid_t> + Send + 'static {
        let parent = self.child.id().to_string();
        move || guests_of(&parent)
    }

    /// Waits until it ends.
    pub fn wait(mut self) -> Ran {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(begin.elapsed() < LIMIT, "{} has not ended within {LIMIT:?}:\n{}", self.shown, self.stderr());
            thread::sleep(Duration::from_millis(20));
        };
        let read = |name: &str| {
            String::from_utf8_lossy(&fs::read(self.printed.path().join(name)).expect("its output")).into_owned()
        };
        Ran { status, stdout: read("stdout"), stderr: read("stderr"), shown: self.shown.clone() }
    }
}

/// Guests of the program with this number that are older than half a second.
fn guests_of(parent: &str) -> Vec<libc::pid_t> {
    let is_ours = |folder: &Path| {
        // `number (name) state parent ...`
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let (name, rest) = stat.rsplit_once(") ").unwrap_or_default();
        name.contains("(qemu-system") && rest.split(' ').nth(1) == Some(parent)
    };
    let age = |folder: &Path| fs::metadata(folder).ok()?.modified().ok()?.elapsed().ok();
    let folders = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    folders
        .filter(|folder| is_ours(folder) && age(folder).is_some_and(|age| age > Duration::from_millis(500)))
        .filter_map(|folder| folder.file_name()?.to_str()?.parse().ok())
        .collect()
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that has ended.
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    shown: String,
}

impl Ran {
    /// Its exit code; 128 and the signal's number if a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Demands an exit code.
    #[track_caller]
    pub fn ended_with(self, code: i32) -> Ran {
        assert_eq!(self.code(), code, "{}", self.text());
        self
    }

    /// Demands texts in its messages.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is missing in {}", self.text());
        }
        // The program's messages are for people: no traces, no names of types.
        for unfit in ["panicked at", "stack backtrace", "Os {", "Error("] {
            assert!(!self.stderr.contains(unfit), "{unfit:?} is in {}", self.text());
        }
    }

    /// The run that it printed as JSON.
    #[track_caller]
    pub fn results(&self) -> Results {
        match serde_json::from_str(&self.stdout) {
            Ok(run) => Results { run },
            Err(error) => panic!("{error} in the JSON of {}", self.text()),
        }
    }

    /// Everything that it said, for a failed test's message.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "mountmark {}\n{}", self.shown, self.status);
        let _ = writeln!(text, "--- stderr\n{}", self.stderr);
        let shortened: String = self.stdout.chars().take(3000).collect();
        let _ = writeln!(text, "--- stdout\n{shortened}");
        text
    }
}

/// A run as `--format json` prints it.
pub struct Results {
    pub run: Value,
}

/// What names a figure: configuration, repeat, task, iteration, metric.
pub type Figure = (String, u64, String, u64, String);

impl Results {
    /// All cells.
    pub fn cells(&self) -> &[Value] {
        self.run["cells"].as_array().expect("cells")
    }

    /// The first cell of a configuration.
    #[track_caller]
    pub fn cell(&self, configuration: &str) -> &Value {
        let mut cells = self.cells().iter();
        cells
            .find(|cell| cell["configuration"] == configuration)
            .unwrap_or_else(|| panic!("no cell of {configuration}"))
    }

    /// How a task of a configuration ended: `ok`, `skipped` or `failed`, the reason and the detail.
    #[track_caller]
    pub fn task(&self, configuration: &str, task: &str) -> (String, String, String) {
        let cell = self.cell(configuration);
        let mut tasks = cell["tasks"].as_array().expect("tasks").iter();
        let Some(found) = tasks.find(|ended| ended["task"] == task) else {
            panic!("{configuration}: {task} is not among the tasks of {cell:#}")
        };
        outcome(found)
    }

    /// Demands that a cell and these tasks of it are ok.
    #[track_caller]
    pub fn is_ok(&self, configuration: &str, tasks: &[&str]) {
        let cell = outcome(self.cell(configuration));
        assert_eq!(cell.0, "ok", "{configuration}: {cell:?}");
        for task in tasks {
            let ended = self.task(configuration, task);
            assert_eq!(ended.0, "ok", "{configuration}, {task}: {ended:?}");
        }
    }

    /// One figure of the first repeat.
    #[track_caller]
    pub fn value(&self, configuration: &str, task: &str, metric: &str) -> f64 {
        let name = (configuration.to_owned(), 0, task.to_owned(), 0, metric.to_owned());
        let bits = self.figures().get(&name).copied().unwrap_or_else(|| panic!("there is no figure {name:?}"));
        f64::from_bits(bits)
    }

    /// Every figure of the run, to the last bit.
    pub fn figures(&self) -> BTreeMap<Figure, u64> {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let number = |value: &Value| value.as_u64().expect("a whole number");
        let mut figures = BTreeMap::new();
        for sample in self.run["samples"].as_array().expect("samples") {
            let name = (
                text(&sample["configuration"]),
                number(&sample["repeat"]),
                text(&sample["task"]),
                number(&sample["iteration"]),
                text(&sample["metric"]),
            );
            let value = sample["value"].as_f64().unwrap_or_else(|| panic!("no number in {sample}"));
            assert!(figures.insert(name, value.to_bits()).is_none(), "twice: {sample}");
        }
        figures
    }
}

/// Word, reason and detail of an outcome.
pub fn outcome(ended: &Value) -> (String, String, String) {
    let text = |name: &str| ended[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("reason"), text("detail"))
}

/// Demands that `other` has all figures of `one`, equal to the last bit.
#[track_caller]
pub fn assert_has_figures(one: &Results, other: &Results) {
    let (one, other) = (one.figures(), other.figures());
    assert!(!one.is_empty(), "there are no figures");
    let mut wrong = String::new();
    for (name, bits) in one.iter().filter(|(name, bits)| other.get(*name) != Some(*bits)) {
        let (a, b) = (f64::from_bits(*bits), other.get(name).map(|bits| f64::from_bits(*bits)));
        let _ = writeln!(wrong, "{name:?}: {a:?} and {b:?}");
    }
    assert!(wrong.is_empty(), "of {} figures these differ:\n{wrong}", one.len());
}

/// As [`assert_has_figures`], and neither run has a figure that the other lacks.
#[track_caller]
pub fn assert_equal_figures(one: &Results, other: &Results) {
    assert_has_figures(one, other);
    assert_eq!(one.figures().len(), other.figures().len());
}
