//! Debian packages without installing them: solved by apt, downloaded and unpacked into the cache, as any user.
//!
//! The guest's programs come from packages and never from this machine's own /usr, so that they are the same
//! wherever the lab runs. What a set of names stood for is written down in the cache the first time; from then on the
//! same versions are used until the cache is cleaned, also for other sets that have a package in common with it: two
//! file systems are not to differ by their tar.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::sources;
use crate::cache;

/// An unpacked package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// Debian's name.
    pub name: String,
    /// Debian's version.
    pub version: String,
    /// Where it is unpacked.
    pub folder: PathBuf,
}

/// Where Debian's package lists are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Fetched into the cache.
    Cache,
    /// This machine's own, because none could be fetched.
    System,
    /// They will be fetched into the cache when they are needed.
    Nowhere,
}

/// Lists older than this name versions that may be gone from the mirrors. What the cache already holds is not affected.
const LISTS_KEEP: Duration = Duration::from_secs(24 * 3600);
/// When lists that could not be fetched are asked for again.
const RETRY: Duration = Duration::from_secs(3600);
/// What is noted of lists that were fetched.
const RENEWED: &str = "cache";

/// Packages in the cache.
pub struct Packages {
    cache: PathBuf,
}

impl Packages {
    /// Packages kept under `cache`.
    pub fn new(cache: &Path) -> Packages {
        Packages { cache: cache.to_owned() }
    }

    /// The named packages and everything they depend on, unpacked, in apt's order.
    pub fn closure(&self, names: &[String]) -> Result<Vec<Package>> {
        let mut names = names.to_vec();
        names.sort();
        names.dedup();
        let file = self.cache.join(format!("closures/{}.json", cache::key(names.iter().map(String::as_str))));
        if let Some(kept) = closure_in(&file) {
            return Ok(kept);
        }
        // One at a time: two sets made side by side would not know of each other's versions.
        let _lock = cache::Lock::take(&self.cache.join("closures/all"))?;
        if let Some(kept) = closure_in(&file) {
            return Ok(kept);
        }
        let known = self.known();
        let mut locks = Vec::new();
        let mut one = |solved: &Solved| match known.get(&solved.name) {
            Some(package) => Ok(package.clone()),
            None => self.unpack(solved, &mut locks),
        };
        let packages = self.solve(&names)?.iter().map(&mut one).collect::<Result<Vec<_>>>()?;
        self.complete(&packages)?;
        cache::write_whole(&file, serde_json::to_string_pretty(&packages)?.as_bytes())?;
        Ok(packages)
    }

    /// The packages of all sets in the cache by name, each in the version that came first.
    fn known(&self) -> BTreeMap<String, Package> {
        let files = fs::read_dir(self.cache.join("closures")).into_iter().flatten().flatten();
        let mut files: Vec<_> =
            files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
        files.sort();
        let mut known = BTreeMap::new();
        for package in files.iter().filter_map(|(_, file)| closure_in(file)).flatten() {
            known.entry(package.name.clone()).or_insert(package);
        }
        known
    }

    /// Notes that packages are whole, when their files are sure to outlive a power cut: an empty program runs without an
    /// error.
    fn complete(&self, packages: &[Package]) -> Result<()> {
        let new: Vec<_> = packages.iter().filter(|package| !is_complete(package)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let folder = self.cache.join("packages");
        let opened = fs::File::open(&folder).with_context(|| format!("cannot open {}", folder.display()))?;
        rustix::fs::syncfs(&opened).with_context(|| format!("cannot write to {}", folder.display()))?;
        for package in new {
            // Lost, it would be made again.
            fs::write(package.folder.join(".complete"), "")?;
        }
        Ok(())
    }

    /// One package alone, without what it depends on.
    fn alone(&self, name: &str) -> Result<Package> {
        let text = self.apt("apt-cache", &["show", "--no-all-versions", name])?;
        let field = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
            line.map(str::to_owned).with_context(|| format!("Debian's package lists say no {key} of {name}"))
        };
        let version = field("Version:")?;
        let architecture = field("Architecture:")?;
        let file = format!("{name}_{}_{architecture}.deb", version.replace(':', "%3a"));
        let _lock = cache::Lock::take(&self.cache.join("closures/all"))?;
        let mut locks = Vec::new();
        let package = self.unpack(&Solved { name: name.to_owned(), version, file }, &mut locks)?;
        self.complete(std::slice::from_ref(&package))?;
        Ok(package)
    }

