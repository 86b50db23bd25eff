//! Valid names in definitions that reach a program or a path of the machine that builds a guest.
//!
//! Definitions may come from untrusted sources. This file alone defines valid names; readers of definitions call it,
//! and code that passes a name to a program or a path checks again, by its own rules. Errors are the reason why a name
//! is rejected, to follow the field and the name in a message.

/// Maximum length of a name. Debian's longest package name has some 80 letters.
const LONGEST: usize = 128;

/// Maximum number of names in a list: beyond it a definition is a mistake, or meant to fill memory.
const MOST: usize = 100;

/// Adds what is wrong with the names that a definition has in `field`.
pub fn list(field: &str, list: &[String], check: fn(&str) -> Result<(), String>, faults: &mut Vec<String>) {
    if list.len() > MOST {
        faults.push(format!("{field} has {} names, and {MOST} are the most", list.len()));
    }
    for name in list.iter().take(MOST) {
        if let Err(reason) = check(name) {
            faults.push(format!("{field} has {name:?}: {reason}"));
        }
    }
}

/// Checks that `text` is the name of a Debian package (Policy, section 5.6.7): lower-case letters, digits and `+ - .`,
/// at least two, starting with a letter or digit. `+` may end it, as in `g++`; `-` may not: apt would remove such a
/// package. A leading `-` would be an option of apt.
pub fn package(text: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_name = text.len() >= 2
        && text.len() <= LONGEST
        && text.starts_with(plain)
        && !text.ends_with('-')
        && text.chars().all(|c| plain(c) || "+-.".contains(c));
    is_name.then_some(()).ok_or_else(|| {
        "it is no name of a Debian package: two or more small letters, digits and + - . with a letter or digit first and \
         no - at the end"
            .into()
    })
}

/// Whether a program's name is the whole path of something that keeps its place in a guest: data below /usr/share, or
/// modules and programs below /usr/lib; a folder stands for all that is in it.
pub fn keeps_place(program: &str) -> bool {
    ["/usr/share/", "/usr/lib/"].iter().any(|folder| program.starts_with(folder))
}

/// Checks that `text` is a program's name, its whole path, or a path that [keeps its place](keeps_place).
pub fn program(text: &str) -> Result<(), String> {
    let parts = text.strip_prefix('/').unwrap_or(text);
    let is_path = text.starts_with('/');
    let plain = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '[')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "+-._[@".contains(c))
    };
    let is_name = text.len() <= LONGEST && parts.split('/').all(plain) && (is_path || !text.contains('/'));
    is_name.then_some(()).ok_or_else(|| {
        "it is no program: a name of letters, digits and + - . _ @, or a whole path of such names, without . and .."
            .into()
    })
}

/// Checks that `text` is the name of a kernel module, possibly after a `?`.
pub fn module(text: &str) -> Result<(), String> {
    let name = text.strip_prefix('?').unwrap_or(text);
    let is_name = !name.is_empty()
        && name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    is_name.then_some(()).ok_or_else(|| "it is no kernel module: a name of letters, digits, - and _".into())
}

/// Checks that `text` is an option of a kernel's configuration, without `CONFIG_`.
pub fn kernel_option(text: &str) -> Result<(), String> {
    let is_name = (1..=LONGEST).contains(&text.len())
        && !text.starts_with("CONFIG_")
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(()).ok_or_else(|| "it is no kernel option: letters, digits and _, without CONFIG_".into())
}

/// Checks that `text` is the name of a package with a module's source.
pub fn module_source(text: &str) -> Result<(), String> {
    package(text)?;
    let is_source = text.ends_with("-dkms");
    is_source.then_some(()).ok_or_else(|| "it is no package with a module's source: their names end in -dkms".into())
}

/// Checks that `text` is a component of Debian's archive beside main.
pub fn component(text: &str) -> Result<(), String> {
    let known = ["contrib", "non-free", "non-free-firmware"];
    known.contains(&text).then_some(()).ok_or_else(|| format!("it is none of Debian's components {}", known.join(", ")))
}

/// Checks that `text` is a file system type for mount(8).
pub fn mount_type(text: &str) -> Result<(), String> {
    let is_name = text.len() <= LONGEST
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    is_name.then_some(()).ok_or_else(|| "it is no type for mount: a name of letters, digits and - _ .".into())
}

/// The names similar to `name`, nearest first, otherwise in their order; at most three.
pub fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // No name is as long as this, and comparing takes time proportional to both lengths.
    if name.len() > 200 {
        return Vec::new();
    }
    let wanted = name.to_lowercase();
    let mut ranked: Vec<(f64, &str)> = names
        .into_iter()
        .map(|known| {
            let lower = known.to_lowercase();
            // Neither measure is good at both prefixes (`piszcz` of `piszcz-2006`) and slips (`jfs` for `jsf`): a
            // shared part counts as near.
            let shared = wanted.len() >= 3 && (lower.contains(&wanted) || wanted.starts_with(&lower));
            let score =
                strsim::jaro_winkler(&wanted, &lower).max(strsim::normalized_damerau_levenshtein(&wanted, &lower));
            (if shared { 1.0 } else { score }, known)
        })
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(3).map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_names_and_nothing_else() {
        for name in ["g++", "libstdc++6", "bonnie++", "linux-image-6.12.117+deb12-amd64", "e2fsprogs", "7zip", "ed"] {
            assert_eq!(package(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "a",
            "-oDir::Bin::dpkg=/tmp/x",
            "-oAPT::Get::Print-URIs=false",
            "--reinstall",
            "^linux-image-6.*rt-amd64$",
            "linux-image-*",
            "bash-",
            "bash/stable",
            "bash=5",
            "bash:amd64",
            "../../etc/passwd",
            "./evil.deb",
            "?installed",
            "~n.",
            "Bash",
            "a b",
            "a\nb",
            "b\u{e4}sh",
            "task^",
        ] {
            assert!(package(name).is_err(), "{name:?}");
        }
        assert!(package(&"a".repeat(129)).is_err());
    }

    #[test]
    fn programs_stay_where_programs_are() {
        for name in
            ["mkfs.ext4", "[", "bonnie++", "/sbin/mkfs.xfs", "/usr/share/dbench/client.txt", "x86_64-linux-gnu-ld"]
        {
            assert_eq!(program(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "/",
            ".",
            "..",
            "-x",
            "../sh",
            "sub/sh",
            "/usr/share/../../etc/shadow",
            "/usr/share/./x",
            "/usr//share/x",
            "/usr/share/",
            "a b",
            "a\0",
            "a\u{202e}",
        ] {
            assert!(program(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn modules_and_types_are_words() {
        assert!(module("?crc32c_generic").is_ok() && module("nls_iso8859-1").is_ok());
        for name in ["", "?", "../x", "a b", "a.ko", "a\nb", "??a", "-r"] {
            assert!(module(name).is_err(), "{name:?}");
        }
        assert!(mount_type("ext4").is_ok() && mount_type("fuse.x").is_ok());
        for name in ["", "-o", "a b", "a,b", "../x", "a\n"] {
            assert!(mount_type(name).is_err(), "{name:?}");
        }
    }
}
