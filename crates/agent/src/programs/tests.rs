//! Parsers on real output of the programs, and on damaged output.

use super::*;

const BONNIE: &str = include_str!("data/bonnie-2.00.txt");
const BONNIE_FAST: &str = include_str!("data/bonnie-2.00-fast.txt");
const IOZONE_ONE: &str = include_str!("data/iozone-one.txt");
const IOZONE_RECORDS: &str = include_str!("data/iozone-records.txt");
const IOZONE_THROUGHPUT: &str = include_str!("data/iozone-throughput.txt");
const SYSBENCH: &str = include_str!("data/sysbench-rndrw.txt");
const SYSBENCH_WRITE: &str = include_str!("data/sysbench-seqwr.txt");
const DBENCH: &str = include_str!("data/dbench-4.txt");
const FS_MARK: &str = include_str!("data/fs_mark.txt");
const FS_MARK_CALLS: &str = include_str!("data/fs_mark-v.txt");
const POSTMARK: &str = include_str!("data/postmark.txt");
const POSTMARK_FAST: &str = include_str!("data/postmark-fast.txt");
const FIO: &str = include_str!("data/fio-3.33.json");

/// The report of 1.03 with the column widths of its source (`%5d %3d` each); figures of the wiki's ext3 run.
const BONNIE_1_03: &str = "\
Version  1.03       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
host           256M 67760  99 105487  18 +++++ +++           +++++ +++ 123.4   6
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16 +++++ +++ +++++ +++ +++++ +++ 13829  43 +++++ +++  9999  20
";
/// The wiki's ext4 run: nothing per character, no create tests.
const BONNIE_1_03_CSV: &str = "mongodb2.thumbplay.com,2G,,,87118,99,205443,57,,,1873668,99,3209.6,6,,,,,,,,,,,,,\n";

const ALL: [(&str, &str); 13] = [
    ("bonnie++", BONNIE),
    ("bonnie++", BONNIE_FAST),
    ("bonnie++", BONNIE_1_03),
    ("iozone", IOZONE_ONE),
    ("iozone", IOZONE_RECORDS),
    ("iozone", IOZONE_THROUGHPUT),
    ("sysbench", SYSBENCH),
    ("dbench", DBENCH),
    ("fs_mark", FS_MARK),
    ("fs_mark", FS_MARK_CALLS),
    ("postmark", POSTMARK),
    ("fio", FIO),
    ("sysbench", SYSBENCH_WRITE),
];

fn figures(program: &str, stdout: &str) -> Vec<Figure> {
    parse(program, Printed { stdout, stderr: "" }).unwrap_or_else(|error| panic!("{error}"))
}

fn fault(program: &str, stdout: &str) -> String {
    parse(program, Printed { stdout, stderr: "" }).unwrap_err().to_string()
}

#[track_caller]
fn value(figures: &[Figure], name: &str, metric: &str) -> f64 {
    let figure =
        figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no {name} in {figures:?}"));
    *figure.values.get(metric).unwrap_or_else(|| panic!("no {metric} in {figure:?}"))
}

#[track_caller]
fn reason(figures: &[Figure], name: &str) -> String {
    let figure = figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no {name}"));
    assert!(figure.values.is_empty(), "{figure:?}");
    figure.missing.clone().unwrap_or_else(|| panic!("{figure:?} is not missing"))
}

#[test]
fn bonnie_2_00() {
    let all = figures("bonnie++", BONNIE_FAST);
    assert_eq!(all.len(), 12);
    assert_eq!((value(&all, "putc", "rate"), value(&all, "putc", "cpu_percent")), (804.0, 91.0));
    assert!((value(&all, "putc", "latency_max") - 0.070186).abs() < 1e-12);
    assert_eq!(value(&all, "getc", "rate"), 1375.0);
    assert!(reason(&all, "put_block").contains("too fast"));
    assert!(reason(&all, "ran_del").contains("too fast"));
}

#[test]
fn bonnie_2_00_measured() {
    let all = figures("bonnie++", BONNIE);
    assert_eq!((value(&all, "put_block", "rate"), value(&all, "put_block", "cpu_percent")), (160_078.0, 16.0));
    assert_eq!((value(&all, "seq_create", "rate"), value(&all, "seq_create", "cpu_percent")), (3583.0, 11.0));
    assert_eq!(value(&all, "ran_create", "rate"), 2589.0);
    assert!((value(&all, "ran_create", "latency_max") - 0.236).abs() < 1e-12);
    assert!(reason(&all, "seeks").contains("too fast"));
    let slow = figures("bonnie++", &BONNIE.replace(",3583,", ",31,"));
    assert!(reason(&slow, "seq_create").contains("without decimals"));
}

