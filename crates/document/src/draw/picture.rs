//! Measures of a picture in which every position is computed.

use crate::text;

/// Width of a picture, in pixels.
pub const WIDTH: f64 = 960.0;
/// Space at its sides.
pub const MARGIN: f64 = 20.0;
/// Average width of a letter in the small font, for the position of names and keys.
pub const LETTER: f64 = 7.2;

/// Text cut to at most `most` letters.
pub fn cut(text: &str, most: usize) -> String {
    let text = text::clean(text);
    let most = most.max(2);
    if text.chars().count() <= most { text } else { text.chars().take(most - 1).chain(['…']).collect() }
}
