//! Trees of the user's own files in which tasks find programs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A tree of files, as a suite names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// An archive or a folder, by its path from the suite's file: a tar of files at their whole paths, what `podman
    /// export` or `docker save` writes, an OCI layout, or a folder such as debootstrap makes.
    pub path: String,
    /// Whether it is laid over the guest's own programs, which are found where it has none; else it is all that tasks see.
    #[serde(default)]
    pub over: bool,
    /// Where tasks find the file system under test, and run. What the tree has below it lies there before the first task.
    #[serde(default = "folder")]
    pub folder: String,
    /// Variables for tasks, beside those that a suite has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The tree of a cell's tasks. Its files are the corpus, unpacked on the second disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRoot {
    /// As [`Root::over`].
    pub over: bool,
    /// As [`Root::folder`].
    pub folder: String,
    /// As [`Root::environment`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

impl TaskRoot {
    /// Where tasks run if no tree says otherwise.
    pub const FOLDER: &'static str = "/test";
    /// Where a tree has what stays on the second disk, for it is large.
    pub const LARGE: &'static str = "/with";

    /// What brings files to where tasks run, and nothing else.
    pub fn of_files() -> TaskRoot {
        TaskRoot { over: true, folder: folder(), environment: BTreeMap::new() }
    }
}

impl From<&Root> for TaskRoot {
    fn from(root: &Root) -> TaskRoot {
        TaskRoot { over: root.over, folder: root.folder.clone(), environment: root.environment.clone() }
    }
}

fn folder() -> String {
    TaskRoot::FOLDER.to_owned()
}
