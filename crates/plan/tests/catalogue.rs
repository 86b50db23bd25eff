//! The built-in catalogue, and messages about faults in a user's own.

mod support;

use std::path::Path;

use mountmark_model::{Corpus, Disk, FileSystem, Machine, Processor, Suite, Task};
use mountmark_plan::{Catalogue, Entry, Origin};
use support::FILE_SYSTEM;

const SUITE: &str = r#"
name = "mine"
about = "mine"
room = "1 MiB"

[[task]]
id = "one"
title = "one"
run = "true"
"#;

/// The catalogue with one file of the user's own, or the error.
fn with(path: &str, text: &str) -> Result<Catalogue, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    Catalogue::load(Some(folder.path())).map_err(|error| error.to_string())
}

fn fault(path: &str, text: &str) -> String {
    with(path, text).expect_err(text)
}

#[test]
fn every_definition_survives_being_written_and_read() {
    fn all<T: Entry + serde::Serialize + PartialEq + std::fmt::Debug>(catalogue: &Catalogue) {
        assert!(catalogue.list::<T>().next().is_some(), "no {}", T::KIND.word());
        for entry in catalogue.list::<T>() {
            let text = toml::to_string(entry).unwrap();
            assert_eq!(&toml::from_str::<T>(&text).unwrap(), entry, "{text}");
            assert!(!entry.about().is_empty() && !entry.about().contains('\n'), "{}", entry.name());
        }
    }
    let catalogue = Catalogue::built_in().unwrap();
    all::<FileSystem>(&catalogue);
    all::<Suite>(&catalogue);
    all::<Machine>(&catalogue);
    all::<Disk>(&catalogue);
    all::<Corpus>(&catalogue);
}

#[test]
fn definitions_refer_to_each_other() {
    let catalogue = Catalogue::built_in().unwrap();
    for machine in catalogue.list::<Machine>() {
        for disk in [&machine.disk, &machine.second_disk] {
            catalogue.get::<Disk>(disk).unwrap();
        }
    }
    for suite in catalogue.list::<Suite>() {
        if let Some(corpus) = &suite.corpus {
            catalogue.get::<Corpus>(corpus).unwrap();
        }
    }
}

#[test]
fn a_processor_is_said_in_known_features() {
    let machine = |processor: &str| {
        format!(
            "name = \"mine\"\nabout = \"mine\"\nshift = 0\n{processor}ram = \"1 GiB\"\ndisk = \"ram\"\n\
             second_disk = \"ram\"\nsources = []\n"
        )
    };
    let of = |text: &str| with("machines/mine.toml", text).unwrap().get::<Machine>("mine").unwrap().processor.clone();
    assert_eq!(of(&machine("")), None, "as all were written before");
    assert_eq!(of(&machine("processor = []\n")), Some(Processor(Vec::new())));
    let said = fault("machines/mine.toml", &machine("processor = [\"aes\", \"sse4.2\"]\n"));
    assert!(said.contains("mine.toml: processor: \"sse4.2\"") && said.contains("sse4_2"), "{said}");
    let said = fault("machines/mine.toml", &machine("processor = \"sse4_2\"\n"));
    assert!(said.contains("mine.toml:4:13"), "{said}");
    let catalogue = Catalogue::built_in().unwrap();
    let processor = |name: &str| catalogue.get::<Machine>(name).unwrap().processor.clone();
    assert_eq!(processor("modern"), Some(Processor::default()));
    for name in ["p3-2004", "p3-2006", "celeron-2006", "p4-2004"] {
        assert_eq!(processor(name), Some(Processor(Vec::new())), "{name}");
    }
    assert_eq!(processor("core2-2007"), Some(Processor(vec!["pni".into(), "ssse3".into()])));
}

