use super::*;

const JOB: &str =
    "; a mix\n[global]\nioengine=psync\nsize=4m\n\n[seq]\nrw=write\n[a b]\nrw=randrw\nnumjobs=2\nsize=1m\n";

#[test]
fn jobs_become_parts_and_room() {
    let suite = suite(Path::new("/x/my job.fio"), JOB).unwrap();
    assert_eq!((suite.name.as_str(), suite.room), ("my-job", Bytes(6 << 20)));
    let ids: Vec<(&str, Option<&str>)> =
        suite.tasks.iter().map(|task| (task.id.as_str(), task.figure.as_deref())).collect();
    assert_eq!(
        ids,
        [
            ("my-job", None),
            ("seq", Some("seq")),
            ("a-b", Some("a b")),
            ("a-b-read", Some("a b/read")),
            ("a-b-write", Some("a b/write")),
        ]
    );
}

#[test]
fn what_leaves_the_file_system_is_refused_with_its_line() {
    for line in [
        "filename=/dev/sda",
        "filename=a:/dev/sda",
        "directory=/mnt/other",
        "filename=../up",
        "filename=-",
        "directory=${TEST}x",
        "directory=${TEST}/../x",
        "directory=a/${TEST}",
        "file${X}name=/dev/sda",
        "FILENAME=/dev/sda",
        "description=${HOME}",
        "size=${}1m",
        "includes=/etc/x",
        "name=../x",
        "mem=mmap:/etc/passwd",
        "donorname=/etc/passwd",
        "filename_format=/x/$jobname",
        "filename_format=$clientuid/etc/passwd",
        "filename_format=.$clientuid./x",
        "filename_format=$ncpus",
        "buffer_pattern=0xab'/etc/passwd'",
        "filename=${HOME}/x",
        "ioengine=net",
        "ioengine=external:/tmp/x.so",
        "exec_prerun=rm -rf /",
        "write_bw_log=/tmp/x",
        "iomem=mmap:/etc/passwd",
    ] {
        let error = read(&format!("[a]\nsize=1m\n{line}\n"), "a.fio", &[]).unwrap_err().to_string();
        assert!(error.contains("a.fio:3: ") && error.contains(line), "{error}");
    }
    for line in [
        "filename=a:b",
        "directory=${TEST}/sub",
        "directory=${TEST}",
        "filename=sub/x",
        "filename=x${SEED}",
        "filename_format=d/$jobname.$jobnum.$filenum.$clientuid",
        "ioengine=io_uring",
        "iomem=mmap",
        "mem=malloc",
        "mem=mmapshared:inside",
        "name=other",
        "verify_pattern=-12'inside'\"/a\"",
    ] {
        read(&format!("[a]\nsize=1m\n{line}\n"), "a.fio", &[]).unwrap();
    }
    for name in ["/dev/sda", "..", ".", "", "$jobname"] {
        let error = read(&format!("\n[{name}]\nsize=1m\n"), "a.fio", &[]).unwrap_err().to_string();
        assert!(error.contains("a.fio:2: ") && error.contains("makes a path of the name"), "{error}");
    }
    // fio reads it as a section's name without the last letter.
    assert!(read("[/dev/sdax\nsize=1m\n", "a.fio", &[]).is_err());
    let long = format!("[a]\nsize=1m\ndescription={}filename=/dev/sda\n", "x".repeat(4095 - 12));
    assert!(read(&long, "a.fio", &[]).unwrap_err().to_string().contains("a.fio:3: the line has"));
    assert!(read("[a]\nsize=1m\ndirectory=..\u{1}\n", "a.fio", &[]).unwrap_err().to_string().contains("a.fio:3: "));
    let text = "[a]\nsize=1m\niodepth=${DEPTH}\n";
    assert!(read(text, "a.fio", &[]).unwrap_err().to_string().contains("\"DEPTH\""));
    read(text, "a.fio", &["DEPTH"]).unwrap();
    assert!(read("include /etc/x\n[a]\nsize=1m\n", "a.fio", &[]).unwrap_err().to_string().contains("a.fio:1: "));
}

#[test]
fn jobs_without_a_known_size_are_refused() {
    let text = |body: &str| read(&format!("[a]\n{body}\n"), "a.fio", &[]).unwrap_err().to_string();
    assert!(text("rw=read").contains("no size="));
    assert!(text("size=50%").contains("50% is no plain size"));
    assert!(text("size=1m\nnumjobs=many").contains("many is no number"));
    assert!(read("", "a.fio", &[]).unwrap_err().to_string().contains("no job"));
    assert!(read("size=1m\n[a]\nsize=1m", "a.fio", &[]).unwrap_err().to_string().contains("before the first"));
}

#[test]
fn a_comment_ends_a_line() {
    let file = read("[a] ; one\nsize=1m # two\nrw=write;three \"four\"\n", "a.fio", &[]).unwrap();
    assert_eq!((file.jobs[0].name.as_str(), file.jobs[0].moves, file.bytes), ("a", [false, true, false], 1 << 20));
}

