//! Names of images: a state, or a state of the recovery that a first one began.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{NoStateId, StateId};

/// Which image: `e3.t1.-2` is a state; `e3.t1.-2/e0.t1.p2` is what a second power cut leaves while a file system
/// recovers from the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageId {
    pub state: StateId,
    /// Of the recording of the recovery.
    pub recovery: Option<StateId>,
}

impl From<StateId> for ImageId {
    fn from(state: StateId) -> ImageId {
        ImageId { state, recovery: None }
    }
}

impl Display for ImageId {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.state)?;
        self.recovery.iter().try_for_each(|state| write!(out, "/{state}"))
    }
}

impl FromStr for ImageId {
    type Err = NoStateId;

    fn from_str(text: &str) -> Result<ImageId, NoStateId> {
        match text.split_once('/') {
            None => Ok(text.parse::<StateId>()?.into()),
            Some((state, recovery)) => Ok(ImageId { state: state.parse()?, recovery: Some(recovery.parse()?) }),
        }
    }
}

impl TryFrom<String> for ImageId {
    type Error = NoStateId;

    fn try_from(text: String) -> Result<ImageId, NoStateId> {
        text.parse()
    }
}

impl From<ImageId> for String {
    fn from(id: ImageId) -> String {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["e3.t1.-2", "e3.t1.-2/e0.t1.p2"] {
            assert_eq!(text.parse::<ImageId>().unwrap().to_string(), text);
        }
        for wrong in ["", "e3.t1.-2/", "/e0.t1.p2", "e3.t1.-2/e0.t1.p2/e0.t1.p2"] {
            assert!(wrong.parse::<ImageId>().is_err(), "{wrong}");
        }
    }
}
