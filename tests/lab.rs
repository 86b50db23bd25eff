//! Shared by tests that boot guests: the program with its own folders, suites, and the figures that it prints.

mod results;
mod started;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

pub use results::{Figure, Results, assert_equal_figures, assert_has_figures, outcome};
pub use started::{Ran, Started};

/// The program under test; `MOUNTMARK_BINARY` names another build of it, such as an installed one.
pub fn binary() -> PathBuf {
    std::env::var_os("MOUNTMARK_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_mountmark").into(), PathBuf::from)
}

/// Reports on the test run's own standard error that a test is skipped. The test harness hides the output of
/// `eprintln!` in a test that passes.
pub fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr().lock(), "skipped: {test}: {reason}");
}

/// Guests that may run at once beyond the number of processors. A test that may start two has one at times, and tests wait for disks
/// and checks: with as many guests as processors these were at work for four fifths of the time.
const MORE: usize = 1;

/// Number of guests that running tests may still start.
static FREE: Mutex<Option<usize>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();

/// Processors that a test uses.
pub struct Permit {
    test: String,
    count: usize,
    since: Instant,
}

impl Permit {
    /// Waits until `wanted` guests may be started, or one for each processor.
    pub fn take(test: &str, wanted: usize) -> Permit {
        let all = thread::available_parallelism().map_or(1, usize::from);
        let count = wanted.clamp(1, all);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        while *free.get_or_insert(all + MORE) < count {
            free = FREED.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free = free.map(|free| free - count);
        Permit { test: test.to_owned(), count, since: Instant::now() }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.map(|free| free + self.count);
        FREED.notify_all();
        if std::env::var_os("MOUNTMARK_TIMES").is_some() {
            let Permit { test, count, since } = self;
            let _ =
                writeln!(std::io::stderr().lock(), "held: {:.0} s x {count}: {test}", since.elapsed().as_secs_f64());
        }
    }
}

/// The program with its own results store, temporary files and configuration. The cache is the user's, so that nothing
/// is downloaded twice.
pub struct Lab {
    folder: TempDir,
    jobs: usize,
    cache: Option<PathBuf>,
    programs: Option<PathBuf>,
    ignored: Option<libc::c_int>,
    under: Vec<String>,
    takes: bool,
    slurm: Option<PathBuf>,
    _permit: Option<Permit>,
}

/// The tests may have been started with signals ignored, as what a shell leaves in the background is: the command heeds
/// them all but one.
pub fn heeding_signals(command: &mut Command, ignored: Option<i32>) {
    // SAFETY: between fork and exec only signal(2) is called.
    unsafe {
        command.pre_exec(move || {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                libc::signal(signal, if Some(signal) == ignored { libc::SIG_IGN } else { libc::SIG_DFL });
            }
            Ok(())
        });
    }
}

impl Lab {
    /// For runs of at most `jobs` guests at once; `None`, with a message, if there is no emulator.
    pub fn with_guests(test: &str, jobs: usize) -> Option<Lab> {
        if let Err(error) = Command::new("qemu-system-x86_64").arg("--version").output() {
            let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
            assert!(!ci, "{test}: qemu-system-x86_64 cannot be started: {error}");
            skip(test, &format!("qemu-system-x86_64 cannot be started: {error}"));
            return None;
        }
        let permit = Permit::take(test, jobs);
        let lab = Lab { jobs: permit.count, _permit: Some(permit), ..Lab::without_guests() };
        Some(lab)
    }

