//! Definitions by kind and name: the built-in ones and, over them, the user's own.
//!
//! A definition is one TOML file in the folder of its kind, with the same name. This file does not know what the
//! definitions are for; `check` decides whether one is usable. What power cuts interrupt is kept as it is written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use mountmark_model::facts::Topic;
use mountmark_model::{
    AgeingProfile, Corpus, Disk, FileSystem, KnownFault, Layer, Machine, MachineAgreement, MachineCosts, Study, Suite,
};
use serde::de::DeserializeOwned;

use crate::error::fault;
use crate::parse;
use crate::without::Without;
use crate::written::{Written, text_of};
use crate::{Kind, PlanError, Result, brought, check, figures, fio, layers, study, tasks};

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
            /// What power cuts interrupt.
            scenarios: BTreeMap<String, Written>,
            /// What options take away, by file system.
            without: BTreeMap<String, Without>,
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
                self.add_scenarios(built_in(Kind::Scenario))?;
                self.add_built_in_figures()
            }

            fn add_folder(&mut self, folder: &Path) -> Result<()> {
                refuse_unknown_folders(folder)?;
                $(self.add_folder_kind::<$type>(folder)?;)+
                self.add_scenarios(files(folder, Kind::Scenario)?)?;
                self.add_users_figures()
            }
        }
    };
}

entries! {
    FileSystem filesystems check::filesystem::faults;
    Layer layers layers::faults;
    Suite suites check::suite;
    Machine machines check::machine;
    Disk disks check::file_of_disk;
    Corpus corpora check::corpus;
    Study studies study::faults;
    MachineAgreement accords MachineAgreement::faults;
    MachineCosts costs MachineCosts::faults;
    AgeingProfile ageing AgeingProfile::faults;
    KnownFault known KnownFault::faults;
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
        layers::named_apart(catalogue)
    }

    /// All definitions of a kind, by name.
    pub fn list<T: Entry>(&self) -> impl Iterator<Item = &T> {
        T::shelf(self).values().map(|(entry, _)| entry)
    }

    pub fn get<T: Entry>(&self, name: &str) -> Result<&T> {
        match T::shelf(self).get(name) {
            Some((entry, _)) => Ok(entry),
            None => Err(unknown(T::KIND, name, T::shelf(self).keys())),
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
            return of_file(read(&Written::file(Kind::Suite, path)?)?, path);
        }
        let suite = self.get::<Suite>(text)?.clone();
        match self.origin::<Suite>(text) {
            Some(Origin::File(path)) if path.is_absolute() => of_file(suite, path),
            _ => Ok(suite),
        }
    }

    /// All that power cuts interrupt, by name.
    pub fn scenarios(&self) -> impl Iterator<Item = &Written> {
        self.scenarios.values()
    }

    /// The workload or application for `--workload`: a path if it ends in `.toml`, else a name.
    pub fn scenario(&self, text: &str) -> Result<Cow<'_, Written>> {
        if text.ends_with(".toml") {
            return Written::file(Kind::Scenario, Path::new(text)).map(Cow::Owned);
        }
        let known = self.scenarios.get(text).map(Cow::Borrowed);
        known.ok_or_else(|| unknown(Kind::Scenario, text, self.scenarios.keys()))
    }

    /// Adds the definition in `text`, as if read from `path`; for tests with generated text.
    #[doc(hidden)]
    pub fn add<T: Entry>(&mut self, text: &str, path: &Path) -> Result<()> {
        self.read::<T>(&Written::new(T::KIND, text, path), Origin::File(path.to_owned()))
    }

    fn read<T: Entry>(&mut self, written: &Written, origin: Origin) -> Result<()> {
        self.put::<T>(read(written)?, origin);
        if let Some((filesystem, _)) = self.filesystems.get(&written.stem()).filter(|_| T::KIND == Kind::FileSystem) {
            self.without.insert(written.stem(), parse::without(written, filesystem)?);
        }
        Ok(())
    }

    /// What a file system has no longer with an option that a search tries.
    pub fn without(&self, filesystem: &str, option: &str) -> &[Topic] {
        self.without.get(filesystem).and_then(|options| options.get(option)).map_or(&[], Vec::as_slice)
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
        for written in built_in(T::KIND) {
            self.read::<T>(&written?, Origin::BuiltIn)?;
        }
        Ok(())
    }

    fn add_folder_kind<T: Entry>(&mut self, folder: &Path) -> Result<()> {
        for written in files(folder, T::KIND)? {
            let written = written?;
            self.read::<T>(&written, Origin::File(written.path.clone()))?;
        }
        Ok(())
    }

    fn add_scenarios(&mut self, all: impl Iterator<Item = Result<Written>>) -> Result<()> {
        for written in all {
            let written = written?;
            self.scenarios.insert(written.stem(), written);
        }
        Ok(())
    }
}

/// The suite of a file, with the job files and all else that lie beside it.
fn of_file(suite: Suite, path: &Path) -> Result<Suite> {
    Ok(figures::with_figures(brought::beside(tasks::with_job_files(suite, path)?, path)?))
}

/// Figures of studies are in CSV files beside them.
impl Catalogue {
    fn add_built_in_figures(&mut self) -> Result<()> {
        for (entry, _) in self.studies.values_mut() {
            let name = format!("{}.csv", entry.name);
            let mut files = mountmark_catalog::files(Kind::Study.folder());
            let Some(file) = files.find(|file| file.path() == Path::new(&name)) else { continue };
            let shown = format!("catalog/{}/{name}", Kind::Study.folder());
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

fn read<T: Entry>(written: &Written) -> Result<T> {
    parse::parse(written, T::name, T::faults)
}

/// The built-in definitions of a kind.
fn built_in(kind: Kind) -> impl Iterator<Item = Result<Written>> {
    let files = mountmark_catalog::files(kind.folder());
    files.filter(|file| is_definition(file.path())).map(move |file| {
        let shown = format!("catalog/{}/{}", kind.folder(), file.path().display());
        let text = file.contents_utf8().ok_or_else(|| fault(&shown, "is not UTF-8 text"))?;
        Ok(Written { kind, text: text.to_owned(), shown, path: file.path().to_owned() })
    })
}

/// Those in a user's folder.
fn files(folder: &Path, kind: Kind) -> Result<impl Iterator<Item = Result<Written>> + use<>> {
    let folder = folder.join(kind.folder());
    let paths = if folder.exists() { children(&folder)? } else { Vec::new() };
    Ok(paths.into_iter().filter(|path| is_definition(path)).map(move |path| Written::file(kind, &path)))
}

/// The error for a name that nothing of its kind has.
fn unknown<'a>(kind: Kind, name: &str, known: impl Iterator<Item = &'a String>) -> PlanError {
    // A path has a slash in it, so that no file here hides a name of the catalogue.
    let file = matches!(kind, Kind::Suite | Kind::Corpus) && !name.is_empty() && Path::new(name).exists();
    let near = mountmark_model::names::near(name, known.map(String::as_str)).into_iter().map(str::to_owned);
    let near = file.then(|| format!("./{name}")).into_iter().chain(near).collect();
    PlanError::Unknown { kind, name: name.to_owned(), near }
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
