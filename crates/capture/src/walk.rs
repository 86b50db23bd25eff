//! Where a name leads, as the kernel finds it, and which symbolic links are on the way.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// Finds files, and remembers where folders' names lead.
#[derive(Default)]
pub struct Walker {
    /// The real path of a folder's name, and the links on the way.
    known: HashMap<OsString, (PathBuf, Vec<PathBuf>)>,
}

/// What a name leads to.
pub struct Found {
    /// Without links, `.` and `..`; below `/proc` and `/sys` as it was written.
    pub path: PathBuf,
    /// The links that were followed.
    pub links: Vec<PathBuf>,
}

impl Walker {
    /// To be called before a folder or a link is removed or gets another name.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// `folder` is a real path. None where there are too many links.
    pub fn walk(&mut self, folder: &Path, name: &OsStr, follows: bool) -> Option<Found> {
        let whole = folder.join(name);
        // A name that ends with a slash is a folder's.
        let follows = follows || name.as_bytes().ends_with(b"/");
        let mut found = Found { path: PathBuf::from("/"), links: Vec::new() };
        let Some(Component::Normal(last)) = whole.components().next_back() else {
            self.enter(&whole, &mut found)?;
            return Some(found);
        };
        let above = whole.parent().unwrap_or(Path::new("/"));
        match self.known.get(above.as_os_str()) {
            Some((path, links)) => {
                found.path.clone_from(path);
                found.links.clone_from(links);
            }
            None => {
                self.enter(above, &mut found)?;
                self.known.insert(above.as_os_str().to_owned(), (found.path.clone(), found.links.clone()));
            }
        }
        let path = found.path.join(last);
        let target = if follows && !is_kernels(&path) { fs::read_link(&path).ok() } else { None };
        if let Some(target) = target {
            let base = std::mem::replace(&mut found.path, PathBuf::from("/"));
            found.links.push(path);
            self.enter(&base.join(target), &mut found)?;
            return Some(found);
        }
        found.path = path;
        Some(found)
    }

    /// Goes through all components of `path`, links at the end included.
    fn enter(&self, path: &Path, found: &mut Found) -> Option<()> {
        let mut waiting: Vec<OsString> = parts(path);
        while let Some(part) = waiting.pop() {
            match part.as_bytes() {
                b"/" => found.path = PathBuf::from("/"),
                b"." => {}
                b".." => {
                    found.path.pop();
                }
                _ => {
                    let next = found.path.join(&part);
                    // These links lead elsewhere for each process.
                    if is_kernels(&next) {
                        found.path = next;
                        continue;
                    }
                    match fs::read_link(&next) {
                        Ok(target) => {
                            found.links.push(next);
                            if found.links.len() > MOST_LINKS {
                                return None;
                            }
                            waiting.extend(parts(&target));
                        }
                        Err(_) => found.path = next,
                    }
                }
            }
        }
        Some(())
    }
}

/// The components, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .as_os_str()
        .as_bytes()
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
        .map(|part| OsString::from_vec(part.to_vec()))
        .collect();
    if path.is_absolute() {
        parts.insert(0, "/".into());
    }
    parts.reverse();
    parts
}

/// Whether it is the kernel that answers for a file.
pub fn is_kernels(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "x").unwrap();
        symlink("a/b", root.join("to-b")).unwrap();
        symlink(root.join("to-b"), root.join("far")).unwrap();
        symlink("../file", root.join("a/b/up")).unwrap();
        let mut walker = Walker::default();
        let mut walk = |name: &str, follows| walker.walk(&root, OsStr::new(name), follows).unwrap();
        for _ in 0..2 {
            let found = walk("far/../file", true);
            assert_eq!(found.path, root.join("a/file"));
            assert_eq!(found.links, [root.join("far"), root.join("to-b")]);
            let found = walk("to-b/up", true);
            assert_eq!(found.path, fs::canonicalize(root.join("to-b/up")).unwrap());
            assert_eq!(found.links, [root.join("to-b"), root.join("a/b/up")]);
            assert_eq!(walk("to-b/up", false).path, root.join("a/b/up"));
            assert_eq!(walk("to-b", false).path, root.join("to-b"));
            assert_eq!(walk("to-b/", false).path, root.join("a/b"));
            assert_eq!(walk("none/x", true).path, root.join("none/x"));
            assert_eq!(walk("..", true).path, root.parent().unwrap());
        }
        symlink("loop", root.join("loop")).unwrap();
        assert!(Walker::default().walk(&root, OsStr::new("loop/x"), true).is_none());
    }

    #[test]
    fn what_the_kernel_shows_is_not_followed() {
        let found = Walker::default().walk(Path::new("/"), OsStr::new("proc/self/exe"), true).unwrap();
        assert_eq!(found.path, Path::new("/proc/self/exe"));
    }
}
