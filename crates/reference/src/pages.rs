//! The only list of generated pages.

use std::path::Path;

use anyhow::{Result, ensure};
use mountmark_findings::SUBJECTS;
use mountmark_model::{Better, Metric};

use crate::fields::Writer;
use crate::source::Sources;
use crate::{commands, schema};

/// A page about types.
struct Page {
    /// The page's file without `.md`.
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Files whose head comments explain what no type does.
    heads: &'static [&'static str],
    /// A heading, a file, and a type in it.
    types: &'static [(&'static str, &'static str, &'static str)],
}

const PAGES: &[Page] = &[
    Page {
        name: "suites",
        title: "Suites",
        about: "A suite is one TOML file: `--suite ./NAME.toml`, or `~/.config/mountmark/catalog/suites/NAME.toml`.",
        heads: &["crates/plan/src/matrix.rs", "crates/model/src/workload.rs"],
        types: &[
            ("suite", "crates/model/src/suite.rs", "Suite"),
            ("operation", "crates/model/src/workload/operation.rs", "Operation"),
        ],
    },
    Page {
        name: "filesystems",
        title: "File systems",
        about: "A file system is one TOML file in `~/.config/mountmark/catalog/filesystems/`.",
        heads: &["crates/plan/src/without.rs"],
        types: &[("file system", "crates/model/src/configuration.rs", "FileSystem")],
    },
    Page {
        name: "layers",
        title: "Layers",
        about: "A layer below a file system is one TOML file in `~/.config/mountmark/catalog/layers/`.",
        heads: &[],
        types: &[("layer", "crates/model/src/layer.rs", "Layer")],
    },
    Page {
        name: "machines",
        title: "Machines",
        about: "A machine of the virtual lab is one TOML file in `~/.config/mountmark/catalog/machines/`.",
        heads: &[],
        types: &[("machine", "crates/model/src/machine.rs", "Machine")],
    },
    Page {
        name: "disks",
        title: "Disks",
        about: "A disk of the virtual lab is one TOML file in `~/.config/mountmark/catalog/disks/`. It has `name`, `about`, \
                `sources` (a list of text), `model` (`hdd`, `flash` or `ram`), and a table named as the model.",
        heads: &[],
        types: &[
            ("hdd", "crates/disk/src/hdd/mod.rs", "Hdd"),
            ("flash", "crates/disk/src/flash/mod.rs", "Flash"),
            ("ram", "crates/disk/src/ram/mod.rs", "Ram"),
        ],
    },
    Page {
        name: "corpora",
        title: "Corpora",
        about: "A corpus that is generated is one TOML file in `~/.config/mountmark/catalog/corpora/`. Your own files need \
                none: `--corpus PATH`.",
        heads: &[],
        types: &[("corpus", "crates/model/src/corpus.rs", "Corpus")],
    },
    Page {
        name: "studies",
        title: "Studies",
        about: "A published study is one TOML file in `~/.config/mountmark/catalog/studies/`, and a CSV file of the same \
                name with its figures.",
        heads: &["crates/model/src/claim/written.rs"],
        types: &[("study", "crates/model/src/study.rs", "Study")],
    },
    Page {
        name: "crash-scenarios",
        title: "Crash scenarios",
        about: "What a power cut interrupts is one TOML file: `--workload ./NAME.toml`, or \
                `~/.config/mountmark/catalog/crash/NAME.toml`.",
        heads: &["crates/crash/src/workload/mod.rs"],
        types: &[("scenario", "crates/crash/src/scenario.rs", "Scenario")],
    },
    Page {
        name: "agreements",
        title: "Real machines",
        about: "How far the model agrees with a real machine is one TOML file in \
                `~/.config/mountmark/catalog/agreements/`, which `mountmark agree` writes.",
        heads: &[],
        types: &[("real machine", "crates/model/src/machine_agreement.rs", "MachineAgreement")],
    },
    Page {
        name: "costs",
        title: "Costs of work",
        about: "What classes of work cost on real machines is one TOML file in `~/.config/mountmark/catalog/costs/`, which \
                `--costs NAME` chooses.",
        heads: &[],
        types: &[
            ("costs", "crates/model/src/costs.rs", "MachineCosts"),
            ("class of work", "crates/model/src/work.rs", "Work"),
        ],
    },
    Page {
        name: "ageing",
        title: "Ageing profiles",
        about: "What is known of the files of a file system in use is one TOML file in \
                `~/.config/mountmark/catalog/ageing/`, for `--age geriatrix:NAME,overwrites=N`.",
        heads: &[],
        types: &[("ageing profile", "crates/model/src/ageing.rs", "AgeingProfile")],
    },
    Page {
        name: "faults",
        title: "Known faults",
        about: "A promise that power cuts showed to be broken is one TOML file in `~/.config/mountmark/catalog/faults/`. \
                `mountmark list faults` prints all, and reports and `advise` name those of their file systems.",
        heads: &[],
        types: &[("known fault", "crates/model/src/known_fault.rs", "KnownFault")],
    },
];

