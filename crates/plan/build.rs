//! Has cargo build this crate again when a file of the catalogue is added, changed or removed: `include_dir` can
//! tell it about files that it has seen, not about new ones.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../catalog");
}
