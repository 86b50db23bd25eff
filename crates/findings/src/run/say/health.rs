//! What the run's drives said about themselves, in a line each.

use mountmark_model::{Bytes, DriveHealth};
use mountmark_record::{CellRecord, RunRecord};

use crate::group::by_key;

/// A line for each disk whose drive said anything.
pub(crate) fn sentences(run: &RunRecord) -> Vec<String> {
    let mut cells: Vec<&CellRecord> = run.cells.iter().collect();
    // Cells are kept in the order of the plan, and may have run in another one.
    cells.sort_by_key(|cell| cell.started);
    let disks = cells.into_iter().filter_map(|cell| Some((cell.disk.as_str(), cell.environment.health.as_ref()?)));
    by_key(disks).into_iter().filter_map(|(disk, all)| sentence(disk, &all)).collect()
}

/// Of one disk, whose cells are in the order of time.
fn sentence(disk: &str, cells: &[&DriveHealth]) -> Option<String> {
    let (first, last) = (&cells.first()?.before, &cells.last()?.after);
    let model = [first, last].map(|health| health.model.as_str()).into_iter().find(|model| !model.is_empty());
    let warmth = cells.iter().flat_map(|cell| [cell.before.temperature, cell.after.temperature]).flatten();
    let mut parts: Vec<String> = model.map(str::to_owned).into_iter().collect();
    if let (Some(begin), Some(end)) = (first.temperature, last.temperature) {
        let most = warmth.max().filter(|most| *most > begin.max(end));
        let most = most.map(|most| format!(", at most {most} °C")).unwrap_or_default();
        parts.push(format!("{begin} °C before the run and {end} °C after it{most}"));
    }
    if let Some(used) = last.percentage_used {
        parts.push(format!("{used} % of its endurance used"));
    }
    if let Some(spare) = last.available_spare {
        parts.push(format!("{spare} % of its spare blocks left"));
    }
    if let Some(written) = last.written {
        let own = first.written.map(|before| Bytes(written.0.saturating_sub(before.0)));
        let own = own.map(|own| format!(", {own} of them from the first cell to the last")).unwrap_or_default();
        parts.push(format!("{written} written in its life{own}"));
    }
    if let Some(passed) = last.passed {
        parts.push(if passed { "it passes its own check" } else { "it FAILS its own check" }.to_owned());
    }
    (!parts.is_empty()).then(|| format!("{disk}: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use mountmark_model::Health;

    use super::*;

    #[test]
    fn a_drive_is_one_line_from_before_the_first_cell_to_after_the_last() {
        let at = |temperature: i64, written: u64| Health {
            model: "SomeDrive".into(),
            temperature: Some(temperature),
            percentage_used: Some(3),
            available_spare: Some(100),
            written: Some(Bytes(written)),
            passed: Some(true),
        };
        let first = DriveHealth { before: at(31, 1 << 40), after: at(55, (1 << 40) + (1 << 30)) };
        let last = DriveHealth { before: at(50, (1 << 40) + (1 << 30)), after: at(44, (1 << 40) + (2 << 30)) };
        assert_eq!(
            sentence("/dev/sdb", &[&first, &last]).unwrap(),
            "/dev/sdb: SomeDrive, 31 °C before the run and 44 °C after it, at most 55 °C, 3 % of its endurance used, 100 % of its \
             spare blocks left, 1.00 TiB written in its life, 2.00 GiB of them from the first cell to the last, it passes its own \
             check"
        );
        let quiet =
            DriveHealth { after: Health { passed: Some(false), ..Health::default() }, ..DriveHealth::default() };
        assert_eq!(sentence("/dev/sdb", &[&quiet]).unwrap(), "/dev/sdb: it FAILS its own check");
        assert_eq!(sentence("/dev/sdb", &[&DriveHealth::default()]), None);
    }
}
