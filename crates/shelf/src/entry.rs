//! A result and its file: what was measured, under what key, where and when.

use std::cell::RefCell;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use mountmark_lab::CellKey;
use mountmark_lab::cache::sha256;
use mountmark_model::{Environment, Event, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zstd::bulk::Decompressor;
use zstd::zstd_safe;

use crate::folder;
use crate::sign::{Signed, Signer};

/// Of the file; entries of another one are not used.
const FORMAT: u32 = 1;
/// Most bytes of an entry, unpacked. Reading takes up to ten times as much memory.
const MOST: u64 = 64 << 20;
/// Most bytes of a host's name, as in Linux.
const MOST_HOST: usize = 64;
/// Digits of the figures' hash in a file's name.
const DIGITS: usize = 16;
/// The end of a file's name.
pub(crate) const SUFFIX: &str = ".cell";

/// What an agent said of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub outcome: Outcome,
    /// All but its stages, in the order in which they came.
    pub events: Vec<Event>,
}

/// Where and when it was measured. It determines no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The name of the machine.
    pub host: String,
    /// When the cell had ended, in milliseconds since 1970, by that machine's clock.
    pub at: i64,
    pub environment: Environment,
    /// The kernel's log.
    pub log: String,
}

/// A result under its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: CellKey,
    pub figures: Figures,
    pub measured: Measured,
    /// Who signed it; the signature is right.
    pub signed: Option<Signed>,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    key: Box<RawValue>,
    figures: Box<RawValue>,
    measured: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signed: Option<Signed>,
}

/// An entry's file, before it is written.
pub struct Packed {
    /// The key's hash, and that of the figures: equal doubles have one name, and different ones two.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Entry {
    /// Its file, with the signature that it has.
    pub fn pack(&self) -> Result<Packed> {
        self.pack_as(|_, _, _| self.signed.clone())
    }

    /// Its file, signed.
    pub fn pack_signed(&self, signer: &Signer) -> Result<Packed> {
        self.pack_as(|key, figures, measured| Some(signer.sign(key, figures, measured)))
    }

    fn pack_as(&self, sign: impl FnOnce(&str, &str, &str) -> Option<Signed>) -> Result<Packed> {
        let key = RawValue::from_string(self.key.parts.to_string())?;
        let figures = RawValue::from_string(serde_json::to_string(&self.figures)?)?;
        let measured = RawValue::from_string(serde_json::to_string(&self.measured)?)?;
        let signed = sign(key.get(), figures.get(), measured.get());
        let name = format!("{}-{}{SUFFIX}", self.key.sha256, &sha256(figures.get().as_bytes())[..DIGITS]);
        let text = serde_json::to_vec(&File { format: FORMAT, key, figures, measured, signed })?;
        ensure!(text.len() as u64 <= MOST, "it has more than {MOST} bytes");
        // Of what is measured, the name has a hash; of the rest, the file a sum.
        let mut packing = zstd::bulk::Compressor::new(3)?;
        packing.include_checksum(true)?;
        Ok(Packed { name, bytes: packing.compress(&text)? })
    }

    /// The entry in a file.
    ///
    /// # Errors
    /// As [`Entry::unpack`], and a file that cannot be read.
    pub fn read(path: &Path) -> Result<Entry> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Entry::unpack(name, &folder::read(path, folder::MOST)?)
    }

    /// The entry in a file of this name.
    ///
    /// # Errors
    /// It is damaged, of another format, or not what its name says.
    pub fn unpack(name: &str, bytes: &[u8]) -> Result<Entry> {
        let file = File::open(name, bytes)?;
        let measured: Measured = serde_json::from_str(file.measured.get()).context("it is damaged")?;
        let host = &measured.host;
        ensure!(host.len() <= MOST_HOST && !host.contains(char::is_control), "its host has no name of one");
        let (key_sha256, _) = hashes(name).context("its name is not that of a cell")?;
        let parts = serde_json::from_str(file.key.get()).context("it is damaged")?;
        let key = CellKey { sha256: key_sha256.to_owned(), parts };
        let figures = serde_json::from_str(file.figures.get()).context("its figures are none")?;
        Ok(Entry { key, figures, measured, signed: file.signed })
    }
}

impl File {
    /// The texts of a file of this name.
    fn open(name: &str, bytes: &[u8]) -> Result<File> {
        let (key_sha256, figures_sha256) = hashes(name).context("its name is not that of a cell")?;
        let text = unpacked(bytes)?;
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let file = serde_json::from_slice::<File>(&text);
        // Another format may have other fields.
        let format = match &file {
            Ok(file) => file.format,
            Err(_) => serde_json::from_slice::<Head>(&text).context("it is damaged")?.format,
        };
        if format != FORMAT {
            bail!("it has format {format}, and this version of Mountmark reads {FORMAT}");
        }
        let file = file.context("it is damaged")?;
        ensure!(sha256(file.figures.get().as_bytes()).starts_with(figures_sha256), "its figures were changed");
        ensure!(sha256(file.key.get().as_bytes()) == key_sha256, "its key was changed");
        if let Some(signed) = &file.signed {
            signed.check(file.key.get(), file.figures.get(), file.measured.get())?;
        }
        Ok(file)
    }
}

