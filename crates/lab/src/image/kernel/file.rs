//! A kernel file: a vmlinux or a bzImage under any name, and the information in it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use goblin::elf::Elf;
use goblin::elf::header::EM_X86_64;

use super::config::Config;
use super::unpacked::Unpacked;
use crate::cache;

/// Bytes; no kernel is larger, even with debugging information.
const LARGEST: u64 = 4 << 30;
/// Limit of a packed kernel's expansion: some five times are usual, and xz reaches a thousand with zeros.
const MOST_TIMES: u64 = 64;
/// The longest symbol name (KSYM_NAME_LEN): names may share bytes.
const LONGEST_SYMBOL: usize = 512;
/// A bzImage's bytes at 0x202 (Documentation/arch/x86/boot.rst).
const BZIMAGE: &[u8] = b"HdrS";
/// The ELF note by which QEMU finds an image's entry (include/xen/interface/elfnote.h).
const XEN_ELFNOTE_PHYS32_ENTRY: u32 = 18;
/// Magic numbers of lz4, lzo, lzma and bzip2 (lib/decompress.c).
const OTHER_PACKINGS: [&[u8]; 4] = [b"\x02\x21\x4c\x18", b"\x89LZO", b"\x5d\0", b"BZh"];
/// The beginning of each kernel's first message.
const BANNER: &[u8] = b"Linux version ";
/// Prefix of the symbols of initcalls in parts that other configurations build as modules (include/linux/init.h).
const INITCALL: &str = "__initcall__kmod_";

pub struct KernelFile {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Of the whole file.
    pub sha256: String,
    kind: Kind,
}

enum Kind {
    Elf,
    /// A vmlinuz with its ELF image; `None` if that is packed in a format that only the kernel itself can unpack.
    BzImage(Option<Unpacked>),
}

impl KernelFile {
    /// Reads `path` and checks that it is a kernel for this lab's machines. A bzImage's ELF image is stored in `cache`.
    ///
    /// # Errors
    /// The file cannot be read, is no regular file, no kernel, a damaged one or one for another processor; or the cache
    /// cannot be written. Each names the file.
    pub fn read(path: &Path, cache: &Path) -> Result<KernelFile> {
        let bytes = read_regular(path, LARGEST)?;
        let sha256 = cache::sha256(&bytes);
        let kind = Kind::of(&bytes, &sha256, cache)
            .with_context(|| format!("{} is no kernel that a guest can boot", path.display()))?;
        let file = KernelFile { path: path.to_owned(), bytes, sha256, kind };
        if let Some(elf) = file.elf() {
            check_elf(elf).with_context(|| format!("{} is no kernel that a guest can boot", path.display()))?;
        }
        Ok(file)
    }

    /// The file for QEMU to start: an ELF image if it has the PVH entry, else a bzImage, which any QEMU can start; a
    /// vmlinux without the entry is returned itself.
    pub(crate) fn to_start(&self) -> &Path {
        match &self.kind {
            Kind::BzImage(Some(unpacked)) if self.has_pvh() => &unpacked.path,
            _ => &self.path,
        }
    }

    pub(crate) fn can_start(&self) -> bool {
        matches!(self.kind, Kind::BzImage(_)) || self.has_pvh()
    }

    /// The uncompressed ELF image, if it could be unpacked.
    fn elf(&self) -> Option<&[u8]> {
        match &self.kind {
            Kind::Elf => Some(&self.bytes),
            Kind::BzImage(unpacked) => unpacked.as_ref().map(|unpacked| unpacked.bytes.as_slice()),
        }
    }

    /// `uname -r`: from a bzImage's header (boot protocol 2.0, `kernel_version`), else from the kernel's first message.
    pub fn release(&self) -> Option<String> {
        match &self.kind {
            Kind::BzImage(_) => header_release(&self.bytes),
            Kind::Elf => banner_release(&self.bytes),
        }
    }

