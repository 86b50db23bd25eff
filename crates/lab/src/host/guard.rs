//! The guard of a user's image: a process that outlives its run, and writes down how the run left the image.
//!
//! A killed run's last writes come after its end: the kernel unmounts, and writes dirty pages. So neither the run nor a look at
//! the clock can tell them from the user's. The guard sees the run end, waits until its device is detached, and notes the
//! file's times when nothing of the run can write it any more. `clean` empties an image with these very times alone: the
//! kernel sets the time of change, and no program can put it back. Where another program wrote meanwhile, or the guard was
//! killed too, there is no such note, and the image is left.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::{FileId, loops};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock, inotify};
use serde::{Deserialize, Serialize};

use super::own::Stamp;

/// The argument that makes this program a guard; its image is standard output.
pub(super) const ARGUMENT: &str = "host-guard";
/// What a run says that has given its image back.
const DONE: u8 = b'd';
/// How long a dead run's device may be in use by a process that hangs.
const DETACH_LIMIT: Duration = Duration::from_secs(600);
/// How long `clean` waits for a guard when the devices are detached.
const CLEAN_LIMIT: Duration = Duration::from_secs(30);
/// How often a guard looks at devices.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a file must stay as it is: longer than any clock of a kernel takes for a step.
const STILL: Duration = Duration::from_millis(50);
/// The same where times are whole seconds or pairs of them.
const STILL_COARSE: Duration = Duration::from_millis(2500);
/// How long another program may have the file open for reading beyond that; until it closes it, it might write.
const READING: Duration = Duration::from_secs(3);

/// How a run left its image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Nothing of the run could write it any more, and nobody else had.
    Ended(Stamp),
    /// Why the run's own writes cannot be told from those of others, as a sentence.
    Doubt(String),
}

/// A guard, as its run has it. Dropping it lets it write its note.
pub struct Guard {
    child: Child,
    socket: UnixStream,
}

impl Guard {
    /// The file of a journal's guard.
    pub fn path(journal: &Path) -> PathBuf {
        journal.with_extension("guard")
    }

    /// Starts one before the image is changed; it watches when this returns. `mark` begins the marks of the run's devices.
    pub fn start(journal: &Path, image: &File, mark: &str) -> Result<Guard> {
        let (mut socket, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("mountmark").arg(ARGUMENT).arg(Guard::path(journal)).arg(mark).current_dir("/").process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(image.try_clone()?).stderr(Stdio::null());
        let child = command.spawn().context("cannot start this program once more, as the guard of the image")?;
        drop(command);
        let mut ready = [0];
        socket.read_exact(&mut ready).context("the guard of the image does not start")?;
        Ok(Guard { child, socket })
    }

    /// The image has been given back: there is nothing to note.
    pub fn done(mut self) {
        let _ = self.socket.write_all(&[DONE]);
        let _ = self.child.wait();
    }
}

/// What the guard of a dead run noted; nothing if it was killed too.
///
/// # Errors
/// It still waits for the run's last writes.
pub fn note(journal: &Path) -> Result<Option<Note>> {
    let path = Guard::path(journal);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    let begin = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if begin.elapsed() > CLEAN_LIMIT {
            bail!(
                "what the run wrote last is still being written; when that has ended, `mountmark clean` looks at it again"
            );
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()))
}

/// The main function of a guard.
pub(super) fn main() -> ! {
    let arguments: Vec<_> = std::env::args_os().skip(2).collect();
    let code = match arguments.as_slice() {
        [path, mark] => live(Path::new(path), &mark.to_string_lossy()).map_or(1, |()| 0),
        _ => 2,
    };
    std::process::exit(code)
}

