//! What this machine, the kernel and Debian lack for a configuration.

use anyhow::Result;
use mountmark_model::Configuration;

use super::Emulator;
use crate::image::kernel::built_without;
use crate::image::packages::Packages;

impl Emulator {
    /// Why a configuration cannot run, in a sentence: the file system's reasons first, then those of its layers.
    pub(super) fn lacks_for(&self, configuration: &Configuration) -> Result<Option<String>> {
        if let Some(reason) = self.lacks_for_one(configuration)? {
            return Ok(Some(reason));
        }
        let Some(below) = &configuration.below else { return Ok(None) };
        let reason = self.lacks_for_one(below)?;
        Ok(reason.map(|reason| format!("{}, which lies below: {reason}", below.filesystem.name)))
    }

    fn lacks_for_one(&self, configuration: &Configuration) -> Result<Option<String>> {
        let filesystem = &configuration.filesystem;
        if let Some(reason) = &filesystem.unavailable {
            return Ok(Some(reason.clone()));
        }
        if let Some(missing) = self.missing_module(&filesystem.modules) {
            return Ok(Some(format!("{missing}; choose another with --kernel")));
        }
        if let Some(option) = filesystem.kernel_options.iter().find(|option| self.kernel.is_without(option)) {
            return Ok(Some(built_without(&self.kernel.release, option)));
        }
        let packages = Packages::new(&self.options.cache);
        let component = filesystem.component.as_deref();
        for package in &filesystem.packages {
            if !packages.has(component, package)? {
                return Ok(Some(format!(
                    "this Debian release has no package {package}, which holds its tools{}",
                    component
                        .map(|component| format!(", in {component}, or this machine's mirror lacks it"))
                        .unwrap_or_default()
                )));
            }
        }
        for layer in &configuration.layers {
            let name = &layer.name;
            if let Some(missing) = self.missing_module(&layer.modules) {
                return Ok(Some(format!("the layer {name}: {missing}; choose another with --kernel")));
            }
            for package in &layer.packages {
                if !packages.has(None, package)? {
                    return Ok(Some(format!(
                        "the layer {name}: this Debian release has no package {package}, which holds its tools"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// The first module that the kernel must have and lacks, in a sentence.
    fn missing_module(&self, modules: &[String]) -> Option<String> {
        let mut needed = modules.iter().filter(|module| !module.starts_with('?'));
        needed.find_map(|module| self.modules.check(module).err()).map(|missing| missing.to_string())
    }
}
