//! What users bring to a command: programs, and roots as archives or images of containers.

use std::fs::{self, Permissions};
use std::hint::black_box;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use mountmark_corpus::{CorpusSource, bring, foresee};
use mountmark_model::{Bring, Own, Scale, TaskRoot};

use super::folder;

/// A program or script of `--with`.
pub(super) fn program(data: &[u8]) {
    let path = written("program", data);
    examined(&Bring { root: None, over: true, with: vec![Own { name: None, path }], folder: TaskRoot::FOLDER.into() });
}

/// An archive of `--root`.
pub(super) fn image(data: &[u8]) {
    let path = written("image.tar", data);
    examined(&Bring { root: Some(path), over: false, with: Vec::new(), folder: TaskRoot::FOLDER.into() });
}

fn written(name: &str, data: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, data).expect("a file of the target");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a file of the target");
    path
}

fn examined(bring: &Bring) {
    black_box(bring::examine(bring).map_err(|error| format!("{error:#}")).is_ok());
    let source = CorpusSource::Bring(bring.clone());
    let found = foresee(&source, Scale::ONE, 0, &folder().join("none"), &mut |_| {});
    black_box(found.map_err(|error| format!("{error:#}")).is_ok());
}

/// A small program with an interpreter and a library, one without, and scripts.
pub(super) fn programs() -> Vec<(String, Vec<u8>)> {
    let script = |line: &str| format!("{line}\necho a\n").into_bytes();
    vec![
        ("dynamic".into(), elf(&["libc.so.6"], "$ORIGIN/../lib:/opt")),
        ("alone".into(), elf(&[], "")),
        ("missing".into(), elf(&["libm.so.6", "libnowhere.so.1"], "/")),
        ("script".into(), script("#!/bin/sh -eu")),
        ("env".into(), script("#!/usr/bin/env -S A=1 perl -w")),
    ]
}

/// An ELF program that needs these libraries and looks for them in `folders`: a head, a loaded segment, that of the
/// interpreter, and the dynamic one (System V ABI, chapters 4 and 5).
fn elf(libraries: &[&str], folders: &str) -> Vec<u8> {
    const HEAD: usize = 64 + 3 * 56;
    let interpreter = b"/lib64/ld-linux-x86-64.so.2\0";
    let mut texts = vec![0];
    let mut dynamic = Vec::new();
    let mut add = |tag: u64, text: &str| {
        dynamic.push([tag, texts.len() as u64]);
        texts.extend([text.as_bytes(), b"\0"].concat());
    };
    libraries.iter().for_each(|name| add(1, name));
    add(29, folders);
    let texts_at = HEAD + interpreter.len();
    let dynamic_at = (texts_at + texts.len()).next_multiple_of(8);
    dynamic.extend([[5, texts_at as u64], [10, texts.len() as u64], [0, 0]]);
    let end = dynamic_at + dynamic.len() * 16;
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[16..24].copy_from_slice(&[3, 0, 62, 0, 1, 0, 0, 0]);
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[52..58].copy_from_slice(&[64, 0, 56, 0, 3, 0]);
    for (kind, at, size) in [(1_u32, 0, end), (3, HEAD, interpreter.len()), (2, dynamic_at, end - dynamic_at)] {
        bytes.extend([kind.to_le_bytes(), 5_u32.to_le_bytes()].concat());
        [at, at, at, size, size, 8].iter().for_each(|value| bytes.extend((*value as u64).to_le_bytes()));
    }
    bytes.extend(interpreter);
    bytes.extend(texts);
    bytes.resize(dynamic_at, 0);
    dynamic.iter().flatten().for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

/// A tree, and an image of two layers as `docker save` writes it and as an OCI layout.
pub(super) fn images() -> Vec<(String, Vec<u8>)> {
    let lower = tar_of(&[("bin/", b""), ("bin/sh", b"shell"), ("etc/old", b"1"), ("opt/a/b", b"2")]);
    let upper = super::files::gzip(&tar_of(&[("etc/.wh.old", b""), ("opt/.wh..wh..opq", b""), ("bin/sh", b"new")]));
    let config = br#"{"config":{"Env":["PATH=/bin","HOME=/root","A=b"]}}"#;
    let docker = tar_of(&[
        ("a/layer.tar", &lower),
        ("b/layer.tar", &upper),
        ("c.json", config),
        ("manifest.json", br#"[{"Config":"c.json","Layers":["a/layer.tar","b/layer.tar"]}]"#),
    ]);
    let index = br#"{"manifests":[{"digest":"sha256:1","platform":{"architecture":"amd64","os":"linux"}}]}"#;
    let manifest = br#"{"config":{"digest":"sha256:2"},"layers":[{"digest":"sha256:3"},{"digest":"sha256:4"}]}"#;
    let oci = tar_of(&[
        ("oci-layout", b"{}"),
        ("index.json", index),
        ("blobs/sha256/1", manifest),
        ("blobs/sha256/2", config),
        ("blobs/sha256/3", &lower),
        ("blobs/sha256/4", &upper),
    ]);
    vec![("tree.tar".into(), lower), ("docker.tar".into(), docker), ("oci.tar".into(), oci)]
}

/// A tar of these files, and of folders where a name ends with a slash.
fn tar_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, data) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(if name.ends_with('/') { tar::EntryType::Directory } else { tar::EntryType::Regular });
        header.set_size(data.len() as u64);
        header.set_mode(0o755);
        builder.append_data(&mut header, name, *data).expect("a Vec takes every write");
    }
    builder.into_inner().expect("a Vec takes every write")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_inputs_are_what_they_seem() {
        let look =
            |with: Vec<Own>, root| bring::examine(&Bring { root, over: false, with, folder: TaskRoot::FOLDER.into() });
        let program = |data: &[u8]| look(vec![Own { name: None, path: written("seed", data) }], None);
        for (name, data) in programs() {
            match name.as_str() {
                "missing" => {
                    let error = format!("{:#}", program(&data).unwrap_err());
                    assert!(error.contains("needs the library libnowhere.so.1"), "{error}");
                }
                "script" | "env" => assert_eq!(program(&data).unwrap().scripts.len(), 1, "{name}"),
                _ => assert_eq!(program(&data).unwrap(), bring::Brought::default(), "{name}"),
            }
        }
        for (name, data) in images() {
            let variables = look(Vec::new(), Some(written("seed.tar", &data))).unwrap().environment.len();
            assert_eq!(variables, if name == "tree.tar" { 0 } else { 2 }, "{name}");
        }
    }
}
