//! Numbers that may refer to a suite's parameters.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::Bytes;

/// A count or a size: a number (`10_000`), a size (`"4 KiB"`), a parameter (`"$FILES"`), or several of these joined by
/// `*` and `/`, evaluated from left to right in whole numbers: `"$BIG_MIB * 1 MiB / 4"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    /// The first part; 0 by default.
    first: Part,
    /// The rest: whether it divides, and the operand.
    rest: Vec<(bool, Part)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Number(u64),
    Parameter(String),
}

impl Default for Part {
    fn default() -> Part {
        Part::Number(0)
    }
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QuantityError {
    /// A text that is not a quantity.
    #[error(
        "{0:?} is not a quantity: write a number, a size such as \"4 KiB\", a parameter such as \"$FILES\", or several \
         with * and / between them"
    )]
    Text(String),
    /// A parameter that the suite does not have.
    #[error("{quantity:?} names the parameter {name}, which is not among the suite's: {known}")]
    Unknown {
        /// As written.
        quantity: String,
        name: String,
        /// The suite's parameters.
        known: String,
    },
    /// Beyond 64 bits, or divided by zero.
    #[error("{quantity:?} has no value in 64 bits{with}")]
    Range {
        /// As written.
        quantity: String,
        /// The parameters' values.
        with: String,
    },
}

impl Quantity {
    pub fn number(value: u64) -> Quantity {
        Quantity { first: Part::Number(value), rest: Vec::new() }
    }

    /// The value at the scale of the given parameters.
    ///
    /// # Errors
    /// An unknown parameter, a division by zero, or a value beyond 64 bits.
    pub fn value(&self, parameters: &BTreeMap<String, u64>) -> Result<u64, QuantityError> {
        let part = |part: &Part| match part {
            Part::Number(number) => Ok(u128::from(*number)),
            Part::Parameter(name) => {
                parameters.get(name).map(|value| u128::from(*value)).ok_or_else(|| QuantityError::Unknown {
                    quantity: self.to_string(),
                    name: name.clone(),
                    known: match parameters.is_empty() {
                        true => "there are none".to_owned(),
                        false => parameters.keys().cloned().collect::<Vec<_>>().join(", "),
                    },
                })
            }
        };
        let range = || QuantityError::Range {
            quantity: self.to_string(),
            with: self
                .parameters()
                .filter_map(|name| Some(format!(", {name} = {}", parameters.get(name)?)))
                .collect::<String>(),
        };
        let mut value = part(&self.first)?;
        for (divides, next) in &self.rest {
            let next = part(next)?;
            value = if *divides { value.checked_div(next) } else { value.checked_mul(next) }.ok_or_else(range)?;
        }
        u64::try_from(value).map_err(|_| range())
    }

    /// The names of the parameters in it.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.first).chain(self.rest.iter().map(|(_, part)| part)).filter_map(|part| match part {
            Part::Parameter(name) => Some(name.as_str()),
            Part::Number(_) => None,
        })
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Quantity, QuantityError> {
        let bad = || QuantityError::Text(text.to_owned());
        let part = |part: &str| -> Result<Part, QuantityError> {
            let part = part.trim();
            let Some(name) = part.strip_prefix('$') else {
                return part.parse::<Bytes>().map(|bytes| Part::Number(bytes.0)).map_err(|_| bad());
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(plain) { Err(bad()) } else { Ok(Part::Parameter(name.to_owned())) }
        };
        let mut quantity: Option<Quantity> = None;
        let mut divides = false;
        let mut rest = text;
        loop {
            let end = rest.find(['*', '/']);
            let next = part(&rest[..end.unwrap_or(rest.len())])?;
            match &mut quantity {
                None => quantity = Some(Quantity { first: next, rest: Vec::new() }),
                Some(quantity) => quantity.rest.push((divides, next)),
            }
            let Some(end) = end else { break };
            divides = rest.as_bytes()[end] == b'/';
            rest = &rest[end + 1..];
        }
        quantity.ok_or_else(bad)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Number(number) => write!(f, "{number}"),
            Part::Parameter(name) => write!(f, "${name}"),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.rest.iter().try_for_each(|(divides, part)| write!(f, " {} {part}", if *divides { '/' } else { '*' }))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.first, self.rest.is_empty()) {
            (Part::Number(number), true) => serializer.serialize_u64(*number),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;
        impl serde::de::Visitor<'_> for QuantityVisitor {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, a size such as \"4 KiB\", or parameters such as \"$BIG_MIB * 1 MiB\"")
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Quantity, E> {
                Ok(Quantity::number(value))
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Quantity, E> {
                u64::try_from(value).map(Quantity::number).map_err(|_| E::custom("a quantity cannot be negative"))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(QuantityVisitor)
    }
}
