use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::PermissionsExt;

use tar::{EntryType, Header};

use super::*;

/// A tar of these entries: name, kind, contents or target.
fn tar_of(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, contents) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o755);
        // As it is, whatever the library thinks of it.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        let contents = if is_link {
            header.as_old_mut().linkname[..contents.len()].copy_from_slice(contents);
            &[][..]
        } else {
            contents
        };
        header.set_size(contents.len() as u64);
        header.set_cksum();
        builder.append(&header, Cursor::new(contents)).unwrap();
    }
    builder.into_inner().unwrap()
}

/// What is brought, as name, kind and contents or target; or why not.
fn brought(bring: &Bring) -> Result<Vec<(String, EntryType, String)>, String> {
    let cache = tempfile::tempdir().unwrap();
    let made = realise(bring, cache.path(), Keep::Yes, &mut |_| {});
    let (tar, facts) = made.map_err(|error| format!("{error:#}"))?;
    assert_eq!(fs::metadata(&tar).unwrap().len(), facts.tar_bytes);
    let mut archive = tar::Archive::new(File::open(tar).unwrap());
    let read = |entry: std::io::Result<tar::Entry<'_, File>>| {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        match entry.link_name().unwrap() {
            Some(target) => text = target.to_string_lossy().into_owned(),
            None => drop(entry.read_to_string(&mut text)),
        }
        let name = entry.path().unwrap().to_string_lossy().trim_end_matches('/').to_owned();
        (name, entry.header().entry_type(), text)
    };
    Ok(archive.entries().unwrap().map(read).collect())
}

fn names(bring: &Bring) -> Vec<String> {
    brought(bring).unwrap().into_iter().map(|(name, ..)| name).collect()
}

fn root(path: &Path, over: bool) -> Bring {
    Bring { root: Some(path.to_owned()), over, with: Vec::new(), folder: "/test".into() }
}

const FILE: EntryType = EntryType::Regular;
const FOLDER: EntryType = EntryType::Directory;

