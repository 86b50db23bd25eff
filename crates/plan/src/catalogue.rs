//! Definitions by kind and name: the built-in ones and, over them, the user's own.
//!
//! A definition is one TOML file in the folder of its kind, with the same name. This file does not know what the
//! definitions are for; `check` decides whether one is usable.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use mountmark_crash::scenario::Scenario;
use mountmark_crash::workload::Workload;
use mountmark_model::{Accord, Corpus, Disk, FileSystem, Machine, Study, Suite};
use serde::de::DeserializeOwned;

use crate::parse::{fault, parse};
use crate::{Kind, PlanError, Result, check, fio, study, tasks};

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../catalog");

/// The origin of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    /// The user's own file; it may replace a built-in definition of the same name.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::File(path) => path.display().fmt(f),
        }
    }
}

type Shelf<T> = BTreeMap<String, (T, Origin)>;

/// A kind of definition that a catalogue can hold.
pub trait Entry: DeserializeOwned + private::Shelved + 'static {
    const KIND: Kind;
    /// Equal to the stem of its file's name.
    fn name(&self) -> &str;
    /// One line for lists.
    fn about(&self) -> &str;
    /// Why it is unusable although well-formed, as sentences.
    fn faults(&self) -> Vec<String>;
}

mod private {
    use super::{Catalogue, Shelf};

    pub trait Shelved: Sized + 'static {
        fn shelf(catalogue: &Catalogue) -> &Shelf<Self>;
        fn shelf_mut(catalogue: &mut Catalogue) -> &mut Shelf<Self>;
    }
}

macro_rules! entries {
    ($($type:ident $field:ident $faults:expr;)+) => {
        #[derive(Clone, Debug, Default)]
        pub struct Catalogue {
            $($field: Shelf<$type>,)+
        }

        $(
            impl private::Shelved for $type {
                fn shelf(catalogue: &Catalogue) -> &Shelf<Self> {
                    &catalogue.$field
                }
                fn shelf_mut(catalogue: &mut Catalogue) -> &mut Shelf<Self> {
                    &mut catalogue.$field
                }
            }

            impl Entry for $type {
                const KIND: Kind = Kind::$type;
                fn name(&self) -> &str {
                    &self.name
                }
                fn about(&self) -> &str {
                    &self.about
                }
                fn faults(&self) -> Vec<String> {
                    $faults(self)
                }
            }
        )+

        impl Catalogue {
            fn add_built_in(&mut self) -> Result<()> {
                $(self.add_built_in_kind::<$type>()?;)+
                self.add_built_in_figures()
            }

            fn add_folder(&mut self, folder: &Path) -> Result<()> {
                refuse_unknown_folders(folder)?;
                $(self.add_folder_kind::<$type>(folder)?;)+
                self.add_users_figures()
            }
        }
    };
}

entries! {
    FileSystem filesystems check::filesystem;
    Suite suites check::suite;
    Machine machines check::machine;
    Disk disks check::disk;
    Corpus corpora check::corpus;
    Study studies study::faults;
    Scenario scenarios check::scenario;
    Accord accords Accord::faults;
}

impl Catalogue {
    /// The built-in definitions, overridden by those of `folder`, or of the user's configuration folder
    /// (`$XDG_CONFIG_HOME/mountmark/catalog`, or below `~/.config`) if it exists.
    pub fn load(folder: Option<&Path>) -> Result<Catalogue> {
        match folder {
            Some(folder) => Catalogue::with_folder(folder),
            None => match Catalogue::own_folder() {
                Some(folder) if folder.is_dir() => Catalogue::with_folder(&folder),
                _ => Catalogue::built_in(),
            },
        }
    }

    /// Where the user's own definitions are, or would be; `None` if the environment names no home.
    pub fn own_folder() -> Option<PathBuf> {
        Some(mountmark_input::own_folder("XDG_CONFIG_HOME", ".config")?.join("catalog"))
    }

    /// Only the built-in definitions.
    pub fn built_in() -> Result<Catalogue> {
        let mut catalogue = Catalogue::default();
        catalogue.add_built_in()?;
        Ok(catalogue)
    }

    fn with_folder(folder: &Path) -> Result<Catalogue> {
        let mut catalogue = Catalogue::built_in()?;
        catalogue.add_folder(folder)?;
        Ok(catalogue)
    }

    /// All definitions of a kind, by name.
    pub fn list<T: Entry>(&self) -> impl Iterator<Item = &T> {
        T::shelf(self).values().map(|(entry, _)| entry)
    }

    pub fn get<T: Entry>(&self, name: &str) -> Result<&T> {
        match T::shelf(self).get(name) {
            Some((entry, _)) => Ok(entry),
            None => Err(PlanError::Unknown {
                kind: T::KIND,
                name: name.to_owned(),
                near: mountmark_model::names::near(name, T::shelf(self).keys().map(String::as_str))
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            }),
        }
    }

    pub fn origin<T: Entry>(&self, name: &str) -> Option<&Origin> {
        T::shelf(self).get(name).map(|(_, origin)| origin)
    }

