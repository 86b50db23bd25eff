//! Makes apt's arguments, so that it can only print, and parses its answers.
//!
//! Names are checked where definitions are read, and here once more, by independent rules: with a name that apt takes
//! for an option or a pattern, a definition's author could make it run with this user's rights.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use mountmark_model::Bytes;

/// Limit of the names in a set, including a base and a benchmark program's own.
const MOST_NAMES: usize = 300;
/// Limits of the packages that a set of names stands for, and of their download. A compiler has some 60.
const MOST_PACKAGES: usize = 500;
const MOST_BYTES: u64 = 1 << 30;

/// Checks that names are package names to apt.
///
/// # Errors
/// The first that is not, or too many names.
pub fn check<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<()> {
    for (count, name) in names.into_iter().enumerate() {
        let bytes = name.as_bytes();
        let is_name = matches!(bytes, [b'a'..=b'z' | b'0'..=b'9', .., last] if *last != b'-')
            && bytes.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.'));
        ensure!(is_name, "{name:?} is no name of a Debian package, and apt is not asked for it");
        ensure!(count < MOST_NAMES, "more than {MOST_NAMES} packages are named, the most");
    }
    Ok(())
}

/// Checks that packages of exactly these names are among `known`, one a line. If apt does not know a name, it takes it
/// for a regular expression if it contains a dot or a plus, and for a package to add or remove if it ends in plus or
/// minus; a known name it takes as it is. So names such as `g++` need no mark.
///
/// # Errors
/// The first that does not exist. `fetched` is the file that says how old the lists are.
pub(crate) fn check_known<'a>(names: impl IntoIterator<Item = &'a String>, known: &str, fetched: &Path) -> Result<()> {
    let known: BTreeSet<&str> = known.lines().map(str::trim).collect();
    match names.into_iter().find(|name| !known.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => bail!(
            "Debian's package lists have no package of exactly the name {name}; write the name as Debian does, or add the \
             source that has it to /etc/apt/sources.list.d and remove {}, so that the lists are fetched again",
            fetched.display()
        ),
    }
}

/// The arguments of apt-get that print the downloads for installing `names`. The options come last, where no other
/// undoes them, and nothing after `--` is an option. Should apt-get ignore the first option, it would fetch and not
/// install; should it ignore the second too, it would print dpkg's command lines and not run them.
pub fn arguments(names: &[String]) -> Vec<&str> {
    let mut arguments = vec!["-qq", "--no-install-recommends", "install", "--print-uris"];
    arguments.extend(["-o", "APT::Get::Print-URIs=true"]);
    arguments.extend(["-o", "APT::Get::Download-Only=true"]);
    arguments.extend(["-o", "Debug::pkgDPkgPM=true", "--"]);
    arguments.extend(names.iter().map(String::as_str));
    arguments
}

/// The packages in apt's answer.
///
/// # Errors
/// A line that is not a package's address: then apt has done something other than print, and the whole answer is
/// refused. Too many packages or bytes.
pub fn answer(text: &str) -> Result<Vec<Solved>> {
    let mut all = Vec::new();
    let mut bytes = 0_u64;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let solved = Solved::from_uri_line(line).filter(is_plain);
        let length = line.rsplit('\'').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u64>().ok());
        let (solved, length) = solved.zip(length).with_context(|| {
            format!("apt-get was asked for addresses of packages and said {line:?}; nothing is unpacked")
        })?;
        bytes = bytes.saturating_add(length);
        all.push(solved);
        ensure!(all.len() <= MOST_PACKAGES, "the packages need more than {MOST_PACKAGES} others, the most; name fewer");
    }
    if bytes > MOST_BYTES {
        bail!("the packages are {} to download, and {} is the most; name fewer", Bytes(bytes), Bytes(MOST_BYTES));
    }
    Ok(all)
}

/// Whether a name for a folder and an argument has neither a slash nor a special first character.
fn is_plain(solved: &Solved) -> bool {
    [&solved.name, &solved.version, &solved.file].into_iter().all(|text| plain(text))
}

fn plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.~:_%".contains(c))
}

