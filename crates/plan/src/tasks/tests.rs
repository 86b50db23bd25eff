use std::fs;

use super::*;
use crate::Catalogue;

fn suite(tasks: &str) -> Suite {
    let head = "name = \"mine\"\nabout = \"a test\"\nroom = \"1 MiB\"\n[parameters.FILES]\nvalue = 1000\n";
    toml::from_str(&format!("{head}{tasks}")).unwrap_or_else(|error| panic!("{error}\n{tasks}"))
}

#[track_caller]
/// As of a suite that is written.
fn faults(suite: &Suite) -> Vec<String> {
    [super::faults(suite), idle::faults(suite)].concat()
}

fn has_fault(tasks: &str, text: &str) {
    let all = faults(&suite(tasks)).join("\n");
    assert!(all.contains(text), "{all:?} has no {text:?}");
}

const ENGINE: &str = "\n[[task]]\nid = \"w\"\ntitle = \"w\"\n[task.workload]\nfiles = { count = \"$FILES\", directories = 10, size = \"8 KiB\" }\n\
    [[task.workload.phases]]\nname = \"a\"\nwhat = \"write-file\"\n[[task.workload.phases]]\nname = \"b\"\nwhat = \"read-file\"\nblock = \"1 MiB\"\nthreads = 4\n";

#[test]
fn files_have_one_size_or_several() {
    let both = ENGINE.replace("size = \"8 KiB\"", "size = \"8 KiB\", sizes = { uniform = { min = 1, max = 1048576 } }");
    has_fault(&both, "its files have size and sizes: keep one of them");
}

#[test]
fn a_task_has_one_kind_of_work() {
    let head = "\n[[task]]\nid = \"a\"\ntitle = \"a\"\n";
    has_fault(head, "run is empty; give the command to time, or fio, workload or part_of");
    has_fault(&format!("{head}run = \"x\"\nfio = \"a.fio\"\n"), "more than one of run, fio");
    has_fault(
        &format!("{head}run = \"x\"\nprogram = \"bonnie\"\n"),
        "no program \"bonnie\"; there are bonnie++, dbench",
    );
    has_fault(&format!("{head}program = \"bonnie++\"\n"), "run is empty");
    has_fault(&format!("{head}run = \"x\"\nfigure = \"y\"\n"), "figure needs program");
    has_fault(&format!("{head}run = \"x\"\nleast_seconds = 1\n"), "least_seconds is for a workload");
    has_fault(&format!("{head}run = \"x\"\nrate = \"operations\"\n"), "rate is for a workload");
    has_fault(&format!("{head}part_of = \"b\"\n"), "part_of names \"b\", which is no task before it");
}

#[test]
fn figures_are_those_of_the_program_or_the_workload() {
    let bonnie = "\n[[task]]\nid = \"bonnie\"\ntitle = \"a\"\nrun = \"x\"\nprogram = \"bonnie++\"\n";
    has_fault(bonnie, "prints several figures: add a [[task]] with part_of = \"bonnie\"");
    let part = |more: &str| format!("{bonnie}[[task]]\nid = \"putc\"\ntitle = \"b\"\npart_of = \"bonnie\"\n{more}");
    assert_eq!(faults(&suite(&part(""))), [""; 0]);
    has_fault(&part("figure = \"putd\"\n"), "bonnie++ prints no figure \"putd\"; there are putc, put_block");
    has_fault(&part("cold = true\n"), "a part is measured with its whole");
    has_fault(&part("limit_seconds = 1\n"), "repeat and limit_seconds belong there");
    let printed = "printed = { pattern = \"([0-9]+)\" }\n";
    has_fault(&part(printed), "part_of names \"bonnie\", which is no command whose output");
    assert_eq!(faults(&suite(&part(printed).replace("program = \"bonnie++\"\n", ""))), [""; 0]);
    let iozone = "\n[[task]]\nid = \"i\"\ntitle = \"a\"\nrun = \"x\"\nprogram = \"iozone\"\nfigure = \"write/r64\"\n";
    assert_eq!(faults(&suite(iozone)), [""; 0]);
    has_fault(ENGINE, "several phases that count (a, b)");
    has_fault(
        &format!("{ENGINE}[[task]]\nid = \"c\"\ntitle = \"c\"\npart_of = \"w\"\n"),
        "has no phase \"c\" that counts; it has a, b",
    );
    let part = |name: &str| format!("[[task]]\nid = \"{name}\"\ntitle = \"{name}\"\npart_of = \"w\"\n");
    has_fault(&format!("{ENGINE}{}", part("b")), "its phase \"a\" counts, and no task shows its figures");
    assert_eq!(faults(&suite(&format!("{ENGINE}{}{}", part("a"), part("b")))), [""; 0]);
    has_fault(&ENGINE.replace("$FILES", "$FOLDERS"), "names the parameter FOLDERS");
    has_fault(&ENGINE.replace("name = \"b\"", "name = \"a\""), "two phases of its workload are named \"a\"");
}