#[test]
fn the_studies_are_whole() {
    let catalogue = Catalogue::built_in().unwrap();
    let ids = |suite: &str| {
        catalogue.get::<Suite>(suite).unwrap().tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids("piszcz-2006"), (1..=21).map(|number| format!("{number:03}")).collect::<Vec<_>>());
    let hans = ["isocopy", "isorecopy", "isorm", "treecopy", "treerecopy", "list", "find", "treerm"];
    assert_eq!(ids("hans-2006"), hans);
    for task in catalogue.list::<Suite>().flat_map(|suite| &suite.tasks) {
        assert!(
            ["small files", "listing and search", "large files", "trees", "random access", "applications", "recovery"]
                .contains(&task.category.as_str()),
            "{task:?}"
        );
    }
}

#[test]
fn matrices_become_plain_tasks() {
    let catalogue = Catalogue::built_in().unwrap();
    let has = |suite: &str, count: usize, there: &[&str], absent: &[&str]| {
        let tasks = &catalogue.get::<Suite>(suite).unwrap().tasks;
        assert_eq!(tasks.len(), count, "{suite}");
        let has = |id: &&&str| tasks.iter().any(|task| task.id == **id);
        assert_eq!((there.iter().find(|id| !has(id)), absent.iter().find(has)), (None, None), "{suite}");
        let left = |task: &&Task| task.title.contains("{file") || task.title.contains("{record");
        assert_eq!(tasks.iter().find(left), None, "{suite}");
    };
    has("iozone-matrix", 104, &["write_s16th_r64k", "stride_s4th_r1m", "freread_s1_r16m"], &["write_s16th_r16m"]);
    // Bonnie's five tests at three sizes, six of creates; four of IOzone at three sizes and nine record lengths.
    has("fsbench-2004", 15 + 6 + 4 * 27, &["putc_4g", "ran_del", "fwrite_2g", "stride_read_4g_16m"], &["fwrite_2g_1m"]);
    // With the programs themselves: rewriting too, creates after each size, and the six runs.
    has(
        "fsbench-2004-real",
        3 * 12 + 4 * 27 + 6,
        &["putc_4g", "seq_stat", "seq_stat_4g", "iozone_4g"],
        &["iozone_4g_2m"],
    );
    has("wiki-2007-loop", 13, &["bonnie", "putc", "ran_del"], &[]);
    has("wiki-2007-real", 13 + 5 + 14 + 1, &["seeks_1g", "seeks_2g", "iozone2_read", "iozone_write"], &["putc_2g"]);
    let matrix = SUITE.replace("id = \"one\"\ntitle = \"one\"\nrun = \"true\"\n", "matrix = []\n");
    let said = fault("suites/mine.toml", &matrix);
    assert!(said.contains("suites/mine.toml: task 1, a matrix: it has no task"), "{said}");
    let axis = "matrix = [{ name = \"size\", values = [1, 2] }]\n";
    let task =
        |more: &str| matrix.replace("matrix = []\n", &format!("{axis}[[task.tasks]]\nid = \"a{{size}}\"\n{more}"));
    let said = fault("suites/mine.toml", &task("titel = \"a\"\n"));
    assert!(said.contains("suites/mine.toml: task a1: unknown field `titel`"), "{said}");
    let said = fault("suites/mine.toml", &task("title = \"a\"\n[task.tasks.workload]\nphases = 7\n"));
    assert!(said.contains("suites/mine.toml: task a1: invalid type: integer `7`"), "{said}");
    // Errors outside a matrix have a position.
    let text = task("title = \"a\"\nrun = \"true\"\n");
    let lines = text.lines().count();
    let said = fault("suites/mine.toml", &format!("{text}[[task]]\nid = \"b\"\ntitel = \"b\"\n"));
    assert!(said.contains(&format!("suites/mine.toml:{}:1: unknown field `titel`", lines + 3)), "{said}");
    let said = fault("suites/mine.toml", &format!("colour = 1\n{text}"));
    assert!(said.contains(":1:1: unknown field `colour`"), "{said}");
}