#[test]
fn bonnie_1_03_text_and_csv() {
    let all = figures("bonnie++", BONNIE_1_03);
    assert_eq!((value(&all, "putc", "rate"), value(&all, "putc", "cpu_percent")), (67760.0, 99.0));
    assert_eq!((value(&all, "put_block", "rate"), value(&all, "put_block", "cpu_percent")), (105_487.0, 18.0));
    assert!(reason(&all, "rewrite").contains("too fast"));
    assert!(reason(&all, "getc").contains("not asked"));
    assert_eq!(value(&all, "seeks", "rate"), 123.4);
    assert_eq!((value(&all, "ran_create", "rate"), value(&all, "ran_create", "cpu_percent")), (13829.0, 43.0));
    assert_eq!(value(&all, "ran_del", "rate"), 9999.0);

    let all = figures("bonnie++", BONNIE_1_03_CSV);
    assert_eq!(value(&all, "put_block", "rate"), 87118.0);
    assert_eq!((value(&all, "seeks", "rate"), value(&all, "seeks", "cpu_percent")), (3209.6, 6.0));
    for name in ["putc", "getc", "seq_create", "ran_del"] {
        assert!(reason(&all, name).contains("not asked"), "{name}");
    }
    // With -n 0 the text has no second table.
    let first: String = BONNIE_1_03.lines().take(4).map(|line| format!("{line}\n")).collect();
    assert!(reason(&figures("bonnie++", &first), "seq_stat").contains("not asked"));
}

#[test]
fn iozone_tables() {
    let all = figures("iozone", IOZONE_ONE);
    let names: Vec<&str> = all.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["write", "rewrite", "read", "reread", "random_read", "random_write"]);
    assert_eq!((value(&all, "write", "rate"), value(&all, "random_write", "rate")), (232_779.0, 4_570_058.0));
    let all = figures("iozone", IOZONE_RECORDS);
    assert_eq!(all.len(), 26);
    assert_eq!(value(&all, "write/r64", "rate"), 1_115_688.0);
    assert_eq!(value(&all, "write/r128", "rate"), 2_394_591.0);
    // 50 and 42 steps of its clock.
    for (name, steps) in [("freread/r128", "took 50 of them"), ("stride/r128", "took 42 of them")] {
        assert!(reason(&all, name).contains(steps), "{name}: {}", reason(&all, name));
    }
    // A skipped test in the middle leaves its column blank.
    let blank = IOZONE_ONE.replace("  3866533", "         ");
    let all = figures("iozone", &blank);
    assert_eq!((all.len(), value(&all, "read", "rate")), (5, 6_733_974.0));
}

#[test]
fn iozone_throughput() {
    let all = figures("iozone", IOZONE_THROUGHPUT);
    let names: Vec<&str> = all.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["write", "rewrite", "read", "reread", "random_read", "random_write"]);
    assert_eq!((value(&all, "rewrite", "rate"), value(&all, "rewrite", "parent_rate")), (3_961_846.25, 362_136.42));
    assert_eq!(value(&all, "rewrite", "process_rate_min"), 1_066_905.5);
    assert_eq!(value(&all, "rewrite", "process_rate_max"), 2_894_940.75);
    assert_eq!(value(&all, "rewrite", "process_rate_mean"), 1_980_923.12);
    assert_eq!(value(&all, "rewrite", "process_bytes_min"), 192.0 * 1024.0);
    let readers = all.iter().find(|figure| figure.name == "read").unwrap();
    assert!(readers.values["process_bytes_min"] == 0.0 && !readers.values.contains_key("process_rate_min"));
    let coarse = IOZONE_THROUGHPUT.replace("Time Resolution = 0.000001", "Time Resolution = 0.010000");
    assert!(reason(&figures("iozone", &coarse), "rewrite").contains("too few for a rate"));
    let several = IOZONE_THROUGHPUT.replace("for  2 initial writers", "for  3 initial writers");
    let all = figures("iozone", &several);
    assert_eq!((all[0].name.as_str(), all[1].name.as_str()), ("write/t3", "rewrite/t2"));
}