    /// For commands that start no guest.
    pub fn without_guests() -> Lab {
        let folder = tempfile::Builder::new().prefix("mountmark-test-").tempdir().expect("a temporary folder");
        for name in ["tmp", "config"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Lab {
            folder,
            jobs: 1,
            cache: None,
            programs: None,
            ignored: None,
            under: Vec::new(),
            takes: false,
            slurm: None,
            _permit: None,
        }
    }

    /// With another cache folder than the user's.
    pub fn with_cache(self, cache: &Path) -> Lab {
        Lab { cache: Some(cache.to_owned()), ..self }
    }

    /// Takes cells from shelves. Without, each test measures its own.
    pub fn taking_cells(self) -> Lab {
        Lab { takes: true, ..self }
    }

    /// Searches this folder first for programs.
    pub fn with_programs(self, folder: &Path) -> Lab {
        Lab { programs: Some(folder.to_owned()), ..self }
    }

    /// Starts programs through another one, such as `unshare`, with these words.
    pub fn under(self, words: &[&str]) -> Lab {
        Lab { under: words.iter().map(|word| (*word).to_owned()).collect(), ..self }
    }

    /// Starts programs with a signal ignored, like nohup.
    pub fn ignoring(self, signal: libc::c_int) -> Lab {
        Lab { ignored: Some(signal), ..self }
    }

    /// With the test's own cache folder, which shares downloads with the user's, so that images and snapshots are made
    /// anew. The user's must have been used before.
    pub fn with_new_cache(self, name: &str) -> Lab {
        let (users, cache) = (mountmark_lab::cache::default_folder(), self.path(name));
        fs::create_dir(&cache).expect("a folder of the test");
        for name in ["apt", "closures", "kernels", "packages"] {
            std::os::unix::fs::symlink(users.join(name), cache.join(name)).expect("a link of the test");
        }
        self.with_cache(&cache)
    }

    /// With the test's own shelf of cells in its own cache folder, which shares all else with the user's.
    pub fn with_own_cells(self, name: &str) -> Lab {
        let (users, cache) = (mountmark_lab::cache::default_folder(), self.path(name));
        fs::create_dir(&cache).expect("a folder of the test");
        for name in ["apt", "closures", "corpora", "images", "kernels", "packages", "snapshots"] {
            fs::create_dir_all(users.join(name)).expect("a folder of the cache");
            std::os::unix::fs::symlink(users.join(name), cache.join(name)).expect("a link of the test");
        }
        self.with_cache(&cache)
    }

    /// With a Slurm, by its configuration file.
    pub fn with_slurm(self, config: &Path) -> Lab {
        Lab { slurm: Some(config.to_owned()), ..self }
    }

    /// A path in the test's own folder.
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
    /// share one image and one snapshot per file system.
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

    /// `mountmark run` with these options, and those that confine it to this test's folders.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.start_run(arguments).wait()
    }

    /// Like [`Lab::run`], without waiting.
    pub fn start_run(&self, arguments: &[&str]) -> Started {
        let out = self.out();
        let jobs = self.jobs.to_string();
        let mut all = vec![OsStr::new("run")];
        all.extend(arguments.iter().map(OsStr::new));
        if !arguments.contains(&"--out") {
            all.extend([OsStr::new("--out"), out.as_os_str()]);
        }
        // One cell at a time is all that the host lab does.
        if !arguments.contains(&"--jobs") && !arguments.contains(&"host") {
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

    /// Like [`Lab::command`], without waiting.
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
        command.env("XDG_DATA_HOME", self.path("data"));
        command.env_remove("MOUNTMARK_OUT").env_remove("COLUMNS").env_remove("MOUNTMARK_SHELF");
        command.env_remove("MOUNTMARK_SHELF_KEY").env_remove("MOUNTMARK_SHELF_TRUST");
        command.env("MOUNTMARK_FRESH", if self.takes { "false" } else { "true" });
        if let Some(config) = &self.slurm {
            command.env("SLURM_CONF", config);
        }
        if let Some(cache) = &self.cache {
            command.env("MOUNTMARK_CACHE", cache);
        }
        if let Some(folder) = &self.programs {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(folder.clone()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).expect("folders without a colon"));
        }
        heeding_signals(&mut command, self.ignored);
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", binary().display()));
        Started { child, shown, printed }
    }

    /// Processes with a path of this test in their arguments: guests, and their helpers.
    pub fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        entries
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(&folder))
            .collect()
    }

    /// Names in the folder of temporary files.
    pub fn temporary_files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.temporary()).expect("the folder of temporary files").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}
