use std::io::Write;
use std::path::Path;

use mountmark_model::FileSystem;

use super::BASE_PACKAGES;
use super::cpio::Archive;
use super::kernel::Kernel;
use super::manifest::Manifest;
use super::modules::ModuleTree;
use super::packages::{Package, Packages};
use super::programs::Programs;
use super::tree::MERGED;
use super::unpack::unpack;

const FOLDERS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];

/// A package file with these members.
pub(super) fn deb(members: &[(&str, &[u8])]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"!<arch>\n").unwrap();
    for (name, data) in members {
        writeln!(file, "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`", 0, 0, 0, "100644", data.len()).unwrap();
        file.write_all(data).unwrap();
        file.write_all(if data.len() % 2 == 1 { b"\n" } else { b"" }).unwrap();
    }
    file
}

/// A package of files, which hold their own path, and links, unpacked from a package file.
fn package(folder: &Path, name: &str, files: &[&str], links: &[(&str, &str)]) -> Package {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o755);
    for path in files {
        header.set_size(path.len() as u64);
        tar.append_data(&mut header, format!("./{path}"), path.as_bytes()).unwrap();
    }
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    for (path, target) in links {
        tar.append_link(&mut header, format!("./{path}"), target).unwrap();
    }
    let package = Package { name: name.into(), version: "1".into(), folder: folder.join(name) };
    let file = deb(&[("debian-binary", b"2.0\n"), ("data.tar", &tar.into_inner().unwrap())]);
    unpack(file.path(), &package.folder).unwrap();
    Manifest::write(&package.folder).unwrap();
    package
}

