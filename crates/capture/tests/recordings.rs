//! Real programs are recorded: which files they need and make, and what these held before.

mod recorder;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use mountmark_capture::Ended;
use recorder::{Recorder, has};

#[test]
fn what_is_read_and_made_is_known() {
    let recorder = Recorder::new();
    recorder.write("a", "alpha");
    recorder.write("unused", "nobody looks");
    let recorded = recorder.record("cat a > b; cp b c; mkdir d; mv c d/e; test -f none; rm b");
    assert_eq!(recorded.ended(), Ended::Code(0));
    assert_eq!(recorded.needed_here(), [".", "a"]);
    assert_eq!(recorded.made_here(), ["b", "c", "d", "d/e"]);
    assert_eq!(recorded.changed_here(), [""; 0]);
    let programs = recorded.programs();
    for program in ["sh", "cat", "cp", "mkdir", "mv", "rm"] {
        let real = recorder::real(program);
        assert!(programs.contains(&real), "{program} {programs:?}");
    }
    assert!(programs.iter().any(|path| path.to_string_lossy().contains("ld-linux")), "{programs:?}");
    let packed = recorded.pack();
    assert_eq!(packed.here(), [("a".to_owned(), "alpha".to_owned())]);
    assert!(packed.names().iter().any(|name| name.ends_with("/libc.so.6")));
}

#[test]
fn what_is_changed_is_packed_as_it_was() {
    let recorder = Recorder::new();
    for name in ["cut", "grown", "inplace", "gone", "moved", "over", "victim", "linked", "mapped"] {
        recorder.write(name, &format!("{name} before"));
    }
    fs::hard_link(recorder.path("linked"), recorder.path("twin")).unwrap();
    fs::set_permissions(recorder.path("gone"), fs::Permissions::from_mode(0o640)).unwrap();
    let recorded = recorder.record(
        "echo new > cut; echo more >> grown; sed -i s/before/after/ inplace; rm gone; mv moved elsewhere; \
         echo changed > elsewhere; mv over victim; echo twice > twin; truncate -s 3 mapped",
    );
    assert_eq!(recorded.ended(), Ended::Code(0));
    let packed = recorded.pack();
    for name in ["cut", "grown", "inplace", "gone", "moved", "over", "victim", "mapped", "twin"] {
        let before = if name == "twin" { "linked before".to_owned() } else { format!("{name} before") };
        assert_eq!(packed.text(name), before);
    }
    assert_eq!(packed.mode("gone"), 0o640);
    assert_eq!(fs::read_to_string(recorder.path("grown")).unwrap(), "grown beforemore\n");
    let made = recorded.made_here();
    assert!(made.contains(&"elsewhere".to_owned()), "{made:?}");
}

