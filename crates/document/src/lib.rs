//! Headings, sentences, tables and drawings in; text, Markdown, pages, CSV, JSON and pictures out.
//!
//! Everything here is a function to text. This crate does not know what a document is about, where it is kept or
//! whether the reader is a terminal (the caller says so).

pub mod draw;
pub mod flame;
pub mod forms;
pub mod markup;
pub mod number;
pub mod page;
pub mod text;
pub mod writers;
