//! Makes cargo rebuild this crate when a file of the catalogue is added, changed or removed: `include_dir` reports
//! known files only, not new ones.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=.");
}
