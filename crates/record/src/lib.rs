//! Samples in and out of SQLite.
