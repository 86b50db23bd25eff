//! Plans: order, scale, sizes, and options rejected before anything runs.

mod support;

use std::path::PathBuf;

use mountmark_cells::Plan;
use mountmark_model::{Bytes, CorpusSource, Lab, Processor, RealisedCorpus, Scale};
use mountmark_plan::{Catalogue, CorpusRequest, Options, PlanError, plan};

const SUITE: &str = r#"
name = "mine"
about = "mine"
corpus = "small"
source = "tar"
room = "100 MiB"
corpus_copies = 2
source_room = "10 MiB"
subdirectories = "FILES"

[parameters.FILES]
value = 1000
min = 10

[parameters.COPIES]
value = 7
fixed = true

[[task]]
id = "one"
title = "one"
run = "true"
"#;

/// The built-in catalogue with the definitions above, and with changes to the suite.
fn catalogue(change: impl Fn(&str) -> String) -> Catalogue {
    support::catalogue(&[("corpora/small.toml", support::CORPUS), ("suites/mine.toml", &change(SUITE))])
}

fn options(fs: &str) -> Options {
    Options { repeats: 3, ..support::options(fs, "mine", "plain") }
}

type Corpora = Result<(PathBuf, RealisedCorpus), Box<dyn std::error::Error + Send + Sync>>;

fn realise(request: &CorpusRequest) -> Corpora {
    let bytes = request.scale.apply(100 << 20, 0);
    let facts =
        RealisedCorpus { files: 100, bytes, tar_bytes: bytes + 20480, seed: request.seed, ..Default::default() };
    Ok((format!("/cache/{:?}.tar", request.seed).into(), facts))
}

fn planned(options: &Options) -> Plan {
    plan(&catalogue(str::to_owned), options, &mut realise).unwrap()
}

fn refused(options: &Options) -> String {
    let mut never = |_: &CorpusRequest| -> Corpora { panic!("a corpus was made for a plan that cannot be") };
    plan(&catalogue(str::to_owned), options, &mut never).unwrap_err().to_string()
}

fn order(plan: &Plan) -> Vec<&str> {
    plan.cells.iter().map(|cell| cell.configuration.name.as_str()).collect()
}

#[test]
fn a_plan_says_what_its_processor_can_do() {
    let processor = |lab: Lab| planned(&Options { lab, ..options("ext4") }).machine.processor.clone();
    assert_eq!(processor(Lab::Virtual), Some(Processor::default()), "the machine's file does not say");
    assert_eq!((processor(Lab::Kvm), processor(Lab::Host)), (None, None), "there the host's does the work");
}

#[test]
fn every_block_holds_every_configuration_once() {
    let plan = planned(&Options { repeats: 5, ..options("ext4,xfs,ext3:data=journal,jfs,ext4#again") });
    assert_eq!(plan.configurations, ["ext4", "xfs", "ext3:data=journal", "jfs", "ext4#again"]);
    assert_eq!(plan.cells.len(), 25);
    let mut expected = plan.configurations.clone();
    expected.sort();
    for (repeat, block) in plan.cells.chunks(5).enumerate() {
        let mut names: Vec<String> = block.iter().map(|cell| cell.configuration.name.clone()).collect();
        names.sort();
        assert_eq!(names, expected);
        assert!(block.iter().all(|cell| cell.repeat as usize == repeat && cell.seed == block[0].seed));
    }
    assert!(plan.cells.iter().enumerate().all(|(index, cell)| cell.index as usize == index));
}

#[test]
fn the_order_of_a_seed_stays() {
    let plan = planned(&options("ext4,xfs,jfs"));
    assert_eq!(order(&plan), PINNED);
    let longer = planned(&Options { repeats: 4, ..options("ext4,xfs,jfs") });
    assert_eq!(longer.cells[..9], plan.cells[..]);
    let orders: Vec<Plan> = (0..20).map(|seed| planned(&Options { seed, ..options("ext4,xfs,jfs") })).collect();
    assert!(orders.iter().any(|other| order(other) != order(&orders[0])));
}

const PINNED: [&str; 9] = ["xfs", "jfs", "ext4", "jfs", "xfs", "ext4", "jfs", "xfs", "ext4"];

#[test]
fn a_plan_can_be_kept() {
    let plan = planned(&options("ext4,xfs"));
    assert_eq!(Plan::from_stored(&plan.stored()).unwrap(), plan);
    // As older versions kept it.
    let whole = serde_json::to_string(&plan.whole()).unwrap();
    assert_eq!(Plan::from_stored(&whole).unwrap(), plan);
    // What cells have alike is there once.
    let long = planned(&Options { repeats: 30, ..options("ext4,xfs") }).stored();
    assert_eq!((long.matches("\"mount_type\"").count(), long.matches("\"run\"").count()), (2, plan.tasks.len()));
    for changed in
        [long.replacen("\"cell\":[[0,", "\"cell\":[[-1,", 1), long.replacen("\"order\":[[", "\"order\":[[999,", 1)]
    {
        assert!(changed != long && Plan::from_stored(&changed).is_err());
    }
}

