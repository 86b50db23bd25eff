//! Reads a block trace point's records by the layout in its `format` file.

use anyhow::{Context, Result};
use mountmark_model::device::DeviceOperation;

/// Fields of a trace point: offset and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The id in the record's first two bytes.
    pub id: u16,
    sector: (usize, usize),
    sectors: (usize, usize),
    rwbs: (usize, usize),
}

/// A request as described by a trace point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub operation: DeviceOperation,
    /// First sector of 512 bytes.
    pub sector: u64,
    pub sectors: u64,
    /// Of a write: whether it must be durable when it completes.
    pub fua: bool,
}

impl Layout {
    /// Parses the text of the `format` file of `block_rq_issue` or `block_rq_complete`.
    pub(super) fn parse(format: &str) -> Result<Layout> {
        let id = format.lines().find_map(|line| line.strip_prefix("ID: ")).and_then(|id| id.trim().parse().ok());
        let field = |name: &str| {
            let line = format.lines().find_map(|line| {
                let (declared, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
                let declared = declared.split('[').next()?.split_whitespace().next_back()?;
                (declared == name).then_some(rest)
            })?;
            let number = |label: &str| {
                let rest = &line[line.find(label)? + label.len()..];
                rest.split(';').next()?.trim().parse::<usize>().ok()
            };
            Some((number("offset:")?, number("size:")?))
        };
        let field = |name: &str| field(name).with_context(|| format!("the trace point has no field {name}"));
        Ok(Layout {
            id: id.context("the trace point has no ID")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            rwbs: field("rwbs")?,
        })
    }

    /// The request of a record; `None` unless it is for data, a discard or a flush.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<Named> {
        let number = |(offset, size): (usize, usize)| {
            let field = bytes.get(offset..offset.checked_add(size)?)?;
            Some(field.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
        };
        let rwbs = bytes.get(self.rwbs.0..self.rwbs.0 + self.rwbs.1)?;
        let fua = is_fua(rwbs);
        let (operation, sector, sectors) = (operation(rwbs)?, number(self.sector)?, number(self.sectors)?);
        match operation {
            // A flush has no sector; the kernel's value differs between its issue and its end.
            DeviceOperation::Flush => Some(Named { operation, sector: 0, sectors: 0, fua: false }),
            // The request that asked for a flush completes once more, without data, when the flush is done.
            _ => (sectors > 0).then_some(Named { operation, sector, sectors, fua }),
        }
    }
}

/// `rwbs` is an F if a flush comes first, the operation's letter, and further flags (blk_fill_rwbs in the kernel's
/// kernel/trace/blktrace.c). A flush alone is `FF` or `F`.
fn operation(rwbs: &[u8]) -> Option<DeviceOperation> {
    let letters: Vec<u8> = rwbs.iter().copied().take_while(|letter| *letter != 0).collect();
    let kind = |letter: &u8| match letter {
        b'R' => Some(DeviceOperation::Read),
        // N has no letter of its own; with data it writes zeroes, which the kernel's counters count as writes.
        b'W' | b'N' => Some(DeviceOperation::Write),
        b'D' | b'E' => Some(DeviceOperation::Discard),
        b'F' => Some(DeviceOperation::Flush),
        _ => None,
    };
    match letters.as_slice() {
        [b'F', second, ..] => kind(second).or(Some(DeviceOperation::Flush)),
        [first, ..] => kind(first),
        [] => None,
    }
}

/// Whether a write has FUA: an F behind the operation's letter.
fn is_fua(rwbs: &[u8]) -> bool {
    let letters = rwbs.iter().copied().take_while(|letter| *letter != 0);
    letters.skip_while(|letter| *letter == b'F').skip(1).any(|letter| letter == b'F')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.18, without its last line.
    const COMPLETE: &str = "name: block_rq_complete
ID: 2107
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:44;\tsize:4;\tsigned:0;
";

    #[test]
    fn a_layout_is_read_and_reads() {
        let layout = Layout::parse(COMPLETE).unwrap();
        assert_eq!(layout, Layout { id: 2107, sector: (16, 8), sectors: (24, 4), rwbs: (34, 10) });
        let mut bytes = [0u8; 48];
        bytes[16..24].copy_from_slice(&0x1_0000_0008u64.to_le_bytes());
        bytes[24..28].copy_from_slice(&2048u32.to_le_bytes());
        bytes[34..37].copy_from_slice(b"FWS");
        let named = Named { operation: DeviceOperation::Write, sector: 0x1_0000_0008, sectors: 2048, fua: false };
        assert_eq!(layout.read(&bytes), Some(named));
        assert_eq!(layout.read(&bytes[..40]), None);
        bytes[24..28].fill(0);
        assert_eq!(layout.read(&bytes), None, "it has no data");
        bytes[34..37].copy_from_slice(b"FF\0");
        let flush = Named { operation: DeviceOperation::Flush, sector: 0, sectors: 0, fua: false };
        assert_eq!(layout.read(&bytes), Some(flush));
        assert!(Layout::parse("ID: 3\n").unwrap_err().to_string().contains("no field sector"));
        assert!(Layout::parse(COMPLETE.trim_start_matches("name: block_rq_complete\nID: 2107")).is_err());
    }

    #[test]
    fn operations_are_told_by_their_letters() {
        let kinds = ["RA", "WS", "DS", "FF", "F", "FWFS", "N", "X", ""].map(|text| operation(text.as_bytes()));
        use DeviceOperation::{Discard, Flush, Read, Write};
        let expected = [Read, Write, Discard, Flush, Flush, Write, Write].map(Some);
        assert_eq!(kinds[..7], expected);
        assert_eq!(kinds[7..], [None, None]);
        let fua = ["WS", "WFS", "FWFS", "FWS", "FF", "F"].map(|text| is_fua(text.as_bytes()));
        assert_eq!(fua, [false, true, true, false, false, false]);
    }
}
