//! Sets a run of the virtual lab beside one of a real machine.

use anyhow::Result;
use mountmark_findings::Options;
use mountmark_findings::agreement::{ModelAgreement, ModelBeside, model_agreement};

use super::{Arguments, runs};
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};
use crate::costs::CostsOptions;

pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    common::format_of::<ModelBeside>(arguments.format.as_deref())?;
    let [model, machine] = &arguments.runs[..] else {
        return Err(
            WrongUse("--agreement takes two runs: one of the virtual lab, then one of a real machine".into()).into()
        );
    };
    let found = find(&arguments.store, model, machine, arguments.between.anyway)?;
    common::show(&ModelBeside(&found), arguments.format.as_deref())
}

/// The model's run beside the machine's, which must be of the same work unless `anyway`.
pub fn find(store: &StoreOptions, model: &str, machine: &str, anyway: bool) -> Result<ModelAgreement> {
    let (model, machine) = (store.load(model)?, store.load(machine)?);
    let asked = CostsOptions::default().asked(&catalogue::load()?, &store.open_read_only()?, &model)?;
    let options = Options { asked: Some(asked), ..Options::default() };
    let found = model_agreement(&model, &machine, &options).map_err(|reason| {
        WrongUse(mountmark_findings::agreement::say::unfit(reason, model.id.as_str(), machine.id.as_str()))
    })?;
    for reason in runs::other_work(&model, &machine, anyway)? {
        say!("mountmark: compared anyway, though {reason}");
    }
    Ok(found)
}
