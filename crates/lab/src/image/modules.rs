//! Determines which kernel modules must be loaded, and in which order.
//!
//! A kernel package that is unpacked but not installed has no modules.dep, so dependencies are read from each module's
//! own `.modinfo`: `depends=`, and `softdep=pre:`, without which btrfs and xfs fail for lack of crc32c.
//!
//! Checksums and hashes are requested by the algorithm's name, `crypto-crc32c`, as the kernel does with modprobe: every
//! module with that alias goes into the image, those for special processors too. The kernel that loads them checks its
//! processor: a module for another one refuses to load (ENODEV), and of the loaded ones that with the highest priority
//! is used. So the guest's processor alone decides.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use super::kernel::Kernel;
use super::manifest;

/// Prefix of an algorithm's name, in a file system's `modules` and in aliases of kernel modules.
const ALGORITHM: &str = "crypto-";

pub struct Module {
    /// With underscores.
    pub name: String,
    /// The uncompressed ELF object.
    pub bytes: Vec<u8>,
    /// Whether the guest continues if it does not load.
    pub optional: bool,
}

/// A module that the kernel lacks.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("kernel {release} has no module {module}{detail}")]
pub struct MissingModule {
    /// `uname -r`.
    pub release: String,
    pub module: String,
    /// For a kernel given by path: the places searched, as the end of the sentence.
    pub detail: String,
}

pub struct ModuleTree {
    kernel: Kernel,
    files: BTreeMap<String, PathBuf>,
    /// Modules by the algorithm that they implement; read on first use.
    algorithms: OnceLock<BTreeMap<String, Vec<String>>>,
}

impl ModuleTree {
    pub fn open(kernel: &Kernel) -> Result<ModuleTree> {
        Ok(ModuleTree { files: kernel.module_files()?, kernel: kernel.clone(), algorithms: OnceLock::new() })
    }

    fn is_builtin(&self, name: &str) -> bool {
        self.kernel.has_builtin(name) == Some(true)
    }

    /// An error if a module is neither a file nor part of the kernel. Algorithms pass: a kernel without a module for
    /// one has it built in, as all have from 6.14 on (crc32c), or its file systems do without.
    pub fn check(&self, name: &str) -> Result<(), MissingModule> {
        if name.trim_start_matches('?').starts_with(ALGORITHM) {
            return Ok(());
        }
        let name = name.trim_start_matches('?').replace('-', "_");
        // If it is unknown whether the module is built in, the guest tries, and its mount shows.
        if self.files.contains_key(&name) || self.kernel.has_builtin(&name) != Some(false) {
            return Ok(());
        }
        Err(self.missing(name))
    }

    fn missing(&self, module: String) -> MissingModule {
        let detail = match self.kernel.modules_folder() {
            _ if !self.kernel.version.is_empty() => String::new(),
            Some(folder) => format!(": it is neither built in nor in {}", folder.display()),
            None => ": it is not built in, and no folder of modules was found (--kernel PATH,MODULES)".to_owned(),
        };
        MissingModule { release: self.kernel.release.clone(), module, detail }
    }

    /// The kernel arguments that pass a module's parameters (`nbd nbds_max=2`) if it is built in; none for a module
    /// that is loaded with them.
    pub fn arguments(&self, entry: &str) -> Vec<String> {
        let (name, parameters) = entry.split_once(' ').unwrap_or((entry, ""));
        let is_part = !self.files.contains_key(name) || self.is_builtin(name);
        parameters.split(' ').filter(|_| is_part).map(|parameter| format!("{name}.{parameter}")).collect()
    }

    /// The named modules and their dependencies, in loading order. `?` marks an optional name, and `crypto-NAME` stands
    /// for all modules that implement an algorithm.
    pub fn resolve(&self, names: &[String]) -> Result<Vec<Module>> {
        self.resolve_with(&BTreeMap::new(), names)
    }

