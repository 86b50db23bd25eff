use mountmark_model::{Configuration, FileSystem};

use crate::catalogue::Origin;
use crate::{Catalogue, configurations};

/// One on a folder, whose usual file system below is ext4.
const OVER: &str = r#"
name = "over"
about = "x"
mount_type = "over"
modules = []
below = "ext4"
mkfs = ["mkdir", "{options}", "{below}/source"]
mount = [["bind", "{options}", "{below}/source", "{folder}"]]
unmount = [["umount", "{folder}"]]
min_size = "1 MiB"

[variants.deep]
about = "x"
mkfs = ["-d"]
"#;

fn one(text: &str) -> Result<Configuration, String> {
    let mut catalogue = Catalogue::built_in().unwrap();
    let over: FileSystem = toml::from_str(OVER).unwrap();
    assert_eq!(crate::check::filesystem::faults(&over), Vec::<String>::new());
    catalogue.put(over, Origin::BuiltIn);
    let all = configurations(&catalogue, &[text.to_owned()]);
    all.map(|mut all| all.remove(0)).map_err(|error| error.to_string())
}

#[test]
fn what_lies_below_is_named_behind_the_first_at() {
    let usual = one("over").unwrap();
    let below = usual.below.as_deref().unwrap();
    assert_eq!((below.filesystem.name.as_str(), usual.disks()), ("ext4", 1));
    let xfs = one("over:deep@xfs:noatime@lvm:stripes=2#mine").unwrap();
    let below = xfs.below.as_deref().unwrap();
    assert_eq!((below.filesystem.name.as_str(), below.mount_options.join(",").as_str()), ("xfs", "noatime"));
    assert_eq!((xfs.mkfs_options.join(" ").as_str(), xfs.disks(), xfs.layers.len()), ("-d", 2, 0));
    assert_eq!(xfs.heading(), "over@xfs@lvm#mine");
    // The smallest disk is that of the one below.
    assert_eq!(xfs.filesystem.min_size, below.filesystem.min_size);
    let usual = one("over@luks").unwrap();
    let below = usual.below.as_deref().unwrap();
    assert_eq!((below.filesystem.name.as_str(), below.layers[0].name.as_str()), ("ext4", "luks"));
    assert!(!one("over@vfat").unwrap().filesystem.posix);
    assert!(one("over,over@ext4").unwrap_err().contains("made and mounted like over"));
    assert_eq!(one("over,over@xfs").map(|one| one.name), Ok("over".into()));
}

#[test]
fn a_file_system_in_the_wrong_place_is_named() {
    for (text, said) in [
        ("over@over", "lies on a folder of another file system itself"),
        ("over@", "followed by nothing"),
        ("over@nosuch", "no file system named \"nosuch\""),
        ("over@nosuch", "no layer is named so"),
        ("over@luks@ext4", "ext4 is a file system, and not a layer"),
        ("over@ext4@xfs", "xfs is a file system, and not a layer"),
        ("ext4@xfs", "have one file system below them"),
        ("over:noatime@ext4", "over@ext4:noatime"),
        ("over@ext4:deep", "over:deep@"),
        ("over@ext4:nosuch", "ext4 has the variants"),
        ("over@ext4@luks@luks", "twice"),
    ] {
        let error = one(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
    let unavailable = one("over@bcachefs").unwrap();
    assert_eq!(unavailable.base().filesystem.name, "bcachefs");
}
