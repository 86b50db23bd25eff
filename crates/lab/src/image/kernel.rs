//! The guest's kernel: found, downloaded where it is a Debian package, and taken out of its compressed wrapping.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::packages::Packages;
use crate::cache;

/// The kernel used unless `--kernel` names another.
pub const DEFAULT: &str = "6.12";

/// A kernel that a guest can boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// `uname -r`, the name of its modules' folder.
    pub release: String,
    /// The uncompressed ELF image: it boots in half the time of a vmlinuz under emulation.
    pub vmlinux: PathBuf,
    /// The folder with `kernel/`, `modules.builtin` and so on.
    pub modules: PathBuf,
    /// Debian's version of its package; empty for a kernel given by path.
    pub version: String,
    /// SHA-256 of the file that was named: a kernel that is built again in its place is another one.
    pub sha256: String,
}

impl Kernel {
    /// Finds the kernel for what the user wrote after `--kernel`: a Debian version such as `6.12` or
    /// `6.1.0-56-amd64`, a package name, `host`, or `PATH[,MODULES]` of a vmlinuz or vmlinux.
    pub fn find(wanted: &str, packages: &Packages, cache: &Path) -> Result<Kernel> {
        if wanted == "host" {
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            let image = PathBuf::from(format!("/boot/vmlinuz-{release}"));
            if !image.exists() {
                bail!("--kernel host: this machine's kernel {release} has no image {}", image.display());
            }
            return Kernel::from_files(&image, Some(Path::new(&format!("/lib/modules/{release}"))), cache);
        }
        if wanted.contains('/') {
            let (image, modules) = match wanted.split_once(',') {
                Some((image, modules)) => (image, Some(Path::new(modules))),
                None => (wanted, None),
            };
            return Kernel::from_files(Path::new(image), modules, cache);
        }
        Kernel::from_package(wanted, packages, cache)
    }

    /// Whether [`Kernel::find`] would fetch nothing.
    pub fn is_here(wanted: &str, packages: &Packages, cache: &Path) -> bool {
        let kept = fs::read_to_string(kept_name(wanted, cache));
        wanted == "host" || wanted.contains('/') || kept.is_ok_and(|name| packages.kept(&name).is_some())
    }

    /// The package that [`Kernel::find`] would fetch.
    pub fn candidate(wanted: &str, packages: &Packages) -> Result<String> {
        choose(wanted, &packages.names("linux-image-")?)
    }

