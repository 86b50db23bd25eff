//! The kinds of definitions, each a folder of a catalogue.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `filesystems/`
    FileSystem,
    /// `layers/`
    Layer,
    /// `suites/`
    Suite,
    /// `machines/`
    Machine,
    /// `disks/`
    Disk,
    /// `corpora/`
    Corpus,
    /// `studies/`
    Study,
    /// `crash/`
    Scenario,
    /// `agreements/`
    MachineAgreement,
    /// `costs/`
    MachineCosts,
    /// `ageing/`
    AgeingProfile,
    /// `faults/`
    KnownFault,
}

impl Kind {
    /// All kinds, in the order of lists.
    pub const ALL: [Kind; 12] = [
        Kind::FileSystem,
        Kind::Layer,
        Kind::Suite,
        Kind::Machine,
        Kind::Disk,
        Kind::Corpus,
        Kind::Study,
        Kind::Scenario,
        Kind::MachineAgreement,
        Kind::MachineCosts,
        Kind::AgeingProfile,
        Kind::KnownFault,
    ];

    /// Its folder in a catalogue, and its name in `mountmark list`.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::FileSystem => "filesystems",
            Kind::Layer => "layers",
            Kind::Suite => "suites",
            Kind::Machine => "machines",
            Kind::Disk => "disks",
            Kind::Corpus => "corpora",
            Kind::Study => "studies",
            Kind::Scenario => "crash",
            Kind::MachineAgreement => "agreements",
            Kind::MachineCosts => "costs",
            Kind::AgeingProfile => "ageing",
            Kind::KnownFault => "faults",
        }
    }

    /// Its singular, for sentences.
    pub fn word(self) -> &'static str {
        match self {
            Kind::FileSystem => "file system",
            Kind::Layer => "layer",
            Kind::Suite => "suite",
            Kind::Machine => "machine",
            Kind::Disk => "disk",
            Kind::Corpus => "corpus",
            Kind::Study => "study",
            Kind::Scenario => "workload or application",
            Kind::MachineAgreement => "comparison with a real machine",
            Kind::MachineCosts => "range of costs",
            Kind::AgeingProfile => "ageing profile",
            Kind::KnownFault => "known fault",
        }
    }
}