#[test]
fn each_repeat_has_its_own_corpus_and_the_users_own_stays() {
    let mut requests = Vec::new();
    let mut note = |request: &CorpusRequest| {
        requests.push(request.clone());
        realise(request)
    };
    let made = plan(&catalogue(str::to_owned), &options("ext4,xfs"), &mut note).unwrap();
    assert_eq!(requests.len(), 3);
    for cell in &made.cells {
        let second = cell.second_disk.as_ref().unwrap();
        assert_eq!(second.corpus.seed, Some(cell.seed));
        assert_eq!(requests[cell.repeat as usize].seed, Some(cell.seed));
        assert_eq!(second.tar, format!("/cache/Some({}).tar", cell.seed));
    }
    let mut own = Vec::new();
    let mut note = |request: &CorpusRequest| {
        own.push(request.clone());
        realise(request)
    };
    let options = Options { corpus: Some("./mine.tar".into()), ..options("ext4,xfs") };
    let made = plan(&catalogue(str::to_owned), &options, &mut note).unwrap();
    assert_eq!(own, [CorpusRequest { source: CorpusSource::Path("./mine.tar".into()), seed: None, scale: Scale::ONE }]);
    assert!(made.cells.iter().all(|cell| cell.second_disk.as_ref().unwrap().tar == "/cache/None.tar"));
}

#[test]
fn scales_shrink_counts_down_to_their_least() {
    let at = |scale: &str| {
        planned(&Options { scale: scale.parse().unwrap(), ..options("ext4") }).cells[0].parameters.clone()
    };
    let pairs = |files: u64| [("COPIES".to_owned(), 7), ("FILES".to_owned(), files)].into();
    assert_eq!(at("1"), pairs(1000));
    assert_eq!(at("1/50"), pairs(20));
    assert_eq!(at("0.000001"), pairs(10));
    assert_eq!(at("2.5"), pairs(2500));
}

#[test]
fn disks_are_equal_whatever_is_in_the_plan() {
    let size = |fs: &str, scale: &str, more: &str| {
        let catalogue = catalogue(|text| text.replace("subdirectories", more));
        let options = Options { scale: scale.parse().unwrap(), ..options(fs) };
        let plan = plan(&catalogue, &options, &mut realise).unwrap();
        let sizes: Vec<u64> = plan.cells.iter().map(|cell| cell.disk_size.0 >> 20).collect();
        assert!(sizes.iter().all(|size| *size == sizes[0]));
        sizes[0]
    };
    for fs in ["ext4", "ext4,xfs", "btrfs,vfat,ext4"] {
        // Room enough for btrfs, unless the source's disk had less, or a file below a loop device is written whole.
        assert_eq!(size(fs, "0.0001", "subdirectories"), 2048, "{fs}");
        assert_eq!(size(fs, "0.0001", "disk_size = \"1 GiB\"\nsubdirectories"), 1024, "{fs}");
        // 300 MiB plus the corpus's entries, a quarter more, 300 MiB minimum for xfs, and 32 MiB: slightly above 707 MiB.
        assert_eq!(size(fs, "1", "on_loop = true\nsubdirectories"), 768, "{fs}");
    }
    assert!(size("ext4", "1000", "subdirectories") > 300_000);
    // This machine's room may be scarce.
    let host = Options { lab: Lab::Host, scale: "0.0001".parse().unwrap(), ..options("ext4,xfs") };
    assert_eq!(planned(&host).cells[0].disk_size, Bytes(384 << 20));
    // A file system that cannot be so large is not left out for the sake of room.
    let own = "name = \"own\"\nabout = \"x\"\nmount_type = \"own\"\nmodules = []\npackages = []\nmkfs = [\"mkfs.own\", \"{device}\"]\nno_fsck = \"None.\"\n\
               min_size = \"8 MiB\"\nmax_size = \"1 GiB\"\n";
    let catalogue = support::catalogue(&[
        ("corpora/small.toml", support::CORPUS),
        ("suites/mine.toml", SUITE),
        ("filesystems/own.toml", own),
    ]);
    let small = Options { scale: "0.0001".parse().unwrap(), ..options("ext4,own") };
    let plan = plan(&catalogue, &small, &mut realise).unwrap();
    assert_eq!((plan.cells[0].disk_size, plan.skipped.len()), (Bytes(1 << 30), 0));
    // 100 MiB plus entries, 10 MiB beside it, a quarter more, 64 MiB.
    assert_eq!(planned(&options("ext4")).cells[0].second_disk.as_ref().unwrap().size, Bytes(256 << 20));
}

