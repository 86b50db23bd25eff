//! Hand-written input: suites, job files, catalogues, studies, plan files.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mountmark_cells::Plan;
use mountmark_disk::{Operation, Request};
use mountmark_findings::claims::{Claims, ClaimsHead, Judges, Reach, judge_claims};
use mountmark_findings::studies::{StudyBeside, compare_study};
use mountmark_model::conditions::Way;
use mountmark_model::{
    Bytes, Corpus, Disk, FileSystem, Lab, Machine, Order, Quantity, RealisedCorpus, Scale, Study, Suite,
};
use mountmark_plan::{Catalogue, Options, configurations, plan};

use super::{folder, kept, show, text};
use crate::seeds;

/// A catalogue with a few definitions of each kind, which is cheap to copy.
static FEW: LazyLock<Catalogue> = LazyLock::new(|| {
    let mut few = Catalogue::default();
    macro_rules! add {
        ($($kind:ty: $($path:literal)+;)+) => {
            $($({
                let path = seeds::root().join(concat!("catalog/", $path));
                let text = fs::read_to_string(&path).expect("a definition");
                few.add::<$kind>(&text, &path).expect("a sound definition");
            })+)+
        };
    }
    add! {
        FileSystem: "filesystems/ext4.toml" "filesystems/vfat.toml" "filesystems/nilfs2.toml";
        Machine: "machines/modern.toml";
        Disk: "disks/ssd.toml" "disks/ram.toml" "disks/hdd.toml";
        Corpus: "corpora/linux-2.6.14-like.toml";
        Study: "studies/piszcz-2006.toml";
    }
    few
});

/// The required file name of a definition: `NAME.toml`.
pub(super) fn path_of(text: &str) -> PathBuf {
    let line = text.lines().find_map(|line| line.strip_prefix("name = \""));
    let name = line.and_then(|rest| rest.split('"').next()).unwrap_or("none");
    Path::new("/nowhere").join(format!("{name}.toml"))
}

/// Makes plans of a suite, like `mountmark run`.
pub(super) fn plans(catalogue: &Catalogue, suite: &str, fs: &str) -> Option<Plan> {
    let mut last = None;
    for (scale, disk, corpus_bytes) in [("1", None, 1 << 30), ("1/50", Some("ram"), 1 << 62), ("1000", Some("hdd"), 1)]
    {
        let options = Options {
            fs: vec![fs.to_owned()],
            suite: suite.to_owned(),
            lab: Lab::Virtual,
            own: None,
            machine: "modern".into(),
            disk: disk.map(str::to_owned),
            disk_size: (corpus_bytes == 1).then_some(Bytes(u64::MAX - 4095)),
            kernel: "6.12".into(),
            scale: scale.parse().expect("a scale"),
            repeats: 2,
            seed: 1,
            conditions: Way::Varied,
            corpus: None,
            fill: None,
            age: None,
        };
        let realised = RealisedCorpus {
            name: "made".into(),
            files: corpus_bytes / 100,
            directories: corpus_bytes / 1000,
            others: 0,
            bytes: corpus_bytes,
            tar_bytes: corpus_bytes,
            size_min: 0,
            size_median: 1,
            size_mean: 100,
            size_max: corpus_bytes,
            max_depth: 3,
            sha256: String::new(),
            seed: Some(1),
        };
        match plan(catalogue, &options, &mut |_| Ok(("/nowhere/made.tar".into(), realised.clone()))) {
            Ok(mut plan) => {
                for program in mountmark_plan::programs(&plan.cells[0].tasks.to_vec()) {
                    mountmark_plan::leave_out(&mut plan, program, "it is not there");
                }
                for cell in &plan.cells {
                    black_box(cell.configuration.mkfs_command("/dev/x"));
                    black_box(cell.configuration.mount_command("/dev/x", "/y"));
                }
                black_box(plan.stored());
                last = Some(plan);
            }
            Err(error) => drop(black_box(error.to_string())),
        }
    }
    last
}

