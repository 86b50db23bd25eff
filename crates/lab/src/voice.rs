//! How an agent's lines are told from what anything else may write to its line: each bears a token that only the agent
//! and the lab know, and its number.
//!
//! The rights of commands keep them from that line. This holds where those fail: a line without the token, one that
//! comes twice, or one that is missing ends the cell's credit.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use mountmark_model::Event;
use serde::{Deserialize, Serialize};

/// 64 random bits as 16 hexadecimal digits: always of one length, so that reading and writing it takes the same number of
/// instructions in every cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token(String);

impl Token {
    /// A new one.
    pub fn new() -> Result<Token> {
        let mut bytes = [0; 8];
        let mut source = std::fs::File::open("/dev/urandom").context("cannot open /dev/urandom")?;
        std::io::Read::read_exact(&mut source, &mut bytes).context("cannot read /dev/urandom")?;
        Ok(Token(format!("{:016x}", u64::from_ne_bytes(bytes))))
    }

    /// What follows the token and the number in a line; nothing if the line is not the agent's.
    pub(crate) fn open<'a>(&self, line: &'a str) -> Option<(u64, &'a str)> {
        let (number, event) = line.strip_prefix(&self.0)?.strip_prefix(' ')?.split_once(' ')?;
        Some((number.parse().ok()?, event))
    }

    fn seal(&self, number: u64, event: &str) -> String {
        format!("{} {number} {event}", self.0)
    }
}

/// This process's own, from when it has read its job.
static OWN: OnceLock<Token> = OnceLock::new();
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// From now on every line of this process bears `token`.
pub(crate) fn bear(token: Token) {
    // A process has one job.
    let _ = OWN.set(token);
}

/// The line that says `event`, without its end.
pub(crate) fn line(event: &Event) -> String {
    let text = serde_json::to_string(event).expect("events hold only numbers and text");
    match OWN.get() {
        Some(token) => token.seal(NUMBER.fetch_add(1, Ordering::SeqCst), &text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_opened_by_its_own_token_alone() {
        let (token, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_ne!(token, other);
        let line = token.seal(7, "{\"event\":\"done\"}");
        assert_eq!(token.open(&line), Some((7, "{\"event\":\"done\"}")));
        assert_eq!(other.open(&line), None);
        for damaged in ["", "{\"event\":\"done\"}", &line[1..], &line[..17], &line.replace(" 7 ", " x ")] {
            assert_eq!(token.open(damaged), None, "{damaged}");
        }
    }
}