/// The package and version that the name of an archive, without `.deb`, tells.
pub(super) fn parts(stem: &str) -> Option<(String, String)> {
    let mut parts = stem.split('_').map(str::to_owned);
    let (name, version, _architecture) = (parts.next()?, parts.next()?, parts.next()?);
    plain(stem).then(|| (name, version.replace("%3a", ":")))
}

/// A package named by apt.
#[derive(Debug, PartialEq)]
pub(super) struct Solved {
    pub(super) name: String,
    pub(super) version: String,
    /// File name of the archive.
    pub(super) file: String,
    /// Size of the download; 0 if unknown.
    pub(super) bytes: u64,
}

impl Solved {
    /// Parses `'http://…/bash_5.2.15-2+b13_amd64.deb' bash_5.2.15-2+b13_amd64.deb 1490652 SHA256:…`.
    pub(super) fn from_uri_line(line: &str) -> Option<Solved> {
        let mut words = line.strip_prefix('\'')?.split_whitespace().skip(1);
        let (file, bytes) = (words.next()?, words.next().and_then(|size| size.parse().ok()).unwrap_or(0));
        let (name, version) = parts(file.strip_suffix(".deb")?)?;
        Some(Solved { name, version, file: file.to_owned(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_no_options_and_no_patterns() {
        check(&own(&["g++", "libc6", "linux-image-6.12.117+deb12-amd64"])).unwrap();
        for name in
            ["-oDir::Bin::dpkg=/x", "-oAPT::Get::Print-URIs=false", "^linux-image-6.*$", "a*", "bash-", "", "x", "a/b"]
        {
            let error = check(&own(&["bash", name])).unwrap_err().to_string();
            assert!(error.contains("no name of a Debian package"), "{error}");
        }
        assert!(check(&vec!["ab".to_owned(); 301]).unwrap_err().to_string().contains("more than 300"));
        check_known(&own(&["g++", "bash"]), "bash\ng++\n", Path::new("/cache/apt/fetched")).unwrap();
        // Names that apt would take for an expression, and for a package to add.
        for name in ["b.sh", "b.+", "bash+"] {
            let error =
                check_known(&own(&[name]), "bash\ng++\n", Path::new("/cache/apt/fetched")).unwrap_err().to_string();
            assert!(error.contains("exactly the name") && error.contains("remove /cache/apt/fetched"), "{error}");
        }
    }

    #[test]
    fn apt_can_only_print() {
        let names = own(&["bash", "g++"]);
        let arguments = arguments(&names);
        let end = arguments.iter().position(|argument| *argument == "--").unwrap();
        assert_eq!(arguments[end + 1..], ["bash", "g++"]);
        assert!(arguments[..end].contains(&"APT::Get::Print-URIs=true"));
    }

    #[test]
    fn only_addresses_are_an_answer() {
        let line = "'http://deb.debian.org/pool/bash_5.2_amd64.deb' bash_5.2_amd64.deb 1490652 SHA256:ab";
        assert_eq!(answer(&format!("{line}\n")).unwrap()[0].name, "bash");
        let said = |text: &str| answer(text).unwrap_err().to_string();
        for other in
            ["Setting up bash (5.2) ...", "Inst bash (5.2)", "'x' ../../up_1_all.deb 5 SHA256:ab", "'x' a_b_c.deb"]
        {
            assert!(said(&format!("{line}\n{other}\n")).contains("nothing is unpacked"), "{other}");
        }
        assert!(said(&line.replace("1490652", "2000000000")).contains("to download"));
        assert!(said(&format!("{line}\n").repeat(501)).contains("more than 500"));
    }

    #[test]
    fn apt_lines_are_read() {
        let line = "'http://deb.debian.org/debian/pool/main/a/attr/libattr1_2.5.1-4_amd64.deb' libattr1_1%3a2.5.1-4_amd64.deb 22164 SHA256:ab";
        let solved = Solved::from_uri_line(line).unwrap();
        assert_eq!((solved.name.as_str(), solved.version.as_str()), ("libattr1", "1:2.5.1-4"));
        assert_eq!(solved.bytes, 22164);
        for bad in ["", "Reading package lists...", "'", "'x' y", "'x' a_b.deb 1"] {
            assert_eq!(Solved::from_uri_line(bad), None, "{bad:?}");
        }
    }
}
