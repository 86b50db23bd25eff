//! What this machine, the kernel and Debian lack for a configuration.

use std::sync::PoisonError;

use anyhow::{Result, bail};
use mountmark_model::{Configuration, FileSystem};

use super::Emulator;
use crate::image::dkms::{Built, Dkms};
use crate::image::kernel::built_without;
use crate::image::packages::Packages;
use crate::{cache, child};

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
            let Some(dkms) = self.dkms(filesystem) else {
                return Ok(Some(format!("{missing}; choose another with --kernel")));
            };
            // Its tools are of the same lists, which were looked into with it.
            if let Some(reason) = self.lacks_source(&dkms)? {
                return Ok(Some(reason));
            }
        }
        if let Some(option) = filesystem.kernel_options.iter().find(|option| self.kernel.is_without(option)) {
            return Ok(Some(built_without(&self.kernel.release, option)));
        }
        let packages = Packages::new(&self.options.cache);
        let component = filesystem.component.as_deref();
        let others = filesystem.packages.iter().filter(|_| filesystem.module_source.is_none());
        for package in others {
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

    /// How the modules of a file system are built that no kernel has; `None` if it names no source, or if its kernel has them.
    fn dkms<'a>(&'a self, filesystem: &'a FileSystem) -> Option<Dkms<'a>> {
        let source = filesystem.module_source.as_deref()?;
        self.missing_module(&filesystem.modules)?;
        let (cache, kernel, component) = (self.options.cache.as_path(), &self.kernel, filesystem.component.as_deref());
        Some(Dkms { cache, kernel, source, component })
    }

    /// Why modules cannot be built from a package of source, as far as that is known before they are.
    fn lacks_source(&self, dkms: &Dkms) -> Result<Option<String>> {
        if !self.options.module_sources.iter().any(|allowed| allowed == dkms.source) {
            return Ok(Some(format!(
                "its module would be built on this machine from Debian's package {}, which no file system of the catalogue \
                 names: what a suite or a stored run brings builds nothing here",
                dkms.source
            )));
        }
        reason(dkms.foresee())
    }

    /// Builds the modules that a configuration needs and its kernel lacks, if that was not done; why not, in a sentence.
    pub(super) fn build_for(&self, configuration: &Configuration) -> Result<Option<String>> {
        match self.built(&configuration.base().filesystem) {
            Err(error) => reason(Err(error)),
            Ok(_) => Ok(None),
        }
    }

    /// The modules that are built for a file system, if it has any.
    pub(super) fn built(&self, filesystem: &FileSystem) -> Result<Option<Built>> {
        let Some(dkms) = self.dkms(filesystem) else { return Ok(None) };
        let mut all = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = all.get(dkms.source) {
            return Ok(Some(built.clone()));
        }
        if let Some(reason) = self.lacks_source(&dkms)? {
            bail!("{}: {reason}", filesystem.name);
        }
        let built = dkms.get()?;
        all.insert(dkms.source.to_owned(), built.clone());
        Ok(Some(built))
    }

    /// The first module that the kernel must have and lacks, in a sentence.
    fn missing_module(&self, modules: &[String]) -> Option<String> {
        let mut needed = modules.iter().filter(|module| !module.starts_with('?'));
        needed.find_map(|module| self.modules.check(module).err()).map(|missing| missing.to_string())
    }
}

/// Why something cannot be, in a sentence; an error where another time or more room would do.
fn reason(result: Result<()>) -> Result<Option<String>> {
    match result {
        Ok(()) => Ok(None),
        Err(error) if child::is_interrupted() || cache::is_no_space(&error) || cache::is_barred(&error) => Err(error),
        Err(error) => Ok(Some(format!("{error:#}"))),
    }
}
