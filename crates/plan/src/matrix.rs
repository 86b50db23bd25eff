//! Expands a matrix in a suite, which writes tasks that differ only in numbers once, to plain tasks.
//!
//! A `[[task]]` with `matrix` is replaced by its `tasks`, once for every combination of one value of each axis. The
//! last axis changes fastest; the tasks of one combination stay together.
//!
//! ```toml
//! [[task]]
//! matrix = [
//!     { name = "size", values = [{ id = "1g", bytes = "1 GiB" }, { id = "2g", bytes = "2 GiB" }] },
//!     { name = "record", values = ["64 KiB", "1 MiB"] },
//! ]
//!
//! [[task.tasks]]
//! id = "write_{size.id}"
//! title = "write {size.id} in records of {record}"
//! only = { size = ["1g"] }
//! ```
//!
//! `{axis}` is a plain value, `{axis.word}` a field of a value that is a table; they may be in any text of a task.
//! `only` restricts a task to some values of an axis, named by their `id` or as written; `except`, beside `matrix`,
//! omits combinations (`except = [{ size = "1g", record = "1 MiB" }]`). Other braces, such as the shell's, are
//! unchanged, and so is any text after a `$`.

use std::collections::BTreeSet;

use mountmark_model::format_bytes;
use toml::{Table, Value};

use crate::bounds::MOST_TASKS;

/// Bytes of all tasks of matrices in a suite: few letters stand for many.
const MOST_TEXT: usize = 64 << 20;
/// What a value takes at least, as the bound counts it.
const LEAST: usize = 8;

/// The document with plain tasks; `None` if it has no matrix.
///
/// # Errors
/// A sentence about the first matrix that is invalid, or that uses an unknown name.
pub(crate) fn expanded(document: &Table) -> Result<Option<Table>, String> {
    let Some(tasks) = document.get("task").and_then(Value::as_array) else { return Ok(None) };
    if !tasks.iter().any(|task| task.get("matrix").is_some()) {
        return Ok(None);
    }
    let (mut plain, mut room) = (Vec::new(), MOST_TEXT);
    for (number, task) in (1..).zip(tasks) {
        match task.as_table().filter(|task| task.contains_key("matrix")) {
            None => plain.push(task.clone()),
            Some(matrix) => {
                plain.extend(tasks_of(matrix, &mut room).map_err(|fault| format!("task {number}, a matrix: {fault}"))?);
            }
        }
    }
    let mut document = document.clone();
    document.insert("task".to_owned(), Value::Array(plain));
    Ok(Some(document))
}

struct Axis<'a> {
    name: &'a str,
    values: &'a [Value],
}

fn tasks_of(matrix: &Table, room: &mut usize) -> Result<Vec<Value>, String> {
    if let Some(key) = matrix.keys().find(|key| !["matrix", "tasks", "except"].contains(&key.as_str())) {
        return Err(format!("it has {key:?}, and a matrix has matrix, except and tasks alone; write it in its tasks"));
    }
    let axes = matrix["matrix"].as_array().ok_or("matrix must be a list of axes")?;
    let axes: Vec<Axis<'_>> = axes.iter().map(axis).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    if let Some(twice) = axes.iter().find(|axis| !names.insert(axis.name)) {
        return Err(format!("two axes are named {:?}", twice.name));
    }
    let templates = matrix.get("tasks").and_then(Value::as_array).filter(|tasks| !tasks.is_empty());
    let templates = templates.ok_or("it has no task: add [[task.tasks]]")?;
    // Counted before expansion: a few short axes are millions of tasks.
    let count = axes.iter().try_fold(templates.len(), |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST_TASKS) {
        return Err(format!("it stands for more than {MOST_TASKS} tasks, the most"));
    }
    // Every combination, as the index of each axis's value.
    let mut combinations: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in &axes {
        let more =
            |one: &Vec<usize>| (0..axis.values.len()).map(|value| [&one[..], &[value]].concat()).collect::<Vec<_>>();
        combinations = combinations.iter().flat_map(more).collect();
    }
    let except = match matrix.get("except").map(|except| except.as_array().ok_or("except is a list of tables")) {
        None => &[][..],
        Some(list) => list?,
    };
    let mut plain = Vec::new();
    for combination in &combinations {
        let chosen: Vec<(&str, &Value)> =
            axes.iter().zip(combination).map(|(axis, value)| (axis.name, &axis.values[*value])).collect();
        let mut left_out = false;
        for one in except {
            // All named axes must have the value.
            left_out |= wanted(Some(one), "except", &axes, &chosen)?;
        }
        if left_out {
            continue;
        }
        for template in templates {
            let written = template.as_table().ok_or("tasks must be tables")?;
            if wanted(written.get("only"), "only", &axes, &chosen)? {
                let mut task = filled(template, &chosen, room)?;
                task.as_table_mut().and_then(|task| task.remove("only"));
                plain.push(task);
            }
        }
    }
    Ok(plain)
}

