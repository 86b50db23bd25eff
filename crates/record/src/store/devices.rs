//! Device records, in their own table, so that reading figures does not touch them.

use std::io::Read;

use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use mountmark_model::DeviceRecord;
use rusqlite::{Connection, params};

use super::{Unpacked, there};
use crate::{DeviceUse, DeviceUses};

/// A record is some tens of kilobytes; one that unpacks to more than this was not written by this program.
const MOST: u64 = 16 << 20;

/// Packs records one after another: what that takes is made once.
pub(super) struct Packing {
    packer: Compress,
    packed: Vec<u8>,
}

impl Default for Packing {
    fn default() -> Packing {
        Packing { packer: Compress::new(Compression::fast(), true), packed: Vec::new() }
    }
}

impl Packing {
    /// Inserts the records of the cell with this id, inside the caller's transaction.
    pub(super) fn insert(&mut self, connection: &Connection, cell: i64, devices: &[DeviceUse]) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("INSERT INTO device VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for (position, device) in (0_i64..).zip(devices) {
            let DeviceUse { task, iteration, record, .. } = device;
            statement.execute(params![cell, position, task, iteration, self.pack(record)])?;
        }
        Ok(())
    }

    fn pack(&mut self, record: &DeviceRecord) -> &[u8] {
        let text = super::json(record);
        self.packer.reset();
        self.packed.clear();
        // No text becomes larger by more than this.
        self.packed.reserve(text.len() + text.len() / 8 + 64);
        let status = self.packer.compress_vec(text.as_bytes(), &mut self.packed, FlushCompress::Finish);
        assert!(matches!(status, Ok(Status::StreamEnd)), "the room suffices: {status:?}");
        &self.packed
    }
}

/// The records of a run's cells selected by `wanted`, in the plan's order.
pub(super) fn load(
    connection: &Connection,
    run: i64,
    wanted: &DeviceUses,
) -> rusqlite::Result<Vec<Unpacked<DeviceUse>>> {
    if !there(connection, "device")? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT cell.position, task, iteration, record FROM cell JOIN device ON cell = cell.id
         WHERE run = ?1 AND (?2 IS NULL OR task = ?2) AND (?3 IS NULL OR repeat = ?3)
         ORDER BY cell.position, device.position",
    )?;
    let rows = statement.query_map(params![run, wanted.task, wanted.repeat], |row| {
        let packed: Vec<u8> = row.get(3)?;
        let (cell, task, iteration) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(unpack(&packed).map(|record| DeviceUse { cell, task, iteration, record }))
    })?;
    rows.collect()
}

fn unpack(packed: &[u8]) -> Unpacked<DeviceRecord> {
    let mut text = Vec::new();
    ZlibDecoder::new(packed).take(MOST).read_to_end(&mut text).map_err(serde_json::Error::io)?;
    serde_json::from_slice(&text)
}
