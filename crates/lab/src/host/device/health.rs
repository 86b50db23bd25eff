//! Asks a drive how warm and how worn it is: /sys, smartctl of smartmontools, else nvme of nvme-cli. What cannot be asked
//! is left open: no figure depends on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mountmark_job::PATH;
use mountmark_model::{Bytes, Health};
use serde_json::Value;

use super::relatives;
use crate::child::{self, Limits};
use crate::host::tools;

/// A drive answers within milliseconds; a hanging one must not hold the run up.
const LIMITS: Limits = Limits { idle: Duration::from_secs(5), total: Duration::from_secs(10) };
/// Bytes of one of the units in which NVMe drives count what is written: 1000 blocks of 512 bytes (NVM Express Base
/// Specification, SMART / Health Information).
const NVME_UNIT: u64 = 512_000;
/// Kelvin at 0 degrees Celsius, in the whole degrees of NVMe.
const ZERO_CELSIUS: i64 = 273;
/// Attributes of ATA drives whose normalised value is the percentage of the life that is left.
const LIFE_LEFT: [&str; 5] = [
    "Wear_Leveling_Count",
    "Media_Wearout_Indicator",
    "SSD_Life_Left",
    "Percent_Lifetime_Remain",
    "Remaining_Lifetime_Perc",
];

/// Set when a program was ended for taking too long: it is not asked again.
static IS_HANGING: AtomicBool = AtomicBool::new(false);

/// The drive below a device; `None` if there is none that says anything.
pub(super) fn ask(name: &str, model: &str) -> Option<Health> {
    let disk = relatives::whole(name).unwrap_or_else(|| name.to_owned());
    let drive = relatives::folder(&disk).join("device");
    if !drive.exists() {
        // A mapping, an array, a loop device.
        return None;
    }
    let node = format!("/dev/{disk}");
    let of_sysfs = Health { model: model.to_owned(), temperature: temperature(&drive), ..Health::default() };
    let asked = match tools::has_program("smartctl") {
        true => said("smartctl", &["-j", "-a", &node]).map(|text| smartctl(&text)),
        false if disk.starts_with("nvme") && tools::has_program("nvme") => {
            said("nvme", &["smart-log", "-o", "json", &node]).map(|text| nvme(&text))
        }
        false => None,
    };
    let health = of_sysfs.or(asked.unwrap_or_default());
    health.is_known().then_some(health)
}

/// What a program prints; its exit code tells about the drive, and not whether it could be asked.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    if IS_HANGING.load(Ordering::Relaxed) {
        return None;
    }
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", PATH).env("LC_ALL", "C");
    match child::output(&mut command, LIMITS) {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            if matches!(error.downcast_ref(), Some(child::Ended::Idle(..) | child::Ended::Late(..))) {
                IS_HANGING.store(true, Ordering::Relaxed);
            }
            None
        }
    }
}

/// The first sensor of a drive, in whole degrees. The kernel has hwmonN in the drive's folder (NVMe) or one below (SATA).
fn temperature(drive: &Path) -> Option<i64> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_sensor = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.strip_prefix("hwmon").is_some_and(|number| number.parse::<u32>().is_ok()))
        };
        let mut found: Vec<PathBuf> = entries.filter(is_sensor).collect();
        found.sort();
        found
    };
    let sensors = folders(drive).into_iter().chain(folders(&drive.join("hwmon")));
    let milli: i64 = sensors
        .into_iter()
        .find_map(|sensor| fs::read_to_string(sensor.join("temp1_input")).ok()?.trim().parse().ok())?;
    plausible((milli as f64 / 1000.0).round() as i64)
}

/// Drives without a sensor say 0 Kelvin or 255 degrees.
fn plausible(celsius: i64) -> Option<i64> {
    (-60..=200).contains(&celsius).then_some(celsius)
}

/// The output of `smartctl -j -a`.
pub(crate) fn smartctl(text: &str) -> Health {
    let Ok(said) = serde_json::from_str::<Value>(text) else { return Health::default() };
    let log = &said["nvme_smart_health_information_log"];
    let table = said["ata_smart_attributes"]["table"].as_array().map_or(&[][..], Vec::as_slice);
    let attribute =
        |names: &[&str]| table.iter().find(|row| row["name"].as_str().is_some_and(|is| names.contains(&is)));
    let left = || attribute(&LIFE_LEFT)?["value"].as_u64().filter(|left| *left <= 100);
    let block = said["logical_block_size"].as_u64().unwrap_or(512);
    let blocks = || attribute(&["Total_LBAs_Written"])?["raw"]["value"].as_u64()?.checked_mul(block);
    Health {
        model: said["model_name"].as_str().unwrap_or_default().trim().to_owned(),
        temperature: said["temperature"]["current"].as_i64().and_then(plausible),
        percentage_used: log["percentage_used"]
            .as_u64()
            .or_else(|| said["endurance_used"]["current_percent"].as_u64())
            .or_else(|| said["scsi_percentage_used_endurance_indicator"].as_u64())
            .or_else(|| left().map(|left| 100 - left)),
        available_spare: log["available_spare"]
            .as_u64()
            .or_else(|| said["spare_available"]["current_percent"].as_u64()),
        written: units(&log["data_units_written"]).or_else(|| blocks().map(Bytes)),
        passed: said["smart_status"]["passed"].as_bool(),
    }
}

