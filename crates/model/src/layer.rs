//! Layers between a file system and its disks: encryption, volumes, arrays.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// One file of `catalog/layers/`: what may lie between a file system and its disks. Commands are argument lists, which are
/// run in order. In them `{device}` stands for the device below, `{devices}` (an argument of its own) for all of them,
/// `{name}` for a name that no other layer of the cell has, `{number}` for the layer's number from the lowest one on, which
/// is 0, and the name of an option in braces for its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The name behind the `@` in `--fs`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Kernel modules, as those of a file system.
    pub modules: Vec<String>,
    /// Debian packages with its programs.
    pub packages: Vec<String>,
    /// Further programs that its commands start.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The device that the file system, or the next layer, gets.
    pub device: String,
    /// Commands that make it, once, on disks that hold nothing. They are part of no figure.
    #[serde(default)]
    pub make: Vec<Vec<String>>,
    /// Commands after which `device` is there.
    pub attach: Vec<Vec<String>>,
    /// Commands in the place of `attach` where one of its disks is gone; `{devices}` are those that are left. Empty where it
    /// cannot do without one.
    #[serde(default)]
    pub attach_degraded: Vec<Vec<String>>,
    /// What it is called when a power cut leaves it such that it makes other data of the disks that are left than were on
    /// the one that is gone.
    #[serde(default)]
    pub hole: String,
    /// Commands that take `device` away.
    pub detach: Vec<Vec<String>>,
    /// Bytes of each disk that it keeps for itself, at most.
    #[serde(default)]
    pub room: Bytes,
    /// Why it is not made on real disks, as the end of a sentence; empty if it is.
    #[serde(default)]
    pub guests_only: String,
    /// How many disks it takes; one if it is missing.
    #[serde(default)]
    pub disks: Option<DiskCount>,
    /// What can be chosen: `@lvm:stripes=4`.
    #[serde(default)]
    pub options: BTreeMap<String, LayerOption>,
}

/// The number of disks that a layer takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskCount {
    /// The option that says it.
    pub option: String,
    /// The fewest disks.
    pub least: u32,
    /// The most disks.
    pub most: u32,
}

/// An option of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerOption {
    /// One line for lists.
    pub about: String,
    /// The value if none is given, as it would be written.
    pub usual: String,
    /// The only values, each with what commands get for it: arguments with spaces between them, or none, where the option is
    /// an argument of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Values with which nothing is promised of the time after a power cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gives_up: Vec<String>,
}

/// A layer with its options, as a configuration has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackedLayer {
    /// As the user wrote it: `lvm:stripes=4`.
    pub name: String,
    /// How many disks, or devices of lower layers, it takes.
    pub disks: u32,
    /// As [`Layer::device`].
    pub device: String,
    /// As [`Layer::make`], with the options in their places; so are the others.
    pub make: Vec<Vec<String>>,
    pub attach: Vec<Vec<String>>,
    pub detach: Vec<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attach_degraded: Vec<Vec<String>>,
    /// As [`Layer::hole`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hole: String,
    /// Kernel modules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// Debian packages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Further programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Bytes of each disk.
    #[serde(default)]
    pub room: Bytes,
    /// Whether an option has a value of [`LayerOption::gives_up`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives_up: bool,
}

impl Layer {
    /// Its lists of commands, by field.
    pub fn lists(&self) -> [(&'static str, &[Vec<String>]); 4] {
        [
            ("make", &self.make),
            ("attach", &self.attach),
            ("detach", &self.detach),
            ("attach_degraded", &self.attach_degraded),
        ]
    }

    /// This layer with options `given` as keys and values, written as `name`.
    ///
    /// # Errors
    /// A sentence about an option that it does not have, or a value that cannot be.
    pub fn with(&self, name: &str, given: &[(&str, &str)]) -> Result<StackedLayer, String> {
        let own = &self.name;
        if let Some((key, _)) = given.iter().find(|(key, _)| !self.options.contains_key(*key)) {
            let known: Vec<&str> = self.options.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("the layer {own} has no option {key:?}; its options: {known}"));
        }
        let written =
            |key: &str| given.iter().find(|(known, _)| *known == key).map_or("", |(_, value)| value).to_owned();
        let (mut values, mut gives_up) = (BTreeMap::new(), false);
        for (key, option) in &self.options {
            let value = Some(written(key)).filter(|value| !value.is_empty()).unwrap_or_else(|| option.usual.clone());
            gives_up |= option.gives_up.contains(&value);
            let value =
                option.argument(&value).map_err(|reason| format!("the layer {own}: {key}={value}: {reason}"))?;
            values.insert(format!("{{{key}}}"), value);
        }
        let disks = match &self.disks {
            None => 1,
            Some(count) => {
                let value = values.get(&format!("{{{}}}", count.option)).map_or("", String::as_str);
                let wrong = || {
                    let DiskCount { option, least, most } = count;
                    let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                    format!("the layer {own} takes {range} disks, and not {value:?}: {option}={least}")
                };
                let disks = value.parse().ok().filter(|disks| (count.least..=count.most).contains(disks));
                disks.ok_or_else(wrong)?
            }
        };
        let filled = |commands: &[Vec<String>]| commands.iter().map(|command| fill(command, &values)).collect();
        Ok(StackedLayer {
            name: name.to_owned(),
            disks,
            device: self.device.clone(),
            make: filled(&self.make),
            attach: filled(&self.attach),
            detach: filled(&self.detach),
            attach_degraded: filled(&self.attach_degraded),
            hole: self.hole.clone(),
            modules: self.modules.clone(),
            packages: self.packages.clone(),
            tools: self.tools.clone(),
            room: self.room,
            gives_up,
        })
    }
}