/// Parses a suite's file and plans it.
pub(super) fn suite(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let path = path_of(text);
    let mut catalogue = FEW.clone();
    match catalogue.add::<Suite>(text, &path) {
        Ok(()) => drop(plans(&catalogue, &path.file_stem().unwrap_or_default().to_string_lossy(), "ext4,vfat,nilfs2")),
        Err(error) => drop(black_box(error.to_string())),
    }
}

/// Parses a job file of fio and plans it.
pub(super) fn fio_job(data: &[u8]) {
    let path = folder().join("job.fio");
    fs::write(&path, data).expect("a file in memory");
    plans(&FEW, &path.to_string_lossy(), "ext4");
}

/// The first line is the kind, the rest is the definition.
pub(super) fn catalogue(data: &[u8]) {
    let Some((kind, text)) = text(data).and_then(|text| text.split_once('\n')) else { return };
    let path = path_of(text);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut catalogue = FEW.clone();
    let added = match kind {
        "filesystems" => catalogue.add::<FileSystem>(text, &path),
        "machines" => catalogue.add::<Machine>(text, &path),
        "disks" => catalogue.add::<Disk>(text, &path),
        "corpora" => catalogue.add::<Corpus>(text, &path),
        _ => return,
    };
    if let Err(error) = added {
        black_box(error.to_string());
        return;
    }
    match kind {
        "filesystems" => {
            let listed = catalogue.get::<FileSystem>(&name).map(|filesystem| filesystem.variants.clone());
            black_box(listed.expect("it was added"));
            let suite =
                "name = \"s\"\nabout = \"\"\nroom = \"1 GiB\"\n[[task]]\nid = \"t\"\ntitle = \"t\"\nrun = \"x\"\n";
            catalogue.add::<Suite>(suite, Path::new("s.toml")).expect("a sound suite");
            plans(&catalogue, "s", &name);
        }
        "disks" => requests(catalogue.get::<Disk>(&name).expect("it was added")),
        "corpora" => {
            let corpus = catalogue.get::<Corpus>(&name).expect("it was added");
            black_box(mountmark_corpus::check(corpus).map_err(|error| format!("{error:#}")).is_ok());
        }
        _ => {}
    }
}

/// Runs requests on a drive of this model.
fn requests(disk: &Disk) {
    let capacity = disk.model.capacity().unwrap_or(1 << 40);
    let Some(mut drive) = disk.model.start() else { return };
    let mut now = 0;
    for turn in 0..200_u64 {
        let offset = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) % capacity.max(1);
        let operation = match turn % 7 {
            0 => Operation::Flush,
            1 => Operation::Trim,
            2 | 3 => Operation::Read,
            turn => Operation::Write { fua: turn == 4 },
        };
        let length = if operation == Operation::Flush { 0 } else { 4096 << (turn % 12) };
        let done = drive.submit(now, Request { operation, offset: offset & !511, length });
        now = if turn % 3 == 0 { done.max(now) } else { now.saturating_add(1000) };
    }
}

/// A study and its claims, compared with a run.
pub(super) fn study(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let path = path_of(text);
    let mut catalogue = Catalogue::default();
    match catalogue.add::<Study>(text, &path) {
        Ok(()) => catalogue.list::<Study>().for_each(beside),
        Err(error) => drop(black_box(error.to_string())),
    }
}

/// A study's table, for `piszcz-2006`.
pub(super) fn figures(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut catalogue = FEW.clone();
    match catalogue.add_figures("piszcz-2006", text, Path::new("/nowhere/piszcz-2006.csv")) {
        Ok(()) => catalogue.list::<Study>().for_each(beside),
        Err(error) => drop(black_box(error.to_string())),
    }
}

fn beside(study: &Study) {
    let run = &*kept::RECORD;
    let options = show::options(120, true);
    let judges = Judges { run: Some(run), earlier: Some(run), anyway: true };
    let judged = judge_claims(&judges, &[study], &Reach::default());
    let head = ClaimsHead::new(run, judges.earlier, &[study]);
    let compared = compare_study(run, study, None);
    show::all(&Claims { head: &head, claims: &judged }, &options);
    if let Some(compared) = &compared {
        show::all(&StudyBeside(compared), &options);
    }
}

