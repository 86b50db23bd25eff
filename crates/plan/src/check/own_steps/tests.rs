use mountmark_model::FileSystem;

use crate::check::filesystem::faults;

/// A file system with these lines beside what each has.
fn of(lines: &str) -> Vec<String> {
    let text = format!("name = 'x'\nabout = 'x'\nmount_type = 'x'\nmodules = []\nmin_size = '1 MiB'\n{lines}");
    faults(&toml::from_str::<FileSystem>(&text).unwrap())
}

const DEVICE: &str = "mkfs = ['m', '{device}']\nno_fsck = 'None.'\n";
const POOL: &str = "mkfs = ['pool', 'create', '-m', '{folder}', '{name}', '{options}', '{devices}']\nno_fsck = 'None.'\n\
    after_mkfs = [['pool', 'export', '{name}']]\nmount = [['pool', 'import', '{name}']]\nunmount = [['pool', 'export', '{name}']]\n";
const FOLDER: &str = "below = 'ext4'\nmkfs = ['mkdir', '{below}/source']\n\
    mount = [['bind', '{options}', '{below}/source', '{folder}']]\nunmount = [['umount', '{folder}']]\n";

#[test]
fn commands_of_its_own_are_accepted() {
    let shell = "mount = [['sh', '-c', 'x=${device}; m $1 $2', 'sh', '{device}', '{folder}']]\nunmount = [['umount', '{folder}']]\n";
    for lines in [DEVICE, POOL, FOLDER, &format!("{DEVICE}{shell}")] {
        assert_eq!(of(lines), Vec::<String>::new(), "{lines}");
    }
}

#[test]
fn what_cannot_work_is_named() {
    for (lines, said) in [
        (format!("{DEVICE}mount = [['m', '{{folder}}']]\n"), "there is mount and no unmount"),
        (format!("{DEVICE}unmount = [['m', '{{folder}}']]\n"), "there is unmount and no mount"),
        (format!("{DEVICE}attach = [['m']]\n"), "there is attach and no detach"),
        (format!("{DEVICE}detach = [[]]\nattach = [['m']]\n"), "detach: a command is empty"),
        (format!("{DEVICE}attach = [['-rf']]\ndetach = [['m']]\n"), "attach"),
        (format!("{DEVICE}mount = [['m', '{{target}}']]\nunmount = [['u']]\n"), "{target} stands for nothing"),
        (format!("{DEVICE}mount = [['m', '{{device}}']]\nunmount = [['u']]\n"), "has {folder}"),
        (format!("{DEVICE}mount = [['m', '{{below}}', '{{folder}}']]\nunmount = [['u']]\n"), "it has no `below`"),
        (format!("{DEVICE}mount = [['m', '-o{{options}}', '{{folder}}']]\nunmount = [['u']]\n"), "of its own"),
        (POOL.replace("'pool', 'import'", "'pool', 'import', '{devices},'"), "of its own"),
        (POOL.replace("'pool', 'export'", "'pool', 'export', '{options}'"), "only mkfs and mount have options"),
        (FOLDER.replace("'{below}/source', '{folder}'", "'{device}', '{folder}'"), "since it lies on a folder"),
        (FOLDER.replace("{below}/source']\n", "x']\n"), "mkfs must be a command with {below}"),
        (format!("{FOLDER}no_fsck = 'None.'\n"), "no_fsck: a device is checked"),
        (format!("{FOLDER}attach = [['m', '{{below}}']]\ndetach = [['m']]\n"), "is not mounted then"),
        ("below = 'ext4'\nmkfs = ['mkdir', '{below}']\n".into(), "give mount and unmount"),
    ] {
        let faults = of(&lines).join("\n");
        assert!(faults.contains(said), "{lines}: {faults}");
    }
}
