//! Orders as claims write them: `{ext2,ext3} > others > reiserfs`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Names in an order, best first: groups joined by `>` (better than), `>=` (not worse than) or `=` (about equal).
/// `others` stands for all names not listed; `any{a,b}` is met if one of the two meets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Order {
    groups: Vec<Group>,
    relations: Vec<Relation>,
}

/// Names in the same place of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The names as written; `others` is not resolved.
    pub names: Vec<String>,
    /// Whether one of them is enough.
    pub any: bool,
}

/// The relation of two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    Equal,
    NotWorse,
    Better,
}

/// Stands for all names that an order does not list.
pub const OTHERS: &str = "others";

/// Why a text is not an order.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text:?} is no order: {reason}; write one such as `{{ext2,ext3}} > others` or `ext2 = ext3`")]
pub struct ParseOrderError {
    text: String,
    reason: String,
}

impl Order {
    /// The groups, best first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The relation of the groups at two positions, `left` before `right`: equal if everything between them is.
    pub fn relation(&self, left: usize, right: usize) -> Relation {
        self.relations.get(left..right).and_then(|between| between.iter().max().copied()).unwrap_or(Relation::Equal)
    }

    /// The groups, with `others` replaced by the names of `all` that are not listed.
    pub fn resolved(&self, all: &[String]) -> Vec<Group> {
        let written: Vec<&String> = self.groups.iter().flat_map(|group| &group.names).collect();
        let others: Vec<String> = all.iter().filter(|name| !written.contains(name)).cloned().collect();
        let resolve = |name: &String| if name == OTHERS { others.clone() } else { vec![name.clone()] };
        self.groups
            .iter()
            .map(|group| Group { names: group.names.iter().flat_map(resolve).collect(), any: group.any })
            .collect()
    }

    /// The listed names, without `others`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flat_map(|group| &group.names).map(String::as_str).filter(|name| *name != OTHERS)
    }
}

impl FromStr for Order {
    type Err = ParseOrderError;

    fn from_str(text: &str) -> Result<Order, ParseOrderError> {
        let fault = |reason: &str| ParseOrderError { text: text.to_owned(), reason: reason.to_owned() };
        let (mut groups, mut relations): (Vec<Group>, Vec<Relation>) = (Vec::new(), Vec::new());
        for part in pieces(text).ok_or_else(|| fault("braces do not match"))? {
            match part {
                Piece::Relation(relation) => {
                    if relations.len() == groups.len() {
                        return Err(fault("a sign stands without a name before it"));
                    }
                    relations.push(relation);
                }
                Piece::Group(inner) => {
                    if groups.len() > relations.len() {
                        return Err(fault("between two groups there is no sign: >, >= or ="));
                    }
                    groups.push(group(inner).map_err(|reason| fault(&reason))?);
                }
            }
        }
        if groups.len() < 2 || groups.len() == relations.len() {
            return Err(fault("it needs a name on both sides of each sign"));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = groups.iter().flat_map(|group| &group.names).find(|name| !seen.insert(*name)) {
            return Err(fault(&format!("{twice} is there twice")));
        }
        Ok(Order { groups, relations })
    }
}

enum Piece<'a> {
    Group(&'a str),
    Relation(Relation),
}

/// Alternating groups and signs. A `=` without blanks on both sides is part of a name, such as `ext3:data=journal`.
fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let mut out = Vec::new();
    let (mut rest, mut at, mut depth) = (text, 0, 0);
    let sign = |text: &str| {
        [(" >= ", Relation::NotWorse), (" > ", Relation::Better), (" = ", Relation::Equal)]
            .into_iter()
            .find(|(sign, _)| text.starts_with(sign))
    };
    while at < rest.len() {
        if depth == 0
            && let Some((found, relation)) = sign(&rest[at..])
        {
            push(&mut out, &rest[..at]);
            out.push(Piece::Relation(relation));
            rest = &rest[at + found.len()..];
            at = 0;
            continue;
        }
        let letter = rest[at..].chars().next()?;
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            return None;
        }
        at += letter.len_utf8();
    }
    push(&mut out, rest);
    (depth == 0).then_some(out)
}

fn push<'a>(out: &mut Vec<Piece<'a>>, text: &'a str) {
    if !text.trim().is_empty() {
        out.push(Piece::Group(text.trim()));
    }
}

