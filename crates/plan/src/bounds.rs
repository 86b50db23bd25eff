//! What definitions and options may not exceed.

/// Maximum number of tasks of a suite: beyond it a definition is a mistake, or meant to fill memory. The longest suite of the
/// catalogue has some hundred tasks.
pub(crate) const MOST_TASKS: usize = 10_000;

/// Maximum number of repeats, of a run's cells and of a task in one: a larger one is probably a typing error.
pub(crate) const MOST_REPEATS: u32 = 10_000;

/// Media are passed to the guest's kernel in units of this size, and its memory ends where they begin.
pub(crate) const RAM_UNIT: u64 = 128 << 20;

/// Why a suite cannot have so many tasks, as a sentence.
pub(crate) fn too_many_tasks(count: usize) -> Option<String> {
    (count > MOST_TASKS).then(|| format!("the suite has {count} tasks, and {MOST_TASKS} are the most"))
}

/// Whether it is a name of letters, digits, - and _.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
