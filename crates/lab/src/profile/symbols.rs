//! The functions of a guest's kernel, from its list of symbols (`/proc/kallsyms`).

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::programs::Code;

/// Functions of a kernel, and of programs.
pub(crate) struct Symbols {
    /// By the number that the plugin has for them. The first two are not the kernel's.
    pub names: Vec<String>,
    table: Vec<Entry>,
    /// Where the first task's description lies.
    pub init_task: u64,
}

pub(crate) struct Entry {
    pub address: u64,
    pub function: u32,
    pub flags: u32,
}

/// Names of the numbers that are no functions of the kernel's list.
const OTHERS: [&str; 2] = ["programs", "unknown"];
const UNKNOWN: u32 = 1;

/// Where the kernel's own addresses begin; below are offsets of per-processor data.
const KERNEL: u64 = 0xffff_8000_0000_0000;

// As in profiler.c.
const IS_FAULT: u32 = 1;
const IS_SWITCH: u32 = 2;
const IS_RENAME: u32 = 4;
const HAS_DEVICE: u32 = 8;
const IS_CALL: u32 = 16;

/// What the plugin must know of a function.
fn flags(name: &str) -> u32 {
    match name {
        // Their errors lie on the stack, above the address of the instruction that is executed again.
        "asm_exc_page_fault" | "asm_exc_general_protection" => IS_FAULT,
        // Its second argument is the next task.
        "__switch_to" => IS_SWITCH,
        "__set_task_comm" => IS_RENAME,
        // Where system calls begin, whatever calls them there.
        _ if name.starts_with("__x64_sys_") => IS_CALL,
        // Devices with memory of their own, which guests access by functions of these names.
        _ if name.contains("apic") || name.contains("hpet") => HAS_DEVICE,
        _ => 0,
    }
}

impl Symbols {
    /// Reads the list: lines of address, type, name and `[module]`.
    pub(crate) fn parse(list: &str) -> Result<Symbols> {
        let mut found: Vec<(u64, bool, &str, &str)> = Vec::new();
        let mut init_task = None;
        for line in list.lines() {
            let mut fields = line.split_whitespace();
            let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if address < KERNEL {
                continue;
            }
            let module = fields.next().map_or("", |module| module.trim_matches(['[', ']']));
            if name == "init_task" && module.is_empty() {
                init_task = Some(address);
            }
            // Padding before functions, which nothing executes.
            if matches!(kind, "t" | "T" | "w" | "W") && !name.starts_with("__pfx_") {
                found.push((address, kind.starts_with(|c: char| c.is_lowercase()), name, module));
            }
        }
        // Of several names the global one, then the shortest, so that one kernel always gives the same.
        found.sort_by_key(|(address, is_local, name, _)| (*address, *is_local, name.len(), *name));
        let mut names: Vec<String> = OTHERS.map(str::to_owned).into();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut table: Vec<Entry> = Vec::new();
        for (address, _, name, module) in found {
            if let Some(last) = table.last_mut().filter(|last| last.address == address) {
                last.flags |= flags(name);
                continue;
            }
            // A function's part that is rarely executed lies apart.
            let name = name.split(".cold").next().unwrap_or(name);
            let full = if module.is_empty() { name.to_owned() } else { format!("{module}:{name}") };
            let function = *numbers.entry(full).or_insert_with_key(|full| {
                names.push(full.clone());
                names.len() as u32 - 1
            });
            table.push(Entry { address, function, flags: flags(name) });
        }
        if !table.iter().any(|entry| entry.flags & IS_SWITCH != 0) {
            bail!("the kernel's list of symbols has no addresses of its functions");
        }
        Ok(Symbols { names, table, init_task: init_task.context("the kernel's list of symbols has no init_task")? })
    }

    /// Adds code outside the kernel, whose places are below the kernel's addresses.
    pub(crate) fn add(&mut self, code: &Code) {
        let first = self.names.len() as u32;
        self.names.extend_from_slice(&code.names);
        let code = code.table.iter().map(|entry| Entry { function: entry.function + first, ..*entry });
        let between = Entry { address: KERNEL, function: UNKNOWN, flags: 0 };
        let kernel = std::mem::take(&mut self.table);
        self.table = code.chain([between]).chain(kernel).collect();
    }

    /// The table for the plugin: address, function and flags of each symbol, by address.
    pub(crate) fn table(&self) -> Vec<u8> {
        let words = |entry: &Entry| {
            let (address, function, flags) =
                (entry.address.to_le_bytes(), entry.function.to_le_bytes(), entry.flags.to_le_bytes());
            address.into_iter().chain(function).chain(flags)
        };
        self.table.iter().flat_map(words).collect()
    }
}

/// Where a task's name lies in its description, found in that of the first task.
pub(crate) fn name_offset(init_task: &[u8]) -> Result<usize> {
    let at = memchr::memmem::find(init_task, b"swapper");
    at.context("the kernel's first task has no name: the profiler cannot tell programs")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "0000000000001000 A fixed_percpu_data\n\
        ffffffff81000000 T _text\n\
        ffffffff81000100 t helper\n\
        ffffffff810001f0 t __pfx_ksys_read\n\
        ffffffff81000200 t alias_of_ksys_read\n\
        ffffffff81000200 T ksys_read\n\
        ffffffff81000300 T __switch_to\n\
        ffffffff81900000 t helper.cold\n\
        ffffffff82000000 D init_task\n\
        ffffffffc0000000 t ext4_match\t[ext4]\n";

    #[test]
    fn each_address_has_one_function() {
        let symbols = Symbols::parse(LIST).unwrap();
        assert_eq!(
            symbols.names,
            ["programs", "unknown", "_text", "helper", "ksys_read", "__switch_to", "ext4:ext4_match"]
        );
        let of = |address: u64| symbols.table.iter().find(|entry| entry.address == address).map(|entry| entry.function);
        assert_eq!(of(0xffff_ffff_8190_0000), of(0xffff_ffff_8100_0100), "a cold part is the function's");
        assert_eq!((of(0xffff_ffff_8100_0200), of(0xffff_ffff_8100_01f0)), (Some(4), None));
        assert_eq!((symbols.table().len(), symbols.init_task), (6 * 16, 0xffff_ffff_8200_0000));
    }

    #[test]
    fn lists_without_addresses_are_refused() {
        let hidden = "0000000000000000 T _text\n0000000000000000 T __switch_to\n";
        assert!(Symbols::parse(hidden).is_err_and(|error| error.to_string().contains("no addresses")));
        assert_eq!(name_offset(b"....swapper/0\0").unwrap(), 4);
        assert!(name_offset(b"....").is_err());
    }
}
