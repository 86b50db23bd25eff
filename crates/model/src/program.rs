//! Benchmark programs with parsers for their output: their Debian packages and their figures.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name in suites, `program = "bonnie++"`.
    pub name: &'static str,
    /// One sentence: what it is, and which versions' output is supported.
    pub about: &'static str,
    pub package: &'static str,
    pub tool: &'static str,
    /// Further files of the package that it reads, as whole paths.
    pub files: &'static [&'static str],
    /// What to add to Debian's package lists if main does not have it.
    pub component: Option<&'static str>,
    /// Names and titles of its figures, in output order; empty if they depend on its arguments.
    pub figures: &'static [(&'static str, &'static str)],
}

/// Why a figure of Bonnie++ is missing where it prints plus signs.
pub const TOO_FAST: &str = "bonnie++ finished this test in less than half a second, too fast to be measured";

impl Program {
    /// All programs, by name.
    pub const ALL: &'static [Program] = &[
        Program {
            name: "bonnie++",
            about: "Bonnie++: the text report of 1.03 and the CSV lines of 1.03, 1.9x and 2.00",
            package: "bonnie++",
            tool: "bonnie++",
            files: &[],
            component: None,
            figures: BONNIE,
        },
        Program {
            name: "dbench",
            about: "dbench 3 and 4: the throughput of a file server's recorded load, and its operations",
            package: "dbench",
            tool: "dbench",
            files: &["/usr/share/dbench/client.txt"],
            component: None,
            figures: &[],
        },
        Program {
            name: "fio",
            about: "fio 3: what --output-format=json prints",
            package: "fio",
            tool: "fio",
            files: &[],
            component: None,
            figures: &[],
        },
        Program {
            name: "fs_mark",
            about: "fs_mark 3.3: its table, with and without -v",
            package: "fsmark",
            tool: "fs_mark",
            files: &[],
            component: None,
            figures: &[("create", "create and write files")],
        },
        Program {
            name: "iozone",
            about: "IOzone 3: the table of one process and the report of the throughput mode",
            package: "iozone3",
            tool: "iozone",
            files: &[],
            component: Some("non-free"),
            figures: IOZONE,
        },
        Program {
            name: "postmark",
            about: "PostMark 1.5: its report, which counts whole seconds",
            package: "postmark",
            tool: "postmark",
            files: &[],
            component: None,
            figures: POSTMARK,
        },
        Program {
            name: "sysbench",
            about: "sysbench 1.0: the report of fileio's run",
            package: "sysbench",
            tool: "sysbench",
            files: &[],
            component: None,
            figures: SYSBENCH,
        },
    ];

    pub fn find(name: &str) -> Option<&'static Program> {
        Program::ALL.iter().find(|program| program.name == name)
    }

    /// Whether its figure `figure` is a rate of data, in KiB per second; otherwise it is of operations.
    pub fn rate_is_of_data(&self, figure: &str) -> bool {
        match self.name {
            // The first five of its twelve tests write and read a file.
            "bonnie++" => BONNIE[..5].iter().any(|(name, _)| *name == figure),
            "fs_mark" => false,
            "postmark" => figure.starts_with("data_"),
            _ => true,
        }
    }
}

/// Bonnie's twelve tests, in the order of its CSV lines.
pub const BONNIE: &[(&str, &str)] = &[
    ("putc", "write a file by characters"),
    ("put_block", "write a file by blocks"),
    ("rewrite", "read, change and write back"),
    ("getc", "read a file by characters"),
    ("get_block", "read a file by blocks"),
    ("seeks", "random seeks"),
    ("seq_create", "create files, in order"),
    ("seq_stat", "stat files, in order"),
    ("seq_del", "delete files, in order"),
    ("ran_create", "create files, random names"),
    ("ran_stat", "stat files, random names"),
    ("ran_del", "delete files, random names"),
];

/// IOzone's thirteen tests, in the order of its columns.
pub const IOZONE: &[(&str, &str)] = &[
    ("write", "write a new file"),
    ("rewrite", "write it again"),
    ("read", "read it"),
    ("reread", "read it again"),
    ("random_read", "read records at random"),
    ("random_write", "write records at random"),
    ("backward", "read it backwards"),
    ("record_rewrite", "write one record again and again"),
    ("stride", "read every 17th record"),
    ("fwrite", "fwrite over the file"),
    ("frewrite", "fwrite it again"),
    ("fread", "fread it"),
    ("freread", "fread it again"),
];

/// The modes of sysbench's fileio.
pub const SYSBENCH: &[(&str, &str)] = &[
    ("seqwr", "write in sequence"),
    ("seqrewr", "rewrite in sequence"),
    ("seqrd", "read in sequence"),
    ("rndrd", "read at random"),
    ("rndwr", "write at random"),
    ("rndrw", "read and write at random"),
];

/// Figures of PostMark.
pub const POSTMARK: &[(&str, &str)] = &[
    ("transactions", "transactions"),
    ("create", "create files"),
    ("read", "read files, in transactions"),
    ("append", "append to files, in transactions"),
    ("delete", "delete files"),
    ("data_read", "data read"),
    ("data_written", "data written"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_sorted_and_found() {
        assert!(Program::ALL.is_sorted_by_key(|program| program.name));
        for program in Program::ALL {
            assert_eq!(Program::find(program.name), Some(program));
            let mut names: Vec<_> = program.figures.iter().map(|(name, _)| name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), program.figures.len(), "{}", program.name);
        }
        assert_eq!(Program::find("bonnie"), None);
    }

    #[test]
    fn rates_are_of_data_or_of_operations() {
        let of_data = |program: &str| {
            let program = Program::find(program).expect("a program");
            let figures = program.figures.iter().map(|(name, _)| *name);
            figures.filter(|figure| program.rate_is_of_data(figure)).collect::<Vec<_>>()
        };
        assert_eq!(of_data("bonnie++"), ["putc", "put_block", "rewrite", "getc", "get_block"]);
        assert_eq!(of_data("postmark"), ["data_read", "data_written"]);
        assert_eq!((of_data("fs_mark").len(), of_data("iozone").len()), (0, IOZONE.len()));
    }
}
