//! Code outside the kernel: pages of the files that a guest has, told by their contents, and the functions of these files.
//!
//! Code is the same in memory as in its file, at whatever address and in whichever process: so nothing of the guest need be
//! asked.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use goblin::elf::Elf;
use goblin::elf::program_header::{PF_X, PT_LOAD};
use goblin::elf::sym::{STT_FUNC, Sym};

use super::symbols::Entry;
use crate::cache;

/// The first bytes of a program's or a library's file.
pub(crate) const MAGIC: &[u8] = b"\x7fELF";
const PAGE: usize = 4096;
/// Between the places of two files, which is the largest file.
const FILE: u64 = 1 << 32;
/// Files whose places lie below the kernel's addresses.
const MOST_FILES: u64 = 1 << 15;
/// Names of functions that are longer are not told, so that stores take them.
const LONGEST: usize = 200;

/// The code of a guest's files.
#[derive(Default)]
pub(crate) struct Code {
    /// Names of files and their functions, as [`mountmark_model::profile::program::code`] takes them apart.
    pub names: Vec<String>,
    /// By place; functions are indices of `names`.
    pub table: Vec<Entry>,
    /// Hash and place of each page, by hash.
    pages: Vec<(u64, u64)>,
}

impl Code {
    /// Of the files that `each` gives, by path and contents; those that are no programs or libraries are passed over.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn of(each: impl FnOnce(&mut dyn FnMut(&str, &[u8])) -> Result<()>) -> Result<Code> {
        let mut out = Code::default();
        let mut pages: BTreeMap<u64, Option<u64>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        each(&mut |path, bytes| {
            // A file under two names is one.
            if !bytes.starts_with(MAGIC) || bytes.len() as u64 >= FILE || !seen.insert(cache::sha256(bytes)) {
                return;
            }
            let place = FILE * (seen.len() as u64);
            let Some(elf) = Elf::parse(bytes).ok().filter(|_| place < FILE * MOST_FILES) else { return };
            for part in elf.program_headers.iter().filter(|part| part.p_type == PT_LOAD && part.p_flags & PF_X != 0) {
                let (begin, end) = (part.p_offset as usize, part.p_offset.saturating_add(part.p_filesz) as usize);
                for at in (begin / PAGE * PAGE..end.min(bytes.len())).step_by(PAGE) {
                    let mut page = [0; PAGE];
                    let held = &bytes[at..bytes.len().min(at + PAGE)];
                    page[..held.len()].copy_from_slice(held);
                    // What two pages have alike is of neither.
                    pages.entry(hash(&page)).and_modify(|known| *known = None).or_insert(Some(place + at as u64));
                }
            }
            out.add(path, place, &elf);
        })?;
        out.pages = pages.into_iter().filter_map(|(hash, place)| Some((hash, place?))).collect();
        Ok(out)
    }

    /// Adds a file and its functions.
    fn add(&mut self, path: &str, place: u64, elf: &Elf) {
        let file = self.name(format!("/{path}"));
        self.table.push(Entry { address: place, function: file, flags: 0 });
        let named = |names: &goblin::strtab::Strtab, symbol: &Sym| {
            let name = names.get_at(symbol.st_name)?;
            let is_plain = name.bytes().all(|letter| letter.is_ascii_graphic() && letter != b';' && letter != b'/');
            let is_told = symbol.st_type() == STT_FUNC && symbol.st_value != 0 && symbol.st_size > 0;
            let (begin, end) = (at(elf, symbol.st_value)?, symbol.st_value.checked_add(symbol.st_size)?);
            let is_fit = is_told && is_plain && !name.is_empty() && name.len() <= LONGEST;
            is_fit.then(|| (begin, begin + (end - symbol.st_value), name.to_owned()))
        };
        let of = |symbols: &goblin::elf::Symtab, names| {
            symbols.iter().filter_map(|symbol| named(names, &symbol)).collect::<Vec<_>>()
        };
        let mut found = [of(&elf.syms, &elf.strtab), of(&elf.dynsyms, &elf.dynstrtab)].concat();
        // Of several names the shortest.
        found.sort_by(|one, other| (one.0, one.2.len(), &one.2).cmp(&(other.0, other.2.len(), &other.2)));
        found.dedup_by_key(|(begin, ..)| *begin);
        for (index, (begin, end, name)) in found.iter().enumerate() {
            let function = self.name(format!("/{path}:{name}"));
            self.table.push(Entry { address: place + begin, function, flags: 0 });
            // What no symbol holds is of the file alone.
            if found.get(index + 1).is_none_or(|next| *end < next.0) {
                self.table.push(Entry { address: place + end.min(&(FILE - 1)), function: file, flags: 0 });
            }
        }
    }

    fn name(&mut self, name: String) -> u32 {
        self.names.push(name);
        self.names.len() as u32 - 1
    }

    /// The pages for the plugin: hash and place of each.
    pub fn pages(&self) -> Vec<u8> {
        self.pages.iter().flat_map(|(hash, place)| [hash.to_le_bytes(), place.to_le_bytes()]).flatten().collect()
    }
}

/// Where an address lies in the file, if it is code there.
fn at(elf: &Elf, address: u64) -> Option<u64> {
    let parts = elf.program_headers.iter().filter(|part| part.p_type == PT_LOAD && part.p_flags & PF_X != 0);
    let mut inside = parts.filter_map(|part| {
        let inside = address.checked_sub(part.p_vaddr).filter(|inside| *inside < part.p_filesz)?;
        part.p_offset.checked_add(inside).filter(|at| *at < FILE)
    });
    inside.next()
}

/// Of a page's contents, as profiler.c computes it.
fn hash(page: &[u8; PAGE]) -> u64 {
    let words = page.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    words.fold(0, |hash: u64, word| {
        let hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ hash >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_the_file_and_its_functions() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let files =
            [("usr/bin/own", &own[..]), ("usr/bin/twin", &own), ("etc/passwd", b"root"), ("bad", b"\x7fELF\x02")];
        let code = Code::of(|take| {
            files.into_iter().for_each(|(path, bytes)| take(path, bytes));
            Ok(())
        });
        let code = code.unwrap();
        assert_eq!(code.names.iter().filter(|name| !name.contains(':')).collect::<Vec<_>>(), ["/usr/bin/own"]);
        assert!(code.table.is_sorted_by_key(|entry| entry.address));
        // The symbol that every program's start calls.
        let elf = Elf::parse(&own).unwrap();
        let main = elf.syms.iter().find(|symbol| elf.strtab.get_at(symbol.st_name) == Some("main")).unwrap();
        let at = at(&elf, main.st_value).unwrap();
        let page = at as usize / PAGE * PAGE;
        let hash = hash(own[page..page + PAGE].try_into().unwrap());
        let (_, place) = code.pages[code.pages.binary_search_by_key(&hash, |page| page.0).unwrap()];
        let function = |place: u64| {
            let after = code.table.partition_point(|entry| entry.address <= place);
            code.names[code.table[after - 1].function as usize].as_str()
        };
        let place = place + at % PAGE as u64;
        assert_eq!([function(place), function(place + main.st_size - 1)], ["/usr/bin/own:main"; 2]);
        assert_ne!(function(place - 1), "/usr/bin/own:main");
        assert_ne!(function(place + main.st_size), "/usr/bin/own:main");
        assert_eq!(code.pages().len(), 16 * code.pages.len());
    }
}
