//! Names of packages and programs in foreign definitions: apt is asked for packages of exactly these names, or not
//! called.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::lab::{Lab, skip};
use crate::tasks::TRUE;

/// Names that unprotected apt reads as an option or a pattern, and one that would be a path.
pub const NAMES: [&str; 6] = [
    "-oDir::Bin::dpkg=/tmp/evil.sh",
    "-oAPT::Get::Print-URIs=false",
    "^linux-image-6.*rt-amd64$",
    "coreutils-",
    "../../../../tmp/written",
    "/etc/passwd",
];

/// A folder with an `apt-get`, an `apt-cache` and a `dpkg` that record their arguments, and print what `says` has for
/// the first of them.
pub fn fake_apt(lab: &Lab, says: &str) -> PathBuf {
    let folder = lab.path("bin");
    fs::create_dir(&folder).unwrap();
    let asked = folder.join("asked");
    for name in ["apt-get", "apt-cache", "dpkg"] {
        let path = folder.join(name);
        let said = match name {
            "apt-get" => says,
            "apt-cache" => {
                "for name in bash coreutils dash findutils grep gzip mount sed tar util-linux e2fsprogs; do echo $name; done"
            }
            _ => "true",
        };
        let text = format!("#!/bin/sh\necho {name} \"$@\" >> '{}'\n{said}\n", asked.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The recorded arguments of the programs of [`fake_apt`].
pub fn asked(folder: &Path) -> String {
    fs::read_to_string(folder.join("asked")).unwrap_or_default()
}

#[test]
fn a_suites_packages_are_names_to_apt() {
    let lab = Lab::without_guests();
    let bin = fake_apt(&lab, "true");
    let cache = lab.path("cache");
    let lab = lab.with_cache(&cache).with_programs(&bin);
    for field in ["packages", "tools"] {
        for name in NAMES.iter().filter(|name| field == "packages" || name.contains("..") || name.starts_with('-')) {
            let text = format!("name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\n{field} = [{name:?}]\n{TRUE}");
            let suite = lab.write("own.toml", &text);
            lab.run(&["--fs", "ext4", "--suite", &suite])
                .ended_with(2)
                .says(&["own.toml", &format!("{field} has {name:?}")]);
        }
    }
    let many = vec!["\"bash\""; 101].join(",");
    let text = format!("name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\npackages = [{many}]\n{TRUE}");
    lab.run(&["--suite", &lab.write("own.toml", &text)]).ended_with(2).says(&["packages has 101 names, and 100"]);
    assert_eq!(asked(&bin), "");
}

#[test]
fn a_catalogues_names_are_names() {
    let lab = Lab::without_guests();
    let bin = fake_apt(&lab, "true");
    let cache = lab.path("cache");
    let lab = lab.with_cache(&cache).with_programs(&bin);
    let folder = lab.path("config/mountmark/catalog/filesystems");
    fs::create_dir_all(&folder).unwrap();
    let with = |field: &str, value: &str| {
        let fields = [
            ("mount_type", "\"ext4\""),
            ("modules", "[\"ext4\"]"),
            ("packages", "[\"e2fsprogs\"]"),
            ("tools", "[]"),
            ("mkfs", "[\"mkfs.ext4\", \"{device}\"]"),
        ];
        let text: String = fields
            .iter()
            .map(|(name, usual)| format!("{name} = {}\n", if *name == field { value } else { usual }))
            .collect();
        let text = format!("name = \"own\"\nabout = \"x\"\nno_fsck = \"none\"\nmin_size = \"1 MiB\"\n{text}");
        fs::write(folder.join("own.toml"), text).unwrap();
    };
    let refused = |field: &str| {
        lab.run(&["--fs", "own"]).ended_with(2).says(&["filesystems/own.toml", &format!("{field} has ")]);
        lab.command(&["list", "filesystems"]).ended_with(2).says(&[&format!("{field} has ")]);
    };
    for name in NAMES {
        with("packages", &format!("[{name:?}]"));
        refused("packages");
    }
    for (field, value) in [
        ("tools", "[\"/usr/share/../../../../../../etc/shadow\"]"),
        ("tools", "[\"..\"]"),
        ("mkfs", "[\"../../bin/sh\", \"{device}\"]"),
        ("modules", "[\"../../../etc/passwd\"]"),
        ("modules", "[\"ext4\\n/etc/passwd\"]"),
        ("mount_type", "\"-o\""),
    ] {
        with(field, value);
        refused(field);
    }
    assert_eq!(asked(&bin), "");
    assert!(!lab.path("cache").exists(), "the cache was made for it");
}

/// A private cache with the user's kernel and packages, but without resolved sets of names. `None`, with a message, if
/// the user's cache has no kernel yet.
fn cache_with_kernel(test: &str, lab: &Lab) -> Option<PathBuf> {
    let (users, cache) = (mountmark_lab::cache::default_folder(), lab.path("cache"));
    let closures = fs::read_dir(users.join("closures")).into_iter().flatten().flatten();
    let kernels = closures.filter(|entry| entry.file_name().to_string_lossy().starts_with("linux-image-6.12."));
    let kernels: Vec<_> = kernels.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).collect();
    if kernels.is_empty() || !users.join("kernels/6_12.name").exists() {
        skip(test, "the cache has no kernel yet");
        return None;
    }
    fs::create_dir_all(cache.join("closures")).unwrap();
    for name in ["kernels", "packages"] {
        symlink(users.join(name), cache.join(name)).unwrap();
    }
    for entry in kernels {
        fs::copy(entry.path(), cache.join("closures").join(entry.file_name())).unwrap();
    }
    fs::create_dir_all(cache.join("apt/lists")).unwrap();
    fs::write(cache.join("apt/fetched"), "cache").unwrap();
    fs::write(cache.join("closures/exists-e2fsprogs"), "yes").unwrap();
    Some(cache)
}

#[test]
fn apt_is_asked_to_print_and_nothing_else_is_believed() {
    let test = "apt_is_asked_to_print_and_nothing_else_is_believed";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let Some(cache) = cache_with_kernel(test, &lab) else { return };
    let bin = fake_apt(&lab, "echo 'Setting up bash (5.2) ...'");
    let lab = lab.with_cache(&cache).with_programs(&bin);
    let suite = |packages: &str| {
        let text = format!("name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\npackages = [{packages}]\n{TRUE}");
        lab.write("own.toml", &text)
    };
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite("")]).ended_with(3);
    ran.says(&["apt-get was asked for addresses of packages and said", "Setting up bash", "nothing is unpacked"]);
    let all = asked(&bin);
    let install =
        all.lines().find(|line| line.starts_with("apt-get") && line.contains(" install ")).expect("it was asked");
    let (options, names) = install.split_once(" -- ").expect("names stand behind --");
    assert!(options.contains(" --print-uris -o APT::Get::Print-URIs=true "), "{options}");
    assert!(names.split(' ').all(|name| !name.starts_with('-')) && names.contains("bash coreutils"), "{names}");
    assert!(!all.lines().any(|line| line.starts_with("dpkg")), "{all}");

    // apt would read it as an expression.
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite("\"lib.+\"")]).ended_with(3);
    ran.says(&["no package of exactly the name lib.+"]);
    assert_eq!(asked(&bin).matches(" install ").count(), 1, "apt-get was asked all the same");
}
