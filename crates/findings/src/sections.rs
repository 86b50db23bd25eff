//! Names of a report's sections, in the order of a page.

/// A section of a page; texts have some of them, under the same heading.
pub(crate) struct Section {
    /// Its id on a page.
    pub id: &'static str,
    /// Its entry in the contents.
    pub entry: &'static str,
    pub heading: &'static str,
}

macro_rules! sections {
    ($($name:ident $id:literal $entry:literal $heading:literal;)*) => {
        impl Section {
            $(pub(crate) const $name: Section = Section { id: $id, entry: $entry, heading: $heading };)*
            pub(crate) const ALL: &[Section] = &[$(Section::$name),*];
        }
    };
}

sections! {
    CONCLUSIONS "conclusions" "Conclusions" "Conclusions";
    COMPARED "compared" "What was compared" "What was compared";
    VARIED "varied" "Curves" "Curves";
    MATRIX "matrix" "Tests and file systems" "Tests and file systems";
    TOGETHER "all" "All tests together" "All tests together";
    RANKINGS "rankings" "Rankings" "Rankings by kind of work";
    TESTS "tests" "Test by test" "Test by test";
    STEPS "steps" "mkfs, mount, room" "Making, mounting, unmounting, and room";
    TAILS "tails" "After the command" "After the command returned";
    DEVICE "device" "Device, I/O maps" "How the device was used";
    LATENCY "latency" "Latencies" "Latencies and rates over time";
    STUDY "study" "Published figures" "Beside published figures";
    CLAIMS "claims" "Claims" "What studies claimed, and what this run says";
    TROUBLE "trouble" "Failed, skipped, doubtful" "Failed, skipped, doubtful";
    METHOD "method" "Method, environment" "Method and environment";
}

/// The heading of the command that repeats a run, in texts and in the last section of a page.
pub(crate) const AGAIN: &str = "To make it again";