    /// The same, with modules that are no part of the kernel, by name with underscores. What the kernel has itself counts.
    pub(crate) fn resolve_with(&self, more: &BTreeMap<String, PathBuf>, names: &[String]) -> Result<Vec<Module>> {
        let mut order = Order { tree: self, more, seen: BTreeSet::new(), modules: Vec::new() };
        for name in names {
            let plain = name.trim_start_matches('?');
            if plain.starts_with(ALGORITHM) {
                order.add_algorithm(plain)?;
            } else if plain != name {
                order.add(plain, true)?;
            } else {
                order.add(plain, false)?;
            }
        }
        Ok(order.modules)
    }

    /// The modules that implement an algorithm, given without `crypto-`: those in C and those for processors, but no
    /// device drivers.
    fn implementations(&self, algorithm: &str) -> Result<&[String]> {
        if self.algorithms.get().is_none() {
            let mut algorithms: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let is_algorithm = |path: &Path| {
                let folder = path.parent().unwrap_or(path);
                folder.ends_with("crypto") && !folder.ends_with("drivers/crypto")
            };
            for (module, path) in self.files.iter().filter(|(_, path)| is_algorithm(path)) {
                let info = modinfo(&read_module(path)?);
                let info = info.with_context(|| format!("{} is no kernel module", path.display()))?;
                for alias in info.aliases.iter().filter_map(|alias| alias.strip_prefix(ALGORITHM)) {
                    algorithms.entry(alias.to_owned()).or_default().push(module.clone());
                }
            }
            let _ = self.algorithms.set(algorithms);
        }
        let algorithms = self.algorithms.get().expect("just set");
        Ok(algorithms.get(algorithm).map_or(&[], Vec::as_slice))
    }
}

struct Order<'a> {
    tree: &'a ModuleTree,
    more: &'a BTreeMap<String, PathBuf>,
    seen: BTreeSet<String>,
    modules: Vec<Module>,
}

impl Order<'_> {
    fn add(&mut self, name: &str, optional: bool) -> Result<()> {
        let name = name.replace('-', "_");
        if self.tree.is_builtin(&name) || !self.seen.insert(name.clone()) {
            return Ok(());
        }
        let Some(path) = self.tree.files.get(&name).or_else(|| self.more.get(&name)) else {
            if optional || self.tree.check(&name).is_ok() {
                return Ok(());
            }
            bail!(self.tree.missing(name));
        };
        let bytes = read_module(path)?;
        let info = modinfo(&bytes).with_context(|| format!("{} is no kernel module", path.display()))?;
        info.check_release(path, &self.tree.kernel.release)?;
        for soft in info.soft {
            // The name of a module, or of an algorithm with or without `crypto-`.
            if self.tree.files.contains_key(&soft.replace('-', "_")) {
                self.add(&soft, true)?;
            } else {
                self.add_algorithm(&soft)?;
            }
        }
        for needed in info.depends {
            self.add(&needed, optional)?;
        }
        self.modules.push(Module { name, bytes, optional });
        Ok(())
    }

    fn add_algorithm(&mut self, name: &str) -> Result<()> {
        let tree = self.tree;
        for module in tree.implementations(name.trim_start_matches(ALGORITHM))? {
            self.add(module, true)?;
        }
        Ok(())
    }
}

/// A module's requirements and aliases.
#[derive(Debug, Default, PartialEq)]
pub struct ModInfo {
    /// The kernel release that it was built for.
    release: String,
    depends: Vec<String>,
    soft: Vec<String>,
    aliases: Vec<String>,
}

impl ModInfo {
    fn check_release(&self, path: &Path, release: &str) -> Result<()> {
        if self.release != release {
            bail!(
                "the module {} was built for kernel {}, and the image is kernel {release}, which would refuse it: build \
                 both together, or name the modules of that image",
                path.display(),
                self.release
            );
        }
        Ok(())
    }
}

/// Refuses a module of another release than the kernel's.
///
/// # Errors
/// Its release differs, or it is no module.
pub(crate) fn check_release(path: &Path, release: &str) -> Result<()> {
    let info = modinfo(&read_module(path)?).with_context(|| format!("{} is no kernel module", path.display()))?;
    info.check_release(path, release)
}

