//! Where a kernel of the user's own lies: the ways in which builds and distributions lay out an image and its modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::super::modules;

/// What a file of a module ends with, plain or packed.
const ENDINGS: [&str; 4] = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"];
/// What an installation of modules has beside the modules; each alone tells that a folder is one.
const MARKS: [&str; 3] = ["modules.builtin", "modules.order", "modules.dep"];
/// Folders of an installation that hold modules, the first the most preferred.
const FOLDERS: [&str; 4] = ["updates", "extra", "kernel", "weak-updates"];
/// Where installed modules lie below a root, each in a folder of its release's name.
const INSTALLED: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Whether what stands after `--kernel` names files: everything but `host` and what Debian's kernels are called.
pub fn is_path(wanted: &str) -> bool {
    let is_debian = wanted.starts_with(|c: char| c.is_ascii_digit()) || wanted.starts_with("linux-image-");
    wanted.contains('/') || !(wanted.is_empty() || wanted == "host" || is_debian)
}

/// `PATH[,MODULES]`. A path may hold commas: the first comma that has something in front of it divides.
pub fn split(wanted: &str) -> Result<(PathBuf, Option<PathBuf>)> {
    let whole = Path::new(wanted);
    if whole.exists() || !wanted.contains(',') {
        return Ok((whole.to_owned(), None));
    }
    let parts = || wanted.match_indices(',').map(|(at, _)| (&wanted[..at], &wanted[at + 1..]));
    let found = parts().find(|(image, _)| Path::new(image).exists()).or_else(|| parts().next());
    let (image, folder) = found.context("there is a comma")?;
    if folder.is_empty() {
        bail!("--kernel {wanted}: the folder of modules is missing behind the comma");
    }
    Ok((image.into(), Some(folder.into())))
}

/// The folder that a file lies in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The images that a path stands for, the best first: itself, those of a build tree, or those of a root into which a
/// kernel was installed.
///
/// # Errors
/// Nothing is there, or a folder holds no kernel or those of several releases.
pub fn images(path: &Path) -> Result<Vec<PathBuf>> {
    let shown = path.display();
    let data = fs::metadata(path).with_context(|| {
        format!(
            "there is no kernel {shown}; --kernel takes the path of a vmlinux, a vmlinuz or a kernel's build tree, or a \
             version of Debian's such as 6.12"
        )
    })?;
    if !data.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if is_build_tree(path) {
        // Each bzImage is made of a vmlinux, so that it is never the newer one.
        let built: Vec<_> = ["vmlinux", "arch/x86/boot/bzImage"].map(|name| path.join(name)).into();
        let built: Vec<_> = built.into_iter().filter(|image| image.is_file()).collect();
        if built.is_empty() {
            bail!("the kernel's build tree {shown} has neither vmlinux nor arch/x86/boot/bzImage: build it with make");
        }
        return Ok(built);
    }
    let mut folders = vec![path.to_owned(), path.join("boot")];
    for modules in INSTALLED {
        folders.extend(entries(&path.join(modules)));
    }
    let mut names: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for image in folders.iter().flat_map(|folder| entries(folder)).filter(|entry| is_image_name(entry)) {
        // Links such as /boot/vmlinuz stand for the file with the long name.
        names.insert(fs::canonicalize(&image).unwrap_or_else(|_| image.clone()), image);
    }
    let releases: BTreeSet<String> = names.keys().map(|image| release_in_name(image)).collect();
    let listed = || names.values().map(|image| image.display().to_string()).collect::<Vec<_>>().join(", ");
    match releases.len() {
        1 => Ok(names.into_values().rev().collect()),
        0 if path.join("Kconfig").is_file() => bail!(
            "the kernel's source {shown} was not built in that folder: name the one that make O=FOLDER was told, or \
             configure and build it"
        ),
        0 => bail!("the folder {shown} holds no kernel: no build tree, and no vmlinux or vmlinuz in it or its boot/"),
        _ => bail!("the folder {shown} holds several kernels; name one of them: {}", listed()),
    }
}