    /// Whether QEMU can start the ELF image: without this note QEMU accepts only a bzImage.
    fn has_pvh(&self) -> bool {
        let Some((bytes, elf)) = self.elf().and_then(|bytes| Some((bytes, Elf::parse(bytes).ok()?))) else {
            return false;
        };
        let mut notes = elf.iter_note_headers(bytes).into_iter().flatten().flatten();
        notes.any(|note| note.name == "Xen" && note.n_type == XEN_ELFNOTE_PHYS32_ENTRY)
    }

    /// The configuration in the image, if it was built with `CONFIG_IKCONFIG=y`.
    pub fn config(&self) -> Option<Config> {
        Config::embedded(self.elf()?)
    }

    /// The modules built into the image, by the names of their initcalls: needs Linux 5.11 or later with symbols, as in
    /// a build tree. `None` if the image does not contain them.
    pub fn builtin(&self) -> Option<Vec<String>> {
        let elf = Elf::parse(self.elf()?).ok()?;
        let names = elf.syms.iter().filter_map(|symbol| elf.strtab.get_at(symbol.st_name));
        let names = names.filter(|name| name.len() <= LONGEST_SYMBOL);
        let found: Vec<String> = names.filter_map(module_of_symbol).collect();
        (!found.is_empty()).then_some(found)
    }
}

/// Parses bytes that may be a kernel, and describes them; for fuzz tests.
///
/// # Errors
/// As [`KernelFile::read`].
pub fn parse(bytes: &[u8]) -> Result<String> {
    let kind = if bytes.starts_with(b"\x7fELF") {
        Kind::Elf
    } else {
        check_protocol(bytes)?;
        Kind::BzImage(unpack_bzimage(bytes)?.map(|bytes| Unpacked { path: PathBuf::new(), bytes }))
    };
    let file = KernelFile { path: PathBuf::new(), bytes: bytes.to_vec(), sha256: String::new(), kind };
    file.elf().map_or(Ok(()), check_elf)?;
    Ok(format!("{:?} {} {:?} {:?}", file.release(), file.can_start(), file.config(), file.builtin()))
}

/// Refuses a file that does not begin as a kernel does.
pub fn check_start(path: &Path) -> Result<()> {
    let start = read_regular(path, 0x206)?;
    Kind::check(&start).with_context(|| format!("{} is no kernel that a guest can boot", path.display()))
}

impl Kind {
    /// Whether a file that begins so may be a kernel.
    fn check(start: &[u8]) -> Result<()> {
        if start.is_empty() {
            bail!("it is empty");
        }
        if !start.starts_with(b"\x7fELF") && start.get(0x202..0x206) != Some(BZIMAGE) {
            bail!("it is neither an ELF image (vmlinux) nor a bzImage (vmlinuz)")
        }
        Ok(())
    }

    fn of(bytes: &[u8], sha256: &str, cache: &Path) -> Result<Kind> {
        Kind::check(bytes)?;
        if bytes.starts_with(b"\x7fELF") {
            return Ok(Kind::Elf);
        }
        check_protocol(bytes)?;
        let release = header_release(bytes).context("it is damaged: its header tells no release")?;
        Ok(Kind::BzImage(Unpacked::get(sha256, &release, cache, || unpack_bzimage(bytes))?))
    }
}

/// The first bytes of a regular file of plausible size: reading a FIFO would block, and a device might never end.
fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let cannot = || format!("cannot read the kernel {}", path.display());
    let data = std::fs::metadata(path).with_context(cannot)?;
    if !data.is_file() {
        bail!("the kernel {} is neither a file nor a folder", path.display());
    }
    if data.len() > LARGEST {
        bail!("{} is no kernel: it has {} bytes", path.display(), data.len());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).with_context(cannot)?;
    Ok(bytes)
}

const OTHER_PROCESSOR: &str = "it is for another processor: guests are 64-bit x86 (CONFIG_64BIT=y)";

/// Protocol 2.12 is of 2012, and shows whether there is a 64-bit kernel inside (`xloadflags`, XLF_KERNEL_64).
fn check_protocol(bytes: &[u8]) -> Result<()> {
    let word = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes(b.try_into().expect("two bytes")));
    let version = word(0x206).context("it is cut short")?;
    if version < 0x20c {
        bail!("its boot protocol {}.{} is older than Linux 3.8", version >> 8, version & 0xff);
    }
    if word(0x236).context("it is cut short")? & 1 == 0 {
        bail!(OTHER_PROCESSOR);
    }
    Ok(())
}

