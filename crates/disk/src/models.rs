//! The list of models, the type that is one of them, and the file format of a [`Disk`], where `model` names the model
//! and a table of the same name holds its parameters.
//!
//! The format is a type of its own because serde cannot refuse unknown keys next to a flattened enum, and a misspelt
//! parameter that is silently ignored would be a wrong measurement.

use crate::{BadParameter, Disk, Model, Parameters};
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($folder:ident $model:ident;)+) => {
        $(pub use crate::$folder::$model;)+

        /// One of the models, with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "model", rename_all = "lowercase")]
        pub enum DiskModel {
            $($model($model),)+
        }

        impl DiskModel {
            fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(DiskModel::$model(parameters) => parameters,)+
                }
            }
        }

        #[derive(Clone, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct DiskFile {
            name: String,
            about: String,
            #[serde(default)]
            sources: Vec<String>,
            model: Name,
            $(#[serde(default, skip_serializing_if = "Option::is_none")] $folder: Option<$model>,)+
            // Omitted if empty: a changed job text would change figures.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            others: Vec<DiskModel>,
        }

        #[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Name {
            $($model,)+
        }

        impl TryFrom<DiskFile> for Disk {
            type Error = BadParameter;

            fn try_from(file: DiskFile) -> Result<Self, BadParameter> {
                let model = match file.model {
                    $(Name::$model => stringify!($folder),)+
                };
                $(
                    let takes_table = file.model == Name::$model && $model::without_table().is_none();
                    if file.$folder.is_some() && !takes_table {
                        let table = stringify!($folder);
                        return Err(BadParameter(format!("model = \"{model}\" takes no table [{table}]")));
                    }
                )+
                let missing = || BadParameter(format!("model = \"{model}\" needs a table [{model}]"));
                let model = match file.model {
                    $(Name::$model => {
                        DiskModel::$model(file.$folder.or_else($model::without_table).ok_or_else(missing)?)
                    })+
                };
                let disk = Disk { name: file.name, about: file.about, sources: file.sources, model, others: file.others };
                disk.models().try_for_each(DiskModel::check)?;
                Ok(disk)
            }
        }

        impl From<Disk> for DiskFile {
            fn from(disk: Disk) -> Self {
                let model = match &disk.model {
                    $(DiskModel::$model(_) => Name::$model,)+
                };
                let mut file = DiskFile {
                    name: disk.name, about: disk.about, sources: disk.sources, model, $($folder: None,)+
                    others: disk.others,
                };
                match disk.model {
                    $(DiskModel::$model(table) if $model::without_table().is_none() => file.$folder = Some(table),)+
                    _ => {}
                }
                file
            }
        }
    };
}

// The only list of models: the folder, which is also the name in files, and its type.
models! {
    ram Ram;
    hdd Hdd;
    flash Flash;
}

impl DiskModel {
    /// A disk without a model: the medium alone, such as memory, or a real disk with its own timing.
    pub const NO_DRIVE: DiskModel = DiskModel::Ram(Ram {});

    /// A drive of this model in its state after power-on; `None` if it has no drive.
    ///
    /// # Panics
    ///
    /// If [`check`](Self::check) refuses the parameters; parameters read from a file have passed it.
    pub fn start(&self) -> Option<Box<dyn Model>> {
        self.parameters().start()
    }

    /// Whether requests pass through a modelled drive. Without one they take no time of the disk's own.
    pub fn has_drive(&self) -> bool {
        self.parameters().capacity().is_some()
    }

    /// Bytes of the modelled drive; `None` if the model has no size. A disk under test may be smaller: it is then a
    /// partition at the drive's start.
    pub fn capacity(&self) -> Option<u64> {
        self.parameters().capacity()
    }

    /// Whether an arm moves: Linux's `rotational`, which decides its elevator and read-ahead.
    pub fn rotational(&self) -> bool {
        self.parameters().rotational()
    }

    /// Whether the drive announces trim support. Other drives still answer a trim.
    pub fn trims(&self) -> bool {
        self.parameters().trims()
    }

    /// Whether writes that the drive has replied to are lost with the power until they are flushed.
    pub fn has_volatile_cache(&self) -> bool {
        self.parameters().has_volatile_cache()
    }

    /// An error if no drive can be built from the parameters.
    pub fn check(&self) -> Result<(), BadParameter> {
        self.parameters().check()
    }
}
