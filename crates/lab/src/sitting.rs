//! Names this machine and this boot, for the record of what was measured when.

use std::fs;

use mountmark_model::Sitting;

use crate::cache;

/// This process on this machine as the sitting `number` of a run.
pub fn sitting(number: u32) -> Sitting {
    Sitting { number, boot: line("/proc/sys/kernel/random/boot_id"), machine: named(&line("/etc/machine-id")) }
}

/// The name of the machine with this id: machine-id(5) asks programs not to show the id itself.
fn named(id: &str) -> String {
    // Images of machines have this, or nothing, until their first boot.
    if id.is_empty() || id == "uninitialized" {
        return String::new();
    }
    cache::sha256(format!("mountmark {id}").as_bytes()).chars().take(32).collect()
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_name_that_is_not_its_id() {
        let id = "3d1219c7c4c5404aaa1f6d2a48adfda4";
        let name = named(id);
        assert!(name.len() == 32 && name != id && name != named("another"), "{name}");
        assert_eq!((named(""), named("uninitialized")), (String::new(), String::new()));
        assert_eq!(sitting(2), sitting(2));
        assert!(!sitting(1).boot.is_empty());
    }
}
