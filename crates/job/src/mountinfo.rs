//! What `/proc/PID/mountinfo` says (proc_pid_mountinfo(5)).

use std::fs;
use std::path::Path;

/// One line of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount {
    /// `MAJOR:MINOR`; some file systems show a number of no device.
    pub number: String,
    pub point: String,
    /// Of the mount, and not those of its file system.
    pub options: String,
    pub filesystem: String,
    pub source: String,
    /// Of the file system, whatever mounts it has.
    pub own_options: String,
}

/// The mounts that a process sees, in the order in which they were made; none if it may not be asked. `self` is this one.
pub fn of(process: &str) -> Vec<Mount> {
    // A mount point may have any bytes.
    let text = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
    parse(&String::from_utf8_lossy(&text))
}

pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(line).collect()
}

/// The mount that holds a path without links.
pub fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // Of several mounts at one place, the last one is visible.
    above.max_by_key(|mount| mount.point.len())
}

/// Whether something is mounted at a folder, whose path has no links.
pub fn is_mount_point(folder: &Path) -> bool {
    of("self").iter().any(|mount| Path::new(&mount.point) == folder)
}

fn line(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let (mut head, mut tail) = (head.split(' ').skip(2), tail.split(' '));
    let number = head.next()?.to_owned();
    let point = unescaped(head.nth(1)?);
    let options = head.next()?.to_owned();
    let (filesystem, source) = (tail.next()?.to_owned(), unescaped(tail.next()?));
    Some(Mount { number, point, options, filesystem, source, own_options: tail.next().unwrap_or_default().to_owned() })
}

/// Octal escapes of /proc: a space is `\040`.
pub fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out += &rest[..at];
        let code = rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => out.push(char::from(code)),
            None => out.push('\\'),
        }
        rest = &rest[at + if code.is_some() { 4 } else { 1 }..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_device_point_options_type_and_source() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - ext3 /dev/my\040disk rw,errors=continue";
        let mount = Mount {
            number: "98:0".into(),
            point: "/mnt 2".into(),
            options: "rw,noatime".into(),
            filesystem: "ext3".into(),
            source: "/dev/my disk".into(),
            own_options: "rw,errors=continue".into(),
        };
        assert_eq!(parse(line), [mount]);
        assert_eq!(parse("36 35 98:0\n36 35 98:0 / /mnt rw - ext3"), []);
        // A space that is no escape, and no source.
        let odd = parse("36 35 0:5 / /a\u{a0}b rw - proc  rw").remove(0);
        assert_eq!((odd.point.as_str(), odd.source.as_str()), ("/a\u{a0}b", ""));
        assert_eq!(unescaped(r"a\b\04"), r"a\b\04");
    }

    #[test]
    fn a_path_is_held_by_the_deepest_mount() {
        let mounts = parse(
            "21 1 254:0 / / rw,noatime - ext4 /dev/vda rw\n\
             30 21 0:25 / /tmp rw shared:4 - tmpfs tmpfs rw\n\
             31 21 0:26 / /tmp/my\\040disk ro - xfs /dev/sdb rw\n\
             32 31 0:27 / /tmp/my\\040disk rw - btrfs /dev/sdc rw\n",
        );
        let kind = |path: &str| holding(&mounts, Path::new(path)).unwrap().filesystem.as_str();
        assert_eq!(kind("/var/tmp"), "ext4");
        assert_eq!(kind("/tmp/x"), "tmpfs");
        assert_eq!(kind("/tmpx"), "ext4");
        assert_eq!(kind("/tmp/my disk/x"), "btrfs");
        assert_eq!(holding(&[], Path::new("/")), None);
    }
}
