//! A suite whose file system lies in a file, over a loop device of its guest.

use crate::lab::Lab;

const SUITE: &str = r#"
disk_size = "384 MiB"
on_loop = true

[[task]]
id = "look"
title = "what is mounted, and what cannot be seen"
run = "grep -q '^/dev/loop0 /test ' /proc/mounts && ! grep -q '/carrier' /proc/mounts && ! ls /carrier/image"

[[task]]
id = "write"
title = "write 8 MiB"
run = "head -c 8388608 /dev/urandom > file"

[[task]]
id = "read"
title = "read them from the drive"
cold = true
run = "cat file > /dev/null"
"#;

#[test]
fn a_file_system_in_a_file_is_written_to_the_drive() {
    let Some(lab) = Lab::with_guests("a_file_system_in_a_file_is_written_to_the_drive", 1) else { return };
    let size = 384 << 20;
    let suite = lab.suite("in-a-file", SUITE);
    for (disk, seen) in [("hdd", true), ("ram", false)] {
        let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1", "--scale", "1", "--disk", disk]);
        let results = ran.ended_with(0).results();
        results.is_ok("ext4", &["mkfs", "look", "write", "read"]);
        let usable = results.value("ext4", "capacity", "capacity_bytes");
        assert!(usable > 0.8 * size as f64 && usable < size as f64, "{usable} of the file's {size} bytes");
        if seen {
            let bytes = |task, metric| results.value("ext4", task, metric);
            assert!(bytes("write", "written_bytes") >= 8_388_608.0, "{}", bytes("write", "written_bytes"));
            // Neither the loop device's cache nor the file's holds it after a remount.
            assert!(bytes("read", "read_bytes") >= 8_388_608.0, "{}", bytes("read", "read_bytes"));
        }
    }
}
