//! What is asked for: options of a plan, and of a corpus for it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mountmark_model::conditions::Way;
use mountmark_model::{Age, Bytes, CorpusSource, Lab, OwnComputer, RealisedCorpus, Scale, Suite};

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--fs`, each a list in the syntax of [`configurations`](crate::configurations).
    pub fs: Vec<String>,
    /// `--suite`: a name or a path.
    pub suite: String,
    /// `--lab`
    pub lab: Lab,
    /// The lab's own computer; if set, `machine`, `disk` and `kernel` are ignored.
    pub own: Option<OwnComputer>,
    /// `--machine`
    pub machine: String,
    /// `--disk`: overrides the machine's own.
    pub disk: Option<String>,
    /// `--disk-size`: overrides the size that the suite needs.
    pub disk_size: Option<Bytes>,
    /// `--kernel`, passed on unchanged.
    pub kernel: String,
    /// `--scale`
    pub scale: Scale,
    /// `--repeat`
    pub repeats: u32,
    /// `--seed`
    pub seed: u64,
    /// `--conditions`
    pub conditions: Way,
    /// `--corpus`: a name, or a path if it contains a `/` or ends like a tar file; overrides the suite's own.
    pub corpus: Option<String>,
    /// `--fill`: the share of the file system that is taken before the tasks, in percent. At 0 the file system is new, and made
    /// apart like a filled one.
    pub fill: Option<u32>,
    /// `--age`: the history that is played before the tasks.
    pub age: Option<Age>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CorpusRequest {
    pub source: CorpusSource,
    /// The seed of the repeat; `None` for the user's own files, which are the same in every repeat.
    pub seed: Option<u64>,
    /// The scale of a generated corpus; the user's own files are used whole.
    pub scale: Scale,
}

/// Generates a corpus: returns the path of its plain tar file, and its properties.
pub type Realise<'a> =
    dyn FnMut(&CorpusRequest) -> Result<(PathBuf, RealisedCorpus), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// Whether anything of a suite, with files from `corpus`, follows --scale.
pub(crate) fn scales(suite: &Suite, corpus: Option<&CorpusSource>) -> bool {
    let is_grown = matches!(corpus, Some(CorpusSource::Catalogue(_)));
    is_grown || suite.disk_size.is_some() || suite.parameters.values().any(|parameter| !parameter.fixed)
}

/// The suite's parameters at a scale.
pub(crate) fn parameters(suite: &Suite, scale: Scale) -> BTreeMap<String, u64> {
    let value = |parameter: &mountmark_model::Parameter| {
        if parameter.fixed { parameter.value.0 } else { scale.apply(parameter.value.0, parameter.min.0) }
    };
    suite.parameters.iter().map(|(name, parameter)| (name.clone(), value(parameter))).collect()
}
