//! Shows one state again.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use anyhow::{Context, Result, bail};
use mountmark_crash::oracle::History;
use mountmark_crash::states::{StateId, States};
use mountmark_crash::workload::Workload;
use mountmark_lab::emulator::Witnesses;
use mountmark_model::Cell;
use mountmark_run::crash::explore::{self, Scene};
use mountmark_run::crash::talk::Talk;

use super::{Arguments, Stop};
use crate::common::{self, WrongUse};

pub(super) fn show(
    arguments: &Arguments,
    lab: &Witnesses,
    cell: &Cell,
    workload: &Workload,
    id: &StateId,
    stop: &Stop,
) -> Result<u8> {
    let _ = (arguments, lab, cell, workload, id, stop);
    bail!("later")
}