fn axis(value: &Value) -> Result<Axis<'_>, String> {
    let form = "an axis is { name = \"size\", values = [...] }, with at least one value";
    let name = value.get("name").and_then(Value::as_str).ok_or(form)?;
    let values = value.get("values").and_then(Value::as_array).filter(|values| !values.is_empty()).ok_or(form)?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
        return Err(format!("the axis {name:?}: a name is made of small letters and _"));
    }
    if let Some(wrong) = values.iter().find(|value| !value.is_table() && plain(value).is_none()) {
        return Err(format!("the axis {name:?}: {wrong} is neither a text nor a number nor a table of such"));
    }
    Ok(Axis { name, values })
}

/// A string or number as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The name of a value in `only` and `except`.
fn called(value: &Value) -> Option<String> {
    plain(value.get("id").unwrap_or(value))
}

/// Whether the chosen values are among those that `key` lists, for each axis that it names.
fn wanted(only: Option<&Value>, key: &str, axes: &[Axis<'_>], chosen: &[(&str, &Value)]) -> Result<bool, String> {
    let Some(only) = only else { return Ok(true) };
    let only = only.as_table().ok_or_else(|| format!("{key} has tables such as {{ size = [\"1g\"] }}"))?;
    let mut wanted = true;
    for (name, list) in only {
        let axis = axes.iter().find(|axis| axis.name == name);
        let axis = axis.ok_or_else(|| format!("{key} names {name:?}, which is no axis of it"))?;
        let list = list.as_array().map_or(std::slice::from_ref(list), Vec::as_slice);
        for value in list {
            let text = plain(value).unwrap_or_default();
            if !axis.values.iter().any(|known| called(known).as_ref() == Some(&text)) {
                return Err(format!("{key} names the value {text:?}, which the axis {name} does not have"));
            }
        }
        let value = chosen.iter().find(|(axis, _)| axis == name).and_then(|(_, value)| called(value));
        wanted &= list.iter().any(|listed| plain(listed) == value);
    }
    Ok(wanted)
}

/// `value` with the chosen values inserted in all its texts, which are taken from `room`.
fn filled(value: &Value, chosen: &[(&str, &Value)], room: &mut usize) -> Result<Value, String> {
    take(room, LEAST)?;
    Ok(match value {
        Value::String(text) => Value::String(filled_text(text, chosen, room)?),
        Value::Array(all) => Value::Array(all.iter().map(|one| filled(one, chosen, room)).collect::<Result<_, _>>()?),
        Value::Table(table) => {
            let entries = table.iter().map(|(key, value)| {
                take(room, key.len())?;
                Ok((key.clone(), filled(value, chosen, room)?))
            });
            Value::Table(entries.collect::<Result<Table, String>>()?)
        }
        other => other.clone(),
    })
}

fn take(room: &mut usize, bytes: usize) -> Result<(), String> {
    let left = room.checked_sub(bytes).ok_or_else(|| {
        let most = format_bytes(MOST_TEXT as u64);
        format!(
            "the tasks that it stands for take more than {most}, the most; shorten their texts, or use fewer values"
        )
    })?;
    *room = left;
    Ok(())
}

fn filled_text(text: &str, chosen: &[(&str, &Value)], room: &mut usize) -> Result<String, String> {
    take(room, text.len())?;
    let mut out = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find('{') {
        let (before, behind) = (&rest[..begin], &rest[begin + 1..]);
        out += before;
        // Up to the next brace of either kind, so that each letter is read once.
        let inside = behind.find(['{', '}']).filter(|end| behind[*end..].starts_with('}')).map(|end| &behind[..end]);
        let (name, word) = match inside.and_then(|inside| inside.split_once('.')) {
            Some((name, word)) => (name, Some(word)),
            None => (inside.unwrap_or_default(), None),
        };
        match chosen.iter().find(|(axis, _)| *axis == name && !before.ends_with('$')) {
            None => {
                // Only the brace is skipped: another may follow.
                out.push('{');
                rest = behind;
            }
            Some((_, value)) => {
                let inside = inside.unwrap_or_default();
                let found = word.map_or(Some(*value), |word| value.get(word)).and_then(plain);
                let found = found.ok_or_else(|| format!("{{{inside}}} in {text:?} has no value: {name} is {value}"))?;
                take(room, found.len())?;
                out += &found;
                rest = &behind[inside.len() + 1..];
            }
        }
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: &str = "[[task]]\nid = \"first\"\n[[task]]\nmatrix = [\n\
        { name = \"size\", values = [{ id = \"s\", bytes = \"1 MiB\" }, { id = \"l\", bytes = \"$MIB * 2 MiB\" }] },\n\
        { name = \"record\", values = [4, \"64 KiB\"] },\n]\n";

    fn ids(text: &str) -> Vec<String> {
        let document = expanded(&text.parse().unwrap()).unwrap().unwrap();
        let tasks = document["task"].as_array().unwrap().iter();
        tasks.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    }

    fn fault(text: &str) -> String {
        expanded(&text.parse().unwrap()).unwrap_err()
    }

    #[test]
    fn every_combination_is_a_task_in_the_matrixs_place() {
        let text = format!(
            "{AXES}[[task.tasks]]\nid = \"w_{{size.id}}_{{record}}\"\nrun = \"echo ${{size}} {{ {{record}}; }} {{x}}\"\n\
             workload.files = {{ size = \"{{size.bytes}}\" }}\n[[task.tasks]]\nid = \"r_{{size.id}}\"\n\
             only = {{ size = [\"l\"], record = [4] }}\n[[task]]\nid = \"last\"\n"
        );
        let fewer = text.replace(
            "]\n[[task.tasks]]\nid = \"w",
            "]\nexcept = [{ size = \"l\", record = 4 }]\n[[task.tasks]]\nid = \"w",
        );
        assert_eq!(ids(&fewer), ["first", "w_s_4", "w_s_64 KiB", "w_l_64 KiB", "last"]);
        assert_eq!(ids(&text), ["first", "w_s_4", "w_s_64 KiB", "w_l_4", "r_l", "w_l_64 KiB", "last"]);
        let document = expanded(&text.parse().unwrap()).unwrap().unwrap();
        assert_eq!(document["task"][1]["run"].as_str(), Some("echo ${size} { 4; } {x}"));
        assert_eq!(document["task"][3]["workload"]["files"]["size"].as_str(), Some("$MIB * 2 MiB"));
        assert_eq!(expanded(&"[[task]]\nid = \"a\"\n".parse().unwrap()), Ok(None));
    }

    #[test]
    fn a_slip_is_named() {
        let task = |more: &str| format!("{AXES}[[task.tasks]]\nid = \"a\"\n{more}");
        assert!(fault(AXES).contains("it has no task"));
        assert!(fault(&task("title = \"{size.byte}\"")).contains("{size.byte} in \"{size.byte}\" has no value"));
        assert!(fault(&task("title = \"{size}\"")).contains("has no value"));
        assert!(fault(&task("only = { sise = [\"s\"] }")).contains("\"sise\", which is no axis"));
        assert!(fault(&task("only = { size = [\"x\"] }")).contains("\"x\", which the axis size does not have"));
        assert!(fault("[[task]]\nmatrix = [{ name = \"a\" }]\n").contains("task 1, a matrix: an axis is"));
        assert!(fault("[[task]]\nmatrix = []\nid = \"x\"\n").contains("it has \"id\""));
        let values = vec!["1"; 100].join(",");
        let axis = |name: char| format!("{{ name = \"{name}\", values = [{values}] }},");
        let many: String = ('a'..='k').map(axis).collect();
        let many = fault(&format!("[[task]]\nmatrix = [{many}]\n[[task.tasks]]\nid = \"x\"\n"));
        assert!(many.contains("more than 10000 tasks"), "{many}");
        // What would fill memory is refused while it is small, whether the text is long or what is put into it.
        let matrix = |values: &str, run: &str| {
            let axes = format!("{{ name = \"a\", values = [{values}] }}, {{ name = \"b\", values = [{values}] }}");
            fault(&format!("[[task]]\nmatrix = [{axes}]\n[[task.tasks]]\nid = \"x\"\nrun = \"{run}\"\n"))
        };
        for large in
            [matrix(&values, &"x".repeat(300_000)), matrix(&format!("{:?}", "x".repeat(300_000)), &"{a}".repeat(300))]
        {
            assert!(large.contains("take more than 64.0 MiB"), "{large}");
        }
    }

    #[test]
    fn braces_without_end_are_read_once() {
        let begin = std::time::Instant::now();
        let (text, axes) = ("{".repeat(400_000) + "}", [("a", &Value::Integer(1))]);
        assert_eq!(filled_text(&text, &axes, &mut MOST_TEXT.clone()).unwrap(), text);
        assert_eq!(filled_text("{{a}} {a", &axes, &mut MOST_TEXT.clone()).unwrap(), "{1} {a");
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "it took {:?}", begin.elapsed());
    }
}
