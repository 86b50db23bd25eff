//! `--options`: each file system of `--fs` with each of a list of options.

use mountmark_model::split;

use crate::{PlanError, Result};

/// What `--options` has for the file systems as they are.
pub(crate) const DEFAULTS: &str = "defaults";

/// Each configuration of `texts`, the values of `--fs`, with each of the options of a list with commas, which are written
/// as behind a `:` there: `defaults,mount=noatime`.
///
/// # Errors
/// A list of fewer than two or with one twice, and what it cannot be crossed with.
pub fn with_options(texts: &[String], options: &str) -> Result<Vec<String>> {
    let levels: Vec<&str> = split(options, ',').into_iter().map(str::trim).collect();
    if levels.len() < 2 || levels.contains(&"") {
        return Err(PlanError::Options(format!(
            "--options {options}: give two or more with commas between them, such as {DEFAULTS},mount=noatime"
        )));
    }
    let wrong = |reason: String| Err(PlanError::Options(format!("--options {options}: {reason}")));
    if let Some(level) = levels.iter().enumerate().find(|(at, level)| levels[..*at].contains(level)) {
        return wrong(format!("{} is in it twice", level.1));
    }
    let names = || texts.iter().flat_map(|text| split(text, ',')).map(str::trim).filter(|name| !name.is_empty());
    for name in names() {
        let words = split(name, '#');
        if words.len() > 1 {
            return wrong(format!("--fs {name} has a label, and each of them would have it; leave the label away"));
        }
        let own = split(words[0], '@')[0].split_once(':').map_or(Vec::new(), |(_, own)| split(own, '+'));
        if let Some(level) = levels.iter().find(|level| own.contains(level)) {
            return wrong(format!("--fs {name} has {level} already; leave one of the two away"));
        }
    }
    let with = |name: &str, level: &str| {
        // Options of the file system stand before its layers.
        let (body, layers) = name.split_at(split(name, '@')[0].len());
        let sign = if split(body, ':').len() > 1 { '+' } else { ':' };
        if level == DEFAULTS { name.to_owned() } else { format!("{body}{sign}{level}{layers}") }
    };
    Ok(names().flat_map(|name| levels.iter().map(move |level| with(name, level))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_crossed_with_file_systems() {
        let texts = ["ext4, xfs@luks".to_owned(), "ext3:data=journal".to_owned()];
        let crossed = with_options(&texts, r"defaults,mount=noatime\,sync").unwrap();
        let noatime = r"mount=noatime\,sync";
        let wanted = [
            "ext4".to_owned(),
            format!("ext4:{noatime}"),
            "xfs@luks".to_owned(),
            format!("xfs:{noatime}@luks"),
            "ext3:data=journal".to_owned(),
            format!("ext3:data=journal+{noatime}"),
        ];
        assert_eq!(crossed, wanted);
        for few in ["", "defaults", "defaults,", "mount=noatime"] {
            assert!(with_options(&texts, few).is_err(), "{few}");
        }
        let labelled = ["xfs#mine".to_owned()];
        for (texts, options, says) in [
            (&texts[..], "defaults,defaults", "defaults is in it twice"),
            (&texts, "defaults,data=journal", "--fs ext3:data=journal has data=journal already"),
            (&labelled, "defaults,noatime", "--fs xfs#mine has a label"),
        ] {
            let error = with_options(texts, options).unwrap_err().to_string();
            assert!(error.contains(says) && error.starts_with("--options "), "{error}");
        }
    }
}
