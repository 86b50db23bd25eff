//! The files of the built-in catalogue, embedded in the program. This crate does not know what they are for.

use include_dir::{Dir, File, include_dir};

/// The folders, by name. Each is named here, so that nothing else beside them becomes part of the program.
static FOLDERS: &[(&str, Dir<'static>)] = &[
    ("ageing", include_dir!("$CARGO_MANIFEST_DIR/ageing")),
    ("agreements", include_dir!("$CARGO_MANIFEST_DIR/agreements")),
    ("corpora", include_dir!("$CARGO_MANIFEST_DIR/corpora")),
    ("costs", include_dir!("$CARGO_MANIFEST_DIR/costs")),
    ("crash", include_dir!("$CARGO_MANIFEST_DIR/crash")),
    ("disks", include_dir!("$CARGO_MANIFEST_DIR/disks")),
    ("faults", include_dir!("$CARGO_MANIFEST_DIR/faults")),
    ("filesystems", include_dir!("$CARGO_MANIFEST_DIR/filesystems")),
    ("layers", include_dir!("$CARGO_MANIFEST_DIR/layers")),
    ("machines", include_dir!("$CARGO_MANIFEST_DIR/machines")),
    ("studies", include_dir!("$CARGO_MANIFEST_DIR/studies")),
    ("suites", include_dir!("$CARGO_MANIFEST_DIR/suites")),
];

/// The files of a folder, with paths from it.
pub fn files(folder: &str) -> impl Iterator<Item = &'static File<'static>> + use<> {
    FOLDERS.iter().find(|(name, _)| *name == folder).into_iter().flat_map(|(_, dir)| dir.files())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_folder_is_embedded_whole() {
        let mut folders = 0;
        for folder in Path::new(env!("CARGO_MANIFEST_DIR")).read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if folder.is_dir() {
                folders += 1;
                let name = folder.file_name().unwrap().to_string_lossy();
                assert_eq!(files(&name).count(), folder.read_dir().unwrap().count(), "{name}");
            }
        }
        assert_eq!(folders, FOLDERS.len());
    }
}