/// Figures and titles of all parts.
fn figures(body: &str) -> Vec<(String, String)> {
    let text = format!("[global]\nsize=1m\n{body}");
    let file = read(&text, "a.fio", &[]).unwrap();
    let parts = parts(&Task { id: "whole".into(), ..Task::default() }, &file, &[]);
    parts.into_iter().map(|part| (part.figure.unwrap(), part.title)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(figure, title)| (figure.to_string(), title.to_string())).collect()
}

/// Like fio 3.33's report of such a file.
#[test]
fn a_group_that_is_reported_together_is_one_figure() {
    let body = "group_reporting\n[a]\nrw=write\n[b]\nrw=read\nname=bee\n[c]\nstonewall\nname=cee\nrw=randrw\n\
        [d]\nwait_for_previous=0\n[e]\nnew_group\ngroup_reporting=0\n[f]\ngroup_reporting=0\nrw=write\n[global2]\n\
        stonewall\n[g]\n[h]\n";
    let expected = [
        ("a", "a + bee"),
        ("a/read", "a + bee/read"),
        ("a/write", "a + bee/write"),
        ("cee", "cee + d"),
        ("cee/read", "cee + d/read"),
        ("cee/write", "cee + d/write"),
        ("e", "fio e"),
        ("f", "fio f"),
        ("g", "fio g"),
        ("h", "fio h"),
    ];
    assert_eq!(figures(body), pairs(&expected));
    let layout = "group_reporting\n[a]\nstats=0\n[b]\n[c]\nstats=0\nstonewall\n[d]\n";
    assert_eq!(figures(layout), pairs(&[("b", "fio b"), ("d", "fio d")]));
}

#[test]
fn a_name_is_the_one_that_fio_prints() {
    assert_eq!(figures("name=none\n[a]\nname=bee\n[b]\nname=bee\n"), pairs(&[("bee", "fio bee")]));
    // Copies of a renamed job keep the section's name.
    let copies = "[a]\nname=bee\nnumjobs=2\n";
    assert_eq!(figures(copies), pairs(&[("bee", "fio bee"), ("a", "fio a")]));
    assert_eq!(figures(&format!("{copies}group_reporting\n")), pairs(&[("bee", "fio bee")]));
}

#[test]
fn what_trims_and_writes_has_both_figures() {
    let expected = [("a", "fio a"), ("a/write", "a/write"), ("a/trim", "a/trim")];
    assert_eq!(figures("[a]\nrw=trimwrite\n"), pairs(&expected));
}

#[test]
fn what_is_no_job_file_is_not_repeated() {
    for text in ["root:$6$secret:19000::::\n", "\n; a comment\nsecret=1\n[a]\nsize=1m\n", "[half secret\n"] {
        let error = read(text, "a.fio", &[]).unwrap_err().to_string();
        assert!(error.contains("no job file of fio") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_job_is_bounded() {
    let seconds = |body: &str| read(&format!("[a]\nsize=1m\n{body}\n"), "a.fio", &[]).map(|file| file.seconds);
    for (body, wanted) in [
        ("rw=read", 0.0),
        ("runtime=90", 90.0),
        ("timeout=1.5m\nramp_time=500ms\nstartdelay=1-2s", 92.5),
        ("runtime=1h\n[b]\nsize=1m\nruntime=10", 3600.0),
        ("runtime=1H\n[b]\nsize=1m\nstonewall\nruntime=10\n[c]\nsize=1m\nruntime=20", 3620.0),
        ("[global]\nruntime=5\n[b]\nsize=1m\n[c]\nsize=1m\nstonewall", 10.0),
    ] {
        assert_eq!(seconds(body).unwrap(), wanted, "{body}");
    }
    for body in ["runtime=${SEED}", "runtime=0x3b9aca00", "runtime=(10*1000)", "runtime=1e9", "ramp_time=lots"] {
        assert!(seconds(body).unwrap_err().to_string().contains("is no plain time"), "{body}");
    }
    let job = |body: &str| suite(Path::new("a.fio"), &format!("[a]\nsize=1m\n{body}")).map(|_| ());
    job("runtime=2h").unwrap();
    for body in ["runtime=1000000000", "runtime=2h\nramp_time=1", "runtime=2h\n[b]\nsize=1m\nruntime=1\nstonewall"] {
        let error = job(body).unwrap_err().to_string();
        assert!(error.contains("a.fio: it runs for") && error.contains("limit of 7200 s"), "{error}");
    }
    let sections = |count: usize| -> String { (0..count).map(|number| format!("[{number}]\nsize=4k\n")).collect() };
    assert!(read(&sections(1000), "a.fio", &[]).is_ok());
    let error = read(&sections(100_000), "a.fio", &[]).unwrap_err().to_string();
    assert!(error.contains("more than 1000 sections"), "{error}");
    assert!(job("numjobs=1001").unwrap_err().to_string().contains("1001 jobs with their copies"));
    let options = format!("[global]\n{}", "bs=4k\n".repeat(1001));
    assert!(read(&options, "a.fio", &[]).unwrap_err().to_string().contains("more than 1000 options"));
    let faults = read(&format!("[a]\nsize=1m\n{}", "X=1\n".repeat(500)), "a.fio", &[]).unwrap_err().to_string();
    assert!(faults.lines().count() == 11 && faults.ends_with("and 490 more"), "{faults}");
}
