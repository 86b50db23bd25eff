//! Debian's kernels by version: the package that a version stands for, and its record in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::super::packages::{Packages, is_suite};
use crate::cache;

/// The package that `wanted` last stood for, if it still matches and its files are in the cache. A file with other
/// contents counts as missing, and is written again.
pub fn kept(wanted: &str, packages: &Packages, cache: &Path) -> Option<String> {
    // A whole version may have been fetched under a shorter name.
    let name = fs::read_to_string(kept_name(wanted, cache)).unwrap_or_else(|_| format!("{IMAGES}{wanted}"));
    let fits = choose(wanted, std::slice::from_ref(&name)).is_ok();
    (fits && packages.kept(&name).is_some()).then_some(name)
}

/// Records the package that `wanted` stands for. An existing record is not rewritten, so that a read-only cache works
/// as long as nothing is new.
pub fn keep(wanted: &str, name: &str, cache: &Path) -> Result<()> {
    let path = kept_name(wanted, cache);
    if fs::read_to_string(&path).is_ok_and(|kept| kept == name) {
        return Ok(());
    }
    cache::write_whole(&path, name.as_bytes())
}

fn kept_name(wanted: &str, cache: &Path) -> PathBuf {
    cache.join(format!("kernels/{}.name", wanted.replace(|c: char| !c.is_ascii_alphanumeric(), "_")))
}

/// What the names of kernels' packages begin with.
pub const IMAGES: &str = "linux-image-";

/// The suite and the version that are named: `sid`, whose newest is meant, or `sid:6.16`; `None` if no suite is.
pub fn in_suite(wanted: &str) -> Option<(&str, &str)> {
    let (suite, version) = wanted.split_once(':').unwrap_or((wanted, ""));
    is_suite(suite).then_some((suite, version))
}

/// The package that `wanted` stands for, and the suite's packages that have it; `None` of this machine's own. It is looked for in
/// the suite that is named; else in this machine's sources, then in the suites whose lists are in the cache.
pub fn find(wanted: &str, packages: &Packages) -> Result<(String, Option<Packages>)> {
    let of = |place: &Packages| choose(wanted, &place.names(IMAGES)?);
    if let Some((suite, _)) = in_suite(wanted) {
        let place = packages.of_suite(suite)?;
        return Ok((of(&place)?, Some(place)));
    }
    let own = match of(packages) {
        Ok(name) => return Ok((name, None)),
        Err(error) => error,
    };
    for suite in packages.suites() {
        let place = packages.of_suite(&suite)?;
        if let Ok(name) = of(&place) {
            return Ok((name, Some(place)));
        }
    }
    Err(own)
}

/// The version in the name of a plain amd64 kernel's package: other flavours are other kernels.
fn version_of(name: &str) -> Option<String> {
    let version = name.strip_prefix("linux-image-")?.trim_end_matches("-unsigned").strip_suffix("-amd64")?;
    let plain =
        !version.contains("cloud") && !version.contains("rt") && version.starts_with(|c: char| c.is_ascii_digit());
    // A name becomes part of a file name and an argument of apt, so it is checked.
    let clean = version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-~".contains(&byte));
    // `linux-image-6.12-amd64` would be an empty meta package.
    (plain && clean && version.matches('.').count() >= 2).then(|| version.to_owned())
}

/// What versions are ordered by.
pub fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The plain kernels among packages, oldest first, as `--kernel` takes them.
pub fn in_order(names: &[String]) -> Vec<String> {
    let mut known: Vec<String> = names.iter().filter_map(|name| version_of(name)).collect();
    known.sort_by_key(|version| numbers(version));
    known.dedup();
    known.into_iter().map(|version| version + "-amd64").collect()
}