fn check_elf(bytes: &[u8]) -> Result<()> {
    let elf = Elf::parse(bytes).context("its ELF image is damaged or cut short")?;
    if !elf.is_64 || elf.header.e_machine != EM_X86_64 {
        bail!(OTHER_PROCESSOR);
    }
    for part in elf.program_headers.iter().filter(|part| part.p_type == goblin::elf::program_header::PT_LOAD) {
        if part.p_offset.checked_add(part.p_filesz).is_none_or(|end| end > bytes.len() as u64) {
            bail!("its ELF image is cut short");
        }
    }
    Ok(())
}

/// `ext4` for `__initcall__kmod_ext4__504_7448_ext4_init_fs6`.
fn module_of_symbol(name: &str) -> Option<String> {
    let rest = name.strip_prefix(INITCALL)?;
    let end = rest.match_indices("__").find(|(at, _)| rest[at + 2..].starts_with(|c: char| c.is_ascii_digit()))?.0;
    Some(rest[..end].to_owned())
}

fn header_release(bytes: &[u8]) -> Option<String> {
    let at = u16::from_le_bytes(bytes.get(0x20e..0x210)?.try_into().ok()?) as usize + 0x200;
    let text = bytes.get(at..)?;
    release_at_start(&text[..text.len().min(256)])
}

fn banner_release(elf: &[u8]) -> Option<String> {
    for at in memchr::memmem::find_iter(elf, BANNER) {
        let start = at + BANNER.len();
        let text = &elf[start..elf.len().min(start + 256)];
        // Format strings and drivers' texts begin alike; in the banner the builder follows the release.
        let is_followed = text.iter().position(|&byte| byte == b' ').is_some_and(|end| text[end..].starts_with(b" ("));
        if let Some(release) = release_at_start(text).filter(|_| is_followed) {
            return Some(release);
        }
    }
    None
}

/// The release at the start of a text: a digit, then characters valid in a module folder's name.
fn release_at_start(text: &[u8]) -> Option<String> {
    let end = text.iter().position(|&byte| byte == 0 || byte == b' ')?;
    let release = std::str::from_utf8(&text[..end]).ok()?;
    let is_clean = release.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    (is_clean && release.starts_with(|c: char| c.is_ascii_digit())).then(|| release.to_owned())
}

/// The ELF image inside a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length);
/// `None` if it is packed with anything but gzip, xz or zstd.
fn unpack_bzimage(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let word =
        |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")) as usize);
    let sectors = match bytes.get(0x1f1).context("it is cut short")? {
        0 => 4,
        count => *count as usize,
    };
    let start = (sectors + 1) * 512 + word(0x248).context("it is cut short")?;
    let length = word(0x24c).context("it is cut short")?;
    let payload = bytes.get(start..start + length).context("it is cut short")?;
    let mut elf = Vec::new();
    let most = LARGEST.min(MOST_TIMES * length as u64);
    let read = match payload {
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(payload).take(most).read_to_end(&mut elf),
        [0xfd, b'7', b'z', ..] => liblzma::read::XzDecoder::new(payload).take(most).read_to_end(&mut elf),
        // The kernel's build appends the unpacked length, which is no part of the zstd stream.
        [0x28, 0xb5, 0x2f, 0xfd, .., _, _, _, _] => zstd::stream::read::Decoder::new(&payload[..length - 4])
            .and_then(|decoder| decoder.single_frame().take(most).read_to_end(&mut elf)),
        // lz4, lzo, lzma, bzip2: only the kernel itself unpacks them.
        _ if OTHER_PACKINGS.iter().any(|magic| payload.starts_with(magic)) => return Ok(None),
        _ => bail!("it is damaged: what it holds is packed in no way that Linux knows"),
    };
    read.context("it is damaged")?;
    if elf.len() as u64 == most {
        bail!("it is damaged: what it holds has more than {most} bytes");
    }
    if !elf.starts_with(b"\x7fELF") {
        bail!("it is damaged: what it holds is no ELF image");
    }
    Ok(Some(elf))
}
