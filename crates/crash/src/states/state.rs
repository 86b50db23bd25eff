//! One state: how an image differs from the image that the disk held when the recording began.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::StateId;
use crate::trace::Extent;

/// The image that the disk held when the recording began.
pub trait Base {
    /// Reads from this offset, within the disk.
    fn read(&self, offset: u64, into: &mut [u8]);
}

impl Base for [u8] {
    /// # Panics
    /// If the image is smaller than the disk.
    fn read(&self, offset: u64, into: &mut [u8]) {
        into.copy_from_slice(&self[offset as usize..][..into.len()]);
    }
}

/// What a power cut may leave on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub id: StateId,
    /// Sorted and disjoint: all that differs from the base image, and nothing else.
    pub extents: Vec<Extent>,
    /// Of the image: two states of one recording and one unit have the same hash if their images are the same. It is
    /// the exclusive or over the hashes of all sectors that differ from the base image; 0 for the base image itself.
    pub hash: u128,
}

impl State {
    /// Changes the base image into this state. `data` is [`crate::trace::Trace::data`].
    pub fn apply(&self, data: &[u8], image: &mut [u8]) {
        for extent in &self.extents {
            extent.read(data, 0, &mut image[extent.offset as usize..][..extent.length as usize]);
        }
    }
}

/// Adds an extent that lies behind all others.
pub(super) fn push(extents: &mut Vec<Extent>, next: Extent) {
    match extents.last_mut().filter(|last| last.continues(&next)) {
        Some(last) => last.length += next.length,
        None => extents.push(next),
    }
}

/// The hash of these bytes at this granule of the disk, never 0.
pub(super) fn key(granule: u64, bytes: &[u8]) -> u128 {
    let mut hasher = SipHasher13::new_with_keys(granule, bytes.len() as u64);
    hasher.write(bytes);
    hasher.finish128().as_u128().max(1)
}
