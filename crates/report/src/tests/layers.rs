//! Modules of this crate know each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What each module of the crate's root names of the others, tests left out.
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
