//! The modules of this crate depend on each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// References of each top-level module to the others, without tests.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(&root).unwrap();
            let module = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
            let is_test = inside.iter().any(|part| ["tests", "tests.rs"].iter().any(|name| part == *name));
            if is_test || module == "lib" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Some(text) =
                path.extension().filter(|end| *end == "rs").and_then(|_| std::fs::read_to_string(&path).ok())
            else {
                continue;
            };
            let code = text.split("#[cfg(test)]").next().unwrap();
            for part in code.split("crate::").skip(1) {
                let name: String =
                    part.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                if name != module {
                    out.entry(module.clone()).or_default().insert(name);
                }
            }
            out.entry(module).or_default();
        }
    }
    out
}

#[test]
fn no_module_uses_one_that_uses_it() {
    let mut left = uses();
    assert!(left.len() > 10 && left.values().map(BTreeSet::len).sum::<usize>() > 20, "{left:?}");
    loop {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, uses)| !uses.iter().any(|used| left.contains_key(used)))
            .map(|(name, _)| name.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|name| drop(left.remove(name)));
    }
    assert!(left.is_empty(), "these use each other in a circle: {left:?}");
}

/// The text of all modules except tests, by path, without comments and `use`.
fn code() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut out = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            if name.contains("tests") || !(path.is_dir() || name.ends_with(".rs")) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap().replace("\\\"", "").replace("'\"'", "");
            // Without literals, which contain prose.
            let text: String = text.split('"').step_by(2).collect();
            let mut is_use = false;
            let kept = text.lines().filter(|line| {
                let line = line.trim_start();
                is_use |= ["use ", "pub use ", "pub(crate) use ", "mod ", "pub(crate) mod "]
                    .iter()
                    .any(|w| line.starts_with(w));
                let keeps = !is_use && !line.starts_with("//");
                is_use &= !line.ends_with(';');
                keeps
            });
            out.insert(name, kept.collect::<Vec<_>>().join("\n"));
        }
    }
    out
}

/// How often `name` occurs in `text` as a whole word.
fn words(text: &str, name: &str) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter)).filter(|word| *word == name).count()
}

#[test]
fn a_subject_is_one_file_and_a_line_and_so_is_a_writer() {
    let code = code();
    for (folder_of, mark, least) in [("subjects/", "impl Subject for ", 8), ("writers/", "(crate) const ", 6)] {
        let mut found = 0;
        for (own, text) in &code {
            for name in text.split(mark).skip(1) {
                let (name, rest) = name.split_once(|letter: char| !letter.is_alphanumeric()).unwrap();
                if mark.contains("const") && !rest.starts_with(" Writer") {
                    continue;
                }
                if !own.starts_with(folder_of) {
                    continue;
                }
                let folder = own.trim_end_matches(".rs");
                let others = code.iter().filter(|(path, _)| *path != own && !path.starts_with(&format!("{folder}/")));
                let places: Vec<(&String, usize)> =
                    others.map(|(path, text)| (path, words(text, name))).filter(|(_, count)| *count > 0).collect();
                assert_eq!(places, [(&"registry.rs".to_owned(), 1)], "{name}");
                found += 1;
            }
        }
        assert!(found >= least, "{mark}: {found}");
    }
}