impl StackedLayer {
    /// All its commands.
    pub fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        self.make.iter().chain(&self.attach).chain(&self.detach).chain(&self.attach_degraded)
    }
}

impl LayerOption {
    /// What commands get for a value.
    fn argument(&self, value: &str) -> Result<String, String> {
        if !self.values.is_empty() {
            let known = || {
                let mut known: Vec<&str> = self.values.keys().map(String::as_str).collect();
                known.sort_by_key(|value| value.parse::<Bytes>().map_or(0, |size| size.0));
                known.join(", ")
            };
            return self.values.get(value).cloned().ok_or_else(|| format!("give one of {}", known()));
        }
        let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if is_plain { Ok(value.to_owned()) } else { Err("a value is letters, digits, . _ and -".into()) }
    }
}

/// A command with texts in the place of words in braces. An argument that is one such word alone becomes the words of its
/// text, which may be none.
fn fill(command: &[String], values: &BTreeMap<String, String>) -> Vec<String> {
    let filled = command.iter().flat_map(|argument| match values.get(argument) {
        Some(value) => value.split_whitespace().map(str::to_owned).collect(),
        None => {
            vec![values.iter().fold(argument.clone(), |text, (word, value)| text.replace(word.as_str(), value))]
        }
    });
    filled.collect()
}

/// A command with these devices and texts in the place of their words.
pub(crate) fn on_devices(command: &[String], devices: &[String], mut words: BTreeMap<String, String>) -> Vec<String> {
    words.insert("{device}".into(), devices.first().cloned().unwrap_or_default());
    let spread = command.iter().flat_map(|argument| match argument.as_str() {
        "{devices}" => devices.to_vec(),
        _ => vec![argument.clone()],
    });
    fill(&spread.collect::<Vec<_>>(), &words)
}

/// The layers of a configuration on its disks.
#[derive(Clone, Debug)]
pub struct Stack<'a> {
    /// The uppermost first.
    layers: &'a [StackedLayer],
    disks: Vec<String>,
}

impl<'a> Stack<'a> {
    /// `layers`, the uppermost first, on these disks.
    pub fn new(layers: &'a [StackedLayer], disks: Vec<String>) -> Stack<'a> {
        Stack { layers, disks }
    }

    /// The device that the file system is made on.
    pub fn device(&self) -> String {
        self.below(self.layers.len()).into_iter().next().unwrap_or_default()
    }

    /// Commands that make and attach all layers, the lowest first, each with the name of its layer.
    pub fn make(&self) -> Vec<(&'a str, Vec<String>)> {
        self.upwards(|layer| layer.make.iter().chain(&layer.attach).collect())
    }

    /// Commands that attach all layers again.
    pub fn attach(&self) -> Vec<(&'a str, Vec<String>)> {
        self.upwards(|layer| layer.attach.iter().collect())
    }

    /// The same where one of the disks, counted from 0, is gone.
    pub fn attach_without(&self, disk: usize) -> Vec<(&'a str, Vec<String>)> {
        let mut left = self.clone();
        if disk < left.disks.len() {
            left.disks.remove(disk);
        }
        let lowest = left.commands(0, |layer| layer.attach_degraded.iter().collect());
        let others =
            (1..left.layers.len()).flat_map(|level| left.commands(level, |layer| layer.attach.iter().collect()));
        lowest.into_iter().chain(others).collect()
    }

    /// Commands that take all layers away, the uppermost first.
    pub fn detach(&self) -> Vec<(&'a str, Vec<String>)> {
        let levels = (0..self.layers.len()).rev();
        levels.flat_map(|level| self.commands(level, |layer| layer.detach.iter().collect())).collect()
    }

    fn upwards(&self, part: impl Fn(&'a StackedLayer) -> Vec<&'a Vec<String>>) -> Vec<(&'a str, Vec<String>)> {
        (0..self.layers.len()).flat_map(|level| self.commands(level, &part)).collect()
    }

    /// Commands of the layer at a level, of which the lowest is 0.
    fn commands(
        &self,
        level: usize,
        part: impl Fn(&'a StackedLayer) -> Vec<&'a Vec<String>>,
    ) -> Vec<(&'a str, Vec<String>)> {
        let Some(layer) = self.at(level) else { return Vec::new() };
        let below = self.below(level);
        let words = named(level);
        let expanded = |command: &Vec<String>| on_devices(command, &below, words.clone());
        part(layer).into_iter().map(|command| (layer.name.as_str(), expanded(command))).collect()
    }

    fn at(&self, level: usize) -> Option<&'a StackedLayer> {
        self.layers.len().checked_sub(level + 1).map(|at| &self.layers[at])
    }

    /// The devices below a level.
    fn below(&self, level: usize) -> Vec<String> {
        match level.checked_sub(1).and_then(|lower| Some((lower, self.at(lower)?))) {
            Some((lower, layer)) => fill(std::slice::from_ref(&layer.device), &named(lower)),
            None => self.disks.clone(),
        }
    }
}

fn named(level: usize) -> BTreeMap<String, String> {
    BTreeMap::from([("{name}".to_owned(), format!("layer{level}")), ("{number}".to_owned(), level.to_string())])
}

#[cfg(test)]
mod tests;
