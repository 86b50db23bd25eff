//! What a drive says about itself: how warm it is and how much of its life is gone.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// A drive at one moment. `None` is what it does not say, or nobody here can ask it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The drive's model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// In degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<i64>,
    /// Percent of the writes that it is made for; may exceed 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage_used: Option<u64>,
    /// Percent of its spare blocks that are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_spare: Option<u64>,
    /// What the machine has written to it in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Bytes>,
    /// Whether it takes itself for sound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
}

impl Health {
    /// Whether it says anything beside its name.
    pub fn is_known(&self) -> bool {
        *self != Health { model: self.model.clone(), ..Health::default() }
    }

    /// Takes from another source what this one does not say.
    #[must_use]
    pub fn or(self, other: Health) -> Health {
        Health {
            model: if self.model.is_empty() { other.model } else { self.model },
            temperature: self.temperature.or(other.temperature),
            percentage_used: self.percentage_used.or(other.percentage_used),
            available_spare: self.available_spare.or(other.available_spare),
            written: self.written.or(other.written),
            passed: self.passed.or(other.passed),
        }
    }
}

/// The drive of a cell before the cell and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveHealth {
    /// Before the first cell.
    pub before: Health,
    /// After the last cell.
    pub after: Health,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_is_no_health_and_sources_fill_each_other_up() {
        let named = Health { model: "SomeDrive".into(), ..Health::default() };
        assert!(!named.is_known() && !Health::default().is_known());
        let warm = Health { temperature: Some(30), ..Health::default() };
        assert!(warm.is_known());
        let both = warm.clone().or(Health { temperature: Some(99), passed: Some(true), ..named });
        assert_eq!(both, Health { model: "SomeDrive".into(), passed: Some(true), ..warm });
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"{"model":"SomeDrive","temperature":30,"passed":true}"#);
        assert_eq!(serde_json::from_str::<Health>("{}").unwrap(), Health::default());
    }
}
