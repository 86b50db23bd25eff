//! What determines the figures of a cell under an exact clock, and nothing else: its key.

use serde_json::Value;

/// The key of a cell: two cells with equal ones have equal figures, to the last bit, on any host.
#[derive(Clone, Debug, PartialEq)]
pub struct CellKey {
    /// SHA-256 of the parts, in hexadecimal.
    pub sha256: String,
    /// The parts; `docs/reference/cells.md` describes them.
    pub parts: Value,
}

impl CellKey {
    /// The key of these parts.
    pub fn of(parts: Value) -> CellKey {
        // Keys of a JSON object are sorted, so that equal parts are equal bytes.
        CellKey { sha256: crate::cache::sha256(parts.to_string().as_bytes()), parts }
    }
}
