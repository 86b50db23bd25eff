//! Records in, tables, JSON and CSV out.