/// The text in a file's bytes. A run reads very many files: what unpacking takes is made once for each thread, since memory
/// that is taken and given back for each costs more than the unpacking.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>> {
    thread_local! {
        static UNPACKING: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    let size = zstd_safe::get_frame_content_size(bytes).ok().flatten().context("it is damaged")?;
    ensure!(size <= MOST, "it has more than {MOST} bytes, unpacked");
    UNPACKING.with_borrow_mut(|unpacking| {
        let unpacking = match unpacking {
            Some(unpacking) => unpacking,
            None => unpacking.insert(Decompressor::new()?),
        };
        unpacking.decompress(bytes, size as usize).context("it is damaged")
    })
}

/// The hashes of key and figures in a file's name; `None` if it is no entry's.
pub(crate) fn hashes(name: &str) -> Option<(&str, &str)> {
    let (key, figures) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (key.len() == 64 && figures.len() == DIGITS && is_hex(key) && is_hex(figures)).then_some((key, figures))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    pub fn entry(part: &str, value: f64, host: &str) -> Entry {
        let sample = |task: &str, value: f64| Event::Sample {
            task: task.into(),
            iteration: 0,
            values: BTreeMap::from([("elapsed".into(), value), ("cpu_percent".into(), 0.1 + 0.2)]),
        };
        Entry {
            key: CellKey::of(serde_json::json!({ "cell": part })),
            figures: Figures {
                outcome: Outcome::Ok,
                events: vec![sample("mkfs", 1.0), sample("untar", value), Event::Done],
            },
            measured: Measured {
                host: host.into(),
                at: 1_700_000_000_000,
                environment: Environment { build: format!("{host}-build"), ..Environment::default() },
                log: String::new(),
            },
            signed: None,
        }
    }

    /// A file with right hashes of what are no figures.
    pub fn without_figures() -> (String, Vec<u8>) {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let measured = raw(&serde_json::to_string(&entry("c", 1.0, "one").measured).unwrap());
        let file = File { format: FORMAT, key: raw("{}"), figures: raw("1"), measured, signed: None };
        let name = format!("{}-{}{SUFFIX}", sha256(b"{}"), &sha256(b"1")[..DIGITS]);
        (name, zstd::bulk::compress(&serde_json::to_vec(&file).unwrap(), 3).unwrap())
    }

    #[test]
    fn figures_come_back_to_the_bit() {
        // The second is no neighbour of what a short parser makes of its digits.
        for value in [1.0 / 3.0, 9_007_199_254_740_993.0, 2.225_073_858_507_201e-308, 0.1 + 0.7] {
            let entry = entry("a", value, "one");
            let packed = entry.pack().unwrap();
            assert_eq!(Entry::unpack(&packed.name, &packed.bytes).unwrap(), entry);
        }
    }

    #[test]
    fn a_signature_comes_back_and_a_later_change_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let signer = Signer::make(&folder.path().join("key")).unwrap();
        let entry = entry("a", 2.5, "one");
        let packed = entry.pack_signed(&signer).unwrap();
        assert_eq!(packed.name, entry.pack().unwrap().name);
        let read = Entry::unpack(&packed.name, &packed.bytes).unwrap();
        assert!(signer.public().ends_with(&read.signed.as_ref().unwrap().by));
        // As it is copied to another shelf.
        let again = read.pack().unwrap();
        assert_eq!(Entry::unpack(&again.name, &again.bytes).unwrap(), read);
        // The hashes in the name do not cover where it was measured.
        let text = String::from_utf8(zstd::bulk::decompress(&packed.bytes, 1 << 20).unwrap()).unwrap();
        let changed = text.replacen(r#""host":"one""#, r#""host":"two""#, 1);
        assert_ne!(changed, text);
        let changed = zstd::bulk::compress(changed.as_bytes(), 3).unwrap();
        let error = Entry::unpack(&packed.name, &changed).unwrap_err().to_string();
        assert!(error.contains("changed after it was signed"), "{error}");
    }

    #[test]
    fn what_was_changed_or_damaged_is_refused() {
        let entry = entry("a", 2.5, "one");
        let packed = entry.pack().unwrap();
        let told = |name: &str, bytes: &[u8]| format!("{:#}", Entry::unpack(name, bytes).unwrap_err());
        for length in [0, 1, 10, packed.bytes.len() / 2, packed.bytes.len() - 1] {
            assert!(told(&packed.name, &packed.bytes[..length]).contains("damaged"), "{length}");
        }
        let text = String::from_utf8(zstd::bulk::decompress(&packed.bytes, 1 << 20).unwrap()).unwrap();
        for (from, to, reason) in [
            ("2.5", "2.4", "figures were changed"),
            (r#""cell":"a""#, r#""cell":"b""#, "key was changed"),
            (r#""format":1"#, r#""format":2"#, "format 2"),
            (r#""host":"one""#, r#""host":1"#, "damaged"),
            (r#""host":"one""#, r#""host":"\u001b[2J""#, "its host"),
        ] {
            assert!(text.contains(from), "{from}");
            let changed = zstd::bulk::compress(text.replacen(from, to, 1).as_bytes(), 3).unwrap();
            assert!(told(&packed.name, &changed).contains(reason), "{}", told(&packed.name, &changed));
        }
        let mut flipped = packed.bytes.clone();
        // The sum at the end.
        *flipped.last_mut().unwrap() ^= 1;
        assert!(told(&packed.name, &flipped).contains("damaged"));
        let bomb = zstd::bulk::compress(&vec![b' '; (MOST + 2) as usize], 3).unwrap();
        assert!(told(&packed.name, &bomb).contains("more than"));
        for name in ["x.cell", "a-b.cell", &packed.name[1..], &packed.name.to_uppercase(), "../../etc/passwd"] {
            assert!(told(name, &packed.bytes).contains("not that of a cell"), "{name}");
        }
    }
}