/// `boot/vmlinuz-RELEASE`, `lib/modules/RELEASE/vmlinuz`; nothing for `vmlinux`.
fn release_in_name(image: &Path) -> String {
    let name = name_of(image);
    let folder = folder_of(image);
    match name.get(8..) {
        Some(release) => release.to_owned(),
        None if folder.parent().is_some_and(|above| above.ends_with("lib/modules")) => name_of(folder),
        None => String::new(),
    }
}

fn is_image_name(path: &Path) -> bool {
    let name = name_of(path);
    let is_other = ["old", "sig", "hmac", "debug", "efi"].iter().any(|end| name.ends_with(&format!(".{end}")));
    (name.starts_with("vmlinux") || name.starts_with("vmlinuz") || name == "bzImage") && !is_other && path.is_file()
}

/// Whether a kernel was configured and built in this folder.
fn is_build_tree(folder: &Path) -> bool {
    let parts = ["Makefile", "Kbuild", "vmlinux", "modules.order", "include/config/auto.conf"];
    folder.join(".config").is_file() && parts.iter().any(|name| folder.join(name).is_file())
}

/// The modules of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Modules {
    /// lib/modules/RELEASE, or the build tree.
    pub folder: PathBuf,
    /// Whether they lie where they were built.
    in_tree: bool,
}

impl Modules {
    /// The modules that the user named: lib/modules/RELEASE, a folder above it, or a build tree.
    ///
    /// # Errors
    /// Nothing is there, it holds no modules, or those of another release.
    pub fn named(path: &Path, release: &str) -> Result<Modules> {
        let shown = path.display();
        if !path.is_dir() {
            let tilde = if path.starts_with("~") { "; the shell does not expand a ~ behind a comma" } else { "" };
            bail!("there is no folder of modules {shown}{tilde}");
        }
        let found = Modules::in_folder(path, release, true).with_context(|| {
            let others: Vec<String> = (INSTALLED.iter().flat_map(|name| entries(&path.join(name))))
                .map(|folder| name_of(&folder))
                .filter(|name| !name.is_empty())
                .collect();
            let has = if others.is_empty() { String::new() } else { format!(", but those of {}", others.join(", ")) };
            format!(
                "{shown} holds no modules of kernel {release}{has}; MODULES is a folder lib/modules/{release}, the root \
                 above it (INSTALL_MOD_PATH), or the kernel's build tree"
            )
        })?;
        found.check(release)?;
        Ok(found)
    }

    /// The modules that lie where an image's usually do; nothing if there are none of its release.
    pub fn beside(image: &Path, release: &str) -> Option<Modules> {
        let folder = folder_of(image);
        // A folder with an image in it may be boot/, or arch/x86/boot/ of a build tree; the last root is this machine's.
        let roots = [folder.to_owned(), folder.join(".."), folder.join("../../.."), "/".into()];
        let near = Modules::in_folder(&folder.join("modules"), release, true);
        let mut found =
            near.into_iter().chain(roots.iter().filter_map(|root| Modules::in_folder(root, release, false)));
        found.find(|modules| modules.check(release).is_ok())
    }

    /// `named`: the folder is said to hold modules, so that one with a folder kernel/ is not just any folder.
    fn in_folder(path: &Path, release: &str, named: bool) -> Option<Modules> {
        let at = |folder: PathBuf| Modules { folder, in_tree: false };
        let is_marked = |folder: &Path| MARKS.iter().any(|mark| folder.join(mark).is_file());
        if is_build_tree(path) {
            return Some(Modules { folder: path.to_owned(), in_tree: true });
        }
        let below = INSTALLED.iter().map(|name| path.join(name).join(release)).chain([path.join(release)]);
        let holds = |modules: &Modules| modules.files().is_ok_and(|files| !files.is_empty());
        let mut below = below.filter(|folder| folder.is_dir()).map(at);
        below.find(|modules| is_marked(&modules.folder) || holds(modules)).or_else(|| {
            // A kernel's source has a folder kernel/, too: only modules tell.
            Some(at(path.to_owned())).filter(|modules| is_marked(path) || (named && holds(modules)))
        })
    }

