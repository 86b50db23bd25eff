//! Tasks shared by the suites of several tests, and definitions that pages of the book write.

/// The definition that a page writes into a file.
pub fn definition(page: &str) -> &str {
    let (_, rest) = page.split_once("<<'TOML'\n").expect("the page has a definition");
    rest.split_once("TOML\n").expect("it has an end").0
}

/// Does nothing.
pub const TRUE: &str = "[[task]]\nid = \"one\"\ntitle = \"one\"\nrun = \"true\"\n";

/// Creates three files.
pub const TOUCH: &str = "[[task]]\nid = \"one\"\ntitle = \"one\"\nrun = \"touch a b c\"\n";

/// A file of 1 MiB that is read again cold; a copy of it is at /tmp/reference.
pub const KEPT_FILE: &str = r#"
[[task]]
id = "write"
title = "write a file of 1 MiB"
prepare = "head -c 1048576 /dev/urandom > /tmp/reference"
run = "dd if=/tmp/reference of=file bs=64k && sync file"

[[task]]
id = "read"
title = "compare the file, read from the disk"
cold = true
run = "cmp /tmp/reference file"
"#;

/// Creates files with long names.
pub const NAME: &str = r#"
[[task]]
id = "name"
title = "make 400 files with names of 54 characters"
prepare = "mkdir names"
run = "cd names && seq -f 'a-name-of-which-the-disk-must-hold-each-character-%g' 1001 1400 | xargs touch"
"#;

/// Lists those of [`NAME`].
pub const LIST: &str = r#"
[[task]]
id = "list"
title = "list them, read from the disk"
cold = true
run = "test $(ls -l names | grep -c a-name) = 400"
"#;

/// Total length of their names in bytes.
pub const NAME_BYTES: f64 = 400.0 * 54.0;
