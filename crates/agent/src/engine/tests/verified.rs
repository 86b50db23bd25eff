//! Wrong, old and lost blocks, and harmless cases that resemble them.

use std::os::unix::fs::FileExt;

use super::*;

#[test]
fn a_flipped_byte_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let set = "files = { count = 2, size = \"64 KiB\" }\n";
    let read = |engine: &str, what: &str| {
        format!("{set}[[phases]]\nname = \"get\"\nwhat = \"{what}\"\nengine = \"{engine}\"\nverify = true\n")
    };
    well(&format!("{set}[[phases]]\nname = \"put\"\nwhat = \"write\"\nverify = true\n"), folder.path());
    let path = folder.path().join("f00000001");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 40_000).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], 40_000).unwrap();
    let sentence = format!(
        "wrong data in {} at byte 40000: expected 0x{:02x}, found 0x{:02x}",
        path.display(),
        byte[0],
        byte[0] ^ 0x10
    );
    for (engine, what, operation) in [
        ("psync", "read", Operation::Read),
        ("uring", "read", Operation::Read),
        ("mmap", "read", Operation::Read),
        ("stdio", "read", Operation::Read),
        ("psync", "rewrite", Operation::Rewrite),
        ("psync", "read-file", Operation::ReadFile),
    ] {
        let phases = done(&read(engine, what), folder.path());
        assert_eq!(phases[0].errors, std::slice::from_ref(&sentence), "{engine} {what}");
        // A rewrite skips the wrong block and leaves it for the engines after it.
        assert_eq!(of(&phases[0], operation).errors, 1);
    }
}

#[test]
fn a_block_of_a_phase_that_is_still_to_come_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let work = |what: &str, generation: u32| {
        let text = format!("files = {{ size = 8192 }}\n[[phases]]\nname = \"a\"\nwhat = \"{what}\"\nverify = true\n");
        run(&workload(&text), folder.path(), &Options { generation, ..options() }, &mut History::default())
            .unwrap()
            .phases
    };
    work("write", 5);
    assert_eq!(work("read", 6)[0].errors, [""; 0]);
    let errors = &work("read", 2)[0].errors;
    assert!(errors[0].contains("at byte 16: expected 0x02, found 0x05"), "{errors:?}");
}

#[test]
fn a_part_that_is_written_again_leaves_the_rest_as_it_was() {
    let phase = |name: &str, what: &str, files: &str| {
        format!(
            "[[phases]]\nname = \"{name}\"\nwhat = \"{what}\"\nverify = true\nfiles = {{ folder = \"x\", {files} }}\n"
        )
    };
    let whole = "count = 10, size = 8192";
    for part in ["count = 5, size = 8192", "count = 10, size = 4096"] {
        let folder = tempfile::tempdir().unwrap();
        let text = phase("all", "write", whole) + &phase("part", "write", part);
        well(&(text + &phase("get", "read", whole) + &phase("get-part", "read", part)), folder.path());
    }
}

#[test]
fn copies_may_be_older_than_what_they_replace() {
    let folder = tempfile::tempdir().unwrap();
    let phase = |name: &str, what: &str, prefix: &str| {
        format!(
            "[[phases]]\nname = \"{name}\"\nwhat = \"{what}\"\nverify = true\n\
             files = {{ size = 8192, prefix = \"{prefix}\" }}\n"
        )
    };
    let text = phase("old", "write", "f") + &phase("new", "write", "t") + &phase("copy", "copy-file", "f");
    well(&(text + &phase("get", "read", "t")), folder.path());
}