    /// Refuses modules of another release: the kernel would.
    fn check(&self, release: &str) -> Result<()> {
        let shown = self.folder.display();
        let built = fs::read_to_string(self.folder.join("include/config/kernel.release")).unwrap_or_default();
        if self.in_tree && !built.is_empty() && built.trim() != release {
            bail!("the build tree {shown} is of kernel {}, and the image is kernel {release}", built.trim());
        }
        match self.files()?.values().next() {
            Some(module) => modules::check_release(module, release),
            None => Ok(()),
        }
    }

    /// Where each module lies that is a file, by its name with underscores. Of two of one name the first counts of
    /// updates/, extra/, the kernel's own and weak-updates/, the order of depmod on distributions that use these folders.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn files(&self) -> Result<BTreeMap<String, PathBuf>> {
        let mut files: Vec<PathBuf> = if self.in_tree { self.built()? } else { self.walk()? };
        let rank = |path: &PathBuf| {
            let first = path.strip_prefix(&self.folder).ok().and_then(|path| path.iter().next()?.to_str());
            match first.filter(|_| !self.in_tree) {
                // Modules in other folders are taken for the kernel's own, as by depmod.
                Some(name) => FOLDERS.iter().position(|folder| *folder == name).unwrap_or(2),
                None => 2,
            }
        };
        files.sort_by_key(|path| (rank(path), path.clone()));
        let mut named = BTreeMap::new();
        for path in files {
            let name = name_of(&path);
            let name = name.split(".ko").next().unwrap_or_default().replace('-', "_");
            named.entry(name).or_insert(path);
        }
        Ok(named)
    }

    /// All of an installation; of a folder that does not show that it is one, no more than where modules may lie.
    fn walk(&self) -> Result<Vec<PathBuf>> {
        let is_marked = MARKS.iter().any(|mark| self.folder.join(mark).is_file());
        let mut files: Vec<_> = entries(&self.folder).into_iter().filter(|entry| is_module(entry)).collect();
        let mut folders: Vec<_> = (entries(&self.folder).into_iter())
            .filter(|entry| !entry.is_symlink() && entry.is_dir())
            .filter(|entry| is_marked || FOLDERS.iter().any(|name| entry.ends_with(name)))
            .collect();
        while let Some(folder) = folders.pop() {
            let read =
                fs::read_dir(&folder).with_context(|| format!("cannot read the modules in {}", folder.display()))?;
            for entry in read.flatten() {
                // Links to folders lead to the source and the build tree.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if is_module(&entry.path()) {
                    files.push(entry.path());
                }
            }
        }
        Ok(files)
    }

    /// What modules.order lists: a tree may hold modules of a configuration of before, too.
    fn built(&self) -> Result<Vec<PathBuf>> {
        let order = self.folder.join("modules.order");
        let text = match fs::read_to_string(&order) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.with_context(|| format!("cannot read {}", order.display()))?,
        };
        // `fs/ext4/ext4.o`; older kernels wrote `kernel/fs/ext4/ext4.ko`.
        let file = |line: &str| {
            let path = Path::new(line).with_extension("ko");
            let short = path.strip_prefix("kernel").unwrap_or(&path).to_owned();
            [path, short].iter().map(|path| self.folder.join(path)).find(|path| path.is_file())
        };
        Ok(text.lines().filter_map(file).collect())
    }

    /// Names of the modules that are part of the image; nothing if the folder does not tell.
    pub fn builtin(&self) -> Option<Vec<String>> {
        let text = fs::read_to_string(self.folder.join("modules.builtin")).ok()?;
        let stem = |line: &str| {
            line.rsplit('/').next().and_then(|name| name.split(".ko").next()).unwrap_or("").replace('-', "_")
        };
        Some(text.lines().map(stem).collect())
    }
}

fn is_module(path: &Path) -> bool {
    let name = name_of(path);
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What lies in a folder, sorted; nothing if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