    /// As [`Packages::alone`], and from then on the same version until the cache is cleaned.
    pub fn alone_kept(&self, name: &str) -> Result<Package> {
        let file = self.cache.join(format!("closures/{name}.json"));
        if let Some(kept) = self.kept(name) {
            return Ok(kept);
        }
        let package = self.alone(name)?;
        cache::write_whole(&file, serde_json::to_string_pretty(&package)?.as_bytes())?;
        Ok(package)
    }

    /// What [`Packages::alone_kept`] answers without fetching anything.
    pub fn kept(&self, name: &str) -> Option<Package> {
        let bytes = fs::read(self.cache.join(format!("closures/{name}.json"))).ok()?;
        serde_json::from_slice::<Package>(&bytes).ok().filter(is_complete)
    }

    /// Where Debian's package lists are read from. The machine's own may be of any age, so they are used only where
    /// none can be fetched.
    pub fn lists(&self) -> Lists {
        match fs::read_to_string(self.fetched()).as_deref() {
            Ok("system") => Lists::System,
            Ok(_) => Lists::Cache,
            Err(_) => Lists::Nowhere,
        }
    }

    /// The file that says when lists were fetched, by its age, and with what success.
    fn fetched(&self) -> PathBuf {
        self.cache.join("apt/fetched")
    }

    /// Sees to it that there are lists, and that they are young.
    fn fetch_lists(&self) -> Result<()> {
        let is_young = || {
            let age = fs::metadata(self.fetched()).ok()?.modified().ok()?.elapsed().ok()?;
            let is_renewed = fs::read_to_string(self.fetched()).ok()? == RENEWED;
            Some(age < if is_renewed { LISTS_KEEP } else { RETRY })
        };
        if is_young() == Some(true) {
            return Ok(());
        }
        let _lock = cache::Lock::take(&self.fetched())?;
        if is_young() == Some(true) {
            return Ok(());
        }
        let output = self.command("apt-get", Lists::Cache).args(["update", "-q"]).output().with_context(no_apt)?;
        if let Some(signal) = output.status.signal() {
            bail!("signal {signal} ended apt-get while it fetched Debian's package lists");
        }
        // apt-get ends with 0 when some of the lists could not be fetched.
        let said = last_lines(&output.stderr, 3);
        let is_there = |lists: &Path| {
            let mut entries = fs::read_dir(lists).into_iter().flatten().flatten();
            entries.any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
        };
        let word = if is_there(&self.cache.join("apt/lists")) {
            if output.status.success() { RENEWED } else { "cache, not renewed" }
        } else if is_there(Path::new("/var/lib/apt/lists")) {
            "system"
        } else {
            bail!("cannot fetch Debian's package lists: {said}");
        };
        cache::write_whole(&self.fetched(), word.as_bytes())
    }

