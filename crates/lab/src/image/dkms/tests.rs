use std::path::Path;

use super::*;
use crate::image::kernel::DEFAULT;

/// What a build says of where it runs: what of the machine it sees, its rights, its network.
const PROBE: &str = r#"#!/bin/bash
{
    echo "secret: $(cat SECRET 2>&1)"
    echo "home: $(ls -d /home /root /old/* 2>/dev/null | wc -l)"
    echo "network: $(tail -n +3 /proc/net/dev | grep -vc '^ *lo:')"
    grep CapEff /proc/self/status
    echo "strangers: $(cat /proc/[0-9]*/comm | grep -c mountmark)"
    mount -t tmpfs none /tmp 2>/dev/null && echo "mounted"
} > /out/probe
true
"#;
const CONF: &str = "PACKAGE_NAME=\"tiny\"\nPACKAGE_VERSION=\"1\"\nBUILT_MODULE_NAME[0]=\"tiny\"\n\
                    DEST_MODULE_LOCATION[0]=\"/extra\"\nPRE_BUILD=\"probe\"\n";
const TINY: &str = "#include <linux/module.h>\nMODULE_LICENSE(\"GPL\");\n\
                    static int __init begin(void) { return 0; }\nmodule_init(begin);\n";

/// The kernel of tests, if the cache has it.
fn kernel(cache: &Path) -> Option<Kernel> {
    let packages = Packages::new(cache);
    Kernel::is_here(DEFAULT, &packages, cache).then(|| Kernel::find(DEFAULT, &packages, cache).unwrap())
}

#[test]
fn a_module_is_built_apart_from_the_machine_and_a_fault_in_it_is_named() {
    let cache = cache::default_folder();
    let Some(kernel) = kernel(&cache) else { return eprintln!("skipped: the cache has no kernel; a run fetches it") };
    let dkms = Dkms { cache: &cache, kernel: &kernel, source: "zfs-dkms", component: Some("contrib") };
    if !dkms.file(".recipe.json").exists() {
        return eprintln!("skipped: the cache has no compiler; a run with --fs zfs fetches it");
    }
    if let Err(error) = confined::check() {
        return eprintln!("skipped: {error:#}");
    }
    let recipe = dkms.recipe().unwrap();
    let packages = recipe.packages(&cache).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (root, secret) = (scratch.path().join("root"), scratch.path().join("secret"));
    fs::write(&secret, "of the machine").unwrap();
    recipe.make_root(&root, &packages, &cache).unwrap();
    let source = root.join("usr/src/tiny-1");
    let put = |name: &str, text: &str| fs::write(source.join(name), text).unwrap();
    fs::create_dir(&source).unwrap();
    put("dkms.conf", CONF);
    put("Makefile", "obj-m := tiny.o\n");
    put("tiny.c", TINY);
    put("probe", &PROBE.replace("SECRET", &secret.to_string_lossy()));
    fs::set_permissions(source.join("probe"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let said = confined::build(&root, "tiny-1", &kernel.release).unwrap();
    assert!(said.is_done, "{}", said.log);
    let probe = fs::read_to_string(root.join("out/probe")).unwrap();
    let lines: Vec<&str> = probe.lines().map(str::trim).collect();
    assert!(lines[0].contains("No such file"), "{probe}");
    assert_eq!(lines[1..], ["home: 0", "network: 0", "CapEff:\t0000000000000000", "strangers: 0"], "{probe}");

    fs::remove_file(root.join("out/probe")).unwrap();
    let made = scratch.path().join("made");
    dkms.keep(&root.join("out"), &made, &packages).unwrap();
    let built = Built::load(&made).unwrap();
    assert_eq!(built.modules().into_keys().collect::<Vec<_>>(), ["tiny"]);
    assert!(built.packages.contains_key("zfs-dkms") && built.packages.keys().any(|name| name.starts_with("gcc-")));
    assert!(kernel.module_files().is_ok_and(|own| !own.contains_key("tiny")));
    // What was changed since is no module.
    fs::write(made.join("tiny.ko"), "other").unwrap();
    assert_eq!(Built::load(&made), None);

    let _ = fs::remove_dir_all(root.join("var/lib/dkms"));
    put("tiny.c", &TINY.replace("return 0;", "return 0; absent;"));
    let said = confined::build(&root, "tiny-1", &kernel.release).unwrap();
    assert!(!said.is_done);
    let reason = log::last_error(&said.log);
    assert!(reason.contains("tiny.c:3:") && reason.contains("error: ") && reason.contains("absent"), "{reason}");
}

/// A build that failed says so at once the next time, until what goes into it is another.
#[test]
fn a_failure_is_told_again_without_another_build() {
    let own = cache::default_folder();
    let Some(kernel) = kernel(&own) else { return eprintln!("skipped: the cache has no kernel; a run fetches it") };
    let folder = tempfile::tempdir().unwrap();
    let dkms = Dkms { cache: folder.path(), kernel: &kernel, source: "odd-dkms", component: None };
    assert!(dkms.failed_before(None).is_none());
    let said = dkms.failed("1", "a.c:1:1: error: odd\nmake: *** [a.o]\n").to_string();
    assert!(said.contains("odd-dkms") && said.contains("a.c:1:1: error: odd (log: "), "{said}");
    assert_eq!(dkms.foresee().unwrap_err().to_string(), said);
    assert!(dkms.failed_before(Some("1")).is_some() && dkms.failed_before(Some("2")).is_none());
    // What another version of this program could not build, this one may.
    fs::write(dkms.note(), fs::read_to_string(dkms.note()).unwrap().replacen(&Dkms::way(), "other", 1)).unwrap();
    assert!(dkms.failed_before(None).is_none());
    fs::remove_file(dkms.note()).unwrap();
    // For want of memory or room it may be built another time.
    dkms.failed("1", "gcc: fatal error: Killed signal terminated program cc1\n");
    dkms.failed("1", "a.c:1:1: fatal error: error writing to /tmp/a.s: No space left on device\n");
    assert!(dkms.failed_before(None).is_none());
}

#[test]
fn a_kernel_given_by_path_has_no_headers() {
    let own = cache::default_folder();
    let Some(mut kernel) = kernel(&own) else { return eprintln!("skipped: the cache has no kernel; a run fetches it") };
    kernel.version.clear();
    let folder = tempfile::tempdir().unwrap();
    let dkms = Dkms { cache: folder.path(), kernel: &kernel, source: "zfs-dkms", component: Some("contrib") };
    let said = dkms.foresee().unwrap_err().to_string();
    assert!(said.contains("given by path") && said.contains("--kernel 6.12"), "{said}");
}

#[test]
fn what_leads_out_of_a_root_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let package = Package { name: "odd".into(), version: "1".into(), folder: folder.path().join("odd") };
    fs::create_dir_all(package.folder.join("usr/share/x")).unwrap();
    fs::write(package.folder.join("usr/share/x/file"), "data").unwrap();
    crate::image::manifest::Manifest::write(&package.folder).unwrap();
    let linked = Package { name: "link".into(), version: "1".into(), folder: folder.path().join("link") };
    fs::create_dir_all(linked.folder.join("usr/share")).unwrap();
    std::os::unix::fs::symlink(&outside, linked.folder.join("usr/share/x")).unwrap();
    crate::image::manifest::Manifest::write(&linked.folder).unwrap();
    let error = root::make(&folder.path().join("root"), &[linked, package]).unwrap_err().to_string();
    assert!(error.contains("behind the link /usr/share/x"), "{error}");
    assert!(fs::read_dir(&outside).unwrap().next().is_none());
}
