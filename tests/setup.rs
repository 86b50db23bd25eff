//! `scripts/setup` on machines where something is missing, with an apt that only prints given answers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// What apt prints about installing the release's own version and the backport's.
struct Plans {
    own: &'static str,
    backport: &'static str,
}

const CLEAN: &str = "Inst qemu-system-x86 (1:7.2 Debian [amd64])";
const REMOVES: &str = "Remv qemu-utils [1:10.0]\nInst qemu-system-x86 (1:7.2 Debian [amd64])";
const DOWNGRADES: &str = "The following packages will be DOWNGRADED:\n  qemu-utils\n0 upgraded\nInst qemu-utils";

/// A machine without an emulator: all other programs of this one, and a fake apt.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(user: u32, plans: &Plans) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for known in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
            for path in fs::read_dir(known).into_iter().flatten().flatten().map(|entry| entry.path()) {
                let link = bin.join(path.file_name().unwrap());
                if link.file_name().unwrap() != "qemu-system-x86_64" && !link.exists() {
                    let _ = symlink(path, link);
                }
            }
        }
        let machine = Machine { folder };
        machine.program("id", &format!("echo {user}"));
        machine.program("apt-cache", "echo '  Candidate: 1:7.2'");
        let (emulator, asked) = (bin.join("qemu-system-x86_64"), machine.path("asked"));
        machine.program(
            "apt-get",
            &format!(
                "echo \"$*\" >> '{asked}'\ncase \"$*\" in\n*'install -s'*' -t '*) cat <<'E'\n{}\nE\n;;\n*'install -s'*) cat \
                 <<'E'\n{}\nE\n;;\n*indextargets*) . /etc/os-release; echo \"Debian http://deb.test/ $VERSION_CODENAME\" ;;\n\
                 *'install -y'*) ln -s /bin/true '{}' ;;\nesac",
                plans.backport,
                plans.own,
                emulator.display(),
                asked = asked.display()
            ),
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Exit code and output of a set-up, and the changes that it requested from apt.
    fn set_up(&self) -> (i32, String, Vec<String>) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/setup");
        let output = Command::new("sh").arg(script).env("PATH", self.path("bin")).output().unwrap();
        let asked = fs::read_to_string(self.path("asked")).unwrap_or_default();
        let changes = asked.lines().filter(|line| line.contains("install") && !line.contains(" -s "));
        let changes: Vec<String> = changes.map(str::to_owned).collect();
        assert!(changes.iter().all(|change| change.contains(" --no-remove ")), "{changes:?}");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap(), changes)
    }
}

#[test]
fn what_is_missing_is_installed() {
    let (code, said, changes) = Machine::new(0, &Plans { own: CLEAN, backport: CLEAN }).set_up();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("setup: installing qemu-system-x86\n"), "{said}");
    assert!(matches!(&changes[..], [change] if change.ends_with("qemu-system-x86") && !change.contains(" -t ")));
}

#[test]
fn a_users_package_is_not_taken_for_the_emulator() {
    for own in [REMOVES, DOWNGRADES] {
        let (code, said, changes) = Machine::new(0, &Plans { own, backport: CLEAN }).set_up();
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("would remove or downgrade qemu-utils"), "{said}");
        assert!(matches!(&changes[..], [change] if change.contains("-backports qemu-system-x86")), "{changes:?}");

        let (code, said, changes) = Machine::new(0, &Plans { own, backport: REMOVES }).set_up();
        assert_eq!((code, changes), (3, Vec::new()), "{said}");
        assert!(said.contains("remove or downgrade qemu-utils for it. To let it:\napt-get install"), "{said}");
    }
}

#[test]
fn who_is_not_root_is_told_what_to_type() {
    let (code, said, changes) = Machine::new(1000, &Plans { own: CLEAN, backport: CLEAN }).set_up();
    assert_eq!((code, changes), (3, Vec::new()), "{said}");
    let typed = "sudo apt-get update && sudo apt-get install --no-install-recommends --no-remove qemu-system-x86\n";
    assert!(said.ends_with(typed), "{said}");
    let (code, said, changes) = Machine::new(1000, &Plans { own: REMOVES, backport: REMOVES }).set_up();
    assert_eq!((code, changes), (3, Vec::new()), "{said}");
    assert!(said.contains("To let it:\nsudo apt-get install --no-install-recommends qemu-system-x86\n"), "{said}");
    assert!(said.contains("echo 'deb http://deb.test/ ") && said.contains("-backports main' | sudo tee "), "{said}");
}
