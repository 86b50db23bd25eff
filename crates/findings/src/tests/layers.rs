//! The modules of this crate depend on each other in one direction, and a question is one folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module by its path from the crate's root.
type Module = Vec<String>;

/// The text of all modules except tests, without comments and literals.
fn modules() -> BTreeMap<Module, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut out, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().with_extension("");
            let parts: Module = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if parts.iter().any(|part| part == "tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && parts.last().unwrap() != "mod" {
                let text = std::fs::read_to_string(&path).unwrap().replace("\\\"", "").replace("'\"'", "");
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                let lines = lines.collect::<Vec<_>>().join("\n");
                // Without literals, which contain prose.
                out.insert(parts, lines.split('"').step_by(2).collect());
            }
        }
    }
    out
}

/// Letters of a path: `a::b`.
fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == ':'
}

/// The modules that a text names: by `crate::`, and by a folder that it imports.
fn used(text: &str, all: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let mut paths: Vec<String> = Vec::new();
    for rest in text.split("crate::").skip(1) {
        let end = rest.find(|letter| !is_of_path(letter)).unwrap_or(rest.len());
        let names = rest[end..].strip_prefix('{').map(|inner| inner.split('}').next().unwrap());
        match names {
            Some(names) => paths.extend(names.split(',').map(|name| format!("{}{}", &rest[..end], name.trim()))),
            None => paths.push(rest[..end].to_owned()),
        }
    }
    let imported: Vec<String> = paths.iter().filter(|path| !path.contains("::")).cloned().collect();
    let words = text.split(|letter| !is_of_path(letter));
    paths.extend(
        words.filter(|word| imported.iter().any(|name| word.starts_with(&format!("{name}::")))).map(str::to_owned),
    );
    let longest = |path: &String| {
        let path = path.split(' ').next().unwrap();
        let parts: Module = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        (1..=parts.len()).rev().map(|count| parts[..count].to_vec()).find(|module| all.contains_key(module))
    };
    paths.iter().filter_map(longest).collect()
}

fn uses() -> BTreeMap<Module, BTreeSet<Module>> {
    let all = modules();
    let mut out: BTreeMap<Module, BTreeSet<Module>> =
        all.iter().map(|(module, text)| (module.clone(), used(text, &all))).collect();
    for (module, used) in &mut out {
        used.remove(module);
    }
    out.retain(|module, _| module[0] != "lib");
    assert!(out.len() > 90 && out.values().map(BTreeSet::len).sum::<usize>() > 400, "{}", out.len());
    out
}

#[test]
fn no_module_uses_one_that_uses_it() {
    let mut left = uses();
    loop {
        let is_free = |used: &BTreeSet<Module>| !used.iter().any(|used| left.contains_key(used));
        let free: Vec<Module> = left.iter().filter(|(_, used)| is_free(used)).map(|(name, _)| name.clone()).collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|name| drop(left.remove(name)));
    }
    assert!(left.is_empty(), "these use each other in a circle: {left:#?}");
}

/// Findings know no sentence, sentences no table, and no question knows the report that they are part of.
#[test]
fn what_is_found_does_not_know_how_it_is_told() {
    let floor = |module: &Module| match (module[0].as_str(), module.get(1).map(String::as_str)) {
        ("registry", _) => 4,
        ("reports" | "sections", _) => 3,
        ("view", _) | (_, Some("show" | "page")) => 2,
        (_, Some("say")) => 1,
        ("analysis" | "found" | "group" | "name" | "options", _) | (_, Some("find")) => 0,
        other => panic!("what is {other:?}? A question has find, say, show and page"),
    };
    let upward: Vec<String> = uses()
        .iter()
        .flat_map(|(module, used)| used.iter().map(move |other| (module, other)))
        .filter(|(module, other)| floor(module) < floor(other))
        .map(|(module, other)| format!("{} uses {}", module.join("::"), other.join("::")))
        .collect();
    assert!(upward.is_empty(), "{upward:#?}");
}

/// How often `name` occurs in `text` as a whole word, outside of `use`.
fn words(text: &str, name: &str) -> usize {
    let mut is_use = false;
    let code = text.lines().filter(|line| {
        is_use |= line.starts_with("use ") || line.starts_with("pub use ");
        let keeps = !is_use;
        is_use &= !line.ends_with(';');
        keeps
    });
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.flat_map(|line| line.split(|letter| !is_part(letter))).filter(|word| *word == name).count()
}

#[test]
fn a_subject_is_one_file_and_a_line() {
    let all = modules();
    let mut found = 0;
    for (own, text) in &all {
        for rest in text.split("impl Subject for ").skip(1) {
            let (name, _) = rest.split_once(|letter: char| !letter.is_alphanumeric()).unwrap();
            let others = all.iter().filter(|(path, _)| !path.starts_with(own));
            let places: Vec<(String, usize)> = others
                .map(|(path, text)| (path.join("::"), words(text, name)))
                .filter(|(_, count)| *count > 0)
                .collect();
            assert_eq!(places, [("registry".to_owned(), 1)], "{name}");
            found += 1;
        }
    }
    assert!(found >= 17, "{found}");
}
