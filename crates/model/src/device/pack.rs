//! Encodes slices and fields as short text: numbers of 7 bits per byte with the highest bit set in all but the last
//! (LEB128), and the bytes in base64. A record leaves the guest through a port, byte by byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number from the front; `None` if there is none.
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn write<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
}

fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text: String = serde::Deserialize::deserialize(deserializer)?;
    STANDARD_NO_PAD.decode(text).map_err(serde::de::Error::custom)
}

/// 14 numbers per slice, in the order of its fields.
pub(super) mod slices {
    use super::super::{SLICES, Slice};
    use super::{put, take};

    pub fn serialize<S: serde::Serializer>(slices: &[Slice], serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        for slice in slices {
            let numbers = slice.count.iter().chain(&slice.bytes).chain(&slice.wait);
            numbers.chain([&slice.queued, &slice.busy]).for_each(|value| put(&mut bytes, *value));
        }
        super::write(&bytes, serializer)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Slice>, D::Error> {
        let bytes = super::read(deserializer)?;
        let mut rest = &bytes[..];
        let mut slices = Vec::new();
        while !rest.is_empty() {
            let slice = slice(&mut rest).ok_or_else(|| serde::de::Error::custom("a slice breaks off"))?;
            slices.push(slice);
        }
        if slices.len() > SLICES {
            return Err(serde::de::Error::custom("more slices than a record has"));
        }
        Ok(slices)
    }

    fn slice(rest: &mut &[u8]) -> Option<Slice> {
        let mut slice = Slice::default();
        for numbers in [&mut slice.count, &mut slice.bytes, &mut slice.wait] {
            for number in numbers {
                *number = take(rest)?;
            }
        }
        slice.queued = take(rest)?;
        slice.busy = take(rest)?;
        Some(slice)
    }
}

/// Per field: number of empty fields before it, column by column; sectors read; sectors written.
pub(super) mod fields {
    use super::super::{Field, ROWS, SLICES};
    use super::{put, take};

    pub fn serialize<S: serde::Serializer>(fields: &[Field], serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        let mut next = 0;
        for field in fields {
            let place = u64::from(field.column) * ROWS as u64 + u64::from(field.row);
            put(&mut bytes, place.saturating_sub(next));
            put(&mut bytes, field.read.into());
            put(&mut bytes, field.written.into());
            next = place + 1;
        }
        super::write(&bytes, serializer)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Field>, D::Error> {
        let bytes = super::read(deserializer)?;
        let mut rest = &bytes[..];
        let mut fields = Vec::new();
        let mut next = 0;
        while !rest.is_empty() {
            let field = field(&mut rest, &mut next).ok_or_else(|| serde::de::Error::custom("a map is damaged"))?;
            fields.push(field);
        }
        Ok(fields)
    }

    fn field(rest: &mut &[u8], next: &mut u64) -> Option<Field> {
        let place = next.checked_add(take(rest)?).filter(|place| *place < (SLICES * ROWS) as u64)?;
        *next = place + 1;
        let (column, row) = (place / ROWS as u64, place % ROWS as u64);
        Some(Field {
            column: column as u32,
            row: row as u32,
            read: take(rest)?.try_into().ok()?,
            written: take(rest)?.try_into().ok()?,
        })
    }
}