/// A plan file, and possible meanings of its words: configurations, sizes, scales, quantities, orders, names.
pub(super) fn words(data: &[u8]) {
    let Some(text) = text(data) else { return };
    // In the program a word has one meaning. Short words of short texts are tried with all.
    const LONG: usize = 1 << 12;
    let is_short = text.len() < 1 << 16;
    let meanings: [fn(&str) -> String; 5] = [
        |word| said(configurations(&FEW, &[word.to_owned()]).map(|found| found.len())),
        |word| said(word.parse::<Bytes>()),
        |word| said(word.parse::<Scale>().map(|value| value.apply(u64::MAX, 1))),
        |word| said(word.parse::<Quantity>().and_then(|value| value.value(&[("FILES".to_owned(), 7)].into()))),
        |word| said(word.parse::<Order>()),
    ];
    let words = shlex::split(text).unwrap_or_default();
    let lines = text.lines().filter(|line| line.len() < LONG);
    // The program stops at the first wrong word, and its sentence costs more than the others together.
    const MOST: usize = 20_000;
    for word in words.iter().map(String::as_str).chain(lines).step_by(1 + words.len() / MOST) {
        for (number, meaning) in meanings.iter().enumerate() {
            if (is_short && word.len() < LONG) || word.len() % meanings.len() == number {
                black_box(meaning(word));
            }
        }
    }
    let first = text.lines().next().unwrap_or_default();
    black_box(mountmark_findings::find_metric(first).is_ok());
    black_box(FEW.get::<FileSystem>(first).map_err(|error| error.to_string()).is_ok());
    black_box(mountmark_findings::shell_word(text));
}

/// A value or an error as shown to people.
fn said(result: Result<impl ToString, impl ToString>) -> String {
    result.map_or_else(|error| error.to_string(), |value| value.to_string())
}

pub(super) fn suites() -> Vec<(String, Vec<u8>)> {
    let mut found = seeds::kept("catalog/suites", ".toml");
    found.extend(seeds::kept("src/commands/self_check/engines", ".toml"));
    found
}

pub(super) fn fio_jobs() -> Vec<(String, Vec<u8>)> {
    let job = "[global]\nrw=randrw\nbs=4k\nsize=64m\nruntime=10\ntime_based=1\nioengine=psync\n\n[one]\nnumjobs=4\n\
        directory=${TEST}/sub\ngroup_reporting\n\n[two]\nstonewall\nname=other\nfilesize=1m-2m\nnrfiles=10\n\
        filename_format=$jobname.$filenum\nbuffer_pattern='pattern'\n";
    vec![("job".into(), job.into())]
}

pub(super) fn entries() -> Vec<(String, Vec<u8>)> {
    let kinds = ["filesystems", "machines", "disks", "corpora"];
    kinds.iter().flat_map(|kind| seeds::headed(kind, seeds::kept(&format!("catalog/{kind}"), ".toml"))).collect()
}

pub(super) fn studies() -> Vec<(String, Vec<u8>)> {
    seeds::kept("catalog/studies", ".toml")
}

pub(super) fn tables() -> Vec<(String, Vec<u8>)> {
    let own = |(name, _): &(String, Vec<u8>)| name.starts_with("piszcz");
    seeds::kept("catalog/studies", ".csv").into_iter().filter(own).collect()
}

pub(super) fn plan_files() -> Vec<(String, Vec<u8>)> {
    let text = "# every night\nrun --suite mail.toml   # ours\n  --fs 'ext4:mkfs=-O ^metadata_csum\\,x,vfat#again'\n\
        --disk-size 1.5GiB --scale 1/50 \"$FILES * 4 KiB / 3\" '{ext2,ext3} > others >= any{xfs,jfs} = ext4'\n";
    vec![("plan".into(), text.into())]
}
