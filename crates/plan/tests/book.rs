//! Checks the pages: their links and anchors, their place in the book, their sentences, and the book if it was built.

mod repository;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use repository::{files, root};

/// README.md and the pages below docs/.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut found: BTreeMap<PathBuf, String> =
        files("docs", ".md").into_iter().map(|(path, text)| (path.into(), text)).collect();
    found.insert("README.md".into(), fs::read_to_string(root().join("README.md")).unwrap());
    found
}

/// The pages of the book, in its order.
fn summary() -> Vec<PathBuf> {
    links(&fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap())
        .iter()
        .map(|link| Path::new("docs").join(link))
        .collect()
}

/// The lines outside blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Where links and pictures lead.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(text).collect();
    let without_code: String = prose.join("\n").split('`').step_by(2).collect::<Vec<_>>().join("code");
    let ends = without_code.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    ends.map(str::to_owned).collect()
}

/// What mdBook and GitHub call the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let name: String =
            heading.chars().filter(is_kept).map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let another = (1..).map(|number| format!("{name}-{number}")).find(|another| !found.contains(another));
        found.insert(if found.contains(&name) { another.unwrap() } else { name });
    }
    found
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{path:?} leaves the folder"),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn links_lead_somewhere() {
    let (pages, summary) = (pages(), summary());
    let (mut broken, mut checked) = (Vec::new(), 0);
    for (page, text) in &pages {
        for link in links(text).iter().filter(|link| !link.contains("://")) {
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { plain(&page.parent().unwrap().join(file)) };
            // A page of the reference that is generated with the book.
            let is_generated = target.starts_with("docs/reference") && summary.contains(&target);
            let has_anchor = || pages.get(&target).is_some_and(|text| anchors(text).contains(anchor));
            let is_there = root().join(&target).exists() && (anchor.is_empty() || has_anchor());
            if !is_there && !is_generated {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(checked > 100, "{checked} links");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn links_of_the_built_book_lead_somewhere() {
    let book = root().join("target/book");
    if !book.exists() {
        eprintln!("skipped: there is no target/book (make book)");
        return;
    }
    let in_book = |path: &str| Path::new(path).strip_prefix("target/book").unwrap().to_owned();
    let pages: BTreeMap<PathBuf, String> =
        files("target/book", ".html").into_iter().map(|(path, text)| (in_book(&path), text)).collect();
    let mut broken = Vec::new();
    // The page for a server's missing pages has links from the server's root.
    for (page, text) in pages.iter().filter(|(page, _)| !page.ends_with("404.html")) {
        let after = |start: &str| {
            text.split(start).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for link in after(" href=\"").into_iter().chain(after(" src=\"")) {
            if link.contains(':') || link.is_empty() {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { plain(&page.parent().unwrap().join(file)) };
            let has_anchor = || pages.get(&target).is_some_and(|text| text.contains(&format!("id=\"{anchor}\"")));
            if !book.join(&target).exists() || !(anchor.is_empty() || has_anchor()) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(pages.len() > 20, "{} pages", pages.len());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn each_page_is_in_the_book_once() {
    let summary = summary();
    let listed: BTreeSet<&PathBuf> = summary.iter().collect();
    assert_eq!(listed.len(), summary.len(), "a page twice in docs/SUMMARY.md");
    let pages = pages();
    let outside: Vec<_> = pages.keys().filter(|page| !listed.contains(page)).collect();
    assert_eq!(outside, [Path::new("README.md"), Path::new("docs/SUMMARY.md")]);
}

#[test]
fn a_block_that_is_not_run_has_its_reason() {
    let (mut run, mut ignored) = (0, 0);
    for (page, text) in pages() {
        let mut last = "";
        for line in text.lines() {
            if line.starts_with("```sh,ignore") {
                ignored += 1;
                let has_reason = last.starts_with("<!-- not run: ") && last.ends_with(" -->");
                assert!(has_reason, "{}: no reason above a block that is not run, but {last:?}", page.display());
            } else if line.starts_with("```sh") {
                run += 1;
                assert_eq!(line, "```sh", "{}", page.display());
            }
            last = line;
        }
    }
    assert!(run > 2 * ignored, "{run} blocks are run, {ignored} are not");
}

#[test]
fn sentences_are_short_and_plain() {
    let listed = Command::new(root().join("scripts/prose")).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stdout));
    let long = "It is said of each of them what ".repeat(6) + "mends it.\n";
    let page = std::env::temp_dir().join(format!("prose-{}.md", std::process::id()));
    fs::write(&page, long).unwrap();
    let listed = Command::new(root().join("scripts/prose")).arg(&page).output().unwrap();
    fs::remove_file(&page).unwrap();
    let said = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(!listed.status.success() && said.lines().count() == 2, "{said}");
}
