//! Odd archives: what is counted is what the system's tar unpacks, and what it cannot unpack is refused.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::own;

/// A header and its contents.
fn raw(kind: u8, name: &str, link: &str, size: &[u8], contents: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, size);
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar  \0");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = [&header, contents].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn entry(kind: u8, name: &str, link: &str, contents: &[u8]) -> Vec<u8> {
    raw(kind, name, link, format!("{:011o}\0", contents.len()).as_bytes(), contents)
}

fn file(name: &str) -> Vec<u8> {
    let long = entry(b'L', "././@LongLink", "", format!("{name}\0").as_bytes());
    let short = &name[..name.len().min(100)];
    [if name.len() > 100 { long } else { Vec::new() }, entry(b'0', short, "", b"hello\n")].concat()
}

fn link(kind: u8, name: &str, target: &str) -> Vec<u8> {
    entry(kind, name, target, b"")
}

/// An extended header of pax.
fn pax(kind: u8, records: &str) -> Vec<u8> {
    entry(kind, "pax", "", records.as_bytes())
}

/// Files, folders and bytes below a folder.
fn unpacked(folder: &Path) -> (u64, u64, u64) {
    let mut found = (0, 0, 0);
    for item in fs::read_dir(folder).unwrap().flatten() {
        let data = item.path().symlink_metadata().unwrap();
        let below = if data.is_dir() { unpacked(&item.path()) } else { (0, 0, 0) };
        let own = (u64::from(data.is_file()), u64::from(data.is_dir()), if data.is_file() { data.len() } else { 0 });
        found = (found.0 + own.0 + below.0, found.1 + own.1 + below.1, found.2 + own.2 + below.2);
    }
    found
}

/// A sentence, or what was counted.
fn counted(home: &Path, parts: &[Vec<u8>]) -> Result<(u64, u64, u64), String> {
    let (path, cache) = (home.join("odd.tar"), TempDir::new().unwrap());
    let mut bytes = [&parts.concat()[..], &[0; 1024]].concat();
    // What tar writes is a multiple of its records.
    bytes.resize(bytes.len().next_multiple_of(10_240), 0);
    fs::write(&path, bytes).unwrap();
    let found = own(&path, cache.path()).map_err(|error| format!("{error:#}"))?.1;
    Ok((found.files, found.directories, found.bytes))
}

#[test]
fn what_is_counted_is_what_the_systems_tar_unpacks() {
    let home = TempDir::new().unwrap();
    let deep = format!("{}f", "d/".repeat(1000));
    let holes = |format: &str| {
        let folder = TempDir::new().unwrap();
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        sparse.write_all_at(b"hello\n", 3 << 20).unwrap();
        sparse.set_len(5 << 20).unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(folder.path()).args(["-S", "-cf", "-", "sparse"]).args(format.split(' '));
        tar.output().unwrap().stdout
    };
    let cases: [(&str, Vec<Vec<u8>>); 17] = [
        ("1,000 folders deep", vec![file(&deep)]),
        ("one name twice", vec![file("a/f"), entry(b'0', "a/f", "", b"other"), file("a//./f")]),
        ("a file, then a link of its name", vec![file("a/f"), link(b'2', "a/f", "g"), file("a/g")]),
        ("a file, then a folder of its name", vec![file("a/f"), entry(b'5', "a/f", "", b""), file("a/f/g")]),
        ("a folder as older tars have it", vec![entry(0, "a/d/", "", b""), file("a/d/f")]),
        (
            "a hard link, also to a link",
            vec![file("a/f"), link(b'2', "a/s", "/x"), link(b'1', "a/h", "a/s"), link(b'1', "a/i", "./a/f")],
        ),
        ("links to anywhere", vec![file("a/f"), link(b'2', "a/s", "/etc/passwd"), link(b'2', "a/t", "t")]),
        ("holes in a file", vec![holes("--format=gnu")]),
        ("holes, by pax 0.0", vec![holes("--format=posix --sparse-version=0.0")]),
        ("holes, by pax 0.1", vec![holes("--format=posix --sparse-version=0.1")]),
        ("holes, by pax 1.0", vec![holes("--format=posix --sparse-version=1.0")]),
        ("a size by pax", vec![pax(b'x', "9 size=6\n"), raw(b'0', "a/f", "", b"00000000000\0", b"hello\n")]),
        ("a comment for all", vec![pax(b'g', "14 comment=ab\n"), file("a/f")]),
        ("a name of lines by pax", vec![pax(b'x', "14 comment=\n\n\n12 path=a\nb\n"), file("x")]),
        ("a label", vec![entry(b'V', "label", "", b""), file("a/f")]),
        ("a lone block of zeros ends it", vec![file("a/f"), vec![0; 512], file("a/g")]),
        ("another archive behind the end", vec![file("a/f"), vec![0; 1024], file("a/g")]),
    ];
    for (what, parts) in cases {
        let found = counted(home.path(), &parts).unwrap_or_else(|error| panic!("{what}: {error}"));
        let folder = TempDir::new().unwrap();
        let tar = Command::new("tar").arg("-C").arg(folder.path()).arg("-xf").arg(home.path().join("odd.tar")).output();
        let tar = tar.unwrap();
        assert!(tar.status.success(), "{what}: {}", String::from_utf8_lossy(&tar.stderr));
        let (files, folders, bytes) = unpacked(folder.path());
        // A hard link is a file to who lists them.
        let links = u64::from(what.starts_with("a hard link"));
        assert_eq!(found, (files - links, folders, bytes - 6 * links), "{what}");
    }
}

