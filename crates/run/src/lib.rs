//! Cells in, samples out: tasks, probes, settling and the schedule.
