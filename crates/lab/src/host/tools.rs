//! Requirements of a cell on this machine: the kernel's file system, and programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use mountmark_job::PATH;
use mountmark_model::{Cell, Configuration, Program, StackedLayer, names};

use crate::child;
use crate::image::kernel::{Config, built_without};

/// Programs that every cell uses, and their Debian packages.
const COMMON: &[(&str, &str)] =
    &[("sh", "dash"), ("mount", "mount"), ("umount", "mount"), ("find", "findutils"), ("rm", "coreutils")];

/// Whether a program exists, or what belongs to one.
pub fn has_program(name: &str) -> bool {
    if names::keeps_place(name) {
        return Path::new(name).exists();
    }
    let is_program =
        |path: &Path| fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return is_program(Path::new(name));
    }
    PATH.split(':').any(|folder| is_program(&Path::new(folder).join(name)))
}

/// What the kernel or the tools lack for it, in a sentence.
pub fn unavailable(configuration: &Configuration, release: &str) -> Option<String> {
    let filesystem = &configuration.filesystem;
    if let Some(reason) = &filesystem.unavailable {
        return Some(reason.clone());
    }
    if filesystem.mkfs.is_empty() {
        // Somebody has mounted it.
        return None;
    }
    let kind = &filesystem.mount_type;
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !is_listed(&known, kind) && !can_load(kind) {
        return Some(format!(
            "this machine's kernel {release} has no {kind}, built in or as a module; use --lab virtual, or a kernel that has it"
        ));
    }
    let config = Config::read(Path::new(&format!("/boot/config-{release}")));
    let is_without = |option: &&String| config.as_ref().is_some_and(|config| config.is_without(option));
    if let Some(option) = filesystem.kernel_options.iter().find(is_without) {
        return Some(built_without(release, option));
    }
    let fsck = filesystem.fsck.as_ref().and_then(|fsck| fsck.command.first());
    let programs = filesystem.mkfs.first().into_iter().chain(fsck).chain(&filesystem.tools);
    let missing = missing(programs.map(String::as_str));
    missing_text(&missing, filesystem.packages.iter().map(String::as_str))
        .or_else(|| configuration.layers.iter().find_map(layer_unavailable))
}

/// What the machine lacks for a layer, in a sentence.
fn layer_unavailable(layer: &StackedLayer) -> Option<String> {
    // What takes it down is looked for before it is made.
    let mapper = layer.device.starts_with("/dev/mapper/").then_some("dmsetup");
    let programs = layer.commands().filter_map(|command| command.first()).chain(&layer.tools);
    let missing = missing(programs.map(String::as_str).chain(mapper));
    let text = missing_text(&missing, layer.packages.iter().map(String::as_str))?;
    Some(format!("the layer {}: {text}", layer.name))
}

/// Why the suite's own programs cannot run, in a sentence.
pub fn suite_unavailable(cell: &Cell) -> Option<String> {
    let second = cell.second_disk.iter().flat_map(|_| [("mke2fs", "e2fsprogs"), ("tar", "tar")]);
    for (program, package) in COMMON.iter().copied().chain(second) {
        if !has_program(program) {
            return missing_text(&[program], [package]);
        }
    }
    let missing = missing(cell.tools.iter().map(String::as_str));
    missing_text(&missing, cell.packages.iter().map(String::as_str))
}

/// Why a benchmark program cannot run, in a sentence.
pub fn lacks(program: &Program) -> Option<String> {
    let missing = missing(std::iter::once(program.tool).chain(program.files.iter().copied()));
    let mut text = missing_text(&missing, [program.package])?;
    if let Some(component) = program.component {
        text += &format!(", which is in Debian's {component}");
    }
    Some(text + ".")
}

/// Versions of the Debian packages that a cell uses; empty without dpkg.
pub fn package_versions(cell: &Cell) -> BTreeMap<String, String> {
    let common = ["bash", "dash", "coreutils", "findutils", "tar", "mount", "util-linux", "e2fsprogs"];
    let layers = cell.configuration.layers.iter().flat_map(|layer| &layer.packages);
    let packages = cell.configuration.filesystem.packages.iter().chain(layers).chain(&cell.packages);
    let packages = packages.map(String::as_str);
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\n"]).args(packages.chain(common));
    let output = child::output(query.env("PATH", PATH), child::QUICK);
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    parse_versions(&text)
}

fn parse_versions(text: &str) -> BTreeMap<String, String> {
    let parts = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let installed = parts.filter(|parts| parts.len() == 3 && parts[0].starts_with("ii"));
    installed.map(|parts| (parts[1].to_owned(), parts[2].to_owned())).collect()
}

fn missing<'a>(programs: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut missing: Vec<&str> = Vec::new();
    for program in programs {
        if !missing.contains(&program) && !has_program(program) {
            missing.push(program);
        }
    }
    missing
}

fn missing_text<'a>(programs: &[&str], packages: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if programs.is_empty() {
        return None;
    }
    let packages: Vec<&str> = packages.into_iter().collect();
    let (are, them) = if programs.len() == 1 { ("is", "it") } else { ("are", "them") };
    let mend = match packages.is_empty() {
        true => format!("install {them}"),
        false => format!("install Debian's {} (apt install {})", packages.join(", "), packages.join(" ")),
    };
    Some(format!("{} {are} not on this machine; {mend}", programs.join(", ")))
}

/// Whether /proc/filesystems lists it.
fn is_listed(filesystems: &str, kind: &str) -> bool {
    filesystems.lines().any(|line| line.split_whitespace().next_back() == Some(kind))
}

/// Whether the kernel can load its module on mount, which it finds by this alias.
fn can_load(kind: &str) -> bool {
    let mut modprobe = Command::new("modprobe");
    modprobe.args(["-n", "-q", &format!("fs-{kind}")]).env("PATH", PATH);
    child::output(&mut modprobe, child::QUICK).is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filesystems_are_found_by_their_whole_name() {
        let text = "nodev\tsysfs\n\text3\n\text4\nnodev\tfuse\n\tfuseblk\n";
        assert!(is_listed(text, "ext4") && is_listed(text, "fuse"));
        assert!(!is_listed(text, "ext") && !is_listed(text, "nodev"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        assert!(has_program("sh") && !has_program("no-such-program"));
        assert_eq!(missing(["no-such-program", "sh", "no-such-program"].into_iter()), ["no-such-program"]);
        assert_eq!(missing_text(&[], ["x"]), None);
        let text = missing_text(&["mkfs.jfs"], ["jfsutils"]).unwrap();
        assert!(text.contains("mkfs.jfs") && text.contains("apt install jfsutils"), "{text}");
    }

    #[test]
    fn only_installed_packages_have_versions() {
        let versions = parse_versions("ii \ttar\t1.34\nun \tbash\t\nii \tmount\t2.38.1-5\n");
        assert_eq!(
            versions.into_iter().collect::<Vec<_>>(),
            [("mount".to_owned(), "2.38.1-5".to_owned()), ("tar".to_owned(), "1.34".to_owned())]
        );
    }
}
