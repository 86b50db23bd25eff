//! The disks under test: one model for all of a guest's, or a list of models such as `hdd+ssd*2`.

use mountmark_model::{Configuration, Disk, DiskModel, Machine};

use crate::{Catalogue, PlanError, Result, what_if};

/// Most disks in a list: more than any layer takes.
const MOST: usize = 32;

/// The disks that `given` names, or the machine's own. `A+B*3` are four disks, the first of the model A; a name alone is the
/// model of however many there are. Each may have changes behind it: `ssd:flush=0+read=2x+hdd`.
///
/// # Errors
/// If there is no such disk, it cannot be changed so, or the list has disks that cannot be together.
pub fn disk(catalogue: &Catalogue, machine: &Machine, given: Option<&str>) -> Result<Disk> {
    let given = given.unwrap_or(&machine.disk);
    let mut all: Vec<Disk> = Vec::new();
    let mut about: Vec<String> = Vec::new();
    for part in parts(given) {
        let wrong = || {
            PlanError::Options(format!(
                "--disk {given}: {part:?} is no disk of a list; give NAME, or NAME*NUMBER for 1 to {MOST} of them, with \
                 changes before the *: hdd*5, ssd:flush=0*2+hdd"
            ))
        };
        let (name, count) = counted(&part).ok_or_else(wrong)?;
        let one = what_if::disk(catalogue, machine, name)?;
        about.push(if count > 1 { format!("{count} times {}", one.about) } else { one.about.clone() });
        all.extend(std::iter::repeat_n(one, count));
        if all.len() > MOST {
            return Err(PlanError::Options(format!("--disk {given}: these are more than {MOST} disks")));
        }
    }
    let models: Vec<DiskModel> = all.iter().map(|disk| disk.model.clone()).collect();
    if models.iter().any(|model| model.has_drive() != models[0].has_drive()) {
        let reason = "a disk in memory and one with a model cannot be in one guest";
        return Err(PlanError::Options(format!("--disk {given}: {reason}")));
    }
    let mut disk = all.swap_remove(0);
    if is_list(given) {
        disk.sources.extend(all.into_iter().flat_map(|disk| disk.sources));
        disk.sources.sort();
        disk.sources.dedup();
        disk.name = given.to_owned();
        disk.about = about.join("; then ");
    }
    disk.others = models.into_iter().skip(1).collect();
    Ok(disk)
}

/// Whether more than one disk is named.
pub fn is_list(given: &str) -> bool {
    parts(given).len() > 1 || given.contains('*')
}

/// Refuses a configuration that takes more disks than a list has, or another kind of disk.
pub(crate) fn suit(disk: &Disk, kept: &[Configuration]) -> Result<()> {
    let apart = kept.iter().find(|one| one.names_second_disk());
    if let Some(one) = apart.filter(|_| !disk.model.has_drive()) {
        let reason = "its second disk needs a model; choose another --disk";
        return Err(PlanError::Options(format!("{} on {}: {reason}", one.name, disk.name)));
    }
    let listed = 1 + disk.others.len();
    let more = kept.iter().find(|one| one.disks() as usize > listed);
    let Some(more) = more.filter(|_| is_list(&disk.name)) else { return Ok(()) };
    Err(PlanError::Options(format!(
        "--disk {} has {listed} of the {} disks that {} takes; one name alone is the model of all",
        disk.name,
        more.disks(),
        more.name
    )))
}

/// The disks of a list. `+` also stands between the changes of one disk.
fn parts(given: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in given.split('+') {
        match parts.last_mut() {
            Some(before) if piece.contains('=') && !piece.contains(':') => {
                before.push('+');
                before.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

/// A disk's name and changes, and how many there are of it; `None` if that is not how it is written.
fn counted(part: &str) -> Option<(&str, usize)> {
    let (name, count) = part.rsplit_once('*').unwrap_or((part, "1"));
    let count = count.parse().ok().filter(|count| (1..=MOST).contains(count))?;
    (!name.is_empty()).then_some((name, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Result<Disk> {
        let catalogue = Catalogue::built_in().unwrap();
        let machine = catalogue.get::<Machine>("modern").unwrap().clone();
        disk(&catalogue, &machine, Some(text))
    }

    #[test]
    fn a_list_has_each_model_at_its_place() {
        let (hdd, ssd) = (given("hdd").unwrap(), given("ssd").unwrap());
        assert!(hdd.others.is_empty() && hdd.model_of(7) == &hdd.model, "one name is the model of all");
        let mixed = given("hdd+ssd*2").unwrap();
        assert_eq!((mixed.name.as_str(), mixed.others.len()), ("hdd+ssd*2", 2));
        assert_eq!([mixed.model_of(0), mixed.model_of(1), mixed.model_of(2)], [&hdd.model, &ssd.model, &ssd.model]);
        assert_eq!(mixed.about, format!("{}; then 2 times {}", hdd.about, ssd.about));
        assert_eq!(mixed.capacity(), hdd.capacity().min(ssd.capacity()));
        let changed = given("ssd:read=2x+flush=0+hdd:seek=0.5*2").unwrap();
        assert_eq!(changed.model, given("ssd:read=2x+flush=0").unwrap().model);
        assert_eq!(changed.others, vec![given("hdd:seek=0.5").unwrap().model; 2]);
        assert_eq!(given(":flush=0").unwrap().model, given("ssd:flush=0").unwrap().model);
    }

    #[test]
    fn a_file_has_one_disk() {
        let list = given("hdd+ssd").unwrap();
        assert!(crate::check::disk(&list).is_empty());
        let file = Disk { name: "mine".into(), ..list };
        assert!(crate::check::disk(&file)[0].contains("a file describes one disk"));
    }

    #[test]
    fn a_list_that_cannot_be_is_refused_with_its_reason() {
        for (text, reason) in [
            ("hdd*0", "NAME*NUMBER"),
            ("hdd*33", "NAME*NUMBER"),
            ("hdd*20+ssd*20", "more than 32"),
            ("hdd*2:seek=0.5", "before the *"),
            ("*2", "NAME*NUMBER"),
            ("hdd+", "--disk hdd+: \"\" is no disk"),
            ("hdd+sdd", "sdd"),
            ("hdd+ram", "in memory"),
        ] {
            let error = given(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
