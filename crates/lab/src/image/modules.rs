//! Which kernel modules must be loaded, and in which order.
//!
//! A kernel package that was unpacked and not installed has no modules.dep, so dependencies are read from each
//! module's own `.modinfo`: `depends=`, and `softdep=pre:`, without which btrfs and xfs fail for want of crc32c.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::kernel::Kernel;

/// A module with its bytes, ready for the image.
pub struct Module {
    /// With underscores.
    pub name: String,
    /// The uncompressed ELF object.
    pub bytes: Vec<u8>,
    /// Whether the guest goes on when it does not load.
    pub optional: bool,
}

/// Why a kernel cannot load what a file system needs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("kernel {release} has no module {module}")]
pub struct MissingModule {
    /// `uname -r`.
    pub release: String,
    /// The module.
    pub module: String,
}

/// The modules of one kernel.
pub struct ModuleTree {
    release: String,
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
}

impl ModuleTree {
    /// Lists a kernel's modules.
    pub fn open(kernel: &Kernel) -> Result<ModuleTree> {
        Ok(ModuleTree {
            release: kernel.release.clone(),
            files: kernel.module_files()?,
            builtin: kernel.builtin().into_iter().collect(),
        })
    }

    /// Whether a module is there, as a file or as part of the kernel.
    pub fn check(&self, name: &str) -> Result<(), MissingModule> {
        let name = name.trim_start_matches('?').replace('-', "_");
        if self.files.contains_key(&name) || self.builtin.contains(&name) {
            return Ok(());
        }
        Err(MissingModule { release: self.release.clone(), module: name })
    }

    /// The named modules and all that they need, in the order of loading. A name after `?` may be missing.
    pub fn resolve(&self, names: &[String]) -> Result<Vec<Module>> {
        let mut order = Order { tree: self, seen: BTreeSet::new(), modules: Vec::new(), aliases: None };
        for name in names {
            match name.strip_prefix('?') {
                Some(name) => order.add(name, true)?,
                None => {
                    self.check(name)?;
                    order.add(name, false)?;
                }
            }
        }
        Ok(order.modules)
    }
}

struct Order<'a> {
    tree: &'a ModuleTree,
    seen: BTreeSet<String>,
    modules: Vec<Module>,
    aliases: Option<BTreeMap<String, String>>,
}

impl Order<'_> {
    fn add(&mut self, name: &str, optional: bool) -> Result<()> {
        let name = name.replace('-', "_");
        if self.tree.builtin.contains(&name) || !self.seen.insert(name.clone()) {
            return Ok(());
        }
        let Some(path) = self.tree.files.get(&name) else {
            if optional {
                return Ok(());
            }
            bail!(MissingModule { release: self.tree.release.clone(), module: name });
        };
        let bytes = read_module(path)?;
        let info = modinfo(&bytes).with_context(|| format!("{} is no kernel module", path.display()))?;
        for soft in info.soft {
            let name = self.resolve_alias(&soft)?;
            self.add(&name, true)?;
        }
        for needed in info.depends {
            self.add(&needed, optional)?;
        }
        self.modules.push(Module { name, bytes, optional });
        Ok(())
    }

    /// A soft dependency may be the name of an algorithm (`crc32c`, `crypto-crc32c`), which modules of crypto/ claim
    /// by alias.
    fn resolve_alias(&mut self, name: &str) -> Result<String> {
        let name = name.trim_start_matches("crypto-");
        let plain = name.replace('-', "_");
        if self.tree.files.contains_key(&plain) || self.tree.builtin.contains(&plain) {
            return Ok(plain);
        }
        if self.aliases.is_none() {
            let mut aliases = BTreeMap::new();
            for (module, path) in &self.tree.files {
                if path.parent().is_some_and(|folder| folder.ends_with("kernel/crypto")) {
                    for alias in modinfo(&read_module(path)?).map(|info| info.aliases).unwrap_or_default() {
                        aliases.insert(alias.trim_start_matches("crypto-").to_owned(), module.clone());
                    }
                }
            }
            self.aliases = Some(aliases);
        }
        Ok(self.aliases.as_ref().and_then(|aliases| aliases.get(name)).cloned().unwrap_or(plain))
    }
}

#[derive(Debug, Default, PartialEq)]
struct ModInfo {
    depends: Vec<String>,
    soft: Vec<String>,
    aliases: Vec<String>,
}

fn modinfo(bytes: &[u8]) -> Result<ModInfo> {
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
            Some(("softdep", text)) => info.soft.extend(soft_dependencies(text)),
            Some(("alias", alias)) => info.aliases.push(alias.to_owned()),
            _ => {}
        }
    }
    Ok(info)
}

/// `pre: crc32c xxhash64 post: other` gives what stands after `pre:`.
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
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
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

    #[test]
    fn rubbish_is_no_module() {
        assert!(modinfo(b"").is_err());
        assert!(modinfo(b"\x7fELF rubbish").is_err());
    }
}