/// What a guest reads at the program `name` once it was added, in each folder of programs; or why it was not.
fn read(packages: &[Package], name: &str) -> Result<String, String> {
    let mut archive = Archive::default();
    for (link, target) in MERGED {
        archive.link(link, target);
    }
    Programs::new(packages).unwrap().add(&mut archive, name).map_err(|error| format!("{error:#}"))?;
    let texts = FOLDERS.map(|folder| archive.read(&format!("{folder}/{}", name.rsplit('/').next().unwrap())));
    assert!(texts.iter().all(|text| *text == texts[0]), "{name}: {texts:?}");
    Ok(texts[0].map_or("nothing".into(), |bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// The ways to write a link in `folder` to `/target`.
fn spellings(folder: &str, target: &str) -> Vec<String> {
    let up = "../".repeat(folder.split('/').count());
    let mut ways = vec![format!("/{target}"), format!("{up}{target}"), format!("/usr/../{target}")];
    if let Some(name) = target.strip_prefix(&format!("{folder}/")) {
        ways.push(name.to_owned());
        ways.push(format!("./{name}"));
    }
    ways
}

#[test]
fn links_between_folders_that_are_one_lead_to_their_program() {
    let mut tried = 0;
    for file_in in FOLDERS {
        for link_in in FOLDERS {
            for name in ["tool", "other"] {
                let (file, link) = (format!("{file_in}/tool"), format!("{link_in}/{name}"));
                if file == link {
                    continue;
                }
                for target in spellings(link_in, &file) {
                    let links = [(link.as_str(), target.as_str())];
                    let folder = tempfile::tempdir().unwrap();
                    let one = [package(folder.path(), "one", &[&file], &links)];
                    let file_first =
                        [package(folder.path(), "file", &[&file], &[]), package(folder.path(), "link", &[], &links)];
                    let link_first = [file_first[1].clone(), file_first[0].clone()];
                    for packages in [&one[..], &file_first, &link_first] {
                        for asked in ["tool", name, &format!("/{link}")] {
                            tried += 1;
                            let found = read(packages, asked);
                            assert_eq!(found.as_ref(), Ok(&file), "{asked}: {link} -> {target}, {file}");
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 700, "{tried}");
}

#[test]
fn chains_of_links_lead_to_their_program() {
    // Each: files, links, the program, and what it holds or what the error names.
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, Result<&'a str, &'a str>);
    let cases: [Case; 13] = [
        (
            &["sbin/x"],
            &[("bin/x", "/usr/bin/x"), ("usr/bin/x", "/usr/sbin/x"), ("usr/sbin/x", "/sbin/x")],
            "x",
            Ok("sbin/x"),
        ),
        (&["usr/sbin/y"], &[("bin/x", "../sbin/x"), ("sbin/x", "../usr/sbin/y")], "x", Ok("usr/sbin/y")),
        // As alternatives that a package has itself.
        (
            &["usr/bin/x.v2"],
            &[("usr/bin/x", "/etc/alternatives/x"), ("etc/alternatives/x", "/bin/x.v2")],
            "x",
            Ok("usr/bin/x.v2"),
        ),
        (&["sbin/x"], &[("bin/x", "/etc/alternatives/x"), ("etc/alternatives/x", "/sbin/x")], "x", Ok("sbin/x")),
        // As those that only an installation makes.
        (&["usr/bin/y"], &[("usr/bin/x", "/etc/alternatives/x")], "x", Err("/etc/alternatives/x, which none has")),
        // Programs in folders of their own, under the same name and another, and by a link to a folder.
        (&["usr/lib/x/x"], &[("bin/x", "../lib/x/x")], "x", Ok("usr/lib/x/x")),
        (&["lib/x/run"], &[("usr/sbin/x", "/usr/lib/x/run")], "x", Ok("lib/x/run")),
        (
            &["usr/share/x/2/run"],
            &[("usr/bin/x", "../share/x/now/run"), ("usr/share/x/now", "2")],
            "x",
            Ok("usr/share/x/2/run"),
        ),
        (&["usr/lib/x/bin/x"], &[("sbin/x", "/lib/y/bin/x"), ("lib/y", "/usr/lib/x")], "x", Ok("usr/lib/x/bin/x")),
        // Links that lead nowhere, for a program that is there, and for none.
        (&["sbin/x"], &[("usr/bin/x", "/opt/x")], "x", Ok("sbin/x")),
        (&["usr/bin/y"], &[("bin/x", "/sbin/x"), ("sbin/x", "/bin/x")], "x", Err("no program \"x\"")),
        (&["usr/bin/y"], &[("bin/x", "z"), ("sbin/z", "../bin/x")], "x", Err("no program \"x\"")),
        (&["usr/lib/x/x"], &[("bin/x", "/usr/lib/x")], "x", Err("no program \"x\"")),
    ];
    for (files, links, program, right) in cases {
        let folder = tempfile::tempdir().unwrap();
        let packages = [package(folder.path(), "one", files, links)];
        match (read(&packages, program), right) {
            (Ok(found), Ok(right)) => assert_eq!(found, right, "{links:?}"),
            (Err(error), Err(right)) => assert!(error.contains(right), "{links:?}: {error}"),
            (found, right) => panic!("{links:?}: {found:?} instead of {right:?}"),
        }
    }
}

/// A distribution whose base package has the merged folders as links, and libraries in either folder.
#[test]
fn merged_folders_of_a_package_and_libraries_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let base = package(folder.path(), "base-files", &[], &MERGED);
    let tool = package(folder.path(), "tool", &["usr/sbin/x"], &[("usr/bin/x", "/sbin/x")]);
    assert_eq!(read(&[base, tool], "x").as_deref(), Ok("usr/sbin/x"));
    // A program of this machine asks for its libraries; the packages have these under a link of the other folder.
    let bytes = std::fs::read("/bin/true").unwrap();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap();
    let names: Vec<&str> =
        elf.libraries.iter().copied().chain(elf.interpreter.and_then(|path| path.rsplit('/').next())).collect();
    assert!(!names.is_empty(), "/bin/true is static here");
    let files: Vec<String> = names.iter().map(|name| format!("usr/lib/real/{name}")).collect();
    let links: Vec<(String, String)> =
        names.iter().map(|name| (format!("lib/{name}"), format!("/lib/real/{name}"))).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let links: Vec<(&str, &str)> = links.iter().map(|(path, target)| (path.as_str(), target.as_str())).collect();
    let packages = [package(folder.path(), "libraries", &files, &links)];
    let mut archive = Archive::default();
    Programs::new(&packages).unwrap().add_libraries(&mut archive, &bytes).unwrap();
    for name in names.iter().filter(|name| !name.starts_with("ld-linux")) {
        assert_eq!(archive.read(&format!("usr/lib/{name}")), Some(format!("usr/lib/real/{name}").as_bytes()));
    }
}

/// `zpool` is a program in /sbin with a link to it in /bin.
#[test]
fn programs_of_zfs_are_programs() {
    let (packages, name) = (Packages::new(&crate::cache::default_folder()), "zfsutils-linux");
    let found = match packages.exists_in("contrib", name) {
        Ok(true) => packages.closure(&[name.to_owned()]),
        Ok(false) => return eprintln!("skipped: this machine's mirror has no {name}, which is in Debian's contrib"),
        Err(error) => Err(error),
    };
    let closure = match found {
        Ok(closure) => closure,
        Err(error) => return eprintln!("skipped: {name} cannot be fetched: {error:#}"),
    };
    let own = closure.iter().find(|package| package.name == name).unwrap();
    for program in ["zpool", "zfs", "/sbin/zdb"] {
        let file = own.folder.join("sbin").join(program.rsplit('/').next().unwrap());
        let mut archive = Archive::default();
        for (link, target) in MERGED {
            archive.link(link, target);
        }
        Programs::new(&closure).unwrap().add(&mut archive, program).unwrap();
        let guest = archive.read(&format!("/sbin/{}", program.rsplit('/').next().unwrap()));
        assert_eq!(guest, Some(&std::fs::read(file).unwrap()[..]), "{program}");
    }
}

/// The file systems of the catalogue.
fn filesystems() -> Vec<FileSystem> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/filesystems");
    let texts = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    // What an option takes away is read by plans alone; without promises (L1, ...) a variant is, too.
    let is_read = |line: &&str| !line.starts_with("without = ") || line.contains("\"L");
    let filesystem = |text: String| text.lines().filter(is_read).collect::<Vec<_>>().join("\n");
    texts.map(|text| toml::from_str(&filesystem(text)).unwrap()).collect()
}

/// The commands of a file system that start a program of its packages.
fn commands(filesystem: &FileSystem) -> Vec<String> {
    let recovery = filesystem.recovery.iter().flat_map(|recovery| [&recovery.before_mount, &recovery.repair]);
    // On a folder it only makes folders.
    let mkfs = Some(&filesystem.mkfs).filter(|_| filesystem.below.is_none());
    let all = mkfs.into_iter().chain(filesystem.fsck.iter().map(|fsck| &fsck.command)).chain(recovery);
    all.filter_map(|command| command.first()).chain(&filesystem.tools).cloned().collect()
}

/// What `list filesystems` says of each, compared with the packages and the kernel themselves: who runs has its commands in
/// its packages; who does not lacks the very thing that its reason names, looked for in another way.
#[test]
fn what_is_said_of_each_file_system_is_true() {
    let cache = crate::cache::default_folder();
    let packages = Packages::new(&cache);
    if !Kernel::is_here(super::kernel::DEFAULT, &packages, &cache) {
        return eprintln!("skipped: the cache has no kernel; a run fetches it");
    }
    let known = match packages.names("") {
        Ok(names) => names,
        Err(error) => return eprintln!("skipped: Debian's package lists cannot be had: {error:#}"),
    };
    let is_known = |name: &str| known.iter().any(|known| known == name);
    let kernel = Kernel::find(super::kernel::DEFAULT, &packages, &cache).unwrap();
    let modules = ModuleTree::open(&kernel).unwrap();
    let files: Vec<String> = kernel.module_files().unwrap().into_keys().collect();
    let folder = kernel.modules_folder().unwrap().ancestors().find(|folder| folder.join("boot").is_dir()).unwrap();
    let config = std::fs::read_to_string(folder.join(format!("boot/config-{}", kernel.release))).unwrap();
    let (mut runs, mut lacks) = (Vec::new(), 0);
    for filesystem in filesystems() {
        let name = &filesystem.name;
        let missing = filesystem.modules.iter().find_map(|module| modules.check(module).err());
        let option = filesystem.kernel_options.iter().find(|option| kernel.is_without(option));
        let has = |package: &&String| packages.has(filesystem.component.as_deref(), package);
        let package = filesystem.packages.iter().find(|package| !has(package).unwrap());
        if let Some(reason) = &filesystem.unavailable {
            // It says that no package makes one, and that Debian's kernel has its module.
            assert!(reason.contains("No Debian package") && missing.is_none(), "{name}: {reason}");
            assert_eq!(known.iter().find(|known| known.contains(name.as_str())), None, "{name}: {reason}");
        } else if let Some(missing) = missing {
            assert!(!files.contains(&missing.module), "{name}: {missing}");
        } else if let Some(option) = option {
            assert!(!config.contains(&format!("CONFIG_{option}=")) && config.contains("_FS=m\n"), "{name}: {option}");
        } else if let Some(package) = package {
            assert!(!is_known(package), "{name}: {package} is there");
        } else {
            runs.push(filesystem);
            continue;
        }
        lacks += 1;
    }
    assert!(runs.len() >= 16 && lacks >= 3, "{} run, {lacks} do not", runs.len());
    let mut names: Vec<String> = runs.iter().flat_map(|filesystem| filesystem.packages.clone()).collect();
    names.extend(BASE_PACKAGES.map(str::to_owned));
    let closure = match packages.closure(&names) {
        Ok(closure) => closure,
        Err(error) => return eprintln!("skipped: packages cannot be fetched: {error:#}"),
    };
    for filesystem in runs {
        let own = |package: &&Package| filesystem.packages.contains(&package.name);
        let programs: Vec<String> = (closure.iter().filter(own))
            .flat_map(|package| FOLDERS.map(|folder| package.manifest().unwrap().names_in(folder)).concat())
            .collect();
        for program in commands(&filesystem) {
            assert!(programs.contains(&program), "{}: {program} is not in {:?}", filesystem.name, filesystem.packages);
            Programs::new(&closure).unwrap().add(&mut Archive::default(), &program).unwrap();
        }
        let check = programs.iter().find(|program| program.contains("fsck"));
        let says_none = filesystem.no_fsck.is_some() || filesystem.name == "ntfs";
        assert!(check.is_none() || !says_none, "{}: {check:?} is a check", filesystem.name);
    }
}
