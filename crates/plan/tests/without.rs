//! What options that `mountmark advise` tries take away.

mod support;

use std::path::Path;

use mountmark_model::FileSystem;
use mountmark_model::facts::Topic;
use mountmark_plan::Catalogue;
use support::FILE_SYSTEM;

const REFLINK: &str = r#"
[facts.reflink]
says = "yes"
source = "here"
date = "2026-11-30"

[[option]]
option = "mkfs=-x"
about = "it"
without = ["reflink"]
source = "here"
date = "2026-11-30"
"#;

#[test]
fn options_take_away_what_a_file_says() {
    let catalogue = Catalogue::built_in().unwrap();
    assert_eq!(catalogue.without("btrfs", "mount=nodatacow"), [Topic::Checksums, Topic::Compression]);
    assert_eq!(catalogue.without("xfs", "mkfs=-m reflink=0"), [Topic::Reflink]);
    assert!(catalogue.without("btrfs", "noatime").is_empty() && catalogue.without("nosuch", "x").is_empty());
    let text = format!("{FILE_SYSTEM}{REFLINK}");
    let of = |text: &str| {
        let mut catalogue = Catalogue::default();
        catalogue.add::<FileSystem>(text, Path::new("mine.toml")).map_err(|error| error.to_string())?;
        Ok::<_, String>(catalogue.without("mine", "mkfs=-x").to_vec())
    };
    assert_eq!(of(&text).unwrap(), [Topic::Reflink]);
    let unknown = of(&text.replace("[\"reflink\"]", "[\"speed\"]")).unwrap_err();
    assert!(unknown.contains("mine.toml:18:12: unknown variant `speed`"), "{unknown}");
    let lacking = of(&text.replace("\"yes\"", "\"no\"")).unwrap_err();
    assert!(lacking.contains("otherwise; leave it out"), "{lacking}");
    let other = of(&text.replace("without =", "lacking =")).unwrap_err();
    assert!(other.contains("mine.toml:18:1: unknown field `lacking`"), "{other}");
}
