//! The guest's kernel: a Debian kernel, downloaded, or the user's own, given by path. The ELF image is booted, unpacked
//! from its compressed wrapper, if it has an entry for emulators.

mod config;
mod debian;
mod file;
mod layout;
#[cfg(test)]
mod tests;
mod unpacked;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mountmark_job::kernel_options::{self, For, Need};

use super::packages::Packages;
pub(crate) use config::Config;
use config::Setting;
use file::KernelFile;
#[doc(hidden)]
pub use file::parse;
use layout::Modules;

/// The default of `--kernel`.
pub const DEFAULT: &str = "6.12";

#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// `uname -r`, the name of its modules' folder.
    pub release: String,
    /// The file that QEMU starts: the uncompressed ELF image, which boots in half the time of a vmlinuz under
    /// emulation, or the bzImage if QEMU cannot start the ELF image.
    pub image: PathBuf,
    /// Debian's version of its package; empty for a kernel given by path.
    pub version: String,
    /// SHA-256 of the named file: a kernel rebuilt in its place is another one.
    pub sha256: String,
    /// Whether QEMU can start `image`.
    can_start: bool,
    modules: Option<Modules>,
    /// The modules built into the image; `None` if neither its folder of modules nor its symbols list them.
    builtin: Option<Vec<String>>,
    /// Its configuration, if it could be read.
    config: Option<Config>,
}

impl Kernel {
    /// Finds the kernel for the argument of `--kernel`: a Debian version such as `6.12` or `6.1.0-56-amd64`, a package
    /// name, a suite of Debian (`sid`, `trixie:6.12`), `host`, or `PATH[,MODULES]`.
    ///
    /// PATH is a vmlinux or a vmlinuz under any name, a kernel's build tree, or a root with boot/ and lib/modules/.
    /// MODULES is lib/modules/RELEASE, a root above it, or a build tree; by default modules are searched beside the
    /// image and in this machine's /lib/modules.
    ///
    /// # Errors
    /// There is no such kernel, it cannot be fetched, or it is damaged or for other machines; its modules are another
    /// kernel's.
    pub fn find(wanted: &str, packages: &Packages, cache: &Path) -> Result<Kernel> {
        if wanted == "host" {
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            let image = PathBuf::from(format!("/boot/vmlinuz-{release}"));
            return Kernel::from_files(&[image], None, cache)
                .with_context(|| format!("--kernel host: this machine's kernel {release} cannot be a guest's"));
        }
        if layout::is_path(wanted) {
            let (path, modules) = layout::split(wanted)?;
            return Kernel::from_files(&layout::images(&path)?, modules.as_deref(), cache);
        }
        Kernel::from_package(wanted, packages, cache)
    }

    /// The kernels of a list with commas; a list that begins with a path is one kernel, as its path may have commas.
    pub fn several(wanted: &str) -> Vec<&str> {
        let all: Vec<&str> = wanted.split(',').map(str::trim).collect();
        if layout::is_path(all[0]) { vec![wanted] } else { all }
    }

    /// Refuses no name, and a kernel's path at which none is.
    ///
    /// # Errors
    /// As [`Kernel::find`], as far as it is known before anything is fetched.
    pub fn check_path(wanted: &str) -> Result<()> {
        if wanted.is_empty() {
            bail!("--kernel: a name is empty; give a version of Debian's such as 6.12, or a path");
        }
        if layout::is_path(wanted)
            && let [image] = &layout::images(&layout::split(wanted)?.0)?[..]
        {
            file::check_start(image)?;
        }
        Ok(())
    }

    /// Whether [`Kernel::find`] would fetch nothing.
    pub fn is_here(wanted: &str, packages: &Packages, cache: &Path) -> bool {
        Kernel::is_own(wanted) || debian::kept(wanted, packages, cache).is_some()
    }

    /// Whether `wanted` is this machine's kernel or the user's own, of which the cache holds no copy that could be
    /// damaged.
    pub fn is_own(wanted: &str) -> bool {
        wanted == "host" || layout::is_path(wanted)
    }

    /// The package that [`Kernel::find`] would fetch.
    pub fn candidate(wanted: &str, packages: &Packages) -> Result<String> {
        Ok(debian::find(wanted, packages)?.0)
    }