/// The newest signed package whose version begins with `wanted`.
pub fn choose(wanted: &str, names: &[String]) -> Result<String> {
    let bare = wanted.trim_start_matches("linux-image-").trim_end_matches("-unsigned").trim_end_matches("-amd64");
    let bare = in_suite(bare).map_or(bare, |(_, version)| version);
    let matches = |version: &str| {
        bare.is_empty()
            || version == bare
            || version.strip_prefix(bare).is_some_and(|rest| rest.starts_with(['.', '-', '+']))
    };
    let found = names
        .iter()
        .filter(|name| version_of(name).is_some_and(|version| matches(&version)))
        .max_by_key(|name| (numbers(name), !name.ends_with("-unsigned")));
    match found {
        Some(name) => Ok(name.clone()),
        None => {
            let known: Vec<String> =
                in_order(names).iter().map(|name| name.trim_end_matches("-amd64").to_owned()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            bail!(
                "no Debian kernel {wanted:?}; the package lists have: {known}. Choose one of them with --kernel; or name \
                 another suite of Debian (--kernel sid, --kernel trixie:6.12), whose lists are then in the cache; or give the \
                 path of a vmlinuz or vmlinux"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        [
            "linux-image-6.1.0-50-amd64",
            "linux-image-6.1.0-56-amd64",
            "linux-image-6.1.0-56-rt-amd64",
            "linux-image-6.1.0-56-cloud-amd64",
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.117+deb12-amd64",
            "linux-image-6.12.117+deb12-amd64-unsigned",
            "linux-image-6.12-amd64-signed-template",
            "linux-image-amd64",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn the_newest_signed_kernel_is_chosen() {
        let choose = |wanted| choose(wanted, &names());
        assert_eq!(choose("6.12").unwrap(), "linux-image-6.12.117+deb12-amd64");
        assert_eq!(choose("6.1").unwrap(), "linux-image-6.1.0-56-amd64");
        assert_eq!(choose("6.1.0-50-amd64").unwrap(), "linux-image-6.1.0-50-amd64");
        assert_eq!(choose("linux-image-6.12.9+deb12-amd64").unwrap(), "linux-image-6.12.9+deb12-amd64");
        assert_eq!(choose("sid").unwrap(), "linux-image-6.12.117+deb12-amd64", "the newest of a suite");
        assert_eq!(choose("trixie:6.1").unwrap(), "linux-image-6.1.0-56-amd64");
        assert!(choose("trixie:5.10").is_err() && choose("woody").is_err());
        let error = choose("5.10").unwrap_err().to_string();
        assert!(error.contains("6.12.117+deb12") && error.contains("5.10"), "{error}");
    }

    #[test]
    fn kernels_are_in_the_order_of_their_versions_and_of_one_flavour() {
        let order = in_order(&names());
        let versions = ["6.1.0-50", "6.1.0-56", "6.12.9+deb12", "6.12.117+deb12"];
        assert_eq!(order, versions.map(|version| format!("{version}-amd64")));
        for name in &order {
            assert_eq!(choose(name, &names()).unwrap(), format!("linux-image-{name}"));
        }
    }

    /// A cache with one kernel's package in it.
    fn cache_with(name: &str) -> tempfile::TempDir {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join(format!("packages/{name}_1_amd64"));
        for made in [&folder, &cache.path().join("closures"), &cache.path().join("kernels")] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(folder.join(".complete"), "").unwrap();
        let package = super::super::super::packages::Package { name: name.into(), version: "1".into(), folder };
        let text = serde_json::to_string(&package).unwrap();
        fs::write(cache.path().join(format!("closures/{name}.json")), text).unwrap();
        cache
    }

    #[test]
    fn what_is_remembered_of_a_version_counts_only_if_it_can_be_true() {
        let right = "linux-image-6.12.117+deb12-amd64";
        let cache = cache_with(right);
        let (cache, packages) = (cache.path(), Packages::new(cache.path()));
        let file = cache.join("kernels/6_12.name");
        assert_eq!(kept("6.12", &packages, cache), None);
        keep("6.12", right, cache).unwrap();
        assert_eq!(kept("6.12", &packages, cache).as_deref(), Some(right));
        let long = "x".repeat(70_000);
        let absent = "linux-image-6.12.9+deb12-amd64";
        let other = "linux-image-6.1.0-56-amd64";
        let climbing = "linux-image-6.12.1/../../../etc-amd64";
        for garbage in ["", "\0\0\0", "garbage", "linux-image-6.12.117+deb12-amd64\n", &long, absent, other, climbing] {
            fs::write(&file, garbage).unwrap();
            assert_eq!(kept("6.12", &packages, cache), None, "{garbage:.60?}");
        }
        fs::write(&file, b"\xff\xfe").unwrap();
        assert_eq!(kept("6.12", &packages, cache), None);
    }

    #[test]
    fn what_is_remembered_is_written_once() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("kernels/6_12.name");
        keep("6.12", "one", cache.path()).unwrap();
        // A rewritten file has another inode.
        let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&file).unwrap());
        let first = inode();
        keep("6.12", "one", cache.path()).unwrap();
        assert_eq!(inode(), first);
        keep("6.12", "two", cache.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
    }
}