/// The objects of JSON, by the command that prints them.
const JSON: Page = Page {
    name: "json",
    title: "JSON",
    about: "What `--format json` prints, by command. Numbers have as many digits as are needed to read the same number \
            back. Keys may be added in later versions.",
    heads: &[],
    types: &[
        ("mountmark show: the head", "crates/findings/src/run/show/samples.rs", "Head"),
        ("mountmark show: `cells`, a list", "crates/findings/src/run/show/samples.rs", "Cell"),
        ("mountmark show: `samples`, a list", "crates/findings/src/run/show/samples.rs", "Sample"),
        ("mountmark show --verdict", "crates/findings/src/verdicts/show/worded.rs", "WordedFindings"),
        ("mountmark compare --claims: `claims`, a list", "crates/findings/src/claims/show/worded.rs", "WordedClaim"),
        ("mountmark compare --study", "crates/findings/src/studies/show/worded.rs", "WordedStudy"),
    ],
};

/// File names and texts of all pages.
pub fn all(root: &Path) -> Result<Vec<(String, String)>> {
    let mut pages = of_types(root)?;
    pages.push(("commands.md".into(), commands::page()?));
    pages.push(("metrics.md".into(), metrics()));
    pages.push(("database.md".into(), schema::page(root)?));
    Ok(pages)
}

/// The pages that follow from types.
///
/// # Errors
/// Names each key, value and type without a doc comment.
fn of_types(root: &Path) -> Result<Vec<(String, String)>> {
    let sources = Sources::read(root)?;
    let mut pages = Vec::new();
    let mut silent = Vec::new();
    for page in PAGES.iter().chain([&JSON]) {
        let mut writer = Writer::new(&sources);
        for (heading, file, name) in page.types {
            writer.add(sources.at(file, name)?, heading)?;
        }
        let (types, of_page) = writer.finish();
        silent.extend(of_page);
        let mut text = format!("# {}\n\n{}\n\n", page.title, page.about);
        if page.name == JSON.name {
            text += &formats();
        }
        text += &types;
        for file in page.heads {
            text += &format!("{}\n\n", sources.head(file)?);
        }
        pages.push((format!("{}.md", page.name), text));
    }
    silent.sort();
    silent.dedup();
    let count = silent.len();
    ensure!(silent.is_empty(), "{count} have no doc comment, which is their text in the book:\n{}", silent.join("\n"));
    Ok(pages)
}

/// What can be printed in which formats.
fn formats() -> String {
    let mut text =
        String::from("Not every command has each format:\n\n| command | what | formats |\n| --- | --- | --- |\n");
    for subject in SUBJECTS {
        let names: Vec<&str> = subject.formats().map(|format| format.name()).collect();
        text += &format!("| `mountmark {}` | {} | {} |\n", subject.command, subject.name, names.join(", "));
    }
    text + "\n"
}

fn metrics() -> String {
    let mut text = String::from(
        "# Metrics\n\nWhat is measured, as `--metric` takes it. *Better* is the direction that a verdict prefers.\n\n\
         | metric | unit | better | meaning |\n| --- | --- | --- | --- |\n",
    );
    for metric in Metric::ALL {
        let better = match metric.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        text += &format!(
            "| `{}` | {} | {better} | {} |\n",
            metric.id,
            metric.unit_text(),
            metric.about.replace('|', "\\|")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toml::Table;
    use walkdir::WalkDir;

    use super::*;

    /// Keys of the file, and of its tables that are lists, whose names are not the user's own.
    fn keys(table: &Table) -> Vec<String> {
        let mut keys: Vec<String> = table.keys().cloned().collect();
        let lists = table.values().filter_map(|value| value.as_array());
        let tables = lists.flatten().filter_map(|value| value.as_table());
        keys.extend(tables.flat_map(keys_of_entry));
        keys
    }

    fn keys_of_entry(table: &Table) -> Vec<String> {
        table.keys().cloned().collect()
    }

    #[test]
    fn every_key_of_the_catalogue_is_on_its_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let pages = of_types(root).unwrap();
        let mut files = 0;
        // Beside its folders lies the catalogue's own crate.
        for entry in WalkDir::new(root.join("catalog")).min_depth(2) {
            let path = entry.unwrap().into_path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            files += 1;
            let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
            let name = if folder == "crash" { "crash-scenarios.md".into() } else { format!("{folder}.md") };
            let (_, page) = pages.iter().find(|(page, _)| *page == name).unwrap_or_else(|| panic!("no page {name}"));
            let table: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
            for key in keys(&table) {
                assert!(page.contains(&format!("`{key}`")), "{name} lacks {key}, which {} has", path.display());
            }
        }
        assert!(files > 100, "{files}");
    }

    #[test]
    fn every_metric_is_on_its_page() {
        let page = metrics();
        assert!(Metric::ALL.iter().all(|metric| page.contains(&format!("| `{}` |", metric.id))));
    }
}
