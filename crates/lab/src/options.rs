//! Options of labs, as data: each lab has a table of its own, with the help on them, their values, and the words in which a lab
//! without them refuses them. Nobody else knows which lab has which.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use mountmark_model::Lab;

use crate::kind;

/// An option of a lab.
#[derive(Debug)]
pub struct LabOption {
    /// On the command line, behind two dashes.
    pub name: &'static str,
    /// What its value is called.
    pub value: &'static str,
    pub takes: Takes,
    pub help: &'static str,
    /// The option without which it means nothing.
    pub with: Option<&'static str>,
    /// Options beside which it means nothing.
    pub against: &'static [&'static str],
    /// In which words a lab that does not have it refuses it; `{lab}` is that lab.
    pub elsewhere: &'static str,
}

/// What an option takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    Nothing,
    Text {
        /// The value of an option that was not given, if the help is to show it.
        usual: Option<&'static str>,
    },
    Path,
    /// Texts or paths, separated by commas.
    Texts,
    Paths,
    Size,
    /// A whole number from 1.
    Count {
        most: u64,
        /// As of a text.
        usual: Option<&'static str>,
        /// The value of an option that is given without one.
        alone: Option<&'static str>,
    },
}

/// The options that a user has given, and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<&'static str, Vec<OsString>>);

impl Given {
    /// With values of an option; without the option if there are none.
    pub fn with<V: Into<OsString>>(mut self, option: &LabOption, values: impl IntoIterator<Item = V>) -> Given {
        let values: Vec<OsString> = values.into_iter().map(Into::into).collect();
        match values.is_empty() {
            true => drop(self.0.remove(option.name)),
            false => drop(self.0.insert(option.name, values)),
        }
        self
    }

    /// With a switch.
    pub fn with_switch(mut self, option: &LabOption) -> Given {
        self.0.insert(option.name, Vec::new());
        self
    }

    /// What a lab has of it.
    pub fn of(mut self, lab: Lab) -> Given {
        self.0.retain(|name, _| has(lab, name));
        self
    }

    /// Whether an option was given.
    pub fn has(&self, option: &LabOption) -> bool {
        self.0.contains_key(option.name)
    }

    pub fn paths(&self, option: &LabOption) -> impl Iterator<Item = PathBuf> {
        self.0.get(option.name).into_iter().flatten().map(PathBuf::from)
    }

    pub fn texts(&self, option: &LabOption) -> impl Iterator<Item = String> {
        self.0.get(option.name).into_iter().flatten().map(|value| value.to_string_lossy().into_owned())
    }

    /// What was given, or what is usual.
    pub fn text(&self, option: &LabOption) -> Option<String> {
        let (Takes::Text { usual } | Takes::Count { usual, .. }) = option.takes else {
            return self.texts(option).next();
        };
        self.texts(option).next().or_else(|| usual.map(str::to_owned))
    }

    /// The same, of a size or a number, whose text was looked at when it was given.
    pub fn value<T: FromStr>(&self, option: &LabOption) -> Option<T> {
        self.text(option)?.parse().ok()
    }

    /// Refuses options that the lab does not have, and values that it cannot use, in a sentence.
    ///
    /// # Errors
    /// The sentence.
    pub fn check(&self, lab: Lab) -> Result<(), String> {
        match all().into_iter().find(|option| self.has(option) && !has(lab, option.name)) {
            Some(foreign) => Err(foreign.elsewhere.replace("{lab}", lab.name())),
            None => kind(lab).check(self),
        }
    }
}

fn has(lab: Lab, name: &str) -> bool {
    kind(lab).options().iter().any(|option| option.name == name)
}

/// The options of all labs, each once.
pub fn all() -> Vec<&'static LabOption> {
    let mut all: Vec<&'static LabOption> = Vec::new();
    for option in Lab::ALL.iter().flat_map(|lab| kind(*lab).options()) {
        if all.iter().all(|known| known.name != option.name) {
            all.push(option);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What belongs to one lab alone is refused by the others by its name; what is an option's own is in no other's table.
    #[test]
    fn each_lab_refuses_what_it_lacks() {
        for option in all() {
            let given = Given::default().with_switch(option);
            for lab in Lab::ALL {
                match has(*lab, option.name) {
                    true => assert_eq!(given.clone().of(*lab), given),
                    false => {
                        let refused = given.check(*lab).unwrap_err();
                        assert!(refused.contains(&format!("--{}", option.name)), "{refused}");
                        assert_eq!(given.clone().of(*lab), Given::default());
                    }
                }
            }
            for other in option.against.iter().chain(&option.with) {
                assert!(all().iter().any(|known| known.name == *other), "{} knows --{other}", option.name);
            }
        }
        let silence = Given::default().value(&crate::emulator::options::SILENCE_LIMIT);
        assert_eq!(silence, Some(crate::SILENCE_LIMIT));
        let [guest, host] = [crate::emulator::options::MACHINE.name, crate::host::options::DEVICE.name];
        assert_eq!(
            [Lab::ALL[0], Lab::ALL[2]].map(|lab| [has(lab, guest), has(lab, host)]),
            [[true, false], [false, true]]
        );
    }
}