fn live(path: &Path, mark: &str) -> Result<()> {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let image = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut run = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut file = File::create(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    let mut watch = Watch::of(&image)?;
    run.write_all(b"r")?;
    let mut said = [0];
    // The end of the run closes its side.
    if matches!(run.read(&mut said), Ok(1..)) {
        return Ok(());
    }
    let note = ended(&image, mark, &mut watch)?;
    file.write_all(&serde_json::to_vec(&note)?)?;
    Ok(())
}

/// Waits for the end of all that the run wrote.
fn ended(image: &File, mark: &str, watch: &mut Watch) -> Result<Note> {
    // What the run and its tasks did until now.
    watch.read(Duration::ZERO)?;
    watch.forget();
    let (id, begin) = (FileId::of(image)?, Instant::now());
    let doubt = |text: &str| Ok(Note::Doubt(text.to_owned()));
    loop {
        let marks = loops::marks_of(&id);
        if marks.iter().any(|other| !other.starts_with(mark)) {
            return doubt("another program had made a device of it when the run ended");
        }
        if marks.is_empty() {
            break;
        }
        if begin.elapsed() > DETACH_LIMIT {
            return doubt("a process that hung had the run's device open for long after its end");
        }
        watch.read(LOOK_EVERY)?;
    }
    loop {
        let stamp = Stamp::of(image)?;
        let is_coarse = [stamp.changed, stamp.modified].iter().all(|time| time % 1_000_000_000 == 0);
        let until = Instant::now() + if is_coarse { STILL_COARSE } else { STILL };
        while Instant::now() < until || (watch.may_write() && !watch.written && Instant::now() < until + READING) {
            watch.read(LOOK_EVERY)?;
        }
        if watch.is_disturbed() || !loops::marks_of(&id).is_empty() {
            return doubt("another program opened it for writing as the run ended");
        }
        if Stamp::of(image)? == stamp {
            return Ok(Note::Ended(stamp));
        }
    }
}

/// What other programs do with a file. The kernel's own writes below a loop device are not seen by it.
struct Watch {
    inotify: OwnedFd,
    opened: u32,
    /// Of those, how many were closed and could not write.
    readers: u32,
    written: bool,
}

impl Watch {
    fn of(file: &File) -> Result<Watch> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let wanted = inotify::WatchFlags::OPEN | inotify::WatchFlags::MODIFY | inotify::WatchFlags::CLOSE_NOWRITE;
        inotify::add_watch(&inotify, path.as_str(), wanted)?;
        Ok(Watch { inotify, opened: 0, readers: 0, written: false })
    }

    /// Waits for so long, and reads all that comes at once: the kernel joins equal events that nobody has read.
    fn read(&mut self, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
            while let Ok(event) = reader.next() {
                let is = |flag| event.events().contains(flag);
                self.opened += u32::from(is(inotify::ReadFlags::OPEN));
                self.readers += u32::from(is(inotify::ReadFlags::CLOSE_NOWRITE));
                self.written |= is(inotify::ReadFlags::MODIFY) || is(inotify::ReadFlags::QUEUE_OVERFLOW);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], Some(&left)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn forget(&mut self) {
        (self.opened, self.readers, self.written) = (0, 0, false);
    }

    /// Whether somebody has it open who is not known to be a reader.
    fn may_write(&self) -> bool {
        self.opened > self.readers
    }

    /// Whether somebody wrote, or may.
    fn is_disturbed(&self) -> bool {
        self.written || self.may_write()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// The note of an image that `other` opens while its run ends.
    fn noted(other: impl Fn(&Path) -> File + Send + Sync, hold: Duration) -> Note {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, "data").unwrap();
        let image = File::open(&path).unwrap();
        let mut watch = Watch::of(&image).unwrap();
        let is_over = AtomicBool::new(false);
        // On a busy machine the run would end before the other has begun.
        let has_begun = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(other(&path));
                has_begun.wait();
                while !is_over.load(Ordering::SeqCst) {
                    let file = other(&path);
                    thread::sleep(hold);
                    drop(file);
                    thread::sleep(Duration::from_millis(5));
                }
            });
            has_begun.wait();
            let note = ended(&image, "none", &mut watch);
            is_over.store(true, Ordering::SeqCst);
            note.unwrap()
        })
    }

    #[test]
    fn who_only_reads_is_waited_for_and_who_may_write_is_a_doubt() {
        let read = noted(|path| File::open(path).unwrap(), Duration::from_millis(200));
        assert!(matches!(read, Note::Ended(_)), "{read:?}");
        let written = noted(|path| OpenOptions::new().write(true).open(path).unwrap(), Duration::from_millis(5));
        assert!(matches!(&written, Note::Doubt(why) if why.contains("opened it for writing")), "{written:?}");
    }
}