#[test]
fn upper_layers_hide_what_lies_below() {
    let folder = tempfile::tempdir().unwrap();
    let lower = tar_of(&[
        ("etc/", FOLDER, b""),
        ("etc/old", FILE, b"old"),
        ("etc/kept", FILE, b"kept"),
        ("opt/", FOLDER, b""),
        ("opt/gone", FILE, b"gone"),
        ("both", FILE, b"lower"),
        ("was-a-folder/", FOLDER, b""),
        ("was-a-folder/x", FILE, b"x"),
        ("bin/", FOLDER, b""),
        ("bin/tool", FILE, b"tool"),
        ("bin/other-name", EntryType::Link, b"bin/tool"),
        ("dev/sda", EntryType::Block, b""),
    ]);
    let upper = tar_of(&[
        ("etc/.wh.old", FILE, b""),
        ("opt/.wh..wh..opq", FILE, b""),
        ("opt/new", FILE, b"new"),
        ("both", FILE, b"upper"),
        ("was-a-folder", FILE, b"now a file"),
    ]);
    let manifest = br#"[{"Config":"c.json","Layers":["a/layer.tar","b/layer.tar"]}]"#;
    let config = br#"{"config":{"Env":["PATH=/opt:/bin","HOME=/nowhere","A=b=c"]}}"#;
    let entries = [
        ("a/layer.tar", FILE, &lower[..]),
        ("b/layer.tar", FILE, &upper[..]),
        ("c.json", FILE, &config[..]),
        ("manifest.json", FILE, &manifest[..]),
    ];
    let path = folder.path().join("image.tar");
    fs::write(&path, tar_of(&entries)).unwrap();
    let mut found = brought(&root(&path, false)).unwrap();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let of = |name: &str, kind: EntryType, text: &str| (name.to_owned(), kind, text.to_owned());
    assert_eq!(
        found,
        [
            of("bin", FOLDER, ""),
            of("bin/other-name", EntryType::Link, "bin/tool"),
            of("bin/tool", FILE, "tool"),
            of("both", FILE, "upper"),
            of("etc", FOLDER, ""),
            of("etc/kept", FILE, "kept"),
            of("opt", FOLDER, ""),
            of("opt/new", FILE, "new"),
            of("was-a-folder", FILE, "now a file"),
        ]
    );
    let environment = examine(&root(&path, false)).unwrap().environment;
    assert_eq!(environment, BTreeMap::from([("A".into(), "b=c".into()), ("PATH".into(), "/opt:/bin".into())]));
    // The same as an OCI layout, in a folder.
    let layout = folder.path().join("layout");
    fs::create_dir_all(layout.join("blobs/sha256")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(layout.join(name), bytes).unwrap();
    write("oci-layout", b"{}");
    write("index.json", br#"{"manifests":[{"digest":"sha256:m","platform":{"architecture":"amd64","os":"linux"}},{"digest":"sha256:x","platform":{"architecture":"arm64","os":"linux"}}]}"#);
    write(
        "blobs/sha256/m",
        br#"{"config":{"digest":"sha256:c"},"layers":[{"digest":"sha256:a"},{"digest":"sha256:b"}]}"#,
    );
    write("blobs/sha256/c", config);
    write("blobs/sha256/a", &zstd::encode_all(&lower[..], 1).unwrap());
    write("blobs/sha256/b", &upper);
    let mut again = brought(&root(&layout, false)).unwrap();
    again.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(again, found);
    assert_eq!(examine(&root(&layout, false)).unwrap().environment, environment);
}

#[test]
fn what_is_laid_over_a_guest_keeps_its_folders_of_programs_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("root.tar");
    let entries = [
        ("./bin", EntryType::Symlink, &b"usr/bin"[..]),
        ("sbin/", FOLDER, b""),
        ("sbin/tool", FILE, b""),
        ("lib/x.so", FILE, b""),
        ("library", FILE, b""),
    ];
    fs::write(&path, tar_of(&entries)).unwrap();
    assert_eq!(names(&root(&path, true)), ["usr/bin/tool", "usr/lib/x.so", "library"]);
    assert_eq!(names(&root(&path, false)), ["sbin", "bin", "sbin/tool", "lib/x.so", "library"]);
}

#[test]
fn what_is_no_tree_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fault = |bytes: &[u8]| {
        let path = folder.path().join("root.tar");
        fs::write(&path, bytes).unwrap();
        brought(&root(&path, false)).unwrap_err()
    };
    assert!(fault(&tar_of(&[("../x", FILE, b"")])).contains("it would leave the tree"));
    assert!(fault(b"").contains("the file is empty"));
    let secret = b"root:$6$secret:20000:0:99999:7:::\n".repeat(40);
    assert!(
        fault(&secret).contains("this is no tar archive") && !fault(&secret).contains("secret"),
        "{}",
        fault(&secret)
    );
    assert!(fault(b"PK\x03\x04zip").contains("this is zip"));
    assert!(fault(&tar_of(&[("manifest.json", FILE, b"[]")])).contains("it holds no images"));
    assert!(fault(&tar_of(&[("manifest.json", FILE, br#"[{"Layers":["x"]}]"#)])).contains("the image has no layer x"));
    let mut cut = tar_of(&[("a", FILE, &[1; 5000])]);
    cut.truncate(2000);
    assert!(!fault(&cut).is_empty());
    // A file of 10 GiB that takes no room.
    let mut header = Header::new_gnu();
    header.set_path("large").unwrap();
    header.set_entry_type(FILE);
    header.set_size(10 << 30);
    header.set_cksum();
    let path = folder.path().join("large.tar");
    fs::write(&path, header.as_bytes()).unwrap();
    File::options().append(true).open(&path).unwrap().set_len((10 << 30) + 2048).unwrap();
    let error = brought(&root(&path, false)).unwrap_err();
    assert!(error.contains("more than 4.00 GiB, the most that can be brought"), "{error}");
}

#[test]
fn a_program_comes_with_its_libraries_and_a_large_file_stays_on_its_disk() {
    let folder = tempfile::tempdir().unwrap();
    let with = |names: &[&str]| Bring {
        root: None,
        over: true,
        with: names.iter().map(|name| Own { name: None, path: folder.path().join(name) }).collect(),
        folder: "/home/me".into(),
    };
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/words"), "a b c").unwrap();
    assert_eq!(names(&with(&["data"])), ["home/me/data", "home/me/data/words"]);
    let large = File::create(folder.path().join("large")).unwrap();
    large.set_len(LARGE + 1).unwrap();
    let found = examine(&with(&["large"])).unwrap();
    assert_eq!(
        found.large,
        [(folder.path().canonicalize().unwrap().join("large"), LARGE + 1, "/with/large".to_owned())]
    );
    for (path, says) in [("/dev/null", "it is neither a file nor a folder"), ("/", "it has no name")] {
        let wrong = Bring { with: vec![Own { name: None, path: path.into() }], ..with(&[]) };
        let error = brought(&wrong).unwrap_err();
        assert!(error.contains("cannot bring /") && error.contains(says), "{error}");
    }
    // A file that is no sound program comes in a folder, where nobody may start it, and not by itself.
    let broken = folder.path().join("data/broken");
    fs::write(&broken, b"\x7fELF").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(&with(&["data"])), ["home/me/data", "home/me/data/broken", "home/me/data/words"]);
    let unsound = examine(&with(&["data"])).unwrap().unsound;
    assert!(unsound.len() == 1 && unsound[0].contains("data/broken is no sound ELF file"), "{unsound:?}");
    assert!(brought(&with(&["data/broken"])).unwrap_err().contains("is no sound ELF file"));
    fs::copy("/bin/true", folder.path().join("tool")).unwrap();
    let found = names(&with(&["tool"]));
    assert!(found.contains(&"home/me/tool".to_owned()), "{found:?}");
    if found.len() == 1 {
        eprintln!("skipped: the libraries of a program, as /bin/true has none here");
        return;
    }
    let has = |end: &str| found.iter().any(|name| name.starts_with("usr/lib") && name.ends_with(end));
    assert!(has("/ld-linux-x86-64.so.2") && has("/libc.so.6") && has("/libm.so.6"), "{found:?}");
    let one = |tool: &str| names(&with(&[tool]));
    assert_eq!(one("tool"), found);
    let twice = Bring {
        with: ["tool", "data/../tool"].map(|path| Own { name: None, path: folder.path().join(path) }).into(),
        ..with(&[])
    };
    assert!(brought(&twice).unwrap_err().contains("two of what is brought are called tool"));
}

/// Programs such as make act by the times of files.
#[test]
fn times_of_an_archives_files_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, time) in [("a/", FOLDER, 7), ("a/old", FILE, 1_000_000_000), ("a/new", FILE, 1_000_000_001)] {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_mtime(time);
        header.set_size(0);
        builder.append_data(&mut header, name, std::io::empty()).unwrap();
    }
    let path = folder.path().join("root.tar");
    fs::write(&path, builder.into_inner().unwrap()).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let (tar, _) = realise(&root(&path, true), cache.path(), Keep::Yes, &mut |_| {}).unwrap();
    let mut archive = tar::Archive::new(File::open(tar).unwrap());
    let times: Vec<u64> = archive.entries().unwrap().map(|entry| entry.unwrap().header().mtime().unwrap()).collect();
    assert_eq!(times, [7, 1_000_000_000, 1_000_000_001]);
}

/// Why a program cannot start in a root of these files: name, mode, contents.
fn refused_in(entries: &[(&str, u32, &[u8])], program: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for (name, mode, contents) in entries {
        let mut header = Header::new_gnu();
        let is_link = *mode == 0;
        header.set_entry_type(if is_link { EntryType::Symlink } else { FILE });
        header.set_mode(if is_link { 0o777 } else { *mode });
        header.set_size(if is_link { 0 } else { contents.len() as u64 });
        if is_link {
            header.set_link_name(std::str::from_utf8(contents).unwrap()).unwrap();
        }
        builder.append_data(&mut header, name, if is_link { &b""[..] } else { contents }).unwrap();
        // The same as a folder.
        let path = folder.path().join("tree").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if is_link {
            std::os::unix::fs::symlink(std::str::from_utf8(contents).unwrap(), &path).unwrap();
        } else {
            fs::write(&path, contents).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
    }
    let archive = folder.path().join("root.tar");
    fs::write(&archive, builder.into_inner().unwrap()).unwrap();
    let [one, other] = [archive, folder.path().join("tree")]
        .map(|path| refusal(&root(&path, false), program, "/usr/local/bin:/bin").unwrap());
    assert_eq!(one, other, "{program}");
    one
}

#[test]
fn a_program_that_cannot_start_in_a_root_is_refused() {
    let mut arm = fs::read("/proc/self/exe").unwrap()[..64].to_vec();
    let own = arm.clone();
    arm[18] = 183;
    let entries: &[(&str, u32, &[u8])] = &[
        ("bin/dash", 0o755, &own),
        ("bin/sh", 0, b"dash"),
        ("bin/tool", 0o755, &own),
        ("bin/arm", 0o755, &arm),
        ("bin/plain", 0o644, &own),
        ("bin/good", 0o755, b"#!/bin/sh -e\n"),
        ("bin/bad", 0o755, b"#!/usr/bin/perl\n"),
        ("bin/out", 0, b"../../../../bin/tool"),
        ("bin/away", 0, b"/opt/tool"),
        ("bin/loop", 0, b"loop"),
        ("test/own", 0o755, &own),
    ];
    for program in ["tool", "/bin/tool", "good", "/bin/out", "./own", "../bin/tool"] {
        assert_eq!(refused_in(entries, program), None, "{program}");
    }
    for (program, part) in [
        ("nosuch", "nosuch is in no folder of its PATH, /usr/local/bin:/bin; add it"),
        ("/bin/nosuch", "/bin/nosuch is not in it; add it"),
        ("./tool", "/test/tool is not in it"),
        ("arm", "/bin/arm is a program for 64-bit ARM"),
        ("/bin/plain", "may not be run; give it the right"),
        ("/bin", "/bin is a folder; name a program"),
        ("bad", "/bin/bad is started by /usr/bin/perl, and /usr is not in it"),
        ("/bin/away", "/bin/away is a link to /opt, which is not in it"),
        ("/bin/loop", "leads to itself"),
    ] {
        let reason = refused_in(entries, program).unwrap_or_default();
        assert!(reason.contains(part), "{program}: {reason:?}");
    }
    assert!(refused_in(&entries[2..], "tool").unwrap().contains("commands are started by /bin/sh"));
    // A shell of many programs has more than there are files.
    let own_programs: &[(&str, u32, &[u8])] = &[("bin/busybox", 0o755, &own), ("bin/sh", 0, b"/bin/busybox")];
    assert_eq!(refused_in(own_programs, "ls"), None);
}

#[test]
fn a_name_that_no_file_can_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    builder.append_data(&mut header, "a/".repeat(3000) + "b", &b"x"[..]).unwrap();
    let path = folder.path().join("root.tar");
    fs::write(&path, builder.into_inner().unwrap()).unwrap();
    let reason = brought(&root(&path, false)).unwrap_err();
    assert!(reason.contains("longer than 4096 bytes"), "{reason}");
}
