//! The page of commands: what each says with `--help`.

use std::env;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The help of all commands, each below its name.
pub fn page() -> Result<String> {
    let mut text = String::from("# Commands\n\nWhat each command prints with `--help`.\n\n");
    add(&[], &mut text)?;
    Ok(text)
}

fn add(words: &[&str], text: &mut String) -> Result<()> {
    let help = help(words)?;
    let name = [&["mountmark"], words].concat().join(" ");
    *text += &format!("## {name}\n\n```text\n{}\n```\n\n", help.trim_end());
    for command in subcommands(&help) {
        add(&[words, &[command]].concat(), text)?;
    }
    Ok(())
}

fn help(words: &[&str]) -> Result<String> {
    let program = env::current_exe()?.with_file_name("mountmark");
    let output = Command::new(&program)
        .args(words)
        .arg("--help")
        .env("COLUMNS", "100")
        .env_remove("MOUNTMARK_OUT")
        .output()
        .with_context(|| format!("cannot start {}: build it first", program.display()))?;
    ensure!(output.status.success(), "mountmark {words:?} --help ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The commands that a help text lists.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // A description that is folded is indented further than a name.
    let named =
        lines.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}