#[test]
fn a_disk_that_is_small_for_a_file_system_is_told() {
    let told = |size: &str| {
        let options = Options { disk_size: Some(size.parse().unwrap()), ..options("ext4,btrfs,btrfs:single") };
        let plan = planned(&options);
        let sizes = |(name, size, roomy): &(&str, Bytes, Bytes)| format!("{name} {size} {roomy}");
        plan.cramped().iter().map(sizes).collect::<Vec<_>>()
    };
    assert_eq!(told("1 GiB"), ["btrfs 1.00 GiB 2.00 GiB", "btrfs:single 1.00 GiB 2.00 GiB"]);
    assert_eq!(told("2 GiB"), Vec::<String>::new());
}

#[test]
fn a_file_system_that_gives_nothing_back_gets_room_for_everything() {
    let change = |text: &str| text.replace("subdirectories", "written = \"2 GiB\"\ncorpus_written = 3\nsubdirectories");
    let catalogue = catalogue(change);
    let size = |fs: &str| plan(&catalogue, &options(fs), &mut realise).unwrap().cells[0].disk_size.0 >> 20;
    assert_eq!(size("ext4"), 2048);
    assert!(size("nilfs2") >= (2048 + 300) * 5 / 4);
}

#[test]
fn a_disk_is_the_sources_partition_where_the_tasks_need_less() {
    let more = "written = \"200 MiB\"\ncorpus_written = 1\ndisk_size = \"20 GB\"\nsubdirectories";
    let of = |more: &str, scale: &str| {
        let options = Options { scale: scale.parse().unwrap(), ..options("ext4") };
        let plan = plan(&catalogue(|text| text.replace("subdirectories", more)), &options, &mut realise).unwrap();
        (plan.cells[0].disk_size.0 >> 20, plan.disk_written.map(|bytes| bytes.0 >> 20), plan.cells[0].on_loop)
    };
    // 150 parts of 128 MiB. 300 MiB of contents with their entries and a quarter more, a 32nd of the disk, a journal.
    assert_eq!(of(more, "1"), (19_200, Some(1999), false));
    assert_eq!(of(more, "1/50"), (2048, Some(1095), false), "room enough for btrfs");
    // A file below a loop device is written whole.
    assert_eq!(of(&format!("on_loop = true\n{more}"), "1"), (19_200, None, true));
}

#[test]
fn what_is_written_again_needs_room_where_nothing_is_given_back() {
    let workload = "least_seconds = 2\n[task.workload]\nfiles = { count = 1, size = \"1 MiB\" }\n\
        [[task.workload.phases]]\nname = \"a\"\nwhat = \"write\"\n";
    let catalogue = catalogue(|text| text.replace("run = \"true\"\n", workload));
    let size = |fs: &str| plan(&catalogue, &options(fs), &mut realise).unwrap().cells[0].disk_size.0 >> 20;
    assert_eq!(size("ext4"), 2048);
    // The space once, and 1 GiB for each second.
    assert!(size("nilfs2") >= (100 + 2048) * 5 / 4, "{}", size("nilfs2"));
}

#[test]
fn a_disk_that_is_too_small_is_refused_with_the_size_that_would_do() {
    let with = |fs: &str, size: &str| Options { disk_size: Some(size.parse().unwrap()), ..options(fs) };
    let made = |fs: &str, size: &str| plan(&catalogue(str::to_owned), &with(fs, size), &mut realise);
    for (fs, small, cause) in [
        ("ext4,xfs", "128 MiB", "xfs can only be made on 300 MiB"),
        ("ext4", "384 MiB", "the suite mine at scale 1 does not fit"),
        ("ext4@luks", "128 MiB", "the suite mine at scale 1 does not fit"),
    ] {
        let said = made(fs, small).unwrap_err().to_string();
        assert!(said.contains(cause), "{said}");
        // With the files, which are no part of the suite's room.
        let would = said.split("--disk-size ").last().unwrap().split(' ').next().unwrap();
        let cell = made(fs, would).unwrap_or_else(|error| panic!("{said}, and then: {error}")).cells.remove(0);
        assert_eq!(cell.disk_size, would.parse::<Bytes>().unwrap());
    }
    // A guest's kernel would use the rest of the last unit for the disk too.
    let said = refused(&with("ext4", "600 MiB"));
    assert!(said.contains("a disk in memory has whole parts of 128 MiB; give 671088640 (640 MiB)"), "{said}");
}

