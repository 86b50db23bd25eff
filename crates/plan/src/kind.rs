//! The kinds of definitions, each a folder of a catalogue.

macro_rules! kinds {
    ($($kind:ident $folder:literal $word:literal;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $(
                #[doc = concat!("`", $folder, "/`")]
                $kind,
            )+
        }

        impl Kind {
            /// All kinds, in the order of lists.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind,)+];

            /// Its folder in a catalogue, and its name in `mountmark list`.
            pub fn folder(self) -> &'static str {
                match self {
                    $(Kind::$kind => $folder,)+
                }
            }

            /// Its singular, for sentences.
            pub fn word(self) -> &'static str {
                match self {
                    $(Kind::$kind => $word,)+
                }
            }
        }
    };
}

kinds! {
    FileSystem "filesystems" "file system";
    Layer "layers" "layer";
    Suite "suites" "suite";
    Machine "machines" "machine";
    Disk "disks" "disk";
    Corpus "corpora" "corpus";
    Study "studies" "study";
    Scenario "crash" "workload or application";
    MachineAgreement "agreements" "comparison with a real machine";
    MachineCosts "costs" "range of costs";
    AgeingProfile "ageing" "ageing profile";
    KnownFault "faults" "known fault";
}