#[test]
fn a_users_file_stands_in_for_a_built_in_one() {
    let text = toml::to_string(&FileSystem {
        about: "another".into(),
        ..Catalogue::built_in().unwrap().get::<FileSystem>("ext4").unwrap().clone()
    });
    let catalogue = with("filesystems/ext4.toml", &text.unwrap()).unwrap();
    assert_eq!(catalogue.get::<FileSystem>("ext4").unwrap().about, "another");
    assert!(matches!(catalogue.origin::<FileSystem>("ext4"), Some(Origin::File(_))));
    assert_eq!(catalogue.origin::<FileSystem>("xfs"), Some(&Origin::BuiltIn));
    with("suites/mine.toml", SUITE).unwrap();
    with("filesystems/mine.toml", FILE_SYSTEM).unwrap();
}

#[test]
fn notes_and_backups_beside_definitions_are_passed_over() {
    for name in
        ["suites/README.md", "suites/mine.toml~", "suites/.mine.toml.swp", "suites/.mine.toml", "suites/mine.toml.orig"]
    {
        with(name, "no definition").unwrap();
    }
}

#[test]
fn a_suite_can_be_given_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let catalogue = Catalogue::built_in().unwrap();
    let missing = catalogue.suite(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(missing.contains("cannot read") && missing.contains("mine.toml"), "{missing}");
    std::fs::write(&path, SUITE).unwrap();
    assert_eq!(catalogue.suite(path.to_str().unwrap()).unwrap().name, "mine");
    assert_eq!(catalogue.suite("hans-2006").unwrap().name, "hans-2006");
}

#[test]
fn faults_of_form_are_placed() {
    let placed = |text: &str, file: &str, place: &str, words: &[&str]| {
        let said = fault(file, text);
        assert!(said.contains(&format!("{file}:{place}: ")), "{said}");
        for word in words {
            assert!(said.contains(word), "{word} is not in {said}");
        }
    };
    placed("name = \n", "suites/mine.toml", "1:8", &[]);
    placed("name = \"mine\"\nabout = 3\n", "suites/mine.toml", "2:9", &["integer `3`", "expected a string"]);
    placed(&format!("colour = 3{SUITE}"), "suites/mine.toml", "1:1", &["unknown field `colour`", "expected one of"]);
    placed(&format!("{SUITE}rum = 3\n"), "suites/mine.toml", "10:1", &["unknown field `rum`", "`run`"]);
    placed(&SUITE.replace("1 MiB", "1 mile"), "suites/mine.toml", "4:8", &["is not a size"]);
    placed(&FILE_SYSTEM.replace("min_size", "min_sise"), "filesystems/mine.toml", "7:1", &["unknown field `min_sise`"]);
    placed("name = \"mine\"\nabout = \"é\" x\n", "machines/mine.toml", "2:13", &[]);
    let missing = fault("suites/mine.toml", &SUITE.replace("room = \"1 MiB\"", ""));
    assert!(missing.contains("missing field `room`"), "{missing}");
    let disk = fault("disks/mine.toml", "name = \"mine\"\nabout = \"\"\nsources = []\nmodel = \"tape\"\n");
    assert!(disk.contains("disks/mine.toml") && disk.contains("unknown variant `tape`"), "{disk}");
}

#[test]
fn a_name_is_that_of_its_file() {
    let said = fault("suites/other.toml", SUITE);
    assert!(said.contains("suites/other.toml:2: ") && said.contains("\"mine\" but its file \"other\""), "{said}");
}

#[test]
fn folders_with_a_slip_in_their_name_are_not_passed_over() {
    assert!(fault("suite/mine.toml", SUITE).contains("filesystems, layers, suites, machines, disks, corpora"));
    let error = Catalogue::load(Some(Path::new("/nonexistent/catalog"))).unwrap_err().to_string();
    assert!(error.contains("cannot read /nonexistent/catalog"), "{error}");
}

