//! Builds HTML and SVG in which no text of a run can become markup.
//!
//! Literals of the source code are markup; every value is text and is escaped, unless it is [`Markup`] itself, so
//! sections need no care when written. A template engine would do the same at run time; the program is copied into the
//! memory of every guest, and some twenty lines do it here at compile time. This file does not know the meaning of a
//! file or page.

use std::fmt::Write as _;

use mountmark_model::is_hidden;

/// Text that is already markup.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Markup(String);

impl Markup {
    pub fn new() -> Markup {
        Markup::default()
    }

    /// Appends a literal unchanged.
    pub fn raw(&mut self, literal: &'static str) {
        self.0.push_str(literal);
    }

    /// Appends a value as escaped text.
    pub fn show(&mut self, value: &(impl Show + ?Sized)) {
        value.put_into(self);
    }

    /// Appends the name of a configuration, which may be broken after its separators: `ext4:mount=data=journal,noatime`.
    pub fn name(&mut self, name: &str) {
        for (at, part) in name.split_inclusive([':', ',', '=', '#']).enumerate() {
            if at > 0 {
                self.raw("<wbr>");
            }
            self.show(part);
        }
    }

    /// A heading of level 1 to 6 with an anchor.
    pub fn heading(&mut self, level: u8, id: &str, text: &str) {
        self.titled(level, Some(id), text);
    }

    /// A heading of level 1 to 6 without an anchor.
    pub fn subheading(&mut self, level: u8, text: &str) {
        self.titled(level, None, text);
    }

    fn titled(&mut self, level: u8, id: Option<&str>, text: &str) {
        const TAGS: [(&str, &str); 6] = [
            ("<h1", "</h1>\n"),
            ("<h2", "</h2>\n"),
            ("<h3", "</h3>\n"),
            ("<h4", "</h4>\n"),
            ("<h5", "</h5>\n"),
            ("<h6", "</h6>\n"),
        ];
        let (open, close) = TAGS[usize::from(level.clamp(1, 6)) - 1];
        self.raw(open);
        if let Some(id) = id {
            self.raw(" id=\"");
            self.show(id);
            self.raw("\"");
        }
        self.raw(">");
        self.show(text);
        self.raw(close);
    }

    /// JSON on one line for a `script` element, which `<` could end. Hidden characters are also written as JSON
    /// escapes.
    pub fn json(&mut self, json: &str) {
        for letter in json.chars() {
            if letter == '<' || is_hidden(letter) {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _ = write!(self.0, "\\u{unit:04x}");
                }
            } else {
                self.0.push(letter);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A picture that another library drew, which escapes all names in it.
    pub fn drawn(picture: String) -> Markup {
        Markup(picture)
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

/// Values that `put!` accepts between literals.
pub trait Show {
    fn put_into(&self, out: &mut Markup);
}

impl Show for str {
    fn put_into(&self, out: &mut Markup) {
        for letter in self.chars() {
            match letter {
                '&' => out.0.push_str("&amp;"),
                '<' => out.0.push_str("&lt;"),
                '>' => out.0.push_str("&gt;"),
                '"' => out.0.push_str("&quot;"),
                '\'' => out.0.push_str("&#39;"),
                '\n' | '\t' => out.0.push(letter),
                // Not allowed in XML.
                '\u{fffe}' | '\u{ffff}' => out.0.push('\u{fffd}'),
                hidden if is_hidden(hidden) => out.0.push('\u{fffd}'),
                other => out.0.push(other),
            }
        }
    }
}

impl Show for std::borrow::Cow<'_, str> {
    fn put_into(&self, out: &mut Markup) {
        self.as_ref().put_into(out);
    }
}

impl Show for String {
    fn put_into(&self, out: &mut Markup) {
        self.as_str().put_into(out);
    }
}

impl Show for Markup {
    fn put_into(&self, out: &mut Markup) {
        out.0.push_str(&self.0);
    }
}

impl<T: Show + ?Sized> Show for &T {
    fn put_into(&self, out: &mut Markup) {
        (*self).put_into(out);
    }
}

macro_rules! show_numbers {
    ($($number:ty)*) => {
        $(impl Show for $number {
            fn put_into(&self, out: &mut Markup) {
                let _ = write!(out.0, "{self}");
            }
        })*
    };
}

show_numbers! { u8 u32 u64 usize i64 f64 }

/// `put!(out, "<td>", name, "</td>")`: literals are markup, everything else is escaped text.
#[macro_export]
macro_rules! put {
    ($out:expr $(,)?) => {{}};
    ($out:expr, $literal:literal $(, $($rest:tt)*)?) => {{
        $out.raw($literal);
        $($crate::put!($out, $($rest)*);)?
    }};
    ($out:expr, $value:expr $(, $($rest:tt)*)?) => {{
        $out.show(&$value);
        $($crate::put!($out, $($rest)*);)?
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_markup() {
        let mut out = Markup::new();
        put!(
            out,
            "<td title=\"",
            "a\"b'".to_owned(),
            "\">",
            "</script><img onerror=x>&\u{0}\u{202e}".to_owned(),
            "</td>"
        );
        let text = out.into_string();
        assert_eq!(text, "<td title=\"a&quot;b&#39;\">&lt;/script&gt;&lt;img onerror=x&gt;&amp;\u{fffd}\u{fffd}</td>");
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut out = Markup::new();
        out.json("[\"</script><!--\"]");
        assert_eq!(out.into_string(), "[\"\\u003c/script>\\u003c!--\"]");
    }

    #[test]
    fn markup_in_markup_is_kept() {
        let mut inner = Markup::new();
        put!(inner, "<b>", 1_usize + 2, "</b>");
        let mut out = Markup::new();
        put!(out, "<p>", inner, "</p>");
        assert_eq!(out.into_string(), "<p><b>3</b></p>");
    }
}
