//! Where file systems share blocks instead of writing a copy.

use mountmark_model::Metric;

use crate::figures::find::TaskFindings;
use crate::found::Findings;

impl TaskFindings {
    /// Those of `count` configurations that [`Findings::sharing`] names.
    pub(crate) fn sharing(&self, count: usize) -> Vec<usize> {
        let Some(written) = self.figures(&Metric::TASK_WRITTEN_BYTES) else { return Vec::new() };
        let most = written.medians().fold(0.0, f64::max);
        let shares = |one: &usize| written.median(*one).is_some_and(|bytes| 10.0 * bytes < most);
        // What a check or a replay writes is no copy.
        (0..count).filter(|one| !self.restarts && most >= f64::from(1 << 20) && shares(one)).collect()
    }
}

impl Findings {
    /// The suite's tasks in which file systems share blocks instead of writing a copy, and these file systems: the task's
    /// command passed less than a tenth of the bytes to write(2) there that it passed elsewhere, of 1 MiB or more.
    pub fn sharing(&self) -> impl Iterator<Item = (&TaskFindings, Vec<usize>)> {
        let count = self.configurations.len();
        self.suite().map(move |task| (task, task.sharing(count))).filter(|(_, those)| !those.is_empty())
    }
}