    /// Names of known packages that begin with `prefix`.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>> {
        Ok(self.apt("apt-cache", &["pkgnames", prefix])?.lines().map(str::to_owned).collect())
    }

    /// Whether Debian's package lists have a version of `name` that can be installed.
    pub fn exists(&self, name: &str) -> Result<bool> {
        let file = self.cache.join(format!("closures/exists-{name}"));
        let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        // Younger lists may have what older ones had not.
        let is_young = written(&file) >= written(&self.fetched());
        if let Some(kept) = fs::read_to_string(&file).ok().filter(|kept| kept == "yes" || is_young) {
            return Ok(kept == "yes");
        }
        let text = self.apt("apt-cache", &["policy", name])?;
        let candidate = text.lines().find_map(|line| line.trim().strip_prefix("Candidate:")).map(str::trim);
        let found = candidate.is_some_and(|version| version != "(none)");
        cache::write_whole(&file, if found { b"yes" } else { b"no" })?;
        Ok(found)
    }

    /// Whether there is a package `name` in `component` of this machine's own mirror: its lists may leave the component
    /// out, and then it is added to those in the cache. Where the mirror does not have it, nothing is changed.
    ///
    /// # Errors
    /// A cache that cannot be written, or no apt.
    pub fn exists_in(&self, component: &str, name: &str) -> Result<bool> {
        if self.exists(name)? {
            return Ok(true);
        }
        if self.sources().exists() || self.lists() != Lists::Cache {
            return Ok(false);
        }
        let _lock = cache::Lock::take(&self.fetched())?;
        if !self.sources().exists() {
            sources::copy_with(component, &self.sources())?;
            let output = self.command("apt-get", Lists::Cache).args(["update", "-q"]).output().with_context(no_apt)?;
            if !output.status.success() {
                let _ = fs::remove_dir_all(self.sources());
                return Ok(false);
            }
            cache::write_whole(&self.fetched(), RENEWED.as_bytes())?;
        }
        self.exists(name)
    }

    /// The folder of sources with a component more than this machine's own, where there is one.
    fn sources(&self) -> PathBuf {
        self.cache.join("apt/sources")
    }

    fn solve(&self, names: &[String]) -> Result<Vec<Solved>> {
        let mut arguments = vec!["install", "-y", "--no-install-recommends", "--print-uris"];
        arguments.extend(names.iter().map(String::as_str));
        let text = self.apt("apt-get", &arguments)?;
        let solved: Vec<Solved> = text.lines().filter_map(Solved::from_uri_line).collect();
        if solved.is_empty() {
            bail!("apt found no packages for {}", names.join(" "));
        }
        Ok(solved)
    }

    /// Downloads and unpacks one package, which is not noted as complete yet. The caller holds the lock on them all, and
    /// this one's until it is complete: `mountmark clean` takes what is half-made and not locked.
    fn unpack(&self, solved: &Solved, locks: &mut Vec<cache::Lock>) -> Result<Package> {
        let stem = solved.file.trim_end_matches(".deb");
        let folder = self.cache.join("packages").join(stem);
        let package = Package { name: solved.name.clone(), version: solved.version.clone(), folder: folder.clone() };
        if is_complete(&package) {
            return Ok(package);
        }
        locks.push(cache::Lock::take(&folder)?);
        let _ = fs::remove_dir_all(&folder);
        let downloads =
            tempfile::TempDir::new_in(self.cache.join("packages")).context("no room to download packages")?;
        // apt-get download leaves the download to the user _apt where it can; in a folder of root's it warns and goes on.
        let wanted = format!("{}={}", solved.name, solved.version);
        let mut command = self.command("apt-get", self.lists());
        command.args(["download", "-q", &wanted]).current_dir(downloads.path());
        let output = command.output().context("cannot start apt-get")?;
        let deb = fs::read_dir(downloads.path())?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        let (true, Some(deb)) = (output.status.success(), deb) else {
            let said = last_lines(&output.stderr, 3);
            if said.contains("No space left") {
                bail!(
                    "no space left in the cache folder {} for the Debian package {wanted}; free some there or set \
                     MOUNTMARK_CACHE to a folder with room",
                    self.cache.display()
                );
            }
            bail!("cannot download the Debian package {wanted}: {said}");
        };
        let unpacked = downloads.path().join("tree");
        let output =
            Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked).output().context("cannot start dpkg-deb")?;
        if !output.status.success() {
            bail!(
                "cannot unpack {wanted} into {}: {}; free some space there or set MOUNTMARK_CACHE",
                self.cache.display(),
                last_lines(&output.stderr, 3)
            );
        }
        fs::rename(&unpacked, &folder).with_context(|| format!("cannot keep {}", folder.display()))?;
        Ok(package)
    }

    /// apt with an empty list of installed packages.
    fn command(&self, program: &str, lists: Lists) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C");
        let empty = self.cache.join("apt/status");
        let _ = cache::make_folder(&self.cache.join("apt/lists/partial"));
        if !empty.exists() {
            let _ = fs::write(&empty, "");
        }
        command.arg("-o").arg(format!("Dir::State::status={}", empty.display()));
        command.args(["-o", "Debug::NoLocking=1"]);
        // Packages that lie in apt's own archive need no download, and --print-uris would not name them.
        let archives = self.cache.join("apt/archives");
        let _ = cache::make_folder(&archives.join("partial"));
        command.arg("-o").arg(format!("Dir::Cache::archives={}", archives.display()));
        let sources = self.sources();
        if lists != Lists::System && sources.is_dir() {
            command.arg("-o").arg(format!("Dir::Etc::sourceparts={}", sources.display()));
            command.arg("-o").arg(format!("Dir::Etc::sourcelist={}", sources.join("sources.list").display()));
        }
        if lists != Lists::System {
            command.arg("-o").arg(format!("Dir::State::Lists={}", self.cache.join("apt/lists").display()));
            command.args(["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]);
        }
        command
    }

    fn apt(&self, program: &str, arguments: &[&str]) -> Result<String> {
        cache::make_folder(&self.cache.join("packages"))?;
        self.fetch_lists()?;
        let output = self.command(program, self.lists()).args(arguments).output().with_context(no_apt)?;
        if !output.status.success() {
            bail!("{program} {} failed: {}", arguments.join(" "), last_lines(&output.stderr, 3));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn is_complete(package: &Package) -> bool {
    package.folder.join(".complete").exists()
}

/// What a set of names stood for, if all of it is there still.
fn closure_in(file: &Path) -> Option<Vec<Package>> {
    let kept: Vec<Package> = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    kept.iter().all(is_complete).then_some(kept)
}

fn no_apt() -> String {
    "cannot start apt: the lab takes its kernel and tools from Debian packages".into()
}

#[derive(Debug, PartialEq)]
struct Solved {
    name: String,
    version: String,
    file: String,
}

impl Solved {
    /// `'http://…/bash_5.2.15-2+b13_amd64.deb' bash_5.2.15-2+b13_amd64.deb 1490652 SHA256:…`
    fn from_uri_line(line: &str) -> Option<Solved> {
        let file = line.strip_prefix('\'')?.split_whitespace().nth(1)?;
        let mut parts = file.strip_suffix(".deb")?.split('_');
        let (name, version, _architecture) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Solved { name: name.to_owned(), version: version.replace("%3a", ":"), file: file.to_owned() })
    }
}

/// Versions by package name, for the record.
pub fn versions(packages: &[Package]) -> BTreeMap<String, String> {
    packages.iter().map(|package| (package.name.clone(), package.version.clone())).collect()
}

fn last_lines(text: &[u8], count: usize) -> String {
    let text = String::from_utf8_lossy(text);
    // apt's warnings ("W:") would push its errors out.
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("W:")).collect();
    lines[lines.len().saturating_sub(count)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_lines_are_read() {
        let line = "'http://deb.debian.org/debian/pool/main/a/attr/libattr1_2.5.1-4_amd64.deb' libattr1_1%3a2.5.1-4_amd64.deb 22164 SHA256:ab";
        let solved = Solved::from_uri_line(line).unwrap();
        assert_eq!((solved.name.as_str(), solved.version.as_str()), ("libattr1", "1:2.5.1-4"));
        for bad in ["", "Reading package lists...", "'", "'x' y", "'x' a_b.deb 1"] {
            assert_eq!(Solved::from_uri_line(bad), None, "{bad:?}");
        }
    }
}
