//! Finds a user's own kernel: the ways in which builds and distributions lay out an image and its modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::super::modules;
use super::debian;

/// File name endings of modules, plain or packed.
const ENDINGS: [&str; 4] = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"];
/// Files beside the modules of an installation; each alone identifies its folder.
const MARKS: [&str; 3] = ["modules.builtin", "modules.order", "modules.dep"];
/// Folders of an installation that hold modules, in order of preference.
const FOLDERS: [&str; 4] = ["updates", "extra", "kernel", "weak-updates"];
/// Folders below a root in which installed modules are, each in a folder of its release's name.
const INSTALLED: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Whether the argument of `--kernel` names files: anything but `host` and the names of Debian's kernels.
pub fn is_path(wanted: &str) -> bool {
    let is_debian = wanted.starts_with(|c: char| c.is_ascii_digit()) || wanted.starts_with("linux-image-");
    wanted.contains('/') || !(wanted.is_empty() || wanted == "host" || is_debian || debian::in_suite(wanted).is_some())
}

/// Splits `PATH[,MODULES]`. A path may contain commas: the first comma with text before it splits.
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

/// The folder of a file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The candidate images at a path, the best first: the file itself, those of a build tree, or those of a root into
/// which a kernel was installed.
///
/// # Errors
/// Nothing is there, or a folder holds no kernel or kernels of several releases.
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
        // A bzImage is made from the vmlinux, so it is never newer.
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
        // Links such as /boot/vmlinuz resolve to the file with the long name.
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

/// The release in `boot/vmlinuz-RELEASE` or `lib/modules/RELEASE/vmlinuz`; empty for `vmlinux`.
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
    /// Whether they are in the build tree.
    in_tree: bool,
}

impl Modules {
    /// The modules that the user named: lib/modules/RELEASE, a folder above it, or a build tree.
    ///
    /// # Errors
    /// Nothing is there, or it holds no modules, or those of another release.
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

    /// The modules at the usual places for an image; `None` if there are none of its release.
    pub fn beside(image: &Path, release: &str) -> Option<Modules> {
        let folder = folder_of(image);
        // A folder with an image may be boot/, or arch/x86/boot/ of a build tree; the last root is this machine's.
        let roots = [folder.to_owned(), folder.join(".."), folder.join("../../.."), "/".into()];
        let near = Modules::in_folder(&folder.join("modules"), release, true);
        let mut found =
            near.into_iter().chain(roots.iter().filter_map(|root| Modules::in_folder(root, release, false)));
        found.find(|modules| modules.check(release).is_ok())
    }

    /// `named`: the user named the folder as one of modules, so that kernel/ in it counts as such.
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
            // Kernel sources have a folder kernel/, too, so only modules prove it.
            Some(at(path.to_owned())).filter(|modules| is_marked(path) || (named && holds(modules)))
        })
    }

    /// Refuses modules of another release, which the kernel would not load.
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

    /// The file of each module, by its name with underscores. For duplicate names the order is updates/, extra/, the
    /// kernel's own, weak-updates/, that of depmod on distributions that use these folders.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn files(&self) -> Result<BTreeMap<String, PathBuf>> {
        let mut files: Vec<PathBuf> = if self.in_tree { self.built()? } else { self.walk()? };
        let rank = |path: &PathBuf| {
            let first = path.strip_prefix(&self.folder).ok().and_then(|path| path.iter().next()?.to_str());
            match first.filter(|_| !self.in_tree) {
                // Modules in other folders count as the kernel's own, as in depmod.
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

    /// All files of an installation; in a folder without an installation's marks only the folders of modules.
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
                // Do not follow links to folders, which lead to the source and the build tree.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if is_module(&entry.path()) {
                    files.push(entry.path());
                }
            }
        }
        Ok(files)
    }

    /// The modules listed in modules.order: a tree may hold modules of an earlier configuration, too.
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

    /// Names of the modules built into the image; `None` if the folder does not list them.
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

/// Entries of a folder, sorted; empty if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
