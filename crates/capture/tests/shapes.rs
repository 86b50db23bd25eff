//! `--no-contents`: what a stranger sees of the user's files, and that the command still runs.

mod recorder;

use std::path::Path;

use mountmark_capture::{Contents, Ended};
use recorder::{Recorder, has};

fn ratio(bytes: &[u8]) -> f64 {
    zstd::bulk::compress(bytes, 1).unwrap().len() as f64 / bytes.len() as f64
}

/// Bytes of which one in `of` is random.
fn bytes(length: usize, of: usize) -> Vec<u8> {
    let mut random = mountmark_random::Stream::new(7, "test");
    let mut bytes = vec![b'x'; length];
    random.fill(&mut bytes[..length / of]);
    // Spread over the parts that are looked at.
    let mut mixed = vec![0; length];
    for (at, byte) in bytes.into_iter().enumerate() {
        mixed[at % (length / 4096) * 4096 + at / (length / 4096)] = byte;
    }
    mixed
}

#[test]
fn sizes_depth_and_compressibility_stay_and_the_rest_goes() {
    let recorder = Recorder::new();
    recorder.write("secret-folder/secret-name.txt", "my secret text\n");
    recorder.write("secret-folder/copy.txt", "my secret text\n");
    for (name, of) in [("random.bin", 1), ("half.bin", 2), ("fifth.bin", 5)] {
        std::fs::write(recorder.path(name), bytes(1 << 20, of)).unwrap();
    }
    std::fs::write(recorder.path("zero.bin"), vec![0; 1 << 20]).unwrap();
    recorder.write("run-me.sh", "#!/bin/sh\ncat \"$@\" > made.bin\n");
    let words = [
        "sh",
        "run-me.sh",
        "secret-folder/secret-name.txt",
        "secret-folder/copy.txt",
        "random.bin",
        "half.bin",
        "fifth.bin",
        "zero.bin",
    ];
    let recorded = recorder.record_words(&words).unwrap();
    assert_eq!(recorded.ended(), Ended::Code(0));
    let [kept, packed] = [Contents::Kept, Contents::Replaced].map(|contents| recorded.pack_with(contents).unwrap());
    let again = recorded.pack_with(Contents::Replaced).unwrap();
    assert!(std::fs::read(packed.tar()).unwrap() == std::fs::read(again.tar()).unwrap());

    let names = packed.names().join("\n");
    let here = recorder.folder().display().to_string();
    assert!(!names.contains("secret") && !names.contains("half"), "{names}");
    assert!(packed.entries.values().all(|entry| !entry.text.windows(14).any(|part| part == b"my secret text")));
    assert!(!packed.suite().contains("secret"), "{}", packed.suite());
    let replaced = packed.packed.replaced.clone().unwrap();
    assert_eq!((replaced.count, replaced.kept), (6, vec![recorder.path("run-me.sh")]));
    assert_eq!(packed.text("run-me.sh"), kept.text("run-me.sh"));

    // The words lead to files of the same sizes, at the same depth, with the same ends.
    let suite: toml::Table = packed.suite().parse().unwrap();
    let run = suite["task"].as_array().unwrap()[0]["run"].as_str().unwrap().to_owned();
    let new = shlex::split(&run).unwrap();
    assert_eq!(new[..2], ["sh", "run-me.sh"]);
    for (old, new) in words.iter().zip(&new).skip(2) {
        let entry = |pack: &recorder::Unpacked, name: &str| {
            pack.entries[format!("{here}/{name}").trim_start_matches('/')].text.clone()
        };
        let (before, after) = (entry(&kept, old), entry(&packed, new));
        assert_eq!(before.len(), after.len(), "{old}");
        assert_eq!(old.matches('/').count(), new.matches('/').count());
        assert_eq!(Path::new(old).extension(), Path::new(new).extension());
        if before.len() > 4096 {
            let (before, after) = (ratio(&before), ratio(&after));
            assert!((before - after).abs() <= 0.06, "{old}: compresses to {before:.3} and then to {after:.3}");
        }
    }
    // What was equal is equal: file systems that share blocks see it.
    let twins = [&new[2], &new[3]].map(|name| &packed.entries[format!("{here}/{name}").trim_start_matches('/')].text);
    assert_eq!(twins[0], twins[1]);
}

#[test]
fn links_and_options_are_renamed_with_their_files() {
    if !has(&["dd"]) {
        return;
    }
    let recorder = Recorder::new();
    recorder.write("data/in.raw", &"text ".repeat(1000));
    std::os::unix::fs::symlink("data/in.raw", recorder.path("short.raw")).unwrap();
    let recorded = recorder.record_words(&["dd", "if=short.raw", "of=out.raw", "status=none"]).unwrap();
    assert_eq!(recorded.ended(), Ended::Code(0));
    let packed = recorded.pack_with(Contents::Replaced).unwrap();
    let suite: toml::Table = packed.suite().parse().unwrap();
    let run = suite["task"].as_array().unwrap()[0]["run"].as_str().unwrap().to_owned();
    let words = shlex::split(&run).unwrap();
    let name = words[1].strip_prefix("if=").unwrap();
    assert!(
        !run.contains("short") && !run.contains("out.raw") && run.contains("of=") && run.contains("status=none"),
        "{run}"
    );
    let link = packed.link(name).unwrap();
    assert_eq!(packed.text(&link.display().to_string()).len(), 5000);
}