#[test]
fn sysbench() {
    let all = figures("sysbench", SYSBENCH);
    assert_eq!(all.len(), 1);
    // Operations times 16 KiB, since MiB have only two decimals.
    assert!((value(&all, "rndrw", "rate") - (29442.07 + 19461.71) * 16.0).abs() < 1e-6);
    assert!((value(&all, "rndrw", "read_rate") - 460.03 * 1024.0).abs() < 0.0051 * 1024.0);
    let unsized_blocks = figures("sysbench", &SYSBENCH.replace("Block size 16KiB\n", ""));
    assert_eq!(value(&unsized_blocks, "rndrw", "read_rate"), 460.03 * 1024.0);
    assert!((value(&all, "rndrw", "operation_rate") - (29442.07 + 19461.71)).abs() < 1e-6);
    assert_eq!((value(&all, "rndrw", "operations"), value(&all, "rndrw", "measured")), (200.0, 0.0033));
    assert!((value(&all, "rndrw", "latency_max") - 0.84e-3).abs() < 1e-12);
    assert!((value(&all, "rndrw", "latency_p95") - 0.01e-3).abs() < 1e-12);
    // By their sum, which has more digits; the least is printed as 0.
    assert!((value(&all, "rndrw", "latency_mean") - 2.92e-3 / 200.0).abs() < 1e-12);
    assert!(!all[0].values.contains_key("latency_min"));
    let slow = SYSBENCH.replace("29442.07", "0.30").replace("19461.71", "0.10").replace("2.92", "0.40");
    assert!(reason(&figures("sysbench", &slow), "rndrw").contains("two decimals"));
    let all = figures("sysbench", SYSBENCH_WRITE);
    assert!(!all[0].values.contains_key("read_rate"), "nothing was read");
    assert!((value(&all, "seqwr", "write_rate") - 45.82 * 1024.0).abs() < 0.0051 * 1024.0);
}

#[test]
fn dbench_and_fs_mark() {
    let all = figures("dbench", DBENCH);
    assert!((value(&all, "throughput", "rate") - 94.0833e6 / 1024.0).abs() < 1e-6);
    assert!((value(&all, "throughput", "latency_max") - 0.054716).abs() < 1e-12);
    assert_eq!((value(&all, "Unlink", "operations"), value(&all, "Flush", "operations")), (1040.0, 383.0));
    assert!(reason(&all, "NTCreateX").contains("whole microseconds"));
    let idle = DBENCH.replace("Throughput 94.0833 MB/sec", "Throughput 0 MB/sec");
    assert!(reason(&figures("dbench", &idle), "throughput").contains("moved no data"));
    assert!((value(&all, "Flush", "latency_max") - 0.054698).abs() < 1e-12);
    assert_eq!(all.len(), 17);

    let all = figures("fs_mark", FS_MARK);
    let harmonic = 3.0 / (1.0 / 1696.4 + 1.0 / 2449.1 + 1.0 / 2979.4);
    assert!((value(&all, "create", "rate") - harmonic).abs() < 1e-9);
    assert_eq!(value(&all, "create", "operations"), 300.0);
    let all = figures("fs_mark", FS_MARK_CALLS);
    assert_eq!(value(&all, "create", "rate"), 145.2);
    assert!((value(&all, "fsync", "latency_max") - 0.048736).abs() < 1e-12);
    assert!((value(&all, "unlink", "latency_mean") - 0.000737).abs() < 1e-12);
}

#[test]
fn postmark() {
    for name in ["transactions", "create", "read", "append", "delete", "data_read", "data_written"] {
        assert!(reason(&figures("postmark", POSTMARK_FAST), name).contains("whole seconds"), "{name}");
    }
    let all = figures("postmark", POSTMARK);
    assert_eq!((value(&all, "transactions", "rate"), value(&all, "transactions", "measured")), (19354.0, 31.0));
    assert_eq!(value(&all, "data_written", "rate"), 62.60 * 1024.0);
    // 20,000 files in what PostMark counts as one second.
    assert!(reason(&all, "create").contains("fewer than ten"));
    let slow = figures("postmark", &POSTMARK.replace("(9677 per second)", "(0 per second)"));
    assert!(reason(&slow, "read").contains("less than 1"));
}

#[test]
fn fio() {
    // It was so short that fio's clock tells nothing about rates.
    let short = figures("fio", FIO);
    assert!(!short[0].values.contains_key("rate") && short[0].note.as_ref().unwrap().contains("took 2 of them"));
    assert!(value(&short, "seq-write", "latency_p99") > 0.0);
    let all = figures("fio", &long());
    let names: Vec<&str> = all.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["seq-write", "mix", "mix/read", "mix/write"]);
    let whole = value(&all, "mix", "rate");
    assert!((whole - value(&all, "mix/read", "rate") - value(&all, "mix/write", "rate")).abs() < 1e-6 * whole);
    assert_eq!(value(&all, "seq-write", "rate"), value(&all, "seq-write", "write_rate"));
    assert!(value(&all, "seq-write", "latency_p99") >= value(&all, "seq-write", "latency_p50"));
    // Warnings may come first; they count in line numbers.
    assert_eq!(figures("fio", &format!("note: a warning\n{}", long())), all);
    let unnamed = long().replacen("\"jobname\"", "\"nothing\"", 1);
    assert_eq!(figures("fio", &unnamed).len(), all.len() - 1);
    let broken = FIO.replacen("\"jobname\" : \"seq-write\"", "\"jobname\" : nan", 1);
    let line = 2 + FIO[..FIO.find("\"jobname\" : \"seq-write\"").unwrap()].matches('\n').count();
    assert!(fault("fio", &format!("note\n{broken}")).starts_with(&format!("line {line} of what fio printed")));
    let failed = FIO.replacen("\"error\" : 0", "\"error\" : 28", 1);
    assert!(fault("fio", &failed).contains("No space left"), "{}", fault("fio", &failed));
}