/// The output of `nvme smart-log -o json`, whose temperature is in Kelvin.
pub(crate) fn nvme(text: &str) -> Health {
    let Ok(said) = serde_json::from_str::<Value>(text) else { return Health::default() };
    Health {
        temperature: said["temperature"].as_i64().and_then(|kelvin| plausible(kelvin.checked_sub(ZERO_CELSIUS)?)),
        percentage_used: said["percent_used"].as_u64().or_else(|| said["percentage_used"].as_u64()),
        available_spare: said["avail_spare"].as_u64(),
        written: units(&said["data_units_written"]),
        ..Health::default()
    }
}

/// Bytes of a count of NVMe's units; newer programs print counts of 128 bits as text.
fn units(value: &Value) -> Option<Bytes> {
    let count = value.as_u64().or_else(|| value.as_str()?.replace(',', "").parse().ok())?;
    count.checked_mul(NVME_UNIT).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smartctl 7.3 of an NVMe drive, without what is not read.
    const NVME: &str = include_str!("samples/smartctl-nvme.json");

    /// The same of a SATA drive.
    const SATA: &str = include_str!("samples/smartctl-sata.json");

    #[test]
    fn smartctl_tells_of_nvme_and_of_sata() {
        let nvme = Health {
            model: "Samsung SSD 970 EVO Plus 1TB".into(),
            temperature: Some(34),
            percentage_used: Some(3),
            available_spare: Some(100),
            written: Some(Bytes(41_235_123 * 512_000)),
            passed: Some(true),
        };
        assert_eq!(smartctl(NVME), nvme);
        let sata = Health {
            model: "Samsung SSD 860 EVO 500GB".into(),
            temperature: Some(29),
            percentage_used: Some(4),
            available_spare: None,
            written: Some(Bytes(48_461_231_234 * 512)),
            passed: Some(false),
        };
        assert_eq!(smartctl(SATA), sata);
        let newer = r#"{"endurance_used":{"current_percent":7},"spare_available":{"current_percent":90}}"#;
        let newer = smartctl(newer);
        assert_eq!((newer.percentage_used, newer.available_spare), (Some(7), Some(90)));
    }

    #[test]
    fn nvme_cli_counts_in_kelvin() {
        let text = include_str!("samples/nvme-cli.json");
        let expected = Health {
            temperature: Some(34),
            percentage_used: Some(3),
            available_spare: Some(100),
            written: Some(Bytes(41_235_123 * 512_000)),
            ..Health::default()
        };
        assert_eq!(nvme(text), expected);
        assert_eq!(nvme(r#"{"temperature":0}"#), Health::default(), "it has no sensor");
    }

    #[test]
    fn what_is_broken_says_nothing() {
        let of_none =
            r#"{"smartctl":{"exit_status":2,"messages":[{"string":"/dev/vda: Unable to detect device type"}]}}"#;
        for text in ["", "{", "[]", "null", "7", of_none, &NVME[..NVME.len() / 2]] {
            assert_eq!((smartctl(text), nvme(text)), (Health::default(), Health::default()), "{text}");
        }
        let odd = r#"{"model_name":7,"temperature":{"current":"34"},"nvme_smart_health_information_log":[1],
            "ata_smart_attributes":{"table":{"id":177}},"smart_status":null}"#;
        assert_eq!(smartctl(odd), Health::default());
        let large = r#"{"temperature":{"current":9223372036854775807},"nvme_smart_health_information_log":
            {"data_units_written":18446744073709551615,"percentage_used":-1}}"#;
        assert_eq!(smartctl(large), Health::default());
        let left = r#"{"ata_smart_attributes":{"table":[{"name":"Wear_Leveling_Count","value":200}]}}"#;
        assert_eq!(smartctl(left), Health::default());
    }

    #[test]
    fn sensors_are_found_at_both_places_of_the_kernel() {
        for place in ["hwmon3", "hwmon/hwmon3"] {
            let drive = tempfile::tempdir().unwrap();
            let sensor = drive.path().join(place);
            fs::create_dir_all(&sensor).unwrap();
            fs::write(sensor.join("temp1_input"), "38850\n").unwrap();
            assert_eq!(temperature(drive.path()), Some(39), "{place}");
            for broken in ["", "warm", "999999999", "99999999999999999999"] {
                fs::write(sensor.join("temp1_input"), broken).unwrap();
                assert_eq!(temperature(drive.path()), None, "{place}: {broken}");
            }
        }
        assert_eq!(temperature(Path::new("/no/such/drive")), None);
    }

    #[test]
    fn a_program_that_is_missing_or_fails_is_no_error() {
        assert_eq!(said("no-such-program", &[]), None);
        assert_eq!(said("sh", &["-c", "echo '{}'; exit 4"]).as_deref(), Some("{}\n"));
        assert_eq!(ask("no-such-disk", "SomeDrive"), None);
    }
}
