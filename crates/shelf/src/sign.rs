//! Signatures of entries: who measured them, for shelves that others can write.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use ed25519_compact::{KeyPair, PublicKey, Seed, Signature};
use mountmark_lab::cache::sha256;
use serde::{Deserialize, Serialize};

use crate::entry::Entry;

/// What stands before the digits of a key, so that the two kinds are not mistaken for each other.
const PRIVATE: &str = "mountmark-private:";
const PUBLIC: &str = "mountmark-public:";
/// Most bytes of a file with keys.
const MOST: u64 = 1 << 20;

/// A signature in an entry's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signed {
    /// The public key, in hexadecimal.
    pub by: String,
    /// In hexadecimal.
    signature: String,
}

/// Signs entries.
pub struct Signer(KeyPair);

/// Public keys, whose entries are used.
#[derive(Clone, Debug, PartialEq)]
pub struct Trust(Vec<String>);

/// What is signed: the texts of key, figures and circumstances.
fn message(key: &str, figures: &str, measured: &str) -> Vec<u8> {
    let [key, figures, measured] = [key, figures, measured].map(|text| sha256(text.as_bytes()));
    format!("mountmark cell 1\n{key}\n{figures}\n{measured}\n").into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    if is_hex { (0..text.len()).step_by(2).map(byte).collect() } else { None }
}

impl Signed {
    /// # Errors
    /// The signature is not that of these texts.
    pub(crate) fn check(&self, key: &str, figures: &str, measured: &str) -> Result<()> {
        let public = unhex(&self.by).and_then(|bytes| PublicKey::from_slice(&bytes).ok());
        let signature = unhex(&self.signature).and_then(|bytes| Signature::from_slice(&bytes).ok());
        let (Some(public), Some(signature)) = (public, signature) else { bail!("its signature is none") };
        ensure!(
            public.verify(message(key, figures, measured), &signature).is_ok(),
            "it was changed after it was signed"
        );
        Ok(())
    }
}

impl Signer {
    /// Makes a private key in a new file that only its owner can read.
    pub fn make(path: &Path) -> Result<Signer> {
        let shown = path.display();
        let mut seed = [0; Seed::BYTES];
        File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut seed)).context("/dev/urandom")?;
        let mut options = fs::OpenOptions::new();
        let mut file = match options.write(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} is there already"),
            file => file.with_context(|| format!("cannot make {shown}"))?,
        };
        let mut write =
            || file.write_all(format!("{PRIVATE}{}\n", hex(&seed)).as_bytes()).and_then(|()| file.sync_all());
        write().with_context(|| format!("cannot write {shown}"))?;
        Ok(Signer(KeyPair::from_seed(Seed::new(seed))))
    }

    /// The private key of a file.
    ///
    /// # Errors
    /// It has none, or others can read it.
    pub fn read(path: &Path) -> Result<Signer> {
        let shown = path.display();
        let text = mountmark_input::text(path, MOST).with_context(|| format!("cannot read the key {shown}"))?;
        let text = text.trim();
        if text.is_empty() {
            bail!("{shown} is empty: remove it, and `mountmark shelf key FILE` makes a key in its place");
        }
        if text.starts_with(PUBLIC) {
            bail!("{shown} has a public key, and a private one is needed to sign");
        }
        let seed = text.strip_prefix(PRIVATE).and_then(unhex).and_then(|bytes| Seed::from_slice(&bytes).ok());
        // Not every seed is one.
        let Some(pair) = seed.and_then(|seed| KeyPair::try_from_seed(seed).ok()) else {
            bail!("{shown} has no private key: `mountmark shelf key FILE` makes one in a new file");
        };
        let mode = fs::metadata(path).with_context(|| format!("cannot read the key {shown}"))?.mode();
        let word = path.to_string_lossy();
        let word = shlex::try_quote(&word).unwrap_or_default();
        ensure!(mode & 0o077 == 0, "others may read the private key {shown}: chmod 600 {word}");
        Ok(Signer(pair))
    }

    /// The public key as a line of a list begins.
    pub fn public(&self) -> String {
        format!("{PUBLIC}{}", hex(&*self.0.pk))
    }

    pub(crate) fn sign(&self, key: &str, figures: &str, measured: &str) -> Signed {
        let signature = self.0.sk.sign(message(key, figures, measured), None);
        Signed { by: hex(&*self.0.pk), signature: hex(&*signature) }
    }
}

