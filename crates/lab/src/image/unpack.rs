//! Unpacks a Debian package file (deb(5): an `ar` archive that contains a tar of the package's files).
//!
//! This is done in this process and not by dpkg-deb, which goes on for seconds after its parent was killed.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tar::EntryType;

use crate::child;

/// Bytes of an `ar` member's header: name 16, time 12, owner 6, group 6, mode 8, length 10, end 2.
const HEADER: usize = 60;

/// Unpacks the files and links of the package `deb` below `folder`, owned by this user, with their permissions.
///
/// # Errors
/// A file that is not a package, is damaged or truncated; no room; an interrupt by the user. Files unpacked so far
/// stay.
pub fn unpack(deb: &Path, folder: &Path) -> Result<()> {
    let failed = || format!("cannot unpack {}", deb.display());
    let mut file = BufReader::new(File::open(deb).with_context(failed)?);
    let (name, length) = find_data(&mut file).with_context(failed)?;
    let data = file.take(length);
    let stream: Box<dyn Read> = match name.strip_prefix("data.tar").unwrap_or_default() {
        "" => Box::new(data),
        ".gz" => Box::new(flate2::read::MultiGzDecoder::new(data)),
        ".xz" => Box::new(liblzma::read::XzDecoder::new(data)),
        ".zst" => Box::new(zstd::stream::read::Decoder::new(data).with_context(failed)?),
        other => bail!("cannot unpack {}: its compression {other} is not known", deb.display()),
    };
    fs::create_dir_all(folder).with_context(failed)?;
    let mut archive = tar::Archive::new(stream);
    for entry in archive.entries().with_context(failed)? {
        if child::is_interrupted() {
            bail!(child::Ended::Interrupted("unpacking".into()));
        }
        let mut entry = entry.with_context(failed)?;
        let kind = entry.header().entry_type();
        // Folders are created with their contents; the lab needs no devices.
        if !matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::Link | EntryType::Symlink) {
            continue;
        }
        entry.set_preserve_mtime(false);
        if !entry.unpack_in(folder).with_context(failed)? {
            bail!("cannot unpack {}: it holds {:?}, which leads out of it", deb.display(), entry.path_bytes());
        }
    }
    Ok(())
}

/// Seeks to the package's files; returns the member's name and length.
fn find_data(deb: &mut impl Read) -> Result<(String, u64)> {
    let mut magic = [0; 8];
    deb.read_exact(&mut magic).context("it is cut short")?;
    if &magic != b"!<arch>\n" {
        bail!("it is no Debian package");
    }
    loop {
        let mut header = [0; HEADER];
        deb.read_exact(&mut header).context("it has no files, or is cut short")?;
        let field = |from: usize, to: usize| String::from_utf8_lossy(&header[from..to]).trim().to_owned();
        let name = field(0, 16).trim_end_matches('/').to_owned();
        let length: u64 = field(48, 58).parse().ok().filter(|_| &header[58..] == b"`\n").context("it is damaged")?;
        if name.starts_with("data.tar") {
            return Ok((name, length));
        }
        // Members begin at even offsets.
        let skip = length + length % 2;
        if io::copy(&mut deb.by_ref().take(skip), &mut io::sink())? != skip {
            bail!("it is cut short");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::deb;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The tar of a package with a program, a link to it, a hard link, and a folder without permissions.
    fn data() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_mode(0);
        header.set_size(0);
        tar.append_data(&mut header, "./usr/", io::empty()).unwrap();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o4755);
        header.set_size(7);
        tar.append_data(&mut header, "./usr/bin/prog", &b"program"[..]).unwrap();
        header.set_size(0);
        for (kind, name, target) in
            [(EntryType::Symlink, "./usr/bin/link", "prog"), (EntryType::Link, "./usr/bin/same", "./usr/bin/prog")]
        {
            header.set_entry_type(kind);
            tar.append_link(&mut header, name, target).unwrap();
        }
        tar.into_inner().unwrap()
    }

    fn unpacked(members: &[(&str, &[u8])]) -> Result<tempfile::TempDir> {
        let folder = tempfile::tempdir().unwrap();
        unpack(deb(members).path(), folder.path())?;
        Ok(folder)
    }

    #[test]
    fn files_links_and_second_names_come_out() {
        let mut xz = Vec::new();
        liblzma::read::XzEncoder::new(&data()[..], 1).read_to_end(&mut xz).unwrap();
        let zst = zstd::encode_all(&data()[..], 1).unwrap();
        let plain = data();
        for (name, data) in [("data.tar", &plain), ("data.tar.xz", &xz), ("data.tar.zst/", &zst)] {
            let folder = unpacked(&[("debian-binary", b"2.0\n"), ("control.tar", b"odd"), (name, data)]).unwrap();
            let read = |name: &str| fs::read(folder.path().join("usr/bin").join(name)).unwrap();
            assert_eq!([read("prog"), read("link"), read("same")], [b"program", b"program", b"program"], "{name}");
            let mode = fs::metadata(folder.path().join("usr/bin/prog")).unwrap().permissions().mode();
            assert_eq!(mode & 0o7000, 0, "nobody is made to run it as another user");
        }
    }

    #[test]
    fn what_is_no_package_is_refused() {
        let whole = data();
        let cut = &whole[..700];
        let cases: [&[(&str, &[u8])]; 3] =
            [&[("debian-binary", b"2.0\n")], &[("data.tar.lzma", b"")], &[("data.tar", cut)]];
        for members in cases {
            let error = format!("{:#}", unpacked(members).unwrap_err());
            assert!(error.contains("cannot unpack"), "{error}");
        }
        let text = tempfile::NamedTempFile::new().unwrap();
        fs::write(text.path(), "this is a letter").unwrap();
        let error = format!("{:#}", unpack(text.path(), &std::env::temp_dir()).unwrap_err());
        assert!(error.contains("no Debian package"), "{error}");
    }

    #[test]
    fn nothing_is_written_beside_the_folder() {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_mode(0o644);
        header.as_gnu_mut().unwrap().name[..10].copy_from_slice(b"../outside");
        header.set_cksum();
        let mut tar = tar::Builder::new(Vec::new());
        tar.append(&header, &b"x"[..]).unwrap();
        let error = unpacked(&[("data.tar", &tar.into_inner().unwrap())]).unwrap_err();
        assert!(error.to_string().contains("leads out of it"), "{error}");
    }
}
