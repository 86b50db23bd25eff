//! Which log to examine, and from where on.

use serde::{Deserialize, Serialize};

use super::import::Imported;
use crate::trace::{Event, Mark, Trace};

/// A log of a disk that was recorded elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Log {
    /// The log's file.
    pub path: String,
    /// An image of what the disk held when the log began; `None` for zeros.
    pub base: Option<String>,
    /// A mark in others' words before which no power is cut, such as the end of mkfs.
    pub from: Option<String>,
}

impl Log {
    /// The recording, in which a power cut may come after the mark `from`.
    ///
    /// # Errors
    /// The log has no such mark; the marks that it has.
    pub fn cut(&self, imported: Imported) -> Result<Trace, Vec<String>> {
        let Imported { mut trace, marks } = imported;
        let Some(from) = &self.from else { return Ok(trace) };
        let Some((event, _)) = marks.iter().find(|(_, text)| text == from) else {
            return Err(marks.into_iter().map(|(_, text)| text).collect());
        };
        // No power is cut before the first operation.
        trace.events.insert(*event, Event::Mark(Mark::Begin(0)));
        Ok(trace)
    }
}
