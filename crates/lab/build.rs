//! Builds the profiler: a shared object that QEMU loads. This program is linked statically, so the profiler is a file of its
//! own, which the program carries in itself.

use std::env;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "src/profile";

fn main() {
    println!("cargo::rerun-if-changed={FOLDER}/profiler.c");
    println!("cargo::rerun-if-changed={FOLDER}/emulator.h");
    println!("cargo::rerun-if-changed={FOLDER}/flat.h");
    // The compiler that links Rust programs is there.
    let compiler = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let status = Command::new(&compiler)
        .args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-shared", "-fPIC", "-fvisibility=hidden", "-s"])
        .arg(format!("{FOLDER}/profiler.c"))
        .arg("-o")
        .arg(Path::new(&folder).join("profiler.so"))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} could not build the profiler: {status}", compiler.display()),
        Err(error) => panic!("cannot start {}, which builds the profiler: {error}; install gcc", compiler.display()),
    }
}
