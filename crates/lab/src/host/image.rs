//! Places of the files that serve as disks.
//!
//! A file created here loses its name at once: its space is freed when the last process that has it open ends, in
//! whatever way. A file of the user's is used only if it is empty, and is not touched before the first cell needs it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_job::{FileId, loops};
use mountmark_model::Bytes;

use super::own::{self, OwnImage, Stamp};
use super::{contents, device, lock};

/// The default folder of images: suited for large files, and on a disk, which /tmp may not be.
pub const DEFAULT_FOLDER: &str = "/var/tmp";

/// Place of the image under test.
#[derive(Debug)]
pub enum Place {
    /// Created there for each cell.
    Folder(PathBuf),
    /// A user's file, locked while this lives.
    Own {
        /// The locked image file.
        file: File,
        /// Its original state.
        image: OwnImage,
    },
}

/// The target of `--image`.
enum Target {
    /// A folder, or the folder of a file that does not exist.
    Folder(PathBuf),
    /// A file, by its own path, with links resolved.
    File(PathBuf),
}

impl Target {
    /// Examines the argument of `--image` without opening it.
    fn find(given: Option<&Path>) -> Result<Target> {
        let path = given.unwrap_or(Path::new(DEFAULT_FOLDER));
        let name = path.display();
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Ok(target) = fs::read_link(path) {
                    bail!(
                        "--image {name} is a link to {}, which is not there; name a file, one that is to be made, or a folder",
                        target.display()
                    );
                }
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                return Target::folder(parent.unwrap_or(Path::new(".")));
            }
            Err(error) => return Err(error).with_context(|| format!("cannot look at {name}")),
        };
        if data.is_dir() {
            return Target::folder(path);
        }
        if data.file_type().is_block_device() {
            bail!(
                "--image {name} is a device; to make file systems on it, say --device {name}, after which nothing is left of what it holds"
            );
        }
        if !data.is_file() {
            bail!("--image {name} is no file; name a file or a folder");
        }
        Ok(Target::File(fs::canonicalize(path).with_context(|| format!("cannot look at {name}"))?))
    }

    fn folder(path: &Path) -> Result<Target> {
        let folder = fs::canonicalize(path)
            .with_context(|| format!("--image: there is no folder {}; make it, or name another", path.display()))?;
        if folder.starts_with("/dev") && !folder.starts_with("/dev/shm") {
            bail!("--image {}: there are devices, not files; name a file or a folder on a disk", path.display());
        }
        Ok(Target::Folder(folder))
    }
}

/// Returns the place of the disk under test, in a few words; refuses what a run would refuse, as far as that is known
/// without opening a file for writing. `needed`: as in [`Place::has_room`].
pub fn foresee(given: Option<&Path>, force: bool, needed: (u64, u64)) -> Result<String> {
    match Target::find(given)? {
        Target::Folder(folder) => {
            let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
            rustix::fs::access(&folder, access).with_context(|| cannot_make(&folder))?;
            let about = format!("a new file without a name in {}", folder.display());
            Place::Folder(folder).has_room(needed)?;
            Ok(about)
        }
        Target::File(path) => {
            let name = path.display();
            // This user may not read it; a run as root may.
            let Ok(file) = File::open(&path) else {
                return Ok(format!("the file {name}, if it is empty: this user may not read it"));
            };
            is_free(&path, &file)?;
            is_usable(&path, &file, force)?;
            let about = format!("the file {name}, emptied before each cell and given back empty");
            let image = OwnImage::of(path, &file)?;
            Place::Own { file, image }.has_room(needed)?;
            Ok(about)
        }
    }
}

impl Place {
    /// Finds and locks the argument of `--image`. `force`: data in it may be overwritten.
    pub fn find(given: Option<&Path>, force: bool) -> Result<Place> {
        match Target::find(given)? {
            Target::Folder(folder) => {
                tempfile::tempfile_in(&folder).with_context(|| cannot_make(&folder))?;
                Ok(Place::Folder(folder))
            }
            Target::File(path) => {
                let name = path.display();
                // First without the right to write: another run's guard takes note of whoever might.
                if let Ok(file) = File::open(&path) {
                    is_free(&path, &file)?;
                }
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(&path)
                    .with_context(|| format!("cannot write the image {name}; name another with --image"))?;
                if !lock::take(&file).with_context(|| format!("cannot lock the image {name}"))? {
                    bail!("{}", in_use(&path));
                }
                is_usable(&path, &file, force)?;
                let image = OwnImage::of(path, &file)?;
                Ok(Place::Own { file, image })
            }
        }
    }

