//! A disk of the catalogue, or what it would be if a part of it were faster or slower.

use mountmark_model::{Disk, Machine};
use toml::{Table, Value};

use crate::{Catalogue, PlanError, Result};

/// Parts whose time is multiplied, each with the parameters that have it.
const PARTS: [(&str, &[&str]); 3] = [
    ("read", &["read_latency_ns"]),
    ("write", &["program_latency_ns", "write_latency_ns"]),
    ("seek", &["seek_single_ns", "seek_average_ns", "seek_full_ns", "write_settle_ns"]),
];

/// A drive that keeps its cache when the power fails has nothing to do for a flush.
const FLUSH: (&str, &str) = ("flush", "power_loss_protection");

/// The disk of this name. `NAME:CHANGE+CHANGE` is a disk with changed parameters, and `:CHANGE` the
/// machine's.
///
/// # Errors
///
/// If there is no such disk, or it has not what is changed, or no drive can have it.
pub fn disk(catalogue: &Catalogue, machine: &Machine, given: &str) -> Result<Disk> {
    let Some((name, changes)) =
        given.rsplit_once(':').filter(|(name, changes)| name.is_empty() || changes.contains('='))
    else {
        return Ok(catalogue.get::<Disk>(given)?.clone());
    };
    let name = if name.is_empty() { &machine.disk } else { name };
    let mut disk = catalogue.get::<Disk>(name)?.clone();
    let refused = |change: &str, why: String| PlanError::Options(format!("disk {name}, if {change}: {why}"));
    for change in changes.split('+') {
        let (part, value) = change.split_once('=').ok_or_else(|| {
            refused(change, "give NAME=FACTOR or PARAMETER=VALUE, such as flush=0 or seek=0.5".into())
        })?;
        let mut parameters = Table::try_from(&disk.model).map_err(|error| refused(change, error.to_string()))?;
        changed(&mut parameters, part, value).map_err(|why| refused(change, why))?;
        disk.model = parameters.try_into().map_err(|error: toml::de::Error| refused(change, error.to_string()))?;
        disk.model.check().map_err(|fault| refused(change, fault.to_string()))?;
    }
    disk.about = format!("{} [if {}]", disk.about, changes.replace('+', ", "));
    disk.name = format!("{name}:{changes}");
    Ok(disk)
}

fn changed(parameters: &mut Table, part: &str, value: &str) -> std::result::Result<(), String> {
    if part == FLUSH.0 {
        return match parameters.get_mut(FLUSH.1) {
            Some(protected) if value.parse() == Ok(0.0) => {
                *protected = Value::Boolean(true);
                Ok(())
            }
            Some(_) => Err("a flush writes what the cache holds, and takes that time or none: flush=0".into()),
            None => Err(format!("no flush of this model takes no time; {}", has(parameters))),
        };
    }
    if let Some((_, names)) = PARTS.iter().find(|(name, _)| *name == part) {
        let factor = factor(value)?;
        let there: Vec<&&str> = names.iter().filter(|name| parameters.contains_key(**name)).collect();
        if there.is_empty() {
            return Err(format!("it has no such part; {}", has(parameters)));
        }
        for name in there {
            scale(&mut parameters[*name], factor);
        }
        return Ok(());
    }
    let message = has(parameters);
    match parameters.get_mut(part).filter(|found| !found.is_str()) {
        Some(found @ Value::Integer(_)) if value.ends_with('x') => scale(found, factor(value)?),
        Some(found @ Value::Integer(_)) => {
            let meant = value.parse().map_err(|_| format!("it is {found}; give a number, or a factor such as 0.5x"))?;
            *found = Value::Integer(meant);
        }
        Some(found) => {
            let meant = value.parse().map_err(|_| format!("it is {found}; give true or false"))?;
            *found = Value::Boolean(meant);
        }
        None => return Err(format!("it has no such part; {message}")),
    }
    Ok(())
}

fn factor(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    number.filter(|factor| (0.0..=1000.0).contains(factor)).ok_or_else(|| "give a factor of 0 to 1000".to_owned())
}

fn scale(parameter: &mut Value, factor: f64) {
    if let Some(number) = parameter.as_integer() {
        *parameter = Value::Integer((number as f64 * factor).round() as i64);
    }
}

/// What can be changed.
fn has(parameters: &Table) -> String {
    let parts = PARTS.iter().filter(|(_, names)| names.iter().any(|name| parameters.contains_key(*name)));
    let flush = parameters.contains_key(FLUSH.1).then_some(FLUSH.0);
    let own = parameters.iter().filter(|(_, value)| !value.is_str()).map(|(name, _)| name.as_str());
    let all: Vec<&str> = parts.map(|(name, _)| *name).chain(flush).chain(own).collect();
    match all.as_slice() {
        [] => "its requests take no time of a disk's own".to_owned(),
        all => format!("it has {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use mountmark_model::DiskModel;

    use super::*;

    #[test]
    fn a_part_of_a_disk_is_changed_and_nothing_else() {
        let catalogue = Catalogue::built_in().unwrap();
        let machine = catalogue.get::<Machine>("modern").unwrap();
        let given = |text: &str| disk(&catalogue, machine, text);
        let flash = |text: &str| match given(text).unwrap().model {
            DiskModel::Flash(flash) => flash,
            other => panic!("{other:?}"),
        };
        let hdd = |text: &str| match given(text).unwrap().model {
            DiskModel::Hdd(hdd) => hdd,
            other => panic!("{other:?}"),
        };
        let plain = flash("ssd");
        assert!(!plain.power_loss_protection && flash("ssd:flush=0").power_loss_protection);
        assert_eq!(flash("ssd:read=2x").read_latency_ns, 2 * plain.read_latency_ns);
        let both = flash("ssd:write=0.5+channels=4");
        assert_eq!((both.program_latency_ns, both.channels), (plain.program_latency_ns / 2, 4));
        assert_eq!(both.read_latency_ns, plain.read_latency_ns);
        let slow = hdd("hdd:seek=0.5+rpm=2x");
        assert_eq!(slow.seek_average_ns, hdd("hdd").seek_average_ns / 2);
        assert_eq!(slow.rpm, 2 * hdd("hdd").rpm);
        let own = given(":flush=0").unwrap();
        assert_eq!(own.name, format!("{}:flush=0", machine.disk));
        assert_eq!(given(&own.name).unwrap(), own, "its name is what --disk takes");
        assert!(own.about.ends_with("[if flush=0]"), "{}", own.about);
    }

    #[test]
    fn what_a_disk_has_not_is_refused_with_what_it_has() {
        let catalogue = Catalogue::built_in().unwrap();
        let machine = catalogue.get::<Machine>("modern").unwrap();
        for (text, says) in [
            ("ssd:seek=0.5", "no such part; it has read, write, flush, capacity"),
            ("hdd:flush=0", "it has seek"),
            ("ssd:flush=2", "takes that time or none"),
            ("ram:read=2", "no time of a disk's own"),
            ("ssd:read=-1", "give a factor"),
            ("ssd:read=inf", "give a factor"),
            ("ssd:read=2+flush", "such as flush=0"),
            ("ssd:channels=0", "channels"),
            ("ssd:channels=many", "give a number"),
            ("ssd:power_loss_protection=1", "give true or false"),
            ("ssd:power_loss_protection=2x", "give true or false"),
            ("ssd:channels=-1", "ssd, if channels=-1"),
            ("ssd:model=hdd", "no such part"),
            ("floppy:read=2", "floppy"),
            (":", "such as flush=0"),
            (":read", "such as flush=0"),
        ] {
            let error = disk(&catalogue, machine, text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
