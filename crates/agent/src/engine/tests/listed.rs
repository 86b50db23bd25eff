//! Names in directory order.

use super::*;

/// Number of entries in a folder and below it.
fn census(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| if entry.path().is_dir() { census(&entry.path()) } else { 1 }).sum()
}

#[test]
fn what_directories_list_is_done_once_each_and_the_rest_passed_over() {
    // More than a 32 KiB batch holds, in one directory and in several.
    for set in ["count = 3000", "count = 3000, names = \"random\"", "count = 3000, directories = 7"] {
        let folder = tempfile::tempdir().unwrap();
        let create = format!("files = {{ {set} }}\n[[phases]]\nname = \"create\"\nwhat = \"create\"\n");
        well(&create, folder.path());
        let inside = folder.path().join(if set.contains("directories") { "d00000000" } else { "." });
        let strangers = ["f00003000", "f0", "g00000001", "f000000001", "fxxxxxxxx00000001", "f00002999x"];
        for name in strangers {
            fs::write(inside.join(name), "").unwrap();
        }
        let text = format!(
            "files = {{ {set} }}\n[[phases]]\nname = \"stat\"\nwhat = \"stat\"\npattern = \"listed\"\n\
             run = {{ passes = 3 }}\n[[phases]]\nname = \"rm\"\nwhat = \"unlink\"\npattern = \"listed\"\n"
        );
        let phases = well(&text, folder.path());
        assert_eq!((of(&phases[0], Operation::Stat).count, of(&phases[0], Operation::Stat).bytes), (9000, 0), "{set}");
        assert_eq!(of(&phases[1], Operation::Unlink).count, 3000, "{set}");
        assert_eq!(census(folder.path()), strangers.len(), "{set}");
        // Without files the search ends with an error.
        let nothing = done(&text, folder.path());
        assert_eq!((of(&nothing[0], Operation::Stat).count, of(&nothing[0], Operation::Stat).errors), (0, 1000));
        assert!(nothing[0].errors[0].contains("No such file"), "{:?}", nothing[0].errors);
    }
}