#[test]
fn what_the_systems_tar_cannot_unpack_is_refused() {
    let home = TempDir::new().unwrap();
    let file = |name: &str| file(name);
    let negative = [0xff; 12];
    let over = [0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6];
    let cases: [(&str, Vec<Vec<u8>>); 25] = [
        ("what is no file before it", vec![file("a/f"), link(b'1', "a/l", "a/none")]),
        ("what is no file before it", vec![file("a/f"), link(b'1', "a/l", "a/z"), file("a/z")]),
        ("what is no file before it", vec![file("a/f"), link(b'1', "a/l", "a/l")]),
        ("what is no file before it", vec![file("a/d/f"), link(b'1', "a/l", "a/d")]),
        ("what is no file before it", vec![file("a/f"), link(b'2', "a/s", "/etc"), link(b'1', "a/l", "a/s/passwd")]),
        ("outside the archive", vec![file("a/f"), pax(b'x', "24 linkpath=/etc/passwd\n"), link(b'1', "a/l", "a/f")]),
        ("a part of its name is longer than 255", vec![file(&format!("a/{}/f", "n".repeat(256)))]),
        ("longer than 4096 bytes", vec![file(&"n".repeat(5000))]),
        ("it has no name", vec![file("a/f"), file(".")]),
        ("a folder of the same archive", vec![file("a/f/g"), file("a/f")]),
        ("a folder of the same archive", vec![file("a/l/f"), link(b'2', "a/l", "/tmp")]),
        ("lies in a file", vec![file("a/f"), file("a/f/g")]),
        ("link of the same archive", vec![file("a/f"), link(b'2', "a/l", "/tmp"), entry(b'5', "a/l/", "", b"")]),
        // Which of both is left is chance: tar makes links that lead out at the end.
        ("has its name", vec![file("a/g"), link(b'2', "a/f", "/etc/passwd"), file("a/f")]),
        ("to nothing", vec![file("a/f"), link(b'2', "a/l", "")]),
        ("no header of a tar", vec![entry(b'5', "a/d/", "", &[1; 1024]), file("a/d/f")]),
        ("no number of bytes", vec![file("a/f"), raw(b'0', "a/g", "", &negative, b"")]),
        ("no number of bytes", vec![file("a/f"), raw(b'0', "a/g", "", &over, b"hello\n")]),
        ("contradict themselves", vec![pax(b'x', "11 size=-6\n"), file("a/f")]),
        ("contradict themselves", vec![pax(b'x', "99999 path=a\n"), file("a/f")]),
        ("contradict themselves", vec![pax(b'x', "0 path=a\n"), file("a/f")]),
        // An empty line ends the records for some programs, and not for tar.
        ("goes up", vec![pax(b'x', "14 comment=\n\n\n16 path=../../x\n"), file("x")]),
        ("goes up", vec![pax(b'x', "27 GNU.sparse.name=../../x\n"), file("a/f")]),
        ("names or measures all", vec![pax(b'g', "16 path=../../x\n"), file("x")]),
        ("does not come", vec![file("a/f"), pax(b'x', "11 path=ab\n")]),
    ];
    for (words, parts) in cases {
        let said = counted(home.path(), &parts).expect_err(words);
        assert!(said.contains(words) && said.len() < 700, "{words}: {said}");
    }
    let cut = |parts: Vec<Vec<u8>>, length: usize| {
        let path = home.path().join("cut.tar");
        fs::write(&path, &parts.concat()[..length]).unwrap();
        format!("{:#}", own(&path, home.path()).unwrap_err())
    };
    assert!(cut(vec![entry(b'0', "a/f", "", &[1; 5000])], 2000).contains("after entry 1, \"a/f\": it is cut off"));
    assert!(cut(vec![file("a/f"), file("a/g")], 1300).contains("after entry 1, \"a/f\": it is cut off"));
}