    /// Where each module lies that is a file, by its name with underscores.
    pub fn module_files(&self) -> Result<std::collections::BTreeMap<String, PathBuf>> {
        let mut files = std::collections::BTreeMap::new();
        let mut folders = vec![self.modules.join("kernel")];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .with_context(|| format!("kernel {} has no folder of modules {}", self.release, folder.display()))?;
            for entry in entries.flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if let Some((name, _)) = entry.file_name().to_string_lossy().split_once(".ko") {
                    files.insert(name.replace('-', "_"), path);
                }
            }
        }
        Ok(files)
    }

    /// Names of the modules that are part of the image.
    pub fn builtin(&self) -> Vec<String> {
        let text = fs::read_to_string(self.modules.join("modules.builtin")).unwrap_or_default();
        let stem = |line: &str| {
            line.rsplit('/').next().and_then(|name| name.split(".ko").next()).unwrap_or("").replace('-', "_")
        };
        text.lines().map(stem).collect()
    }

    fn from_package(wanted: &str, packages: &Packages, cache: &Path) -> Result<Kernel> {
        let kept = kept_name(wanted, cache);
        let name = match fs::read_to_string(&kept) {
            Ok(name) => name,
            Err(_) => choose(wanted, &packages.names("linux-image-")?)?,
        };
        let package = packages.alone_kept(&name)?;
        let boot = package.folder.join("boot");
        let image = fs::read_dir(&boot)
            .with_context(|| format!("the package {name} holds no /boot"))?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with("vmlinuz-")))
            .with_context(|| format!("the package {name} holds no vmlinuz"))?;
        let release = image.file_name().unwrap_or_default().to_string_lossy().trim_start_matches("vmlinuz-").to_owned();
        let folders = ["lib/modules", "usr/lib/modules"].map(|folder| package.folder.join(folder).join(&release));
        let modules = folders.iter().find(|folder| folder.exists());
        let mut kernel = Kernel::from_files(&image, modules.map(PathBuf::as_path), cache)?;
        kernel.version = package.version;
        cache::write_whole(&kept, name.as_bytes())?;
        Ok(kernel)
    }

    fn from_files(image: &Path, modules: Option<&Path>, cache: &Path) -> Result<Kernel> {
        let mut bytes = Vec::new();
        File::open(image)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .with_context(|| format!("cannot read the kernel {}", image.display()))?;
        let release = match release_of(&bytes, image) {
            Some(release) => release,
            None => bail!(
                "cannot tell the release of the kernel {}: name it vmlinuz-RELEASE or vmlinux-RELEASE",
                image.display()
            ),
        };
        let modules = match modules {
            Some(folder) => folder.to_owned(),
            None => PathBuf::from(format!("/lib/modules/{release}")),
        };
        if !modules.join("kernel").exists() {
            bail!(
                "kernel {release} has no modules in {}; name the folder: --kernel {},MODULES",
                modules.display(),
                image.display()
            );
        }
        let sha256 = cache::sha256(&bytes);
        if bytes.starts_with(b"\x7fELF") {
            return Ok(Kernel { release, vmlinux: image.to_owned(), modules, version: String::new(), sha256 });
        }
        let key = &sha256[..16];
        let vmlinux = cache.join(format!("kernels/vmlinux-{release}-{key}"));
        // Its length, kept beside it, tells a kernel that a full disk or a careless hand has cut short.
        let noted = cache.join(format!("kernels/vmlinux-{release}-{key}.length"));
        let length = fs::metadata(&vmlinux).map(|data| data.len().to_string()).ok();
        if length.is_none() || fs::read_to_string(&noted).ok() != length {
            let elf =
                unpack_bzimage(&bytes).with_context(|| format!("cannot take the kernel out of {}", image.display()))?;
            cache::write_whole(&vmlinux, &elf)?;
            cache::write_whole(&noted, elf.len().to_string().as_bytes())?;
        }
        Ok(Kernel { release, vmlinux, modules, version: String::new(), sha256 })
    }
}

/// Remembers which package `wanted` stood for.
fn kept_name(wanted: &str, cache: &Path) -> PathBuf {
    cache.join(format!("kernels/{}.name", wanted.replace(|c: char| !c.is_ascii_alphanumeric(), "_")))
}

