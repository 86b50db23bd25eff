//! Parsers of data from a kernel, its modules, a profiled guest and a drive, for fuzz tests.

use std::collections::BTreeMap;

use mountmark_model::Health;

use crate::host::device::health;
pub use crate::image::kernel::parse as kernel;
pub use crate::image::modules::modinfo;
use crate::profile::recording::Recording;
use crate::profile::symbols::Symbols;
use crate::profile::{Medium, parts};

/// A profiler's recording, of functions with these names.
pub fn recording(text: &str, names: &[String], shift: u8) -> anyhow::Result<Recording> {
    Recording::read(&mut text.as_bytes(), names, shift, &mut |_| BTreeMap::new(), &mut || Ok(()))
}

/// How many kinds of parts a file system on a disk has, by the disk's contents.
pub fn disk(contents: &[u8]) -> usize {
    struct Contents<'a>(&'a [u8]);
    impl Medium for Contents<'_> {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, offset: u64, into: &mut [u8]) -> bool {
            let from = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..)?.get(..into.len()));
            from.map(|from| into.copy_from_slice(from)).is_some()
        }
    }
    let found = parts(&Contents(contents), &(0..=contents.len() as u64 / 512).collect());
    found.into_values().collect::<std::collections::BTreeSet<_>>().len()
}

/// The names of functions in a kernel's list of symbols, and the table that the plugin gets.
pub fn symbols(list: &str) -> anyhow::Result<(Vec<String>, Vec<u8>)> {
    Symbols::parse(list).map(|symbols| (symbols.names.clone(), symbols.table()))
}

/// What a drive says of itself: in the words of smartctl, and of nvme-cli.
pub fn health(text: &str) -> [Health; 2] {
    [health::smartctl(text), health::nvme(text)]
}