#[test]
fn faults_of_meaning_are_named_with_their_mend() {
    let suite = |from: &str, to: &str, words: &str| {
        assert!(SUITE.contains(from));
        let said = fault("suites/mine.toml", &SUITE.replace(from, to));
        assert!(said.contains("suites/mine.toml: ") && said.contains(words), "{said}");
    };
    suite("id = \"one\"", "id = \"\"", "letters, digits");
    suite("id = \"one\"", "id = \"a b\"", "letters, digits");
    for step in ["mkfs", "mount", "umount", "fsck", "capacity"] {
        suite("id = \"one\"", &format!("id = \"{step}\""), "is a step of every cell");
    }
    suite("run = \"true\"", "run = \" \"", "run is empty");
    suite("room = \"1 MiB\"", "room = 0\nmodules = [\"../x\"]", "modules has");
    suite("run = \"true\"", "run = \"true\"\nrepeat = 0", "repeat is 0");
    suite("run = \"true\"", "run = \"true\\u0000\"", "task one: run holds a null character");
    suite("run = \"true\"", "run = \"true\"\ncleanup = \"a\\u0000b\"", "task one: cleanup holds a null character");
    for number in ["-1.0", "nan", "inf", "0.0"] {
        suite("run = \"true\"", &format!("run = \"true\"\nlimit_seconds = {number}"), "limit_seconds");
    }
    for number in ["-0.5", "nan", "inf"] {
        suite("room = \"1 MiB\"", &format!("room = 0\npause_seconds = {number}"), "pause_seconds");
    }
    suite("room = \"1 MiB\"", "room = 0\ncorpus = \"linux\"", "source = \"tar\"");
    suite("room = \"1 MiB\"", "room = 0\ncorpus_copies = 1", "add corpus and source");
    suite("room = \"1 MiB\"", "room = 0\nsource_prepare = \"true\"", "second disk");
    suite("run = \"true\"", "run = \"cp ${SOURCE}/x .\"", "$SOURCE");
    suite("room = \"1 MiB\"", "room = 0\nsubdirectories = \"FILES\"", "FILES");
    for name in
        ["files", "1FILE", "_FILES", "FI-LES", "TEST", "SOURCE", "SEED", "PATH", "HOME", "IFS", "LC_ALL", "TAR_OPTIONS"]
    {
        suite("[[task]]", &format!("[parameters.{name}]\nvalue = 1\n[[task]]"), &format!("parameter {}", shown(name)));
    }
    let second = format!("{SUITE}[[task]]\nid = \"one\"\ntitle = \"again\"\nrun = \"true\"\n");
    assert!(fault("suites/mine.toml", &second).contains("two tasks have this id"));
    let none = SUITE.split("[[task]]").next().unwrap();
    assert!(fault("suites/mine.toml", &format!("{none}task = []\n")).contains("has no task"));

    let filesystem = |from: &str, to: &str, words: &str| {
        assert!(FILE_SYSTEM.contains(from));
        let said = fault("filesystems/mine.toml", &FILE_SYSTEM.replace(from, to));
        assert!(said.contains(words), "{said}");
    };
    filesystem("\"{device}\"", "\"/dev/sda\"", "{device}");
    filesystem("\"{device}\"", "\"\\u0000\", \"{device}\"", "mkfs holds a null character");
    filesystem("no_fsck = \"None.\"", "", "neither");
    filesystem("\"8 MiB\"", "0", "min_size");
    filesystem("\"8 MiB\"", "\"8 MiB\"\nroomy_size = \"7 MiB\"", "roomy_size (7.00 MiB) is below");
    filesystem("no_fsck = \"None.\"", "no_fsck = \"None.\"\n[variants.x]\nabout = \"\"", "changes nothing");
    for name in ["zfs", "-odkms", "../x-dkms", "x/y-dkms"] {
        let source = format!("module_source = \"{name}\"\nno_fsck");
        filesystem("no_fsck", &source, &format!("module_source has {name:?}"));
    }
    let check = |command: &str| format!("no_fsck = \"None.\"\n[crash]\nlevels = []\nsources = {{}}\ncheck = {command}");
    filesystem("no_fsck = \"None.\"", &check("[\"fsck.mine\", \"{device}\"]"), "start the program of [fsck]");
    let machine = "name = \"mine\"\nabout = \"\"\nshift = 1\nram = \"100 MiB\"\ndisk = \"x\"\nsecond_disk = \"x\"\nsources = []\n";
    assert!(fault("machines/mine.toml", machine).contains("multiple of 128 MiB"));
}

