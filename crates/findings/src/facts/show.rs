//! The facts of the compared file systems, as a table.

use mountmark_document::forms::{Block, Last, Table};
use mountmark_model::facts::{Fact, Facts, Topic};

use crate::view::View;

/// The section; empty if nothing is known of the compared file systems.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let mut compared: Vec<(&str, &Facts)> = Vec::new();
    for configuration in &view.findings().configurations {
        let Some(configuration) = view.run().plan.configuration(configuration) else { continue };
        let name = configuration.filesystem.name.as_str();
        let known = view.report.facts.iter().find(|(known, _)| *known == name);
        compared.extend(known.filter(|_| !compared.iter().any(|(known, _)| *known == name)));
    }
    let has = |topic: &&Topic| compared.iter().any(|(_, facts)| facts.contains_key(topic));
    let topics: Vec<Topic> = Topic::ALL.iter().filter(has).copied().collect();
    if topics.is_empty() {
        return Vec::new();
    }
    let row = |topic: &Topic| {
        let says = |facts: &&Facts| facts.get(topic).map_or("-".to_owned(), |fact| fact.says.clone());
        let cells = compared.iter().map(|(_, facts)| says(facts));
        std::iter::once(topic.title().to_owned()).chain(cells).collect()
    };
    let head = std::iter::once("").chain(compared.iter().map(|(name, _)| *name));
    let all = || compared.iter().flat_map(|(_, facts)| facts.values());
    vec![
        Block::Table(Table { look: "spoken", ..Table::new(head, topics.iter().map(row), 1, Last::Figure) }),
        Block::Text(read(all())),
    ]
}

/// When they were read, and where their sources are.
fn read<'a>(facts: impl Iterator<Item = &'a Fact> + Clone) -> String {
    let (first, last) = (facts.clone().map(|fact| &fact.date).min(), facts.map(|fact| &fact.date).max());
    let days = match (first, last) {
        (Some(first), Some(last)) if first != last => format!("between {first} and {last}"),
        (day, _) => format!("on {}", day.map_or("", String::as_str)),
    };
    format!(
        "Read {days}; a dash is what nobody has looked up. `mountmark list filesystems --facts` names the source of each."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{page, run};
    use crate::view::Report;

    #[test]
    fn facts_of_the_compared_file_systems_are_a_table() {
        let run = run(&["xfs", "ext4", "ext4:noatime"], 1);
        let findings = page::findings(&run);
        let fact =
            |says: &str, date: &str| Fact { says: says.into(), has: None, source: "a page".into(), date: date.into() };
        let ext4 = Facts::from([(Topic::Shrinking, fact("unmounted", "2026-11-27"))]);
        let xfs =
            Facts::from([(Topic::Reflink, fact("yes", "2026-11-28")), (Topic::Quota, fact("option", "2026-11-27"))]);
        let facts = [("btrfs", &xfs), ("ext4", &ext4), ("xfs", &xfs)];
        let report = Report { facts: &facts, ..Report::of(&run, &findings) };
        let blocks = section(&View::new(&report, 0, 1));
        let [Block::Table(table), Block::Text(read)] = blocks.as_slice() else { panic!("{blocks:?}") };
        assert_eq!(table.head, ["", "xfs", "ext4"], "the user's order, and each once");
        assert_eq!(
            table.rows,
            [["shrinking", "-", "unmounted"], ["copies share blocks", "yes", "-"], ["quota", "option", "-"]]
        );
        assert!(read.starts_with("Read between 2026-11-27 and 2026-11-28;"), "{read}");
        assert!(section(&View::new(&Report::of(&run, &findings), 0, 1)).is_empty(), "nothing is known");
    }
}