#[test]
fn what_cannot_run_is_listed_with_its_reason() {
    let made = planned(&options("ext4,hpfs"));
    assert_eq!(made.configurations, ["ext4"]);
    let names: Vec<&str> = made.skipped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["hpfs"]);
    assert!(made.skipped[0].1.contains("No Debian package makes an HPFS"));
    let said = refused(&options("hpfs"));
    assert!(said.contains("nothing is left to run") && said.contains("hpfs: "), "{said}");

    let links = planned(&Options { scale: "40".parse().unwrap(), ..options("ext4,ext3,nilfs2") });
    assert_eq!(links.configurations, ["ext4", "ext3"]);
    assert!(
        links.skipped[0].1.contains("at most 31998 subdirectories") && links.skipped[0].1.contains("40000"),
        "{:?}",
        links.skipped
    );
    let postmark = Options { suite: "postmark".into(), ..options("ext2,ext3,nilfs2,vfat") };
    let postmark =
        plan(&Catalogue::built_in().unwrap(), &Options { machine: "modern".into(), ..postmark }, &mut realise);
    let postmark = postmark.unwrap();
    assert_eq!(postmark.configurations, ["ext2", "ext3", "nilfs2"]);
    assert!(postmark.skipped[0].1.contains("makes up to 40000 in one"), "{:?}", postmark.skipped);
    let large = planned(&Options { scale: "100".parse().unwrap(), ..options("ext4,minix") });
    assert!(
        large.skipped[0].1.contains("subdirectories") || large.skipped[0].1.contains("larger than"),
        "{:?}",
        large.skipped
    );

    let strict = catalogue(|text| text.replace("subdirectories", "posix = true\nsubdirectories"));
    let plan_of = |catalogue: &Catalogue, realise: &mut mountmark_plan::Realise<'_>| {
        plan(catalogue, &options("ext4,vfat"), realise).unwrap()
    };
    assert!(plan_of(&strict, &mut realise).skipped[0].1.contains("modes or links"));
    let mut linked =
        |request: &CorpusRequest| realise(request).map(|(path, facts)| (path, RealisedCorpus { others: 1, ..facts }));
    assert!(plan_of(&catalogue(str::to_owned), &mut linked).skipped[0].1.contains("symbolic links"));
    assert!(plan_of(&catalogue(str::to_owned), &mut realise).skipped.is_empty());
}

#[test]
fn options_that_do_not_fit_are_refused() {
    assert!(refused(&Options { repeats: 0, ..options("ext4") }).contains("--repeat 0"));
    assert!(refused(&Options { suite: "piszcz".into(), ..options("ext4") }).contains("piszcz-2006"));
    assert!(refused(&Options { machine: "plan".into(), ..options("ext4") }).contains("did you mean plain?"));
    assert!(refused(&Options { disk: Some("memori".into()), ..options("ext4") }).contains("did you mean memory?"));
    assert!(refused(&Options { corpus: Some("smal".into()), ..options("ext4") }).contains("did you mean small?"));
    assert!(refused(&options("")).contains("--fs names no file system"));
    let bare = catalogue(|text| text.replace("corpus = \"small\"\n", ""));
    let said = plan(&bare, &options("ext4"), &mut realise).unwrap_err().to_string();
    assert!(said.contains("names no corpus"), "{said}");
    let mut broken = |_: &CorpusRequest| -> Corpora { Err("no space left".into()) };
    let error = plan(&catalogue(str::to_owned), &options("ext4"), &mut broken).unwrap_err();
    assert!(matches!(error, PlanError::Corpus(_)));
}

#[test]
fn a_suite_without_a_corpus_needs_no_second_disk() {
    let lone = catalogue(|text| {
        ["corpus = \"small\"\n", "source = \"tar\"\n", "corpus_copies = 2\n", "source_room = \"10 MiB\"\n"]
            .iter()
            .fold(text.to_owned(), |text, line| text.replace(line, ""))
    });
    let mut never = |_: &CorpusRequest| -> Corpora { panic!("a corpus was made for a suite without one") };
    let plan_of = |corpus: Option<&str>, realise: &mut mountmark_plan::Realise<'_>| {
        plan(&lone, &Options { corpus: corpus.map(str::to_owned), ..options("ext4") }, realise)
    };
    assert!(plan_of(None, &mut never).unwrap().cells.iter().all(|cell| cell.second_disk.is_none()));
    assert!(plan_of(Some("small"), &mut never).unwrap_err().to_string().contains("works on no corpus"));
}

#[test]
fn mkfs_is_told_not_to_discard_before_the_users_own_arguments() {
    let mut plan = planned(&options("ext4:mkfs=-m 0,jfs"));
    let has_field = |plan: &Plan| plan.stored().contains("nodiscard");
    assert!(!has_field(&plan), "the job of a guest is as it was");
    mountmark_plan::keep_written(&mut plan, &catalogue(str::to_owned)).unwrap();
    for cell in &plan.cells {
        let wanted: &[&str] = match cell.configuration.filesystem.name.as_str() {
            "jfs" => &[],
            _ => &["-E", "nodiscard", "-m", "0"],
        };
        assert_eq!(cell.configuration.mkfs_options, wanted);
    }
}