/// Parses a module's section `.modinfo`.
pub fn modinfo(bytes: &[u8]) -> Result<ModInfo> {
    let elf = goblin::elf::Elf::parse(bytes)?;
    let section = elf
        .section_headers
        .iter()
        .find(|section| elf.shdr_strtab.get_at(section.sh_name) == Some(".modinfo"))
        .context("it has no section .modinfo")?;
    let range = section.file_range().context("its section .modinfo is empty")?;
    let data = bytes.get(range).context("its section .modinfo lies outside the file")?;
    let mut info = ModInfo::default();
    for entry in data.split(|&byte| byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        match entry.split_once('=') {
            Some(("depends", list)) => {
                info.depends.extend(list.split(',').filter(|name| !name.is_empty()).map(str::to_owned))
            }
            Some(("vermagic", text)) => info.release = text.split(' ').next().unwrap_or_default().to_owned(),
            Some(("softdep", text)) => info.soft.extend(soft_dependencies(text)),
            Some(("alias", alias)) => info.aliases.push(alias.to_owned()),
            _ => {}
        }
    }
    Ok(info)
}

/// The words after `pre:` in `pre: crc32c xxhash64 post: other`.
fn soft_dependencies(text: &str) -> Vec<String> {
    let mut before = false;
    let mut names = Vec::new();
    for word in text.split_whitespace() {
        match word {
            "pre:" => before = true,
            "post:" => before = false,
            name if before => names.push(name.to_owned()),
            _ => {}
        }
    }
    names
}

fn read_module(path: &Path) -> Result<Vec<u8>> {
    let bytes = manifest::read(path)?;
    let mut plain = Vec::new();
    let unpacked = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => liblzma::read::XzDecoder::new(&bytes[..]).read_to_end(&mut plain),
        Some("zst") => {
            zstd::stream::read::Decoder::new(&bytes[..]).and_then(|mut decoder| decoder.read_to_end(&mut plain))
        }
        Some("gz") => flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain),
        _ => return Ok(bytes),
    };
    unpacked.with_context(|| format!("{} is damaged", path.display()))?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_dependencies_come_before_only() {
        assert_eq!(soft_dependencies("pre: crc32c xxhash64 post: sha256"), ["crc32c", "xxhash64"]);
        assert_eq!(soft_dependencies("post: x"), Vec::<String>::new());
        assert_eq!(soft_dependencies(""), Vec::<String>::new());
    }

    /// The modules loaded for these names, with the cached kernel.
    fn loaded(names: &[&str]) -> Option<Vec<String>> {
        let cache = crate::cache::default_folder();
        let packages = super::super::packages::Packages::new(&cache);
        if !Kernel::is_here(super::super::kernel::DEFAULT, &packages, &cache) {
            eprintln!("skipped: the cache has no kernel; a run fetches it");
            return None;
        }
        let kernel = Kernel::find(super::super::kernel::DEFAULT, &packages, &cache).unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let modules = ModuleTree::open(&kernel).unwrap().resolve(&names).unwrap();
        Some(modules.into_iter().map(|module| module.name).collect())
    }

    #[test]
    fn an_algorithm_is_all_its_implementations() {
        let Some(named) = loaded(&["crypto-crc32c"]) else { return };
        assert_eq!(named, ["crc32c_generic", "crc32c_intel"]);
        // A soft dependency has the same name; the kernel's own module crc32, which is built in, is different.
        for (module, algorithms) in [
            ("ext4", &["crc32c_generic", "crc32c_intel"][..]),
            ("f2fs", &["crc32_generic", "crc32_pclmul"]),
            ("btrfs", &["crc32c_generic", "crc32c_intel", "xxhash_generic", "blake2b_generic", "sha256_ssse3"]),
        ] {
            let all = loaded(&[module]).unwrap();
            let place = |name: &str| all.iter().position(|other| other == name);
            for name in algorithms {
                assert!(place(name).is_some_and(|at| Some(at) < place(module)), "{name} before {module}: {all:?}");
            }
        }
        assert_eq!(loaded(&["crypto-no-such"]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn rubbish_is_no_module() {
        assert!(modinfo(b"").is_err());
        assert!(modinfo(b"\x7fELF rubbish").is_err());
    }
}
