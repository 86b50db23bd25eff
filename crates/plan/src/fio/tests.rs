use super::*;

/// Reads the text of a job file `a.fio` that nothing precedes.
fn read(text: &str, parameters: &[(&str, u64)]) -> Result<JobFile> {
    read_after(text, parameters, false)
}

fn read_after(text: &str, parameters: &[(&str, u64)], prepared: bool) -> Result<JobFile> {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    super::read(&Text::alone(text, "a.fio"), Given { parameters: &parameters, prepared })
}

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
        let error = read(&format!("[a]\nsize=1m\n{line}\n"), &[]).unwrap_err().to_string();
        assert!(error.contains("a.fio:3: ") && error.contains(line), "{error}");
    }
    let later = read("[a]\nioengine=dirstat\n", &[]).unwrap_err().to_string();
    assert!(later.contains("fio 3.33, which guests have, has no such engine"), "{later}");
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
        read_after(&format!("[a]\nsize=1m\n{line}\n"), &[], true).unwrap();
    }
    for name in ["/dev/sda", "..", ".", "", "$jobname"] {
        let error = read(&format!("\n[{name}]\nsize=1m\n"), &[]).unwrap_err().to_string();
        assert!(error.contains("a.fio:2: ") && error.contains("makes a path of the name"), "{error}");
    }
    // fio reads it as a section's name without the last letter.
    assert!(read("[/dev/sdax\nsize=1m\n", &[]).is_err());
    let long = format!("[a]\nsize=1m\ndescription={}filename=/dev/sda\n", "x".repeat(4095 - 12));
    assert!(read(&long, &[]).unwrap_err().to_string().contains("a.fio:3: the line has"));
    assert!(read("[a]\nsize=1m\ndirectory=..\u{1}\n", &[]).unwrap_err().to_string().contains("a.fio:3: "));
    let text = "[a]\nsize=1m\niodepth=${DEPTH}\n";
    assert!(read(text, &[]).unwrap_err().to_string().contains("\"DEPTH\""));
    read(text, &[("DEPTH", 4)]).unwrap();
    let error = read("[a]\nsize=1m\nreadwrite=nope:8\n", &[]).unwrap_err().to_string();
    assert!(error.contains("a.fio:3: readwrite=nope:8: fio has no such pattern; use one of read, write, "), "{error}");
    read("[a]\nsize=1m\nrw=randread:8\n", &[]).unwrap();
    let error = read("[a]\nsize=1m\nrw=${MODE}\n", &[]).unwrap_err().to_string();
    assert!(error.contains("\"MODE\"") && !error.contains("pattern"), "{error}");
    assert!(read("include /etc/x\n[a]\nsize=1m\n", &[]).unwrap_err().to_string().contains("a.fio:1: "));
}

#[test]
fn jobs_without_a_known_size_are_refused() {
    let text = |body: &str| read(&format!("[a]\n{body}\n"), &[]).unwrap_err().to_string();
    assert!(text("rw=read").contains("no size="));
    assert!(text("size=50%").contains("size=50% is a part of files that exist or of filesize="));
    assert!(text("io_size=1m").contains("no size="));
    assert!(text("size=1m\nnumjobs=many").contains("is no number of fio"));
    assert!(text("size=1m\nnumjobs=0").contains("from 1 on"));
    assert!(text("size=1m\ndirectory=sub").contains("the folder \"sub\" does not exist on a new file system"));
    // A suite's other commands may make files and folders.
    read_after("[a]\nfilename=old\ndirectory=sub\n", &[], true).unwrap();
    assert!(read_after("[a]\nrw=read\n", &[], true).is_err());
    assert!(read("", &[]).unwrap_err().to_string().contains("no job"));
    assert!(read("size=1m\n[a]\nsize=1m", &[]).unwrap_err().to_string().contains("before the first"));
}

#[test]
fn a_comment_ends_a_line() {
    let file = read("[a] ; one\nsize=1m # two\nrw=write;three \"four\"\n", &[]).unwrap();
    assert_eq!((file.jobs[0].name.as_str(), file.jobs[0].moves, file.bytes), ("a", [false, true, false], 1 << 20));
}

