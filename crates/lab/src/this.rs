//! This program and this machine, as far as every lab's environment has them.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use mountmark_model::Environment;

use crate::cache;

/// SHA-256 of this program's own file, in hexadecimal.
pub(crate) fn own_sha256() -> Result<&'static str> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(hash) = HASH.get() {
        return Ok(hash);
    }
    let hash = cache::sha256_of_program(&cache::default_folder(), Path::new("/proc/self/exe"))?;
    Ok(HASH.get_or_init(|| hash))
}

/// The part that every lab's environment shares: this program and this machine.
pub(crate) fn host_environment() -> Environment {
    Environment {
        mountmark: env!("CARGO_PKG_VERSION").to_owned(),
        build: own_sha256().unwrap_or_default().to_owned(),
        host_kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        host_cpu: host_cpu(),
        ..Environment::default()
    }
}

/// The name of this machine's processor; empty if the kernel gives none.
pub(crate) fn host_cpu() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split_once(": "));
    model.map(|(_, name)| name.to_owned()).unwrap_or_default()
}