/// What fio printed, as if each job had run for a hundred times as long.
fn long() -> String {
    FIO.replace("\"runtime\" : 2,", "\"runtime\" : 200,").replace("\"runtime\" : 60,", "\"runtime\" : 6000,")
}

mod judged;

#[test]
fn nothing_is_no_figure() {
    for (program, _) in ALL {
        let text = fault(program, "");
        assert!(text.starts_with(&format!("{program} printed no ")), "{text}");
        assert!(fault(program, "sh: not found\n").contains("sh: not found"), "{program}");
    }
    assert_eq!(fault("make", ""), "there is no program \"make\" whose output is understood");
}

/// Output cut anywhere gives an error or some of the whole output's figures: never another value, and no panic.
#[test]
fn truncated_output_gives_no_wrong_figure() {
    for (program, text) in ALL {
        let whole = figures(program, text);
        // A long JSON document is an error wherever it is cut, so not every position is tried.
        let step = if text.len() > 10_000 { 101 } else { 1 };
        for (end, _) in text.char_indices().step_by(step) {
            let Ok(found) = parse(program, Printed { stdout: &text[..end], stderr: "" }) else { continue };
            for figure in found.iter().filter(|figure| figure.missing.is_none()) {
                assert!(whole.contains(figure), "{program} cut at {end}: {figure:?}");
            }
        }
    }
}

#[test]
fn numbers_that_are_none_are_named_with_their_line() {
    for (program, text, find, replace) in [
        ("bonnie++", BONNIE_FAST, ",804,", ",nan,"),
        ("bonnie++", BONNIE_FAST, ",804,", ",-804,"),
        ("bonnie++", BONNIE_FAST, ",70186us", ",70186"),
        ("bonnie++", BONNIE_1_03, "67760", "67,76"),
        ("iozone", IOZONE_ONE, "   232779", "      nan"),
        ("iozone", IOZONE_ONE, "   232779", "  232,779"),
        ("iozone", IOZONE_ONE, "   232779", "232779   "),
        ("iozone", IOZONE_THROUGHPUT, "1546280.88 kB/sec", "inf kB/sec"),
        ("iozone", IOZONE_THROUGHPUT, "initial writers", "final writers"),
        ("sysbench", SYSBENCH, "29442.07", "29442,07"),
        ("sysbench", SYSBENCH, "random r/w", "quantum"),
        ("dbench", DBENCH, "94.0833", "nan"),
        ("dbench", DBENCH, "max_latency=54.716", "max_latency=54,716"),
        ("fs_mark", FS_MARK, "1696.4", "0.0"),
        ("fs_mark", FS_MARK, "1696.4", "1696,4"),
        ("postmark", POSTMARK_FAST, "(50 per second)", "(nan per second)"),
    ] {
        assert!(text.contains(find), "{program} {find}");
        let broken = text.replacen(find, replace, 1);
        let said = fault(program, &broken);
        let line = 1 + broken[..broken.find(replace).unwrap()].matches('\n').count();
        // The damaged word may also occur in an earlier line; it must name the faulty one.
        assert!(said.starts_with("line ") && said.contains(&format!("of what {program} printed")), "{said}");
        if !["inf kB/sec", "nan"].contains(&replace) {
            assert!(said.starts_with(&format!("line {line} ")), "{said} and not line {line}");
        }
    }
}

#[test]
fn other_units_and_versions_are_refused() {
    let operations = IOZONE_ONE.replace("Output is in kBytes/sec", "Output is in operations/sec");
    assert!(fault("iozone", &operations).contains("leave -O and -N away"));
    let columns = IOZONE_ONE.replace("rewrite    read    reread", "rewrite  reread      read");
    assert!(fault("iozone", &columns).contains("expected the columns"));
    let version = BONNIE_FAST.replace("1.98,2.00a", "3.00,3.00a");
    assert!(fault("bonnie++", &version).contains("one that begins with 1.96"));
    let twice = format!("{BONNIE_1_03_CSV}{BONNIE_1_03_CSV}");
    assert!(fault("bonnie++", &twice).contains("leave -x away"));
}
