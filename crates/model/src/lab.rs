//! Labs and their properties. Code that must differ between labs checks a property, never the name.

use serde::{Deserialize, Serialize};

/// Properties of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// In `--lab`, plans and exports.
    pub name: &'static str,
    /// One line for lists.
    pub about: &'static str,
    /// Whether its clock is exact, so that a plan always gives the same figures. Otherwise the clock is wall time, and
    /// figures are samples.
    pub exact_clock: bool,
    /// Whether cells run in a guest with its own kernel, on the memory and disks of a profile. Otherwise they run on
    /// this machine.
    pub guest: bool,
    /// Whether the processor is a profile's too. Otherwise it is this machine's.
    pub profiled_processor: bool,
}

macro_rules! labs {
    ($($lab:ident: $nature:expr;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Lab {
            $($lab,)+
        }

        impl Lab {
            /// All labs, in the order of lists.
            pub const ALL: &'static [Lab] = &[$(Lab::$lab),+];
            /// The lab used if the user names none.
            pub const DEFAULT: Lab = Lab::ALL[0];

            pub fn capabilities(self) -> &'static Capabilities {
                match self {
                    $(Lab::$lab => &$nature,)+
                }
            }
        }
    };
}

// The only list of labs. `kind` in crates/lab maps each to the folder that opens it.
labs! {
    Virtual: Capabilities {
        name: "virtual",
        about: "An emulated guest whose clock counts instructions",
        exact_clock: true,
        guest: true,
        profiled_processor: true,
    };
    Kvm: Capabilities {
        name: "kvm",
        about: "The same guest under KVM, wall time",
        exact_clock: false,
        guest: true,
        profiled_processor: false,
    };
    Host: Capabilities {
        name: "host",
        about: "This machine's own kernel, as root, on loop devices, wall time",
        exact_clock: false,
        guest: false,
        profiled_processor: false,
    };
}

impl Lab {
    /// The name in `--lab`.
    pub fn name(self) -> &'static str {
        self.capabilities().name
    }

    pub fn find(name: &str) -> Option<Lab> {
        Lab::ALL.iter().copied().find(|lab| lab.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_is_stored_and_found_by_its_name() {
        for lab in Lab::ALL {
            assert_eq!(serde_json::to_string(lab).unwrap(), format!("{:?}", lab.name()));
            assert_eq!(Lab::find(lab.name()), Some(*lab));
        }
        assert_eq!(Lab::find("nowhere"), None);
    }
}
