//! Man pages and completions, read by the programs that they are for.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use mountmark_crash::record::Record;
use mountmark_record::{Campaigns, RunStatus, Store};

use crate::lab::{Lab, binary, skip};
use crate::made;

/// Whether a program is here; a test without it says so.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip("generate", &format!("there is no {program} here; scripts/setup test installs it"));
    }
    found
}

/// A folder with what is generated: `man/`, and a file for each shell by the name that packages give it.
fn generated(lab: &Lab) {
    lab.command(&["generate", "man", &lab.path("man").to_string_lossy()]).ended_with(0);
    for (shell, name) in [("bash", "mountmark.bash"), ("zsh", "_mountmark"), ("fish", "mountmark.fish")] {
        let script = lab.command(&["generate", "completions", shell]).ended_with(0).stdout;
        fs::write(lab.path(name), script).unwrap();
    }
}

#[test]
fn pages_that_somebody_else_wrote_are_not_replaced() {
    let lab = Lab::without_guests();
    let man = lab.path("man").to_string_lossy().into_owned();
    generated(&lab);
    lab.command(&["generate", "man", &man]).ended_with(0);
    let first = lab.path("man/mountmark-advise.1");
    fs::write(&first, "older").unwrap();
    fs::write(lab.path("man/mountmark-run.1"), "my own page").unwrap();
    let ran = lab.command(&["generate", "man", &man]).ended_with(2);
    ran.says(&["is there already and is no page of Mountmark"]);
    assert_eq!(fs::read_to_string(&first).unwrap(), "older", "all are looked at before one is written");
}

