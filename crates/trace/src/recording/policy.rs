//! When a recorded disk replies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// When a disk replies to writes. File systems react to it: a flush that does not wait for a write shows only if the
/// write is replied to after the flush has arrived. In files and on the command line it is its name, with its number
/// behind a colon: `held:3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Policy {
    /// At once.
    #[default]
    Fifo,
    /// Once nothing more arrives for a millisecond, the last first.
    Lifo,
    /// After a time from 0 to 20 ms, drawn for each write.
    Delayed {
        /// Of the draws.
        seed: u64,
    },
    /// Every so many writes one waits until the next flush has arrived, or nothing has for two seconds.
    Held {
        /// 1 holds every write.
        every: u32,
    },
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Fifo => f.write_str("fifo"),
            Policy::Lifo => f.write_str("lifo"),
            Policy::Delayed { seed } => write!(f, "delayed:{seed}"),
            Policy::Held { every } => write!(f, "held:{every}"),
        }
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("fifo", "") => Ok(Policy::Fifo),
            ("lifo", "") => Ok(Policy::Lifo),
            ("delayed", seed) => number(seed).map(|seed| Policy::Delayed { seed: seed.into() }),
            ("held", every) => number(every).map(|every| Policy::Held { every }),
            _ => Err("there are fifo, lifo, delayed:SEED and held:EVERY".into()),
        }
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text {
        "" => Ok(1),
        text => text
            .parse()
            .ok()
            .filter(|number| (1..=1_000_000).contains(number))
            .ok_or_else(|| format!("`{text}` is no number from 1 to 1,000,000")),
    }
}

impl TryFrom<String> for Policy {
    type Error = String;

    fn try_from(text: String) -> Result<Policy, String> {
        text.parse()
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> String {
        policy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written_and_nonsense_is_refused() {
        for text in ["fifo", "lifo", "delayed:7", "held:1"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        assert_eq!("held".parse(), Ok(Policy::Held { every: 1 }));
        for wrong in ["", "lifo:1", "held:0", "held:x", "later"] {
            assert!(wrong.parse::<Policy>().is_err(), "{wrong}");
        }
    }
}
