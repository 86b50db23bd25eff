//! The form of a [`Disk`] in a file: `model` names the model, and a table of the same name has its parameters.
//!
//! It is a form of its own because serde cannot refuse unknown keys next to a flattened enum, and a misspelt
//! parameter that is silently ignored would be a wrong measurement.

use crate::{BadParameter, Disk, DiskModel, Flash, Hdd};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiskFile {
    name: String,
    about: String,
    #[serde(default)]
    sources: Vec<String>,
    model: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hdd: Option<Hdd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flash: Option<Flash>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Name {
    Ram,
    Hdd,
    Flash,
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Name::Ram => "ram",
            Name::Hdd => "hdd",
            Name::Flash => "flash",
        }
    }
}

impl TryFrom<DiskFile> for Disk {
    type Error = BadParameter;

    fn try_from(file: DiskFile) -> Result<Self, BadParameter> {
        let tables = [(Name::Hdd, file.hdd.is_some()), (Name::Flash, file.flash.is_some())];
        for (table, present) in tables {
            if present && table != file.model {
                return Err(BadParameter(format!(
                    "model = \"{}\" takes no table [{}]",
                    file.model.text(),
                    table.text()
                )));
            }
        }
        let missing = || BadParameter(format!("model = \"{0}\" needs a table [{0}]", file.model.text()));
        let model = match file.model {
            Name::Ram => DiskModel::Ram,
            Name::Hdd => DiskModel::Hdd(file.hdd.ok_or_else(missing)?),
            Name::Flash => DiskModel::Flash(file.flash.ok_or_else(missing)?),
        };
        model.check()?;
        Ok(Disk { name: file.name, about: file.about, sources: file.sources, model })
    }
}

impl From<Disk> for DiskFile {
    fn from(disk: Disk) -> Self {
        let (model, hdd, flash) = match disk.model {
            DiskModel::Ram => (Name::Ram, None, None),
            DiskModel::Hdd(hdd) => (Name::Hdd, Some(hdd), None),
            DiskModel::Flash(flash) => (Name::Flash, None, Some(flash)),
        };
        DiskFile { name: disk.name, about: disk.about, sources: disk.sources, model, hdd, flash }
    }
}