#[test]
fn folders_that_move_keep_what_was_in_them() {
    let recorder = Recorder::new();
    recorder.write("old/one", "1");
    recorder.write("old/deep/two", "2");
    recorder.write("other/three", "3");
    let recorded = recorder.record(
        "mv old new; echo changed > new/one; cat new/deep/two; rm new/deep/two; mv new/deep .; rm -r other; mv new other; cat other/one",
    );
    assert_eq!(recorded.ended(), Ended::Code(0));
    let packed = recorded.pack();
    let expected = [("old/deep/two", "2"), ("old/one", "1"), ("other/three", "3")];
    assert_eq!(packed.here(), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
}

#[test]
fn links_on_the_way_are_packed() {
    let recorder = Recorder::new();
    recorder.write("real/file", "text");
    symlink("real", recorder.path("way")).unwrap();
    symlink("way/file", recorder.path("end")).unwrap();
    symlink("nowhere", recorder.path("broken")).unwrap();
    let recorded = recorder.record("cat end; cat broken || readlink broken");
    assert_eq!(recorded.ended(), Ended::Code(0));
    let packed = recorded.pack();
    assert_eq!(packed.link("end").as_deref(), Some(Path::new("way/file")));
    assert_eq!(packed.link("way").as_deref(), Some(Path::new("real")));
    assert_eq!(packed.link("broken").as_deref(), Some(Path::new("nowhere")));
    assert_eq!(packed.here(), [("real/file".to_owned(), "text".to_owned())]);
}

#[test]
fn folders_that_are_listed_have_all_names() {
    if !has(&["find", "tar"]) {
        return;
    }
    let recorder = Recorder::new();
    recorder.write("tree/a/b/c", "c");
    recorder.write("tree/a/x", "longer text");
    recorder.write("beside/y", "y");
    let found = recorder.record("find tree -name nothing").pack();
    assert_eq!(found.text("tree/a/x"), "", "it was listed, and nothing else");
    let looked = recorder.record("find tree -size +1000").pack();
    assert_eq!(looked.text("tree/a/x"), "longer text");
    assert!(!looked.names().iter().any(|name| name.ends_with("beside/y")), "{:?}", looked.names());
    // tar opens by the descriptors of folders.
    let recorded = recorder.record("tar -C tree -cf all.tar a");
    assert_eq!(recorded.made_here(), ["all.tar"]);
    let packed = recorded.pack();
    assert_eq!(packed.text("tree/a/b/c"), "c");
    assert_eq!(packed.text("tree/a/x"), "longer text");
}

#[test]
fn the_same_recording_gives_the_same_tar() {
    let recorder = Recorder::new();
    recorder.write("a/b", "text");
    recorder.write("c", &"x".repeat(100_000));
    let [one, two] = [(), ()].map(|()| recorder.record("cat a/b c | sort | tail -c 5; ls a").pack());
    assert!(fs::read(one.tar()).unwrap() == fs::read(two.tar()).unwrap(), "they differ");
    assert_eq!(one.suite(), two.suite());
    let mut sorted = one.names();
    sorted.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    assert_eq!(one.names(), sorted);
    assert!(sorted.iter().all(|name| !name.starts_with("dev/") && !name.starts_with("proc/")), "{sorted:?}");
    if Path::new("/bin").is_symlink() {
        assert!(sorted.iter().all(|name| !name.starts_with("bin") && !name.starts_with("lib")), "{sorted:?}");
    }
}

#[test]
fn the_suite_says_what_to_run() {
    let recorder = Recorder::new();
    recorder.write("in put", "b\na\n");
    let packed = recorder.record_words(&["sort", "-o", "it's sorted", "in put"]).unwrap().pack();
    let suite: toml::Table = packed.suite().parse().unwrap();
    assert_eq!(suite["name"].as_str(), Some("sort"));
    assert_eq!(suite["posix"].as_bool(), Some(true));
    assert_eq!(suite["room"].as_str(), Some("64 MiB"));
    let root = suite["root"].as_table().unwrap();
    assert_eq!(root["path"].as_str(), Some("sort.tar.zst"));
    assert_eq!(root["folder"].as_str(), recorder.folder().to_str());
    assert_eq!(root["over"].as_bool(), Some(true));
    let variables: Vec<&String> = root["environment"].as_table().unwrap().keys().collect();
    assert!(variables.contains(&&"PATH".to_owned()), "{variables:?}");
    assert!(!variables.iter().any(|name| name.contains("CARGO_MANIFEST")), "{variables:?}");
    assert!(variables.contains(&&"LC_ALL".to_owned()), "a guest's own would choose another language: {variables:?}");
    let task = suite["task"].as_array().unwrap()[0].as_table().unwrap();
    assert_eq!(task["id"].as_str(), Some("sort"));
    // The shell reads the words as they were.
    let run = task["run"].as_str().unwrap();
    assert_eq!(shlex::split(run).unwrap(), ["sort", "-o", "it's sorted", "in put"]);
}

#[test]
fn a_failure_is_repeated_as_one() {
    let recorder = Recorder::new();
    recorder.write("a", "x");
    let recorded = recorder.record_words(&["grep", "y", "a"]).unwrap();
    assert_eq!(recorded.ended(), Ended::Code(1));
    let suite: toml::Table = recorded.pack().suite().parse().unwrap();
    let run = suite["task"].as_array().unwrap()[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(run, "grep y a\ntest $? -eq 1");
}

#[test]
fn compilers_and_interpreters_are_recorded_whole() {
    let recorder = Recorder::new();
    if has(&["gcc"]) {
        recorder.write("a.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n");
        let recorded = recorder.record("gcc -o a a.c && ./a");
        assert_eq!(recorded.ended(), Ended::Code(0));
        let packed = recorded.pack();
        for end in ["/cc1", "/collect2", "/as", "/ld", "/stdio.h", "/Scrt1.o"] {
            let is_there =
                packed.names().iter().any(|name| name.ends_with(end) || name.ends_with(&format!("{end}.bfd")));
            assert!(is_there || end == "/as" || end == "/ld", "{end}");
        }
        assert!(recorded.made_here().contains(&"a".to_owned()));
    }
    if has(&["python3"]) {
        recorder.write("m.py", "N = 7\n");
        recorder.write("p.py", "import json, m\nopen('out', 'w').write(json.dumps(m.N))\n");
        let recorded = recorder.record("python3 -B p.py");
        assert_eq!(recorded.ended(), Ended::Code(0));
        assert_eq!(recorded.pack().text("m.py"), "N = 7\n");
        assert!(recorded.made_here().contains(&"out".to_owned()));
    }
    if has(&["git"]) {
        let recorded = recorder.record(
            "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git init -q r && cd r && echo x > f && git add f && \
             git -c user.name=n -c user.email=e@x commit -qm m",
        );
        assert_eq!(recorded.ended(), Ended::Code(0));
        assert!(recorded.made_here().contains(&"r/.git/HEAD".to_owned()));
    }
}