/// A shell in which `mountmark` is this program and which reads the lab's own folders.
fn shell(lab: &Lab, words: &[&str]) -> Command {
    let folder = binary().parent().unwrap().to_owned();
    let path =
        std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("PATH", path.unwrap()).env("MOUNTMARK_OUT", lab.out()).env("HOME", lab.path(""));
    command.env("XDG_CONFIG_HOME", lab.path("config")).env("TERM", "dumb").current_dir(lab.path(""));
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What a line is after the user pressed Tab at its end, in a shell on a terminal.
fn completed(lab: &Lab, shell_line: &str, set_up: &str, line: &str) -> String {
    // Ctrl-A and Ctrl-E put an echo around the line.
    let typed = format!("{set_up}\n{line}\t\u{1}echo \"<\u{5}>\"\nexit\n");
    let mut child = shell(lab, &["timeout", "60", "script", "-qec", shell_line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let shown = text(&child.wait_with_output().unwrap());
    let answer = shown.lines().map(str::trim).find_map(|line| line.strip_prefix('<')?.strip_suffix('>'));
    answer.unwrap_or_else(|| panic!("{shell_line}: {line}: {shown:?}")).trim().to_owned()
}

/// Lines, and what they become.
const LINES: [(&str, &str); 7] = [
    ("mountmark rep", "mountmark report"),
    ("mountmark run --fs ext2,ext3:data=j", "mountmark run --fs ext2,ext3:data=journal"),
    ("mountmark run --fs=xfs,ext4:nojo", "mountmark run --fs=xfs,ext4:nojournal"),
    ("mountmark run --suite pisz", "mountmark run --suite piszcz-2006"),
    ("mountmark run --disk=nv", "mountmark run --disk=nvme"),
    ("mountmark crash show latest --fi", "mountmark crash show latest --finding"),
    ("mountmark list filesy", "mountmark list filesystems"),
];

#[test]
fn bash_and_zsh_complete_what_is_typed() {
    let lab = Lab::without_guests();
    generated(&lab);
    let folder = lab.path("");
    let zsh = format!("fpath=({} $fpath); autoload -U compinit; compinit -D -u", folder.display());
    let bash = format!("source {}", lab.path("mountmark.bash").display());
    for (program, line, set_up) in [("bash", "bash --norc -i", bash), ("zsh", "zsh -f -i", zsh)] {
        if !has(program) {
            continue;
        }
        for (typed, wanted) in LINES {
            assert_eq!(completed(&lab, line, &set_up, typed), wanted, "{program}");
        }
    }
}

#[test]
fn fish_completes_what_is_typed_and_knows_the_store() {
    if !has("fish") {
        return;
    }
    let lab = Lab::without_guests();
    generated(&lab);
    let offers = |line: &str| {
        let script = format!("source {}; complete -C '{line}'", lab.path("mountmark.fish").display());
        let output = shell(&lab, &["fish", "--no-config", "-c", &script]).output().unwrap();
        let shown = text(&output);
        shown.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (typed, wanted) in LINES {
        let word = wanted.rsplit(' ').next().unwrap();
        assert!(offers(typed).iter().any(|offer| offer == word), "{typed}: {:?}", offers(typed));
    }
    let values = |line: &str| offers(line).into_iter().filter(|offer| !offer.starts_with('-')).collect::<Vec<_>>();
    // Without a store there is `latest`, no error, and still no store.
    let store = lab.out().join("results.sqlite");
    assert_eq!(values("mountmark compare "), ["latest"]);
    assert_eq!(values("mountmark crash show latest --finding "), Vec::<String>::new());
    assert!(!store.exists());

    let plan = made::plan("piszcz-2006", &["ext4", "xfs"], 1, 1, "0.005");
    let run = Store::open(&store).unwrap().begin_run(&plan, &Default::default(), "mountmark run").unwrap();
    Store::open(&store).unwrap().end_run(&run, RunStatus::Interrupted).unwrap();
    assert_eq!(values("mountmark compare "), ["latest", run.as_str()]);
    assert_eq!(values("mountmark show latest --verdict --baseline "), ["ext4", "xfs"]);
    assert_eq!(values("mountmark why latest --task 02"), ["020", "021"]);
    assert!(values("mountmark why latest --task ").ends_with(&["mkfs", "mount", "umount", "fsck"].map(String::from)));

    // A damaged store, and a damaged file of the user's: completion goes on with what there is.
    fs::write(&store, "no database").unwrap();
    fs::create_dir_all(lab.path("config/mountmark/catalog/suites")).unwrap();
    fs::write(lab.path("config/mountmark/catalog/suites/bad.toml"), "name = ").unwrap();
    assert_eq!(values("mountmark compare "), ["latest"]);
    assert_eq!(values("mountmark run --suite pisz"), ["piszcz-2006"]);
    assert!(Campaigns::beside(&store).list(Record::from_pieces).unwrap().is_empty());
}

#[test]
fn man_reads_a_page_of_each_command_and_warns_of_nothing() {
    if !has("man") {
        return;
    }
    let lab = Lab::without_guests();
    generated(&lab);
    let help = lab.command(&["--help"]).ended_with(0).stdout;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        // A description that is folded is indented further than a name.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"run") && commands.contains(&"self-check"), "{commands:?}");
    for command in commands {
        let help = lab.command(&[command, "--help"]).ended_with(0).stdout;
        let page = format!("man/mountmark-{command}.1");
        let output = shell(&lab, &["man", "--warnings", "-l", &page])
            .env("MANWIDTH", "200")
            .env("MAN_KEEP_STDERR", "1")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let (shown, warnings) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && warnings.is_empty(), "{page}: {warnings}");
        let declared = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        for option in declared.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--"))) {
            let option = option.trim_matches(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
            assert!(shown.contains(option), "{page} lacks {option}");
        }
        let example = help.lines().find(|line| line.starts_with("  mountmark ")).expect("each command has an example");
        // Help folds what follows the command.
        let example = example.trim().split("  ").next().unwrap();
        assert!(shown.lines().any(|line| line.trim_start().starts_with(example)), "{page} lacks {example}");
    }
    assert!(!lab.path("man/mountmark-generate.1").exists());
}