    /// The suite for `--suite`: a path if it contains a `/` or ends in `.toml`, else a name. A path that ends as
    /// job files of fio do is one, from which a suite is made.
    pub fn suite(&self, text: &str) -> Result<Suite> {
        let path = Path::new(text);
        if fio::is_job_file(path) {
            return fio::suite(path, &text_of(path, mountmark_input::MOST_TEXT)?);
        }
        if text.contains('/') || text.ends_with(".toml") {
            return tasks::with_job_files(read(path)?, path);
        }
        let suite = self.get::<Suite>(text)?.clone();
        match self.origin::<Suite>(text) {
            Some(Origin::File(path)) => tasks::with_job_files(suite, path),
            _ => Ok(suite),
        }
    }

    /// The workload for `--workload`: a path if it ends in `.toml`, else a name. It is called as it was written.
    pub fn scenario(&self, text: &str) -> Result<Workload> {
        let path = Path::new(text);
        let runs = match text.ends_with(".toml") {
            true => read::<Scenario>(path)?.runs(text),
            false => self.get::<Scenario>(text)?.runs(text),
        };
        runs.map_err(|reason| fault(&text, reason))
    }

    /// Adds the definition in `text`, as if read from `path`; for tests with generated text.
    #[doc(hidden)]
    pub fn add<T: Entry>(&mut self, text: &str, path: &Path) -> Result<()> {
        let entry: T = parse(text, &path.display().to_string(), path)?;
        self.put(entry, Origin::File(path.to_owned()));
        Ok(())
    }

    pub(crate) fn put<T: Entry>(&mut self, entry: T, origin: Origin) {
        T::shelf_mut(self).insert(entry.name().to_owned(), (entry, origin));
    }

    /// Adds the figures in `text` to a study, as if read from `path`; for tests.
    #[doc(hidden)]
    pub fn add_figures(&mut self, study: &str, text: &str, path: &Path) -> Result<()> {
        if let Some((entry, _)) = self.studies.get_mut(study) {
            entry.figures = study::figures(entry, text, &path.display().to_string())?;
        }
        Ok(())
    }

    fn add_built_in_kind<T: Entry>(&mut self) -> Result<()> {
        let Some(folder) = BUILT_IN.get_dir(T::KIND.folder()) else { return Ok(()) };
        for file in folder.files().filter(|file| is_definition(file.path())) {
            let shown = format!("catalog/{}", file.path().display());
            let text = file.contents_utf8().ok_or_else(|| fault(&shown, "is not UTF-8 text"))?;
            let entry: T = parse(text, &shown, file.path())?;
            self.put(entry, Origin::BuiltIn);
        }
        Ok(())
    }

    fn add_folder_kind<T: Entry>(&mut self, folder: &Path) -> Result<()> {
        let folder = folder.join(T::KIND.folder());
        if !folder.exists() {
            return Ok(());
        }
        for path in children(&folder)?.into_iter().filter(|path| is_definition(path)) {
            let entry: T = read(&path)?;
            self.put(entry, Origin::File(path));
        }
        Ok(())
    }
}

/// Figures of studies are in CSV files beside them.
impl Catalogue {
    fn add_built_in_figures(&mut self) -> Result<()> {
        for (entry, _) in self.studies.values_mut() {
            let path = format!("{}/{}.csv", Kind::Study.folder(), entry.name);
            let Some(file) = BUILT_IN.get_file(&path) else { continue };
            let shown = format!("catalog/{path}");
            let text = file.contents_utf8().ok_or_else(|| fault(&shown, "is not UTF-8 text"))?;
            entry.figures = study::figures(entry, text, &shown)?;
        }
        Ok(())
    }

    fn add_users_figures(&mut self) -> Result<()> {
        for (entry, origin) in self.studies.values_mut() {
            let Origin::File(path) = origin else { continue };
            let path = path.with_extension("csv");
            if path.exists() {
                let shown = path.display().to_string();
                let text = text_of(&path, mountmark_input::MOST_TABLE)?;
                entry.figures = study::figures(entry, &text, &shown)?;
            }
        }
        Ok(())
    }
}

/// Rejects unknown folders: otherwise a typing error in a name would hide its files.
fn refuse_unknown_folders(folder: &Path) -> Result<()> {
    let known = || Kind::ALL.iter().map(|kind| kind.folder());
    for path in children(folder)?.into_iter().filter(|path| path.is_dir()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with('.') && !known().any(|kind| kind == name) {
            let kinds = known().collect::<Vec<_>>().join(", ");
            return Err(fault(&path.display(), format!("a catalogue has the folders {kinds}, and none of this name")));
        }
    }
    Ok(())
}

fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| PlanError::Read { path: folder.display().to_string(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<_>>>()?;
    // Directories come in any order; of two faulty files always the same one is named.
    paths.sort();
    Ok(paths)
}

fn is_definition(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !is_hidden && path.extension().is_some_and(|extension| extension == "toml")
}

fn read<T: Entry>(path: &Path) -> Result<T> {
    parse(&text_of(path, mountmark_input::MOST_TEXT)?, &path.display().to_string(), path)
}

/// The text of a user's file, of at most `most` bytes.
pub(crate) fn text_of(path: &Path, most: u64) -> Result<String> {
    mountmark_input::text(path, most).map_err(|source| PlanError::Read { path: path.display().to_string(), source })
}
