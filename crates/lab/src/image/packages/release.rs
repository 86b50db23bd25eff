//! Debian's release of this machine with its updates, its backports and a component such as contrib, beside this machine's own
//! sources, which nothing changes. Their lists are in the cache, and apt checks their signatures with this machine's keyring of
//! Debian's archive, and with no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::suites::{MIRROR, is_suite, stanza};
use super::{Packages, Solved};

/// The mirror of security updates.
const SECURITY: &str = "http://deb.debian.org/debian-security";
/// Suites that are all of a release.
const ALONE: [&str; 3] = ["sid", "unstable", "experimental"];
/// What versions of backports have in them.
const BACKPORTED: &str = "~bpo";

impl Packages {
    /// The packages of this machine's release, with `component` beside main.
    ///
    /// # Errors
    /// This is no Debian, or its keyring is missing; a cache that cannot be written.
    pub(crate) fn of_own_release(&self, component: Option<&str>) -> Result<Packages> {
        let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let field =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim_matches('"'));
        let release = field("VERSION_CODENAME=").filter(|name| field("ID=") == Some("debian") && is_suite(name));
        let release = release.context(
            "modules are built from packages of this machine's release of Debian, and /etc/os-release names none",
        )?;
        self.of_release(release, component)
    }

    /// As [`Packages::of_own_release`], of another release or suite.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn of_release(&self, release: &str, component: Option<&str>) -> Result<Packages> {
        ensure!(is_suite(release), "{release:?} is no release of Debian");
        let components = format!("main {}", component.unwrap_or_default());
        let folder = format!("{release}+{}", component.unwrap_or("main"));
        self.listed_in(folder, &sources(release, components.trim()))
    }

    /// The release whose packages these are, if they are those of a release.
    pub(crate) fn release(&self) -> Option<&str> {
        Some(self.suite.as_deref()?.split_once('+')?.0)
    }

    /// Where sets of packages are recorded. Those of a release have a folder of their own: what it takes from backports is of
    /// nobody else.
    pub(super) fn closures(&self) -> PathBuf {
        let all = self.cache.join("closures");
        match (self.release(), &self.suite) {
            (Some(_), Some(suite)) => all.join(suite),
            _ => all,
        }
    }

    /// Whether a package must have the version that apt chose: those of backports need each other's.
    pub(super) fn is_pinned(&self, solved: &Solved) -> bool {
        self.release().is_some() && solved.version.contains(BACKPORTED)
    }

    /// Names for apt-get: those that the release's backports have are taken from there, with what they need in exactly one version.
    /// apt-get alone would not find these.
    pub(super) fn targeted(&self, names: &[String]) -> Result<Vec<String>> {
        let Some(release) = self.release() else { return Ok(names.to_vec()) };
        let (mut found, mut new) = (BTreeSet::new(), names.to_vec());
        while !new.is_empty() {
            let words: Vec<&str> = ["show", "--"].into_iter().chain(new.iter().map(String::as_str)).collect();
            let text = self.apt("apt-cache", &words)?;
            let (backported, bound): (Vec<String>, Vec<Vec<String>>) = text.split("\n\n").filter_map(backport).unzip();
            found.extend(backported);
            new = bound.into_iter().flatten().filter(|name| !found.contains(name)).collect();
            crate::image::apt::check(&new)?;
        }
        let others = names.iter().filter(|name| !found.contains(*name)).cloned();
        Ok(others.chain(found.iter().map(|name| format!("{name}/{release}-backports"))).collect())
    }

    /// A field of a package's newest version.
    ///
    /// # Errors
    /// There is no such package.
    pub(crate) fn field(&self, name: &str, key: &str) -> Result<String> {
        crate::image::apt::check([&name.to_owned()])?;
        let text = self.apt("apt-cache", &["show", "--no-all-versions", "--", name])?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        Ok(line.with_context(|| format!("Debian's package lists say no {key} of {name}"))?.to_owned())
    }
}

/// The name in a stanza of apt-cache(8) show, if it is of backports, and of what it needs exactly one version.
fn backport(stanza: &str) -> Option<(String, Vec<String>)> {
    let field = |key: &str| stanza.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    field("Version")?.contains(BACKPORTED).then_some(())?;
    let needed = field("Depends")
        .unwrap_or_default()
        .split(',')
        .filter(|one| !one.contains('|'))
        .filter_map(|one| one.trim().split_once(" (= "));
    Some((field("Package")?.to_owned(), needed.map(|(name, _)| name.to_owned()).collect()))
}

/// The sources of a release, or of a suite that is one.
fn sources(release: &str, components: &str) -> String {
    if ALONE.contains(&release) {
        return stanza(MIRROR, release, components);
    }
    let suites = format!("{release} {release}-updates {release}-backports");
    let security = stanza(SECURITY, &format!("{release}-security"), components);
    format!("{}\n{security}", stanza(MIRROR, &suites, components))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_a_release_are_debians_alone_and_signed() {
        let text = sources("bookworm", "main contrib");
        assert!(text.contains("Suites: bookworm bookworm-updates bookworm-backports\n"), "{text}");
        assert_eq!(text.matches("URIs: http://deb.debian.org/").count(), 2, "{text}");
        assert_eq!(
            text.matches("Components: main contrib\nSigned-By: /usr/share/keyrings/debian-").count(),
            2,
            "{text}"
        );
        assert_eq!(sources("sid", "main").matches("Suites: sid\n").count(), 1);
    }

    #[test]
    fn what_backports_have_is_taken_from_there_with_what_is_bound_to_it() {
        let stanza = |version: &str| {
            format!("Package: a\nVersion: {version}\nDepends: b (= {version}), c (>= 1), d | e (= 2)\n")
        };
        let found = backport(&stanza("2.3.2-2~bpo12+2"));
        assert_eq!(found, Some(("a".into(), vec!["b".into()])));
        assert_eq!(backport(&stanza("2.1.11-1")), None);
    }

    #[test]
    fn sets_of_a_release_are_recorded_beside_those_of_this_machine() {
        let cache = tempfile::tempdir().unwrap();
        let own = Packages::new(cache.path());
        let Ok(release) = own.of_release("bookworm", Some("contrib")) else {
            return eprintln!("skipped: this machine has no keyring of Debian's");
        };
        assert_ne!(own.closures(), release.closures());
        assert_eq!((own.release(), release.release()), (None, Some("bookworm")));
        assert!(own.suites().is_empty(), "no suite that --kernel names");
        let solved = |version: &str| Solved { name: "a".into(), version: version.into(), file: "a".into(), bytes: 0 };
        assert!(release.is_pinned(&solved("2.3.2-2~bpo12+2")) && !release.is_pinned(&solved("2.3.2-2")));
        assert!(!own.is_pinned(&solved("2.3.2-2~bpo12+2")));
        assert!(own.of_release("woody", None).is_err());
    }
}
