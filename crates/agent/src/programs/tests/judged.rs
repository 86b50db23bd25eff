//! What is a rate and what is not, and what a sync takes.

use super::*;

/// The entry of one job, with fields of fio's that are not its own.
fn job(options: &str, read: &str, write: &str, sync: &str) -> String {
    let idle = r#""io_bytes":0,"bw_bytes":0,"iops":0,"runtime":0,"total_ios":0,"#;
    let times = r#"{"min":1000,"max":9000,"mean":2000,"percentile":{"99.000000":8000}}"#;
    let direction = |name: &str, fields: &str| {
        let fields = if fields.is_empty() { idle } else { fields };
        format!(r#""{name}":{{{fields}"lat_ns":{times},"clat_ns":{times}}}"#)
    };
    format!(
        r#"{{"jobname":"w","groupid":0,"error":0,"job options":{{{options}}},{},{},{},"sync":{{{sync}}},"usr_cpu":1,"sys_cpu":1,"job_runtime":1000}}"#,
        direction("read", read),
        direction("write", write),
        direction("trim", "")
    )
}

fn document(jobs: &[String]) -> String {
    format!("{{\"jobs\":[{}]}}\n", jobs.join(",")).replace("},", "},\n")
}

const DATA: &str = r#""io_bytes":4096000,"bw_bytes":2048000,"iops":500,"runtime":2000,"total_ios":1000,"#;

#[test]
fn syncs_have_latencies_of_their_own() {
    // As fio 3.33 prints it: no sync is an I/O of its own.
    let sync = r#""total_ios":0,"lat_ns":{"min":1,"max":9000000,"mean":2400000,"N":1000,"percentile":{"50.000000":2000000,"99.000000":8000000}}"#;
    let all = figures("fio", &document(&[job("", "", DATA, sync)]));
    assert_eq!((value(&all, "w", "sync_latency_mean"), value(&all, "w", "sync_latency_p99")), (0.0024, 0.008));
    assert_eq!((value(&all, "w", "sync_latency_max"), value(&all, "w", "latency_p99")), (0.009, 8e-6));
    assert_eq!(value(&all, "w", "sync_operations"), 1000.0);
    // It starts the writing, and waits for no disk.
    let range = figures("fio", &document(&[job(r#""sync_file_range":"write:8""#, "", DATA, sync)]));
    assert!(!range[0].values.keys().any(|metric| metric.starts_with("sync_")), "{range:?}");
    let all = figures("fs_mark", FS_MARK_CALLS);
    assert_eq!(value(&all, "create", "sync_latency_mean"), value(&all, "fsync", "latency_mean"));
    assert!(!all.iter().find(|figure| figure.name == "sync").unwrap().values.contains_key("sync_latency_mean"));
    let all = figures("dbench", DBENCH);
    assert_eq!(value(&all, "throughput", "sync_latency_max"), value(&all, "Flush", "latency_max"));
}

#[test]
fn what_a_job_fixes_is_no_rate() {
    for (options, note) in [(r#""rate_iops":"50""#, "rate_iops=50"), (r#""thinktime":"2ms""#, "thinktime=2ms")] {
        let all = figures("fio", &document(&[job(options, "", DATA, "")]));
        assert!(!all[0].values.contains_key("rate") && all[0].note.as_ref().unwrap().contains(note), "{all:?}");
        assert_eq!(value(&all, "w", "operation_rate"), 500.0);
    }
    let all = figures("fio", &document(&[job(r#""rate":"0""#, "", DATA, "")]));
    assert_eq!(value(&all, "w", "rate"), 2000.0);
    let paced = SYSBENCH.replace("Number of threads: 2\n", "Number of threads: 2\nTarget transaction rate: 100/sec\n");
    assert!(!figures("sysbench", &paced)[0].values.contains_key("rate"));
}

#[test]
fn jobs_of_one_name_after_each_other_are_two_figures() {
    let second = job("", DATA, "", "").replace("\"groupid\":0", "\"groupid\":1");
    let all = figures("fio", &document(&[job("", "", DATA, ""), second]));
    let names: Vec<&str> = all.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["w", "w#2"]);
    assert_eq!((value(&all, "w", "rate"), value(&all, "w#2", "read_rate")), (2000.0, 2000.0));
    let together = figures("fio", &document(&[job("", "", DATA, ""), job("", "", DATA, "")]));
    assert_eq!((together.len(), value(&together, "w", "rate")), (1, 4000.0));
}

#[test]
fn operations_on_names_are_counted_and_empty_reads_are_not() {
    let all = figures("fio", &document(&[job(r#""ioengine":"filestat""#, DATA, "", "")]));
    assert_eq!(value(&all, "w", "rate"), 500.0);
    assert!(!all[0].values.contains_key("read_rate") && !all[0].values.contains_key("operation_rate"));
    let empty = r#""io_bytes":0,"bw_bytes":0,"iops":0,"runtime":0,"total_ios":60,"#;
    let all = figures("fio", &document(&[job("", empty, "", "")]));
    assert!(reason(&all, "w").contains("moved no data"), "{all:?}");
    // The same where another direction moved some.
    let names: Vec<String> =
        figures("fio", &document(&[job("", empty, DATA, "")])).into_iter().map(|f| f.name).collect();
    assert_eq!(names, ["w"]);
}