/// The newest signed package whose version begins with what the user wrote.
fn choose(wanted: &str, names: &[String]) -> Result<String> {
    let version_of = |name: &str| -> Option<String> {
        let version = name.strip_prefix("linux-image-")?.trim_end_matches("-unsigned").strip_suffix("-amd64")?;
        let plain =
            !version.contains("cloud") && !version.contains("rt") && version.starts_with(|c: char| c.is_ascii_digit());
        // `linux-image-6.12-amd64` would be a meta package that holds nothing.
        (plain && version.matches('.').count() >= 2).then(|| version.to_owned())
    };
    let numbers = |name: &str| -> Vec<u64> {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    let bare = wanted.trim_start_matches("linux-image-").trim_end_matches("-unsigned").trim_end_matches("-amd64");
    let matches = |version: &str| {
        version == bare || version.strip_prefix(bare).is_some_and(|rest| rest.starts_with(['.', '-', '+']))
    };
    let found = names
        .iter()
        .filter(|name| version_of(name).is_some_and(|version| matches(&version)))
        .max_by_key(|name| (numbers(name), !name.ends_with("-unsigned")));
    match found {
        Some(name) => Ok(name.clone()),
        None => {
            let mut known: Vec<String> = names.iter().filter_map(|name| version_of(name)).collect();
            known.sort_by_key(|version| numbers(version));
            known.dedup();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            bail!(
                "no Debian kernel {wanted:?}; the package lists have: {known}. Choose one of them with --kernel, add the \
                 package source that has it (6.12 is among Debian 12's security updates), or give the path of a \
                 vmlinuz or vmlinux"
            )
        }
    }
}

/// `uname -r` from a vmlinuz's header (boot protocol 2.0, `kernel_version`), or from the file's name.
fn release_of(bytes: &[u8], path: &Path) -> Option<String> {
    if bytes.get(0x202..0x206) == Some(b"HdrS") {
        let at = u16::from_le_bytes(bytes.get(0x20e..0x210)?.try_into().ok()?) as usize + 0x200;
        let text = bytes.get(at..)?;
        let end = text.iter().position(|&byte| byte == 0 || byte == b' ')?;
        return String::from_utf8(text[..end].to_vec()).ok();
    }
    let name = path.file_name()?.to_string_lossy().into_owned();
    ["vmlinux-", "vmlinuz-"].iter().find_map(|prefix| name.strip_prefix(prefix)).map(str::to_owned)
}

/// The ELF image inside a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length).
fn unpack_bzimage(bytes: &[u8]) -> Result<Vec<u8>> {
    let word =
        |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")) as usize);
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        bail!("it is neither an ELF image nor a bzImage");
    }
    let sectors = match bytes[0x1f1] {
        0 => 4,
        count => count as usize,
    };
    let start = (sectors + 1) * 512 + word(0x248).context("it is cut short")?;
    let length = word(0x24c).context("it is cut short")?;
    let payload = bytes.get(start..start + length).context("it is cut short")?;
    let mut elf = Vec::new();
    let read = match payload {
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(payload).read_to_end(&mut elf),
        [0xfd, b'7', b'z', ..] => liblzma::read::XzDecoder::new(payload).read_to_end(&mut elf),
        // The kernel's build appends the unpacked length, which is no part of the zstd stream.
        [0x28, 0xb5, 0x2f, 0xfd, .., _, _, _, _] => zstd::stream::read::Decoder::new(&payload[..length - 4])
            .and_then(|decoder| decoder.single_frame().read_to_end(&mut elf)),
        _ => bail!("its compression is none of gzip, xz and zstd; give the vmlinux"),
    };
    read.context("it is damaged")?;
    if !elf.starts_with(b"\x7fELF") {
        bail!("what it holds is no ELF image");
    }
    Ok(elf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        [
            "linux-image-6.1.0-50-amd64",
            "linux-image-6.1.0-56-amd64",
            "linux-image-6.1.0-56-rt-amd64",
            "linux-image-6.1.0-56-cloud-amd64",
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.117+deb12-amd64",
            "linux-image-6.12.117+deb12-amd64-unsigned",
            "linux-image-6.12-amd64-signed-template",
            "linux-image-amd64",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn the_newest_signed_kernel_is_chosen() {
        let choose = |wanted| choose(wanted, &names());
        assert_eq!(choose("6.12").unwrap(), "linux-image-6.12.117+deb12-amd64");
        assert_eq!(choose("6.1").unwrap(), "linux-image-6.1.0-56-amd64");
        assert_eq!(choose("6.1.0-50-amd64").unwrap(), "linux-image-6.1.0-50-amd64");
        assert_eq!(choose("linux-image-6.12.9+deb12-amd64").unwrap(), "linux-image-6.12.9+deb12-amd64");
        let error = choose("5.10").unwrap_err().to_string();
        assert!(error.contains("6.12.117+deb12") && error.contains("5.10"), "{error}");
    }

    #[test]
    fn broken_kernels_are_refused() {
        assert!(unpack_bzimage(b"").is_err());
        assert!(unpack_bzimage(&[0; 0x300]).is_err());
        let mut header = vec![0; 0x300];
        header[0x202..0x206].copy_from_slice(b"HdrS");
        header[0x24c] = 0xff;
        assert!(unpack_bzimage(&header).is_err());
    }
}
