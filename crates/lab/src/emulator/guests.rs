//! A lab of guests before it is opened.

use anyhow::Result;
use mountmark_job::Places;
use mountmark_model::{Cell, Lab};

use super::{Emulator, options};
use crate::lab::{LabKind, OpenLab, Options};
use crate::options::LabOption;

/// A lab of QEMU guests.
pub(crate) struct Guests(pub Lab);

impl LabKind for Guests {
    fn open(&self, options: Options) -> Result<Box<dyn OpenLab>> {
        Ok(Box::new(Emulator::open(self.0, options)?))
    }

    fn options(&self) -> &'static [&'static LabOption] {
        options::of(self.0)
    }

    fn places(&self, cell: &Cell) -> Result<Places> {
        Ok(mountmark_job::places(cell))
    }
}