/// Names that are not words are quoted.
fn shown(name: &str) -> String {
    let word = name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains('-');
    if word { name.to_owned() } else { format!("{name:?}") }
}

#[test]
fn all_faults_are_told_at_once() {
    let text = SUITE.replace("run = \"true\"", "run = \"\"\nrepeat = 0");
    assert_eq!(fault("suites/mine.toml", &text).lines().count(), 2);
}

#[test]
fn near_names_are_proposed() {
    let catalogue = Catalogue::built_in().unwrap();
    let said = |name: &str| catalogue.get::<FileSystem>(name).unwrap_err().to_string();
    assert!(said("ext5").contains("did you mean ext"), "{}", said("ext5"));
    assert!(said("rieserfs").contains("did you mean reiserfs"), "{}", said("rieserfs"));
    assert!(said("XFS").contains("did you mean xfs"), "{}", said("XFS"));
    assert!(said("btrsf").ends_with("`mountmark list filesystems` lists all"), "{}", said("btrsf"));
    assert!(!said("qqqqqq").contains("did you mean"), "{}", said("qqqqqq"));
    let suite = catalogue.suite("piszcz").unwrap_err().to_string();
    assert!(suite.contains("did you mean piszcz-2006?") && suite.contains("list suites"), "{suite}");
}

/// What checks really said of sound and of damaged file systems (Debian 12: xfsprogs 6.1.0, btrfs-progs 6.2, e2fsprogs 1.47.0,
/// ntfs-3g 2022.10.3, f2fs-tools 1.15.0).
#[test]
fn a_check_that_could_not_look_is_told_from_one_that_found_damage() {
    let catalogue = Catalogue::built_in().unwrap();
    let inability = |fs: &str, code: i32, said: &str| {
        let fs: &FileSystem = catalogue.get(fs).unwrap();
        fs.fsck.as_ref().unwrap().inability(Some(code), said).map(str::to_owned)
    };
    for (fs, code, said) in [
        ("xfs", 1, "fatal error -- This filesystem has an external log.  Specify log device with the -l option."),
        ("xfs", 1, "xfs_repair: filesystem has a realtime subvolume\nxfs_repair: realtime device init failed"),
        ("xfs", 1, "/nonexistent: No such file or directory\n\nfatal error -- couldn't initialize XFS library"),
        ("btrfs", 1, "ERROR: mount check: cannot open /nonexistent: No such file or directory"),
        ("btrfs", 1, "ERROR: /dev/loop0 is currently mounted, use --force if you really intend to check"),
        ("ntfs", 1, "Failed to access '/nonexistent': No such file or directory\nVolume is corrupt."),
        ("ext4", 8, "e2fsck: Device or resource busy while trying to open /dev/loop0"),
        ("ext4", 16, "e2fsck: invalid option -- 'J'"),
    ] {
        assert!(inability(fs, code, said).is_some_and(|line| said.contains(&line) && line.len() > 20), "{fs}: {said}");
    }
    for (fs, code, said) in [
        ("xfs", 1, "Primary superblock would have been modified.\nCannot proceed further in no_modify mode."),
        ("btrfs", 1, "ERROR: cannot read chunk root\nERROR: cannot open file system"),
        ("btrfs", 1, "No valid Btrfs found on z\nERROR: cannot open file system"),
        ("ntfs", 1, "NTFS signature is missing.\nVolume is corrupt. You should run chkdsk."),
        ("f2fs", 255, "Can't find a valid F2FS superblock at 0x0"),
        (
            "ext4",
            8,
            "ext2fs_open2: Bad magic number in super-block\ne2fsck: Superblock invalid, trying backup blocks...",
        ),
        ("ext4", 4, "Pass 1: Checking inodes, blocks, and sizes"),
        ("xfs", 0, "Specify log device"),
    ] {
        assert_eq!(inability(fs, code, said), None, "{fs}: {said}");
    }
}
