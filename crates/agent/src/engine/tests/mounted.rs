//! The engine on a loop-mounted ext4: features that temporary folders may lack, such as direct I/O and attributes, and
//! a full file system.

use std::process::{Command, Stdio};

use super::*;

/// An ext4 in an image file, mounted; unmounted and removed on drop.
struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    /// `None`, with a sentence on standard error, without root, loop device or mkfs.ext4.
    fn new(mebibytes: u64) -> Option<Mounted> {
        let skip = |why: String| {
            eprintln!("skipped: {why}");
            None
        };
        if !rustix::process::geteuid().is_root() {
            return skip("needs root to mount".into());
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        fs::create_dir(folder.path().join("mnt")).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).stdout(Stdio::null()).output();
            match done {
                Ok(done) if done.status.success() => Ok(()),
                Ok(done) => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim())),
                Err(error) => Err(format!("{program}: {error}")),
            }
        };
        let (image, mnt) = (image.display().to_string(), folder.path().join("mnt").display().to_string());
        if let Err(why) = run("mkfs.ext4", &["-q", "-F", &image]) {
            return skip(why);
        }
        if let Err(why) = run("mount", &["-o", "loop", &image, &mnt]) {
            return skip(why);
        }
        Some(Mounted { folder })
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("mnt")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn every_operation_on_ext4() {
    let Some(mounted) = Mounted::new(64) else { return };
    let folder = mounted.path();
    names_live(&folder);
    let text = r#"
        files = { folder = "data", count = 4, size = "256 KiB" }
        [[phases]]
        name = "fallocate"
        what = "fallocate"
        block = "64 KiB"
        [[phases]]
        name = "direct"
        what = "write"
        direct = true
        verify = true
        sync = { every = 8, end = true }
        [[phases]]
        name = "direct-ring"
        what = "read"
        engine = "uring"
        direct = true
        queue_depth = 16
        pattern = "shuffled"
        verify = true
        [[phases]]
        name = "cold"
        what = "read"
        cold = true
        verify = true
        [[phases]]
        name = "osync"
        what = "write"
        sync = { open = "dsync" }
        run = { operations = 16 }
        [[phases]]
        name = "fsync"
        what = "fsync"
        run = { operations = 4 }
        [[phases]]
        name = "copy"
        what = "copy-file"
        [[phases]]
        name = "set"
        what = "setxattr"
        [[phases]]
        name = "get"
        what = "getxattr"
        [[phases]]
        name = "cut"
        what = "truncate"
    "#;
    let phases = well(text, &folder);
    assert_eq!(phases[2].verified_bytes, 1 << 20);
    assert_eq!(of(&phases[1], Operation::Fsync).count, 256 / 8 + 4);
    let value = Command::new("stat").arg(folder.join("data/f00000000")).output().unwrap();
    assert!(value.status.success());
    // ext4 cannot share blocks; that is an error of the operation.
    let text = "files = { folder = \"data\", count = 4 }\n[[phases]]\nname = \"r\"\nwhat = \"reflink-file\"\n";
    let phases = done(text, &folder);
    assert_eq!(of(&phases[0], Operation::ReflinkFile).errors, 4);
    assert!(phases[0].errors[0].contains("Operation not supported"), "{:?}", phases[0].errors);
}

#[test]
fn what_does_not_fit_is_refused_and_what_fills_the_disk_is_told() {
    let Some(mounted) = Mounted::new(16) else { return };
    let folder = mounted.path();
    let refused =
        |text: &str| run(&workload(text), &folder, &options(), &mut History::default()).unwrap_err().to_string();
    let large = "files = { size = \"32 MiB\" }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\n";
    assert!(refused(large).contains("need 32.0 MiB more, and"), "{}", refused(large));
    let many = "files = { count = 100_000 }\n[[phases]]\nname = \"make\"\nwhat = \"create\"\n";
    assert!(refused(many).contains("makes 100,000 files, and"), "{}", refused(many));
    // The size that appending for a time will reach cannot be known before.
    let filling = "files = { count = 1, size = 4096 }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\n[[phases]]\n\
                   name = \"fill\"\nwhat = \"append-file\"\nblock = \"256 KiB\"\nrun = { passes = 5000 }\n";
    let phases = done(filling, &folder);
    let fill = of(&phases[1], Operation::AppendFile);
    assert!(fill.count > 10 && fill.errors == 1000, "{fill:?}");
    assert!(phases[1].errors.iter().any(|error| error.contains("No space left")), "{:?}", phases[1].errors);
}

#[test]
fn a_file_system_without_direct_io_is_told_about() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root to mount");
        return;
    }
    // ramfs has no direct I/O; tmpfs has it since Linux 6.6.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    if !Command::new("mount").args(["-t", "ramfs", "none", &path]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no ramfs");
        return;
    }
    let text = "files = { size = 8192 }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\ndirect = true\n";
    let error = run(&workload(text), folder.path(), &options(), &mut History::default());
    let left = fs::read_dir(folder.path()).unwrap().count();
    let _ = Command::new("umount").arg(&path).status();
    let error = error.unwrap_err().to_string();
    assert!(error.contains("refuses direct I/O"), "{error}");
    assert_eq!(left, 0);
}