    pub fn parent(&self) -> &Path {
        match self {
            Place::Folder(folder) => folder,
            Place::Own { image, .. } => image.path.parent().unwrap_or(Path::new("/")),
        }
    }

    /// An error if there is no room for an image under test and for the others, both in bytes.
    pub fn has_room(&self, (test, others): (u64, u64)) -> Result<()> {
        let folder = self.parent();
        let has_its_own = matches!(self, Place::Own { image, .. } if image.is_allocated_for(test));
        let needed = others + if has_its_own { 0 } else { test };
        let data =
            rustix::fs::statvfs(folder).with_context(|| format!("cannot ask {} for its room", folder.display()))?;
        let free = data.f_bavail * data.f_frsize;
        if free < needed {
            bail!(
                "{} has {} free and the disks of this plan need {}; name a folder on another disk with --image, or choose a smaller --scale",
                folder.display(),
                Bytes(free),
                Bytes(needed)
            );
        }
        Ok(())
    }
}

/// An error if something uses a user's file.
fn is_free(path: &Path, file: &File) -> Result<()> {
    let name = path.display();
    let id = FileId::of(file)?;
    if ["/proc", "/sys"].iter().any(|system| path.starts_with(system)) {
        bail!("the image {name} is the system's own; name a file on a disk with --image");
    }
    if device::swaps().iter().any(|swap| own::leads_to(Path::new(swap), &id)) {
        bail!(
            "the image {name} is in use as swap; take it out first (swapoff {name}), if there is memory enough, or name another \
             with --image; nothing was changed"
        );
    }
    // The guard of a run that was just killed holds it for a moment.
    let mut looks = 0..10;
    while lock::is_held(file).with_context(|| format!("cannot lock {name}"))? {
        if looks.next().is_none() {
            bail!("{}", in_use(path));
        }
        thread::sleep(Duration::from_millis(100));
    }
    if let Some(by) = device::writers_of_file(&id).first() {
        bail!(
            "the image {name} is open for writing in process {} ({}); end that first, or name another with --image; nothing was \
             changed",
            by.id,
            by.name
        );
    }
    Ok(())
}

/// An error if a user's file, which is locked, must not be used.
fn is_usable(path: &Path, file: &File, force: bool) -> Result<()> {
    let name = path.display();
    if let Some(device) = loops::device_of(&FileId::of(file)?) {
        bail!("the image {name} is in use as /dev/{device}; detach it (losetup -d /dev/{device}) or name another");
    }
    if !force && let Some(offset) = contents::first_data(file).with_context(|| format!("cannot read {name}"))? {
        let what = contents::recognise(file).unwrap_or("data");
        bail!(
            "the image {name} holds {what} (byte {offset} is not zero), which would be lost; if a killed run left it there, `mountmark clean` empties it; else name a file that does not exist, or say --force-image"
        );
    }
    Ok(())
}

/// An error if a user's file has changed since it was found: another program may have used it despite the lock.
pub fn is_as_found(file: &File, image: &OwnImage) -> Result<()> {
    let path = image.path.display();
    if !own::leads_to(&image.path, &image.id) {
        bail!("the image {path} was moved or replaced since it was looked at; nothing was changed; start again");
    }
    if Stamp::of(file)? != image.found || loops::device_of(&image.id).is_some() {
        bail!("the image {path} was used by another program since it was looked at; nothing was changed; start again");
    }
    Ok(())
}

/// Creates an unnamed, sparse image of `size` bytes in `folder`.
pub fn new_image(folder: &Path, size: u64) -> Result<File> {
    let image = || -> std::io::Result<File> {
        let file = tempfile::tempfile_in(folder)?;
        file.set_len(size)?;
        Ok(file)
    };
    image().with_context(|| format!("cannot make an image of {} in {}", Bytes(size), folder.display()))
}

fn in_use(path: &Path) -> String {
    format!(
        "the image {} is in use by another program, which has locked it (a run, a virtual machine); name another with --image",
        path.display()
    )
}

fn cannot_make(folder: &Path) -> String {
    format!("cannot make an image in {}; name a file or a folder that can be written with --image", folder.display())
}

#[cfg(test)]
mod tests;
