//! For which machines verdicts are asked whether their order holds.

use anyhow::Result;
use clap::Args;
use mountmark_findings::{CostRange, CostsAsked};
use mountmark_model::{MachineAgreement, MachineCosts};
use mountmark_plan::Catalogue;
use mountmark_record::{RunRecord, Store};

/// The catalogue's range unless another is named.
const USUAL: &str = "machines";

/// The machines for which an order should hold.
#[derive(Args, Clone, Debug, Default)]
pub struct CostsOptions {
    /// The costs of work on real machines for which verdicts say whether their order holds, where the run was made with
    /// --profile; `mountmark list costs` has all ranges [default: machines]
    #[arg(long, value_name = "NAME")]
    costs: Option<String>,
}

impl CostsOptions {
    /// Whether a range is named.
    pub fn is_given(&self) -> bool {
        self.costs.is_some()
    }

    /// What to ask a run for.
    pub fn asked(&self, catalogue: &Catalogue, store: &Store, run: &RunRecord) -> Result<CostsAsked> {
        let costs = catalogue.get::<MachineCosts>(self.costs.as_deref().unwrap_or(USUAL))?;
        let machines: Vec<MachineAgreement> = catalogue.list::<MachineAgreement>().cloned().collect();
        Ok(CostsAsked { costs: CostRange::all(costs, &machines), work: store.work(&run.id)? })
    }
}
