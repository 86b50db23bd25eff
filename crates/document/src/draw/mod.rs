//! Drawings for pages: curves in a frame, bars and dots in the cells of a table, measures of pictures.

pub mod curve;
pub mod picture;
pub mod plot;
