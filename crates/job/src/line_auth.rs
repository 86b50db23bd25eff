//! Authenticates an agent's lines: each bears a token that only the agent and the lab know, and its number.
//!
//! Commands lack the rights to write to the agent's line. This is a second barrier: a line without the token, a
//! repeated or a missing line discredits the whole cell.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use mountmark_model::Event;
use serde::{Deserialize, Serialize};

/// 64 random bits as 16 hexadecimal digits: the length is constant, so that reading and writing it takes the same
/// number of instructions in every cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token(String);

impl Token {
    pub fn new() -> Result<Token> {
        let mut bytes = [0; 8];
        let mut source = std::fs::File::open("/dev/urandom").context("cannot open /dev/urandom")?;
        std::io::Read::read_exact(&mut source, &mut bytes).context("cannot read /dev/urandom")?;
        Ok(Token(format!("{:016x}", u64::from_ne_bytes(bytes))))
    }

    /// The number of a line and the text behind it; `None` if the line is not the agent's.
    pub fn open<'a>(&self, line: &'a str) -> Option<(u64, &'a str)> {
        let (number, event) = line.strip_prefix(&self.0)?.strip_prefix(' ')?.split_once(' ')?;
        Some((number.parse().ok()?, event))
    }

    fn seal(&self, number: u64, event: &str) -> String {
        format!("{} {number} {event}", self.0)
    }
}

/// This process's token, once it has read its job.
static OWN: OnceLock<Token> = OnceLock::new();
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Makes every further line of this process bear `token`.
pub fn bear(token: Token) {
    // A process has only one job, so this succeeds.
    let _ = OWN.set(token);
}

/// The line for `event`, without its newline.
pub fn line(event: &Event) -> String {
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