impl Trust {
    /// The public keys of a file: one a line, with a name behind it; `#` begins a comment.
    ///
    /// # Errors
    /// A line that has none, or a list without one.
    pub fn read(path: &Path) -> Result<Trust> {
        let shown = path.display();
        let text = mountmark_input::text(path, MOST).with_context(|| format!("cannot read the keys in {shown}"))?;
        let mut keys = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let (key, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if key.is_empty() {
                continue;
            }
            if key.starts_with(PRIVATE) {
                bail!(
                    "{shown}, line {number}: this is a private key; the list has public ones, and nobody else's eyes are to see it"
                );
            }
            let bytes = key.strip_prefix(PUBLIC).and_then(unhex);
            let Some(public) = bytes.and_then(|bytes| PublicKey::from_slice(&bytes).ok()) else {
                bail!("{shown}, line {number}: no public key, such as {PUBLIC}0123... with 64 digits");
            };
            ensure!(!name.trim().is_empty(), "{shown}, line {number}: the key has no name behind it");
            keys.push(hex(&*public));
        }
        ensure!(!keys.is_empty(), "{shown} has no key: nothing could be taken");
        Ok(Trust(keys))
    }

    /// Whether somebody of the list signed it.
    pub fn takes(&self, entry: &Entry) -> bool {
        entry.signed.as_ref().is_some_and(|signed| self.has(&signed.by))
    }

    /// Whether what this key signed is used.
    pub fn has(&self, by: &str) -> bool {
        self.0.iter().any(|key| key == by)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keys_come_back_and_sign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Ann's key");
        let made = Signer::make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(Signer::make(&path).err().unwrap().to_string().contains("is there already"));
        let read = Signer::read(&path).unwrap();
        assert_eq!(read.public(), made.public());
        let signed = made.sign("key", "figures", "measured");
        signed.check("key", "figures", "measured").unwrap();
        for (key, figures, measured) in [
            ("x", "figures", "measured"),
            ("key", "x", "measured"),
            ("key", "figures", "x"),
            ("keyf", "igures", "measured"),
        ] {
            assert!(signed.check(key, figures, measured).is_err());
        }
        let other = Signed { by: "00".repeat(32), ..signed.clone() };
        assert!(other.check("key", "figures", "measured").is_err());
        for wrong in ["", "zz", "é", "00"] {
            let wrong = Signed { signature: wrong.into(), ..signed.clone() };
            assert!(wrong.check("key", "figures", "measured").is_err());
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let said = Signer::read(&path).err().unwrap().to_string();
        let typed = shlex::split(&said[said.find("chmod").unwrap()..]).unwrap();
        assert_eq!(typed, ["chmod", "600", &*path.to_string_lossy()], "it can be typed");
    }

    #[test]
    fn lists_are_read_and_what_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let signer = Signer::make(&folder.path().join("key")).unwrap();
        let (public, path) = (signer.public(), folder.path().join("list"));
        let private = fs::read_to_string(folder.path().join("key")).unwrap();
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Trust::read(&path).map_err(|error| format!("{error:#}"))
        };
        let trust = read(&format!("# our lab\n\n{public} Ann, node 1 # since May\n")).unwrap();
        assert!(trust.has(&public[PUBLIC.len()..]) && !trust.has(""));
        for (text, reason) in [
            ("", "has no key"),
            ("# nobody\n", "has no key"),
            (&format!("\n{private}"), "line 2: this is a private key"),
            (&*public, "line 1: the key has no name"),
            (&format!("{} Ann", &public[..public.len() - 1]), "line 1: no public key"),
            ("ssh-ed25519 AAAA ann@host", "line 1: no public key"),
        ] {
            assert!(read(text).unwrap_err().contains(reason), "{text}");
        }
        // Where the private one belongs.
        fs::write(&path, &public).unwrap();
        assert!(Signer::read(&path).err().unwrap().to_string().contains("has a public key"));
        let zeros = format!("{PRIVATE}{}", "0".repeat(64));
        for text in ["mountmark-private:", "mountmark-private:00", "x", &zeros] {
            fs::write(&path, text).unwrap();
            assert!(Signer::read(&path).err().unwrap().to_string().contains("has no private key"));
        }
        // A key is not made over a file that is there.
        fs::write(&path, "\n").unwrap();
        assert!(Signer::read(&path).err().unwrap().to_string().contains("is empty: remove it"));
    }
}
