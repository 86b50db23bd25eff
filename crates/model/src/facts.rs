//! What decides a choice of a file system and is no measurement, as its documents and its source say.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};

/// What a fact is about. Its name in files is that of the variant: `largest_file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Whether Linux has its driver, and whether somebody keeps it.
    Support,
    /// Whether the data of files has checksums.
    Checksums,
    /// Whether it keeps states of the past.
    Snapshots,
    /// Whether it can be made smaller.
    Shrinking,
    /// Whether copies share blocks.
    Reflink,
    /// The largest file, with blocks of 4 KiB.
    LargestFile,
    /// Whether users' space can be limited.
    Quota,
    /// Whether names that differ in case alone are one.
    CaseFolding,
    /// Whether it encrypts.
    Encryption,
    /// Whether it compresses.
    Compression,
    /// What it was made for, if that is not the disk of one machine under Linux.
    Purpose,
}

impl Topic {
    /// All, in the order of tables.
    pub const ALL: [Topic; 11] = [
        Topic::Support,
        Topic::Checksums,
        Topic::Snapshots,
        Topic::Shrinking,
        Topic::Reflink,
        Topic::LargestFile,
        Topic::Quota,
        Topic::CaseFolding,
        Topic::Encryption,
        Topic::Compression,
        Topic::Purpose,
    ];

    /// The head of its row.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Support => "support",
            Topic::Checksums => "checksums of data",
            Topic::Snapshots => "snapshots",
            Topic::Shrinking => "shrinking",
            Topic::Reflink => "copies share blocks",
            Topic::LargestFile => "largest file",
            Topic::Quota => "quota",
            Topic::CaseFolding => "case folding",
            Topic::Encryption => "encryption",
            Topic::Compression => "compression",
            Topic::Purpose => "purpose",
        }
    }
}

/// One fact: a cell of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// A few words: "metadata only".
    pub says: String,
    /// Whether somebody who needs it has it; needed where the words begin with neither yes nor no. Of support: whether it is
    /// kept; of a purpose: whether it is everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<bool>,
    /// Where that is written: a document and its version.
    pub source: String,
    /// The day on which it was read there: `2026-11-27`.
    pub date: String,
}

impl Fact {
    /// Whether somebody who needs it has it; `None` if the fact is a size.
    pub fn is_met(&self) -> Option<bool> {
        let begins = |word: &str| self.says.split(|c: char| !c.is_alphabetic()).next() == Some(word);
        self.has.or_else(|| begins("yes").then_some(true)).or_else(|| begins("no").then_some(false))
    }
}

impl FromStr for Topic {
    type Err = String;

    /// By its name in files, with `-` or `_`.
    fn from_str(text: &str) -> Result<Topic, String> {
        let name = text.replace('-', "_");
        let name = StrDeserializer::<serde::de::value::Error>::new(&name);
        Topic::deserialize(name).map_err(|_| {
            format!(
                "there is no fact {text:?}; there are support, checksums, snapshots, shrinking, reflink, quota, \
                 case-folding, encryption, compression"
            )
        })
    }
}

/// The facts of one file system.
pub type Facts = BTreeMap<Topic, Fact>;

/// Most letters of a cell.
const MOST: usize = 40;

/// What is wrong with facts, a sentence each.
pub fn faults(facts: &Facts) -> impl Iterator<Item = String> {
    facts.iter().filter_map(|(topic, fact)| {
        let title = topic.title();
        match fact {
            Fact { says, .. } if says.is_empty() || says.chars().count() > MOST => {
                Some(format!("facts: {title}: says {says:?}; give 1 to {MOST} letters, which are a cell of a table"))
            }
            Fact { .. } if *topic != Topic::LargestFile && fact.is_met().is_none() => Some(format!(
                "facts: {title}: {:?} does not tell whether it has that; give `has = true` or false",
                fact.says
            )),
            Fact { source, .. } if source.is_empty() => {
                Some(format!("facts: {title} has no source; say where it is written"))
            }
            Fact { date, .. } if !is_day(date) => {
                Some(format!("facts: {title}: date is {date:?}; give a day such as 2026-11-27"))
            }
            _ => None,
        }
    })
}

/// Whether it is a day such as `2026-11-27`.
pub fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|part| part.len()).eq([4, 2, 2])
        && parts.iter().all(|part| part.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_has_a_source_and_a_day() {
        let fact = |says: &str, source: &str, date: &str| {
            let fact = Fact { says: says.into(), has: None, source: source.into(), date: date.into() };
            faults(&Facts::from([(Topic::Reflink, fact)])).next()
        };
        assert_eq!(fact("yes", "xfs(5)", "2026-11-27"), None);
        assert!(fact("online", "xfs(5)", "2026-11-27").unwrap().contains("has = true"));
        assert!(fact("nothing of it", "xfs(5)", "2026-11-27").is_some(), "no word of no");
        assert_eq!("case-folding".parse(), Ok(Topic::CaseFolding));
        assert!("speed".parse::<Topic>().unwrap_err().contains("snapshots"));
        assert!(fact("", "xfs(5)", "2026-11-27").unwrap().contains("copies share blocks"));
        assert!(fact(&format!("yes {}", "y".repeat(41)), "xfs(5)", "2026-11-27").is_some());
        assert!(fact("yes", "", "2026-11-27").unwrap().contains("no source"));
        for date in ["", "today", "2026-1-27", "2026-11-27-1", "20261-1-27"] {
            assert!(fact("yes", "xfs(5)", date).unwrap().contains("give a day"), "{date}");
        }
        let names: Vec<String> = Topic::ALL.iter().map(|topic| serde_json::to_string(topic).unwrap()).collect();
        assert!(Topic::ALL.is_sorted() && names.contains(&"\"largest_file\"".to_owned()), "{names:?}");
    }
}