    /// Debian's kernels that can be had, oldest first, as `--kernel` takes them: those of this machine's sources, and of the
    /// suites whose lists are in the cache, with the suite. The last says whether it is in the cache.
    ///
    /// # Errors
    /// apt cannot tell.
    pub fn known(packages: &Packages) -> Result<Vec<(String, Option<String>, bool)>> {
        let mut all: Vec<(String, Option<String>, bool)> = Vec::new();
        for suite in std::iter::once(None).chain(packages.suites().into_iter().map(Some)) {
            let place = suite.as_ref().map(|suite| packages.of_suite(suite)).transpose()?;
            let names = place.as_ref().unwrap_or(packages).names(debian::IMAGES)?;
            for version in debian::in_order(&names) {
                let is_here = packages.kept(&format!("{}{version}", debian::IMAGES)).is_some();
                if all.iter().all(|(known, ..)| *known != version) {
                    all.push((version, suite.clone(), is_here));
                }
            }
        }
        all.sort_by_key(|(version, ..)| debian::numbers(version));
        Ok(all)
    }

    /// Debian's kernels that a guest can have, oldest first, as [`Kernel::find`] takes them; and which of them two words
    /// stand for.
    ///
    /// # Errors
    /// apt cannot tell, or there is no such kernel.
    pub fn offered(ends: [&str; 2], packages: &Packages, cache: &Path) -> Result<(Vec<String>, [usize; 2])> {
        let mut names = packages.names(debian::IMAGES)?;
        let suites = ends.iter().flat_map(|wanted| match debian::in_suite(wanted) {
            Some((suite, _)) => vec![suite.to_owned()],
            None => packages.suites(),
        });
        for suite in suites.collect::<BTreeSet<String>>() {
            names.extend(packages.of_suite(&suite)?.names(debian::IMAGES)?);
        }
        let kept = ends.map(|wanted| debian::kept(wanted, packages, cache));
        // One that is in the cache may be offered no longer.
        names.extend(kept.iter().flatten().cloned());
        let all = debian::in_order(&names);
        let place = |(wanted, kept): (&str, Option<String>)| {
            let name = kept.map_or_else(|| debian::choose(wanted, &names), Ok)?;
            let version = debian::in_order(&[name]);
            anyhow::Ok(all.iter().position(|one| version.first() == Some(one)).unwrap_or_default())
        };
        let [first, second] = kept;
        let places = [place((ends[0], first))?, place((ends[1], second))?];
        Ok((all, places))
    }

    /// The file of each module, by its name with underscores.
    pub(crate) fn module_files(&self) -> Result<BTreeMap<String, PathBuf>> {
        self.modules.as_ref().map_or_else(|| Ok(BTreeMap::new()), Modules::files)
    }

    pub fn modules_folder(&self) -> Option<&Path> {
        self.modules.as_ref().map(|modules| modules.folder.as_path())
    }

    /// Whether a module is built into the image; `None` if that is unknown, and the guest must try.
    pub(crate) fn has_builtin(&self, module: &str) -> Option<bool> {
        let listed = self.builtin.as_ref().map(|names| names.iter().any(|name| name == module));
        let configured = || self.config.as_ref().and_then(|config| config.has_builtin(module));
        match listed {
            Some(true) => Some(true),
            // A built-in part without an initcall is not in the symbols.
            listed => configured().or(listed),
        }
    }