fn group(text: &str) -> Result<Group, String> {
    let (any, inner) = match text.strip_prefix("any{") {
        Some(inner) => (true, inner.strip_suffix('}')),
        None => (false, text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).or(Some(text))),
    };
    let inner = inner.filter(|inner| !inner.contains(['{', '}'])).ok_or("a group is written {a,b} or any{a,b}")?;
    // A comma inside braces separates names; outside it is part of a configuration.
    let names: Vec<String> = if text.contains('{') {
        inner.split(',').map(|name| name.trim().to_owned()).collect()
    } else {
        vec![inner.to_owned()]
    };
    match names.iter().find(|name| name.is_empty() || name.contains(char::is_whitespace) || name.contains(['>', '<'])) {
        Some(name) => Err(format!("{name:?} is no name")),
        None => Ok(Group { names, any }),
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.names[..], self.any) {
            ([one], false) => f.write_str(one),
            (names, any) => write!(f, "{}{{{}}}", if any { "any" } else { "" }, names.join(",")),
        }
    }
}

impl Relation {
    /// `=`, `>=` or `>`.
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "=",
            Relation::NotWorse => ">=",
            Relation::Better => ">",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            if index > 0 {
                write!(f, " {} ", self.relations[index - 1].sign())?;
            }
            group.fmt(f)?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Order {
    type Error = ParseOrderError;

    fn try_from(text: String) -> Result<Order, ParseOrderError> {
        text.parse()
    }
}

impl From<Order> for String {
    fn from(order: Order) -> String {
        order.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(text: &str) -> Order {
        text.parse().unwrap()
    }

    #[test]
    fn chains_and_groups_are_read() {
        let read = order("{ext2,ext3} > others > reiserfs");
        assert_eq!(read.groups().len(), 3);
        assert_eq!(read.groups()[0].names, ["ext2", "ext3"]);
        assert_eq!(read.relation(0, 2), Relation::Better);
        assert_eq!(order("a = b = c").relation(0, 2), Relation::Equal);
        assert_eq!(order("a = b > c").relation(0, 2), Relation::Better);
        assert_eq!(order("a >= b").relation(0, 1), Relation::NotWorse);
        assert!(order("any{a,b} > c").groups()[0].any);
    }

    #[test]
    fn others_are_what_is_not_written() {
        let all: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        let groups = order("{b,d} > others").resolved(&all);
        assert_eq!(groups[1].names, ["a", "c"]);
    }

    #[test]
    fn configurations_keep_their_own_signs() {
        let read = order("{ext2,ext3:data=journal} = xfs");
        assert_eq!(read.groups()[0].names, ["ext2", "ext3:data=journal"]);
        assert_eq!(read.groups()[1].names, ["xfs"]);
    }

    #[test]
    fn what_is_no_order_is_refused_and_named() {
        for text in [
            "", "a", "a >", "> a", "a > > b", "a > a", "{a,b > c", "a} > b", "{a,} > b", "a b > c", "{a}{b} > c",
            "a >> b", "any{a > b", "{{a}} > b",
        ] {
            let error = text.parse::<Order>().expect_err(text).to_string();
            assert!(error.contains("is no order"), "{error}");
        }
    }

    #[test]
    fn a_long_order_takes_no_longer_than_its_length() {
        let names: Vec<String> = (0..100_000).map(|number| format!("f{number}")).collect();
        let begin = std::time::Instant::now();
        assert_eq!(order(&names.join(" > ")).groups().len(), 100_000);
        assert!(order(&format!("{{{}}} > x", names.join(","))).names().count() > 100_000);
        // A linear search for each name takes minutes.
        assert!(begin.elapsed().as_secs() < 20);
    }

    proptest! {
        #[test]
        fn an_order_survives_being_written(
            groups in prop::collection::vec(prop::collection::vec("[a-z][a-z0-9]{0,4}", 1..4), 2..5),
            signs in prop::collection::vec(0..3usize, 4),
        ) {
            let mut number = 0;
            let groups: Vec<String> = groups.iter().map(|names| {
                // The number makes each name unique.
                let names: Vec<String> = names.iter().map(|name| { number += 1; format!("{name}_{number}") }).collect();
                if names.len() == 1 { names[0].clone() } else { format!("{{{}}}", names.join(",")) }
            }).collect();
            let mut text = groups[0].clone();
            for (group, sign) in groups[1..].iter().zip(signs) {
                text += &format!(" {} {group}", [">", ">=", "="][sign]);
            }
            let read: Order = text.parse().unwrap();
            prop_assert_eq!(read.to_string(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[ab{}>= ,any]{0,20}") {
            let _ = text.parse::<Order>();
        }
    }
}
