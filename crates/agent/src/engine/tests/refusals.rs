//! Workloads refused before they start, and the sentences.

use super::*;

fn refusal(text: &str, folder: &Path) -> String {
    match run(&workload(text), folder, &options(), &mut History::default()) {
        Ok(_) => panic!("not refused: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn contradictions_are_refused_with_what_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let one = |rest: &str| format!("files = {{ size = 8192 }}\n[[phases]]\nname = \"it\"\n{rest}");
    for (rest, said) in [
        ("what = {}", "at least one operation"),
        ("what = \"read\"\nblock = \"$NONE\"", "parameter NONE"),
        ("what = \"read\"\nblock = 0", "block is 0"),
        ("what = \"read\"\nthreads = 2", "2 threads and 1 files: say shared = true"),
        ("what = \"read\"\nqueue_depth = 2", "needs engine = \"uring\""),
        ("what = \"rewrite\"\nengine = \"uring\"", "uring does read, write and fsync"),
        ("what = \"write\"\ndirect = true\nblock = 1000", "whole 512 bytes"),
        ("what = \"write\"\ndirect = true\nengine = \"mmap\"", "past the page cache"),
        ("what = \"write\"\nverify = true\nblock = 100", "whole 512 bytes"),
        ("what = { read = 1, rewrite = 1 }\nverify = true\nthreads = 2\nshared = true", "while it is written"),
        ("what = { read = 1, write = 1 }\nverify = true\nengine = \"uring\"\nqueue_depth = 2", "while it is written"),
        ("what = \"read\"\npattern = \"append\"", "write alone"),
        ("what = \"read\"\npattern = { zipf = 0.0 }", "zipf is 0"),
        ("what = \"read\"\npattern = { strided = 0 }", "strided is 0"),
        ("what = \"read\"\nrun = { seconds = -1.0 }", "must be above 0"),
        ("what = \"create\"\npattern = \"random\"", "can be done once to each file"),
        ("what = \"unlink\"\nrun = { seconds = 1 }", "can be done once to each file"),
        ("what = \"rename\"\ntarget = \"f\"", "the same"),
        ("what = \"write\"\ndata = { compressible = 0.5 }", "compressible is 0.5"),
        ("what = \"write\"\nfiles = { folder = \"../x\", size = 1 }", "without \"..\""),
        ("what = \"write\"\nfiles = { prefix = \"a/b\", size = 1 }", "letters, digits"),
        ("what = \"write\"\nfiles = { }", "no size"),
        ("what = \"read-file\"\nfiles = { folder = \"none\", existing = true }\nthreads = 1", "cannot open the folder"),
        ("what = \"write-file\"\nsync = { every = 5 }", "every = 1"),
        ("what = \"open\"\npattern = \"listed\"", "stat alone or unlink alone"),
        ("what = \"stat\"\npattern = \"listed\"\nthreads = 2\nshared = true", "for one thread"),
        ("what = \"unlink\"\npattern = \"listed\"\nrun = { passes = 2 }", "can be done once to each file"),
        ("what = \"create\"\nwarm_up = 1", "leave out warm_up"),
        ("what = \"create\"\nrun = { operations = 2 }", "thread 0 has 1 files for its part of 2 operations"),
        ("what = \"mkdir\"\nfiles = { count = 8 }\nthreads = 5\nrun = { operations = 7 }", "thread 2 has 1 files"),
        (
            "what = { create = 1, unlink = 1 }\nfiles = { count = 8 }\nthreads = 2\nshared = true",
            "leave out shared, so that each",
        ),
        ("what = \"create\"\nsync = { every = 1 }", "as create leaves no file open"),
        ("what = \"truncate\"\nsync = { end = true }", "as truncate leaves no file open"),
        ("what = \"read-file\"\nsync = { open = \"sync\" }", "let a phase of fsync follow"),
    ] {
        let said_truly = refusal(&one(rest), folder.path());
        assert!(said_truly.contains(said) && !said_truly.is_empty(), "{rest}: {said_truly}");
    }
    assert!(refusal("phases = []", folder.path()).contains("no phase"));
}

#[test]
fn more_than_there_is_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str| refusal(text, folder.path());
    let huge = "files = { size = \"1000 TiB\" }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\n";
    assert!(refused(huge).contains("need 1000 TiB more, and"), "{}", refused(huge));
    let later = "files = { size = \"64 KiB\" }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\n\
                 [[phases]]\nname = \"more\"\nwhat = \"write-file\"\nfiles = { prefix = \"g\", count = 1_000_000_000, size = \"100 MiB\" }\n";
    assert!(refused(later).contains("phase more cannot run here"), "{}", refused(later));
    let memory = "files = { size = \"1 MiB\" }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\nengine = \"uring\"\n\
                  block = \"1 GiB\"\nqueue_depth = 4096\n";
    assert!(refused(memory).contains("of memory, and"), "{}", refused(memory));
    let descriptors =
        "files = { count = 2_000_000_000, size = 1 }\n[[phases]]\nname = \"get\"\nwhat = \"read\"\nengine = \"mmap\"\n";
    assert!(refused(descriptors).contains("raise ulimit -n"), "{}", refused(descriptors));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was written");
    let short = "files = { size = 8192 }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\n\
                 [[phases]]\nname = \"get\"\nwhat = \"read\"\nfiles = { size = 9000 }\n";
    assert!(refused(short).contains("has 8192 bytes and 9000 are to be read"), "{}", refused(short));
    let missing = "files = { size = 8192, prefix = \"x\" }\n[[phases]]\nname = \"get\"\nwhat = \"read\"\n";
    assert!(refused(missing).contains("cannot open") && refused(missing).contains("x00000000"));
}

#[test]
fn failing_operations_are_counted_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let text = "files = { count = 5000 }\n[[phases]]\nname = \"rm\"\nwhat = \"unlink\"\n";
    let phases = done(text, folder.path());
    let unlinked = of(&phases[0], Operation::Unlink);
    assert_eq!((unlinked.count, unlinked.errors), (0, 1000));
    assert_eq!(phases[0].errors.len(), 16);
    assert!(
        phases[0].errors[0].ends_with("f00000000: No such file or directory (os error 2)"),
        "{:?}",
        phases[0].errors
    );
    assert!(phases[0].notes[0].contains("gave up after 1,000"));
}
