//! Names of states: short, exact, and valid for one recording and one device.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::bits::Bits;

/// Which state: its epoch, the tier that made it, and which pending requests are on the medium, such as `e12.t2.1f3`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StateId {
    pub epoch: u32,
    pub tier: Tier,
    pub choice: Choice,
}

/// Ways to choose among the states of an epoch, from few that are likely to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// T0: everything, nothing, and what had completed before each mark.
    Marks,
    /// T1: what had completed before each request; everything without one request; nothing but one request.
    Single,
    /// T2: all subsets of few requests; of many, all pairs and random subsets.
    Subsets,
    /// T3: one request in part.
    Torn,
    /// T4: each sector by itself.
    Sectors,
}

impl Tier {
    pub const ALL: [Tier; 5] = [Tier::Marks, Tier::Single, Tier::Subsets, Tier::Torn, Tier::Sectors];
}

/// Which pending data is on the medium. Requests are counted from 0 as in [`super::Pending::requests`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `all`
    All,
    /// `none`
    None,
    /// `p5`: the first five.
    Prefix(usize),
    /// `-5`: all but request 5.
    Without(usize),
    /// `+5`: request 5 alone.
    Only(usize),
    /// `1f3`: these requests. Bits behind the last request raise one of several writes that were under way at once above
    /// the others.
    Subset(Bits),
    /// `r7`: a row of the covering array.
    Row(usize),
    /// `s2a:7`: the seventh random subset of this seed.
    Sample { seed: u64, index: u64 },
    /// `+5f8`, `-5f8`: a part of request 5, with all others or with no other.
    Torn { request: usize, part: Part, others: bool },
    /// `m1f`: of each sector one of its versions; digits of a number with one place for each sector.
    Versions(u64),
    /// `s2a:7`: the seventh random choice of versions of this seed.
    Random { seed: u64, index: u64 },
}

/// Which sectors of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `f8`: the first eight.
    First(u64),
    /// `l8`: all from the eighth, counted from 0.
    From(u64),
    /// `e`: those with even numbers.
    Even,
    /// `o`: those with odd numbers.
    Odd,
}

impl Part {
    pub(super) fn holds(self, sector: u64) -> bool {
        match self {
            Part::First(count) => sector < count,
            Part::From(first) => sector >= first,
            Part::Even => sector.is_multiple_of(2),
            Part::Odd => !sector.is_multiple_of(2),
        }
    }
}

impl Display for StateId {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "e{}.t{}.", self.epoch, self.tier as u8)?;
        match &self.choice {
            Choice::All => out.write_str("all"),
            Choice::None => out.write_str("none"),
            Choice::Prefix(count) => write!(out, "p{count}"),
            Choice::Without(request) => write!(out, "-{request}"),
            Choice::Only(request) => write!(out, "+{request}"),
            Choice::Subset(bits) => write!(out, "{bits}"),
            Choice::Row(row) => write!(out, "r{row}"),
            Choice::Sample { seed, index } | Choice::Random { seed, index } => write!(out, "s{seed:x}:{index}"),
            Choice::Torn { request, part, others } => {
                write!(out, "{}{request}", if *others { '+' } else { '-' })?;
                match part {
                    Part::First(count) => write!(out, "f{count}"),
                    Part::From(first) => write!(out, "l{first}"),
                    Part::Even => out.write_str("e"),
                    Part::Odd => out.write_str("o"),
                }
            }
            Choice::Versions(number) => write!(out, "m{number:x}"),
        }
    }
}

/// A text that names no state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` names no state; names are such as `e12.t2.1f3`: an epoch, a tier from t0 to t4, and a choice")]
pub struct NoStateId(String);

impl FromStr for StateId {
    type Err = NoStateId;

    fn from_str(text: &str) -> Result<StateId, NoStateId> {
        // Numbers have other spellings, such as `+1` and `01`; a state has one name.
        parse(text).filter(|id| id.to_string() == text).ok_or_else(|| NoStateId(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<StateId> {
    let (epoch, rest) = text.strip_prefix('e')?.split_once(".t")?;
    let (tier, choice) = rest.split_once('.')?;
    let tier = *Tier::ALL.get(tier.parse::<usize>().ok()?)?;
    Some(StateId { epoch: epoch.parse().ok()?, tier, choice: parse_choice(tier, choice)? })
}

fn parse_choice(tier: Tier, text: &str) -> Option<Choice> {
    let (first, rest) = text.split_at_checked(1)?;
    let random = || {
        let (seed, index) = rest.split_once(':')?;
        Some((u64::from_str_radix(seed, 16).ok()?, index.parse().ok()?))
    };
    Some(match (tier, first) {
        (Tier::Marks, "a") => Choice::All,
        (Tier::Marks, "n") => Choice::None,
        (Tier::Marks | Tier::Single, "p") => Choice::Prefix(rest.parse().ok()?),
        (Tier::Single, "-") => Choice::Without(rest.parse().ok()?),
        (Tier::Single, "+") => Choice::Only(rest.parse().ok()?),
        (Tier::Subsets, "r") => Choice::Row(rest.parse().ok()?),
        (Tier::Subsets, "s") => random().map(|(seed, index)| Choice::Sample { seed, index })?,
        (Tier::Subsets, _) => Choice::Subset(Bits::parse(text)?),
        (Tier::Torn, "+" | "-") => torn(rest, first == "+")?,
        (Tier::Sectors, "m") => Choice::Versions(u64::from_str_radix(rest, 16).ok()?),
        (Tier::Sectors, "s") => random().map(|(seed, index)| Choice::Random { seed, index })?,
        _ => return None,
    })
}

fn torn(text: &str, others: bool) -> Option<Choice> {
    let (request, part) = text.split_at_checked(text.find(|letter: char| !letter.is_ascii_digit())?)?;
    let part = match part.split_at_checked(1)? {
        ("f", count) => Part::First(count.parse().ok()?),
        ("l", first) => Part::From(first.parse().ok()?),
        ("e", "") => Part::Even,
        ("o", "") => Part::Odd,
        _ => return None,
    };
    Some(Choice::Torn { request: request.parse().ok()?, part, others })
}

impl TryFrom<String> for StateId {
    type Error = NoStateId;

    fn try_from(text: String) -> Result<StateId, NoStateId> {
        text.parse()
    }
}

impl From<StateId> for String {
    fn from(id: StateId) -> String {
        id.to_string()
    }
}
