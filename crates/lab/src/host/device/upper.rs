//! Devices that lie on others: mappings and arrays.

use super::facts::Relation;
use super::relatives;

/// One of them.
pub struct Upper {
    /// The kernel's name: `dm-3`, `md127`.
    pub name: String,
    /// The name of a mapping; empty of an array.
    pub mapped: String,
}

impl Upper {
    /// Its node, as people know it.
    pub fn path(&self) -> String {
        match self.mapped.as_str() {
            "" => format!("/dev/{}", self.name),
            mapped => format!("/dev/mapper/{mapped}"),
        }
    }

    /// Whether nothing lies on it.
    pub fn is_uppermost(&self) -> bool {
        above(&self.name).next().is_none()
    }
}

/// All mappings of this machine.
pub fn mappings() -> Vec<Upper> {
    let of = |name: String| Upper { mapped: relatives::fact(&name, "dm/name"), name };
    relatives::devices().into_iter().filter(|name| name.starts_with("dm-")).map(of).collect()
}

/// Arrays that have one of the devices with these names of the kernel.
pub fn arrays_on(names: &[String]) -> Vec<Upper> {
    let mut found: Vec<String> = names.iter().flat_map(|name| above(name)).collect();
    found.retain(|name| name.starts_with("md"));
    found.sort();
    found.dedup();
    found.into_iter().map(|name| Upper { name, mapped: String::new() }).collect()
}

fn above(name: &str) -> impl Iterator<Item = String> {
    relatives::all(name).into_iter().filter(|(_, relation)| *relation == Relation::Above).map(|(name, _)| name)
}