    /// Options that the guest's kernel needs and this one lacks, as far as image and configuration show.
    pub fn lacking(&self) -> Vec<&'static Need> {
        let entry = (!self.can_start).then_some(&kernel_options::PVH);
        let Some(config) = &self.config else { return entry.into_iter().collect() };
        let setting = |option: &str| match config.get(option)? {
            Setting::BuiltIn => Some(true),
            Setting::Module => Some(false),
            Setting::No => None,
        };
        let lacking = kernel_options::NEEDS.iter().filter(|need| need.is_lacking(&self.release, setting));
        let table = setting("ND_BTT") == Some(false) && kernel_options::DEBUG_FS.is_lacking(&self.release, setting);
        entry.into_iter().chain(lacking).chain(table.then_some(&kernel_options::DEBUG_FS)).collect()
    }

    /// Whether its configuration is known, and has neither this option nor a module for it.
    pub(crate) fn is_without(&self, option: &str) -> bool {
        self.config.as_ref().is_some_and(|config| config.is_without(option))
    }

    /// Where its configuration was read, if it was found.
    pub fn config_from(&self) -> Option<&str> {
        self.config.as_ref().map(|config| config.from.as_str())
    }

    /// Refuses a kernel that lacks an option that such guests need.
    ///
    /// # Errors
    /// Names each missing option, and its purpose.
    pub fn check(&self, guests: &[For]) -> Result<()> {
        let lacking: Vec<_> = self.lacking().into_iter().filter(|need| guests.contains(&need.by)).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let listed: Vec<String> = lacking.iter().map(|need| format!("\n  {need}")).collect();
        let from = self.config_from().map(|from| format!(" by {from}")).unwrap_or_default();
        bail!(
            "the kernel {} lacks{from}:{}\nset them and build it again: kernel.config of Mountmark's source (docs/) or package \
             (/usr/share/doc/mountmark/examples/) has all that the lab needs, for scripts/kconfig/merge_config.sh",
            self.release,
            listed.concat()
        )
    }

    fn from_package(wanted: &str, packages: &Packages, cache: &Path) -> Result<Kernel> {
        let named = debian::in_suite(wanted).map(|(suite, _)| packages.of_suite(suite)).transpose()?;
        let (name, place) = match debian::kept(wanted, packages, cache) {
            Some(name) => (name, named),
            None => debian::find(wanted, packages)?,
        };
        let place = place.as_ref().unwrap_or(packages);
        let package = place.alone_kept(&name)?;
        // Debian's newer packages, such as that of 7.2.13, are empty, and depend on one with the image and one with the modules.
        let part = |kind: &str| place.alone_kept(&name.replacen(debian::IMAGES, &format!("linux-{kind}-"), 1));
        let (binary, modules) = match package.folder.join("boot").is_dir() {
            true => (package.folder.clone(), package.folder.clone()),
            false => (part("binary")?.folder, part("modules")?.folder),
        };
        let images = layout::images(&binary).with_context(|| {
            format!(
                "the package {name} in the cache is not whole: remove {}, so that it is fetched again",
                binary.display()
            )
        })?;
        let mut kernel = Kernel::from_files(&images, Some(&modules), cache)?;
        kernel.version = package.version;
        debian::keep(wanted, &name, cache)?;
        Ok(kernel)
    }

    /// The kernel of the first of `images`, or of a later one if QEMU can start only that.
    fn from_files(images: &[PathBuf], modules: Option<&Path>, cache: &Path) -> Result<Kernel> {
        let mut images = images.iter();
        let mut path = images.next().context("a kernel has an image")?;
        let mut file = KernelFile::read(path, cache)?;
        for other in images {
            if !file.can_start() {
                (path, file) = (other, KernelFile::read(other, cache)?);
            }
        }
        let shown = path.display();
        let release = file.release().with_context(|| {
            format!(
                "{shown} is no kernel that a guest can boot: nothing in it tells its release (\"Linux version ...\")"
            )
        })?;
        let modules = match modules {
            Some(folder) => Some(Modules::named(folder, &release)?),
            None => Modules::beside(path, &release),
        };
        let folder = modules.as_ref().map(|modules| modules.folder.as_path());
        let config = file.config().or_else(|| Config::beside(path, folder, &release));
        let builtin = modules.as_ref().and_then(Modules::builtin).or_else(|| file.builtin());
        Ok(Kernel {
            release,
            image: file.to_start().to_owned(),
            version: String::new(),
            can_start: file.can_start(),
            sha256: file.sha256,
            modules,
            builtin,
            config,
        })
    }
}

/// Why a file system does not run with a kernel that lacks an option.
pub(crate) fn built_without(release: &str, option: &str) -> String {
    format!(
        "kernel {release} was built without CONFIG_{option}, which it needs beyond its module: choose another with \
         --kernel, or build one with it"
    )
}

#[cfg(test)]
mod lists {
    use super::Kernel;

    #[test]
    fn a_list_has_kernels_of_its_own_unless_it_begins_with_a_path() {
        assert_eq!(Kernel::several("6.1, sid,vmlinux"), ["6.1", "sid", "vmlinux"]);
        assert_eq!(Kernel::several("./a,b"), ["./a,b"]);
        assert!(Kernel::check_path("6.1").is_ok() && Kernel::check_path("host").is_ok());
        assert!(Kernel::check_path("").unwrap_err().to_string().contains("a name is empty"));
        let error = format!("{:#}", Kernel::check_path("/etc/passwd").unwrap_err());
        assert!(error.contains("/etc/passwd is no kernel that a guest can boot: it is neither"), "{error}");
        let error = Kernel::check_path("/nowhere/vmlinux,/lib/modules").unwrap_err();
        assert!(format!("{error:#}").contains("there is no kernel /nowhere/vmlinux;"), "{error:#}");
    }
}
