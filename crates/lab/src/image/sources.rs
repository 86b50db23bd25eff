//! Copies this machine's apt sources into the cache with one more component, such as Debian's non-free.
//!
//! It does not know the contents of a component, nor whether the mirror has it: fetching the lists shows that.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cache;

/// Copies this machine's sources, or those in `from` if it is there, into the new folder `to`, with `component` added to
/// every source of Debian's own. Returns whether that changed any.
///
/// # Errors
/// A folder or file that cannot be written; unreadable files are omitted.
pub(crate) fn copy_with(component: &str, from: &Path, to: &Path) -> Result<bool> {
    cache::make_folder(to)?;
    let apt = Path::new("/etc/apt");
    let (parts, alone) = match from.is_dir() {
        true => (from.to_owned(), None),
        false => (apt.join("sources.list.d"), Some(apt.join("sources.list"))),
    };
    let parts = fs::read_dir(parts).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut is_changed = false;
    for path in parts.chain(alone) {
        let (Ok(text), Some(name)) = (fs::read_to_string(&path), path.file_name()) else { continue };
        let changed = match path.extension().and_then(|extension| extension.to_str()) {
            Some("sources") => stanzas(&text, component),
            Some("list") => lines(&text, component),
            _ => continue,
        };
        is_changed |= changed.trim_end() != text.trim_end();
        let copy = to.join(name);
        fs::write(&copy, changed).with_context(|| format!("cannot write {}", copy.display()))?;
    }
    Ok(is_changed)
}

/// Whether a source is Debian's own or a mirror of it: other archives have other components.
fn is_debian(uri: &str) -> bool {
    let path = uri.trim_end_matches('/');
    path.ends_with("/debian") || path.ends_with("/debian-security")
}

/// The form `deb [options] URI SUITE COMPONENTS`.
fn lines(text: &str, component: &str) -> String {
    let changed = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let takes_it = words.first() == Some(&"deb") && words.iter().any(|word| is_debian(word));
        match takes_it && words.contains(&"main") && !words.contains(&component) {
            // A comment may follow the components.
            true => line.replacen(" main", &format!(" main {component}"), 1),
            false => line.to_owned(),
        }
    });
    changed.map(|line| line + "\n").collect()
}

/// The stanza format (sources.list(5), DEB822-STYLE FORMAT).
fn stanzas(text: &str, component: &str) -> String {
    let field = |stanza: &str, name: &str| {
        let line = stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default()
    };
    let changed = text.split("\n\n").map(|stanza| {
        let (uris, components) = (field(stanza, "URIs"), field(stanza, "Components"));
        let takes_it = !uris.is_empty() && uris.iter().all(|uri| is_debian(uri));
        let (main, own) = ("main".to_owned(), component.to_owned());
        match takes_it && components.contains(&main) && !components.contains(&own) {
            true => {
                let added = |line: &str| match line.starts_with("Components:") {
                    true => format!("{line} {component}"),
                    false => line.to_owned(),
                };
                stanza.lines().map(added).collect::<Vec<_>>().join("\n")
            }
            false => stanza.to_owned(),
        }
    });
    changed.collect::<Vec<_>>().join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debians_own_sources_get_the_component() {
        let text = "deb http://deb.debian.org/debian bookworm main\ndeb-src http://deb.debian.org/debian bookworm main\n\
                    deb https://example.org/apt bookworm main\ndeb [a=b] http://m.org/debian/ x main non-free # why\n";
        let wanted = text.replacen("bookworm main\n", "bookworm main non-free\n", 1);
        assert_eq!(lines(text, "non-free"), wanted);
    }

    #[test]
    fn a_second_component_is_added_to_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("a")).unwrap();
        fs::write(place("a/x.list"), "deb http://deb.debian.org/debian bookworm main\n").unwrap();
        assert!(copy_with("non-free", &place("a"), &place("b")).unwrap());
        assert!(copy_with("contrib", &place("b"), &place("c")).unwrap());
        assert!(!copy_with("non-free", &place("c"), &place("d")).unwrap());
        let text = fs::read_to_string(place("d/x.list")).unwrap();
        assert_eq!(text, "deb http://deb.debian.org/debian bookworm main contrib non-free\n");
    }

    #[test]
    fn stanzas_get_it_too() {
        let text = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: a b\nComponents: main\nSigned-By: /k\n\n\
                    # another archive\nTypes: deb\nURIs: https://example.org/x\nSuites: a\nComponents: main\n";
        let changed = stanzas(text, "non-free");
        assert_eq!(changed.matches("Components: main non-free\nSigned-By").count(), 1, "{changed}");
        assert_eq!(changed.matches("non-free").count(), 1, "{changed}");
    }
}
