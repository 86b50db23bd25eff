//! The user's own files as the corpus: a folder and a compressed archive of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::lab::{Lab, Results, assert_equal_figures};

#[test]
fn a_folder_and_its_archive_are_the_same_corpus() {
    let Some(lab) = Lab::with_guests("a_folder_and_its_archive_are_the_same_corpus", 1) else { return };
    let tree = lab.path("my-files");
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    fs::write(tree.join("empty"), "").unwrap();
    fs::write(tree.join("deep/text with a space"), "some words\n".repeat(500)).unwrap();
    fs::write(tree.join("deep/er/bytes"), (0..=255u8).cycle().take(70_000).collect::<Vec<u8>>()).unwrap();
    symlink("deep/er", tree.join("link")).unwrap();
    let archive = lab.path("my-files.tar.gz");
    let tar = Command::new("tar").arg("-C").arg(lab.path("")).arg("-czf").arg(&archive).arg("my-files").status();
    assert!(tar.expect("tar").success());

    let run = |corpus: &str| -> (Results, String) {
        let plan = ["--fs", "ext4", "--suite", "piszcz-2006", "--scale", "0.001", "--repeat", "1"];
        let ran = lab.run(&[&plan[..], &["--corpus", corpus]].concat()).ended_with(0);
        let table = lab.command(&["show", "latest", "--out", &lab.out().to_string_lossy()]).ended_with(0);
        (ran.results(), table.stdout)
    };
    for corpus in [&tree, &archive] {
        let (results, table) = run(&corpus.to_string_lossy());
        results.is_ok("ext4", &["007", "009", "010", "011", "012", "015", "020", "umount", "fsck"]);
        let facts = &results.cell("ext4")["corpus"];
        assert_eq!(facts["files"], 3, "{facts}");
        assert_eq!(facts["others"], 1, "{facts}");
        assert_eq!(facts["bytes"], 75_500, "{facts}");
        let line = table.lines().find(|line| line.starts_with("corpus ")).unwrap_or_else(|| panic!("{table}"));
        assert!(line.contains("my-files") && line.contains("3 files") && line.contains("1 other"), "{line}");
        if corpus == &tree {
            let (again, _) = run(&corpus.to_string_lossy());
            assert_equal_figures(&results, &again);
        }
    }
}

#[test]
fn archives_that_are_none_are_refused() {
    let lab = Lab::without_guests();
    let text = lab.write("broken.tar.gz", "this is no archive");
    fs::create_dir(lab.path("nothing")).unwrap();
    for (corpus, says) in [(text, "broken.tar.gz"), (lab.path("nothing").to_string_lossy().into_owned(), "nothing")] {
        let ran = lab.run(&["--fs", "ext4", "--scale", "0.001", "--corpus", &corpus]);
        assert!([2, 3].contains(&ran.code()), "{}", ran.text());
        ran.says(&[says]);
    }
}
