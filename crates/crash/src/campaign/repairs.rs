//! How repairs of images ended.

use serde::{Deserialize, Serialize};

/// Images that were repaired by a full check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AnyRepairs")]
pub struct Repairs {
    pub images: usize,
    /// Of these, those that could not be mounted even then.
    pub not_mounted: usize,
    /// Of these, those with something in the folder `lost+found`.
    pub lost_and_found: usize,
}

/// Records of older versions have the three numbers in a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyRepairs {
    Named { images: usize, not_mounted: usize, lost_and_found: usize },
    Listed([usize; 3]),
}

impl From<AnyRepairs> for Repairs {
    fn from(any: AnyRepairs) -> Repairs {
        let (AnyRepairs::Named { images, not_mounted, lost_and_found }
        | AnyRepairs::Listed([images, not_mounted, lost_and_found])) = any;
        Repairs { images, not_mounted, lost_and_found }
    }
}
