//! A run beside study.