#[test]
fn job_files_are_read_beside_their_suite() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "mine.toml",
        "name = \"mine\"\nabout = \"a\"\nroom = 0\n[[task]]\nid = \"mine\"\ntitle = \"m\"\nfio = \"jobs/a.fio\"\n",
    );
    fs::create_dir(folder.path().join("jobs")).unwrap();
    write("jobs/a.fio", "[one]\nsize=1m\n[two]\nsize=2m\nrw=randwrite\n");
    let catalogue = Catalogue::built_in().unwrap();
    let path = folder.path().join("mine.toml").display().to_string();
    let suite = catalogue.suite(&path).unwrap();
    let ids: Vec<&str> = suite.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["mine", "one", "two"]);
    assert!(suite.tasks[0].fio.as_ref().unwrap().starts_with("[one]"));
    assert_eq!(job_files_room(&suite, &BTreeMap::new()).unwrap(), (3 << 20) + 2 * 4096);
    assert_eq!(programs(&suite.tasks)[0].name, "fio");
    write("jobs/a.fio", "[one]\nsize=1m\nfilename=/dev/sda\n");
    let error = catalogue.suite(&path).unwrap_err().to_string();
    assert!(error.contains("jobs/a.fio:3: filename=/dev/sda: "), "{error}");
    let alone = catalogue.suite(&folder.path().join("jobs/a.fio").display().to_string());
    assert!(alone.unwrap_err().to_string().contains("a.fio:3: "));
    let missing = catalogue.suite(&folder.path().join("no.fio").display().to_string());
    assert!(missing.unwrap_err().to_string().contains("cannot read"));
}

#[test]
fn numbers_do_not_contradict_what_they_are_taken_from() {
    let with = |files: &str, phase: &str| {
        format!(
            "\n[[task]]\nid = \"w\"\ntitle = \"w\"\nlimit_seconds = 100\n[task.workload]\nfiles = {{ {files} }}\n\
             [[task.workload.phases]]\nname = \"a\"\nwhat = \"write\"\n{phase}\n"
        )
    };
    let sized = "count = 4, size = \"64 KiB\"";
    assert_eq!(faults(&suite(&with(sized, "block = \"64 KiB\"\nsync = { every = 1, data_only = true }"))), [""; 0]);
    assert_eq!(faults(&suite(&with("size = 10", "block = 10"))), [""; 0]);
    has_fault(&with(sized, "block = \"1 MiB\""), "block is 1.00 MiB, and no file is larger than 64.0 KiB");
    let uniform = "sizes = { uniform = { min = 1, max = \"$FILES\" } }";
    has_fault(&with(uniform, "block = \"2 KiB\""), "block is 2.00 KiB, and no file is larger than");
    for (sync, field) in [
        ("{ data_only = true }", "sync.data_only"),
        ("{ end = true, all_files = true }", "sync.all_files"),
        ("{ all_operations = true }", "sync.all_operations"),
    ] {
        has_fault(&with(sized, &format!("sync = {sync}")), field);
    }
    has_fault(&with(sized, "run = { seconds = 101 }"), "are 101 s, and limit_seconds ends it after 100");
    has_fault(&with(sized, "run = { seconds = 60 }\nwarm_up = 60"), "are 120 s");
    assert_eq!(faults(&suite(&with(sized, "run = { seconds = 60 }\nwarm_up = 30"))), [""; 0]);
    has_fault(
        &with(sized, "").replace("limit_seconds", "least_seconds = 200\nlimit_seconds"),
        "least_seconds is 200, and limit_seconds ends it after 100",
    );
}

#[test]
fn a_sync_that_is_written_is_one() {
    let read = |every: &str| {
        let text = format!(
            "name = \"mine\"\nabout = \"a test\"\nroom = \"1 MiB\"\n[[task]]\nid = \"w\"\ntitle = \"w\"\n\
             workload.files = {{ size = \"8 KiB\" }}\n[[task.workload.phases]]\nname = \"a\"\nwhat = \"write\"\n\
             sync = {{ every = {every} }}\n"
        );
        Catalogue::default().add::<Suite>(&text, Path::new("mine.toml")).map_err(|error| error.to_string())
    };
    assert_eq!(read("1"), Ok(()));
    for none in ["0", "\"0\""] {
        let said = read(none).unwrap_err();
        assert!(said.contains("task w: sync.every is 0, which never syncs"), "{said}");
    }
}
