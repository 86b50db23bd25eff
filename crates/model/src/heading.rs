//! What stands above a column, in a sentence and on a progress line for a configuration.

use std::borrow::Cow;

/// The short name of a configuration: `ext4#small` for `ext4:mkfs=-b 1024#small`, `ext4@lvm#wide` for `ext4@lvm:stripes=4#wide`,
/// and the whole name of one without a label. Every text for people names configurations by it; the whole name is what they are known by.
pub fn heading(name: &str) -> Cow<'_, str> {
    match labelled(name) {
        Some((body, label)) => match without_options(body) {
            short if short == body => Cow::Borrowed(name),
            short => Cow::Owned(format!("{short}#{label}")),
        },
        None => Cow::Borrowed(name),
    }
}

/// The file system and the layers below it, without the options of either.
pub fn without_options(body: &str) -> String {
    let parts = split(body, '@').into_iter().map(|part| part.split(':').next().unwrap_or_default().trim());
    parts.collect::<Vec<_>>().join("@")
}

/// The parts of `text` separated by `at`, unless escaped; backslashes are kept.
pub fn split(text: &str, at: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == at {
            parts.push(&text[start..index]);
            start = index + c.len_utf8();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// What the headings that stand for more than they say stand for, in words: `ext4#small = ext4:mkfs=-b 1024`. `None` if
/// there is none among these names.
pub fn legend<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for name in names {
        let (heading, Some((body, _))) = (heading(name), labelled(name)) else { continue };
        let text = format!("{heading} = {body}");
        if heading != name && !told.contains(&text) {
            told.push(text);
        }
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// The name of a configuration with a label, which stands behind one that it has.
pub fn labelled_as(name: &str, label: &str) -> String {
    let mark = if labelled(name).is_some() { '-' } else { '#' };
    format!("{name}{mark}{label}")
}

/// The name to which [`labelled_as`] gave the label; `None` if it has another.
pub fn without_label<'a>(name: &'a str, label: &str) -> Option<&'a str> {
    let rest = name.strip_suffix(label)?;
    rest.strip_suffix('#').or_else(|| rest.strip_suffix('-').filter(|rest| labelled(rest).is_some()))
}

/// A name before its label, and the label. A `#` that is escaped begins none.
fn labelled(name: &str) -> Option<(&str, &str)> {
    let (body, label) = name.rsplit_once('#')?;
    let is_escaped = body.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
    let is_word = !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (!is_escaped && is_word).then_some((body, label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_for_all_options() {
        for (name, wanted) in [
            ("ext4", "ext4"),
            ("ext4#again", "ext4#again"),
            ("ext3:data=journal", "ext3:data=journal"),
            (r"ext4:mkfs=-O ^has_journal\,^metadata_csum+mount=noatime#bare", "ext4#bare"),
            (r"ext4:mkfs=-L a\#b", r"ext4:mkfs=-L a\#b"),
            (r"ext4:mkfs=-L a\#b#c", "ext4#c"),
            (r"ext4:mkfs=-L a\\#c", "ext4#c"),
            ("ext4@luks", "ext4@luks"),
            ("ext4@luks#again", "ext4@luks#again"),
            ("ext4:noatime@lvm:stripes=4@luks#wide", "ext4@lvm@luks#wide"),
            (r"btrfs:mount=subvol=\@#root", "btrfs#root"),
            ("ext4:noatime#6.12", "ext4#6.12"),
        ] {
            assert_eq!(heading(name), wanted);
        }
    }

    #[test]
    fn a_label_is_added_to_one() {
        for (name, wanted) in [("ext4", "ext4#new"), ("ext4:noatime", "ext4:noatime#new"), ("ext4#a", "ext4#a-new")] {
            assert_eq!(labelled_as(name, "new"), wanted);
            assert_eq!(without_label(wanted, "new"), Some(name));
        }
        assert_eq!(["ext4#old", "ext4-new", "new"].map(|name| without_label(name, "new")), [None; 3]);
    }

    #[test]
    fn a_legend_tells_what_headings_leave_out() {
        assert_eq!(legend(["ext4", "ext4#again", "xfs:noatime"]), None);
        let names = ["ext4:noatime#a", "xfs", "xfs:mkfs=-m crc=0#old", "ext4:noatime#a"];
        assert_eq!(legend(names).unwrap(), "ext4#a = ext4:noatime; xfs#old = xfs:mkfs=-m crc=0");
    }
}