/// Figures and titles of all parts.
fn figures(body: &str) -> Vec<(String, String)> {
    let text = format!("[global]\nsize=1m\n{body}");
    let file = read(&text, &[]).unwrap();
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
fn what_fio_would_not_report_is_refused() {
    let fault = |body: &str| read(&format!("[global]\nsize=1m\n{body}"), &[]).unwrap_err().to_string();
    for word in ["1", "mixed"] {
        let said = fault(&format!("[a]\nrw=randrw\nunified_rw_reporting={word}\n"));
        assert!(said.contains("a.fio:5: unified_rw_reporting") && said.contains("remove it"), "{said}");
    }
    assert!(read("[a]\nsize=1m\nunified_rw_reporting=none\n", &[]).is_ok());
    let said = fault("stats=0\n[a]\n[b]\n");
    assert!(said.contains("all its jobs have stats=0"), "{said}");
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
        let error = read(text, &[]).unwrap_err().to_string();
        assert!(error.contains("no job file of fio") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_job_is_bounded() {
    let seconds = |body: &str| read(&format!("[a]\nsize=1m\n{body}\n"), &[]).map(|file| file.seconds);
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
    for body in ["loops=1000000000", "loops=1k\nio_size=1t", "rate=10", "rate=10\nrw=randrw"] {
        let error = job(body).unwrap_err().to_string();
        assert!(error.contains("s at least, by the data"), "{body}: {error}");
    }
    for body in ["loops=1000000000\nruntime=10", "rate=1m", "rate=0", "rate=,10", "loops=1000"] {
        job(body).unwrap();
    }
    for body in ["runtime=1000000000", "runtime=2h\nramp_time=1", "runtime=2h\n[b]\nsize=1m\nruntime=1\nstonewall"] {
        let error = job(body).unwrap_err().to_string();
        assert!(error.contains("a.fio: it runs for") && error.contains("limit of 7200 s"), "{error}");
    }
    let sections = |count: usize| -> String { (0..count).map(|number| format!("[{number}]\nsize=4k\n")).collect() };
    assert!(read(&sections(1000), &[]).is_ok());
    let error = read(&sections(100_000), &[]).unwrap_err().to_string();
    assert!(error.contains("more than 1000 sections"), "{error}");
    assert!(job("numjobs=1001").unwrap_err().to_string().contains("1001 jobs with their copies"));
    let options = format!("[global]\n{}", "bs=4k\n".repeat(1001));
    assert!(read(&options, &[]).unwrap_err().to_string().contains("more than 1000 options"));
    let faults = read(&format!("[a]\nsize=1m\n{}", "X=1\n".repeat(500)), &[]).unwrap_err().to_string();
    assert!(faults.lines().count() == 11 && faults.ends_with("and 490 more"), "{faults}");
}

/// Job files beside the files that fio 3.33-3 of Debian 12 made of them.
#[test]
fn files_are_those_that_fio_lays_out() {
    for (body, files) in [
        ("[x]\nfilesize=3g\nsize=64m\n", "x.0.0 3221225472"),
        ("[x]\nsize=64k\nfilesize=1m\nnrfiles=3\n", "x.0.0 1048576, x.0.1 1048576, x.0.2 1048576"),
        ("[global]\nfilename=s\nsize=8g\nio_size=16m\n[x]\nnumjobs=64\n[y]\nsize=1m\n", "s 8589934592"),
        ("[global]\nfilename=a\nsize=1m\n[x]\nfilename=b\n", "a 524288, b 524288"),
        ("[global]\nfilename=a:b:c\n[x]\nnrfiles=2\nsize=96k\n", "a 49152, b 49152"),
        ("[global]\nnrfiles=2\n[x]\nfilename=a:b:c\nsize=96k\n", "a 32768, b 32768, c 32768"),
        ("[x]\nnrfiles=2\nfilename=a:b:c\nsize=96k\n", "a 32768, b 32768, c 32768"),
        ("[x]\nfilename=a\\:b:c:::\nsize=64k\n", "a:b 32768, c 32768"),
        ("[x]\nfilesize=1m\nsize=50%\n", "x.0.0 524288"),
        ("[x]\nfilename_format=foo.$filenum\nnumjobs=3\nsize=64k\n", "foo.0 65536"),
        ("[x]\nfilename_format=$JobName.x\nsize=64k\nnrfiles=2\n", "x.x 32768"),
        ("[x]\nfilename=f\nfile_append=1\nnumjobs=3\nsize=64k\nrw=write\nloops=3\n", "f 196608"),
        ("[x]\nsize=64k\nfile_append=1\nfilesize=128k\nrw=write\n", "x.0.0 131072"),
        ("[x]\noffset=64k\nsize=64k\noffset_increment=1m\nnumjobs=3\nfilename=f\n", "f 2228224"),
        ("[x]\nsize=64K\noffset=16k\nfilesize=128k\n", "x.0.0 131072"),
        ("[x]\nsize=96k\n[y]\nfilename=x.0.0\nstonewall\n", "x.0.0 98304"),
        ("[x]\nname=q\nsize=64k\nnumjobs=2\n", "x.0.0 65536, x.1.0 65536"),
        ("[x]\ndirectory=d1:d2\nsize=64k\nnumjobs=3\n", "d1/x.0.0 65536, d1/x.2.0 65536, d2/x.1.0 65536"),
        ("[x]\nfilename=${TEST}/q/r:q//r\nsize=64k\n", "q/r 32768"),
        ("[x]\nkb_base=1000\nsize=1m\n", "x.0.0 1000000"),
        ("[x]\nsize=64k\nio_size=640k\n", "x.0.0 65536"),
        ("[x]\nfilename=/dev/null\nsize=1m\n", ""),
        ("[x]\nioengine=null\nsize=1m\n", ""),
        ("[x]\nioengine=cpuio\ncpuload=5\nruntime=1\n", ""),
        ("[x]\nioengine=filecreate\nnrfiles=3\n", "x.0.0 0, x.0.1 0, x.0.2 0"),
        ("[x]\nioengine=filestat\nnrfiles=2\nfilesize=4k\n", "x.0.0 4096, x.0.1 4096"),
        ("[x]\nrw=write\nfill_device=1\n", "x.0.0 0"),
        ("[x]\nsize=${SIZE_MIB}m\nnumjobs=${NJ}\n", "x.0.0 3145728, x.1.0 3145728"),
    ] {
        let parameters = BTreeMap::from([("SIZE_MIB".to_owned(), 3), ("NJ".to_owned(), 2)]);
        let text = Text::alone(body, "a.fio");
        let mut faults = Vec::new();
        let mut layout = Layout::default();
        for section in sections(&text, Given { parameters: &parameters, prepared: true }, &mut faults).unwrap() {
            layout.add(&section, true).unwrap();
        }
        let found: Vec<String> = layout.sizes().iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
        assert_eq!((found.join(", ").as_str(), faults.is_empty()), (files, true), "{body}");
    }
    // Very many have one entry.
    let many = read("[x]\nsize=1g\nnrfiles=4000000\n", &[]).unwrap();
    assert_eq!((many.files, many.bytes), (4_000_000, 1 << 30));
}

#[test]
fn included_files_stand_in_place_of_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    write("common.inc", "[global]\nsize=16m\ninclude sub/more.inc\n");
    write("sub/more.inc", "bs=4k ; blocks\ninclude last.inc\n");
    write("sub/last.inc", "rw=randwrite\n");
    write("a.JOB", "include common.inc # first\n[w]\nfdatasync=8\n");
    let of = |name: &str| {
        let path = folder.path().join(name);
        assert!(is_job_file(&path));
        suite(&path, &std::fs::read_to_string(&path).unwrap())
    };
    let suite = of("a.JOB").unwrap();
    assert_eq!(suite.room, Bytes(16 << 20));
    let text = "[global]\nsize=16m\nbs=4k ; blocks\nrw=randwrite\n[w]\nfdatasync=8\n";
    assert_eq!(suite.tasks[0].fio.as_deref(), Some(text));
    // A fault is told where it stands.
    write("sub/last.inc", "\nfilename=/dev/sda\n");
    assert!(of("a.JOB").unwrap_err().to_string().contains("sub/last.inc:2: filename=/dev/sda: "));
    write("b.ini", "[w]\nsize=1m\ninclude ../outside\n");
    assert!(
        of("b.ini").unwrap_err().to_string().contains("b.ini:3: include ../outside: it does not lie in the folder")
    );
    write("c.fio", "[w]\ninclude c.fio\n");
    assert!(of("c.fio").unwrap_err().to_string().contains("at most 8 deep"));
}

#[test]
fn sections_of_one_name_in_two_groups_are_two_figures() {
    let text = "[global]\nsize=8m\n[a]\nrw=write\n[a]\nstonewall\nrw=randread\n";
    let suite = suite(Path::new("a.fio"), text).unwrap();
    let figures: Vec<_> = suite.tasks.iter().filter_map(|task| task.figure.as_deref()).collect();
    assert_eq!(figures, ["a", "a#2"]);
}
