//! Sentences about what power cuts leave of files.

use std::collections::BTreeMap;

use mountmark_crash::cases::ClaimSeen;
use mountmark_model::{FileOutcome, When, heading};

use crate::claims::find::{CutsSeen, JudgedClaim};
use crate::figures::say::quantity::headings;
use crate::group::each_once;

pub(crate) const ABOUT: &str = "Images that a power cut may leave, by what the file holds in them: `new` and `old` are whole, as it was after and before; `mixed` has parts of both. Counts say how many images there are, and not how likely each is.";
pub(crate) const CLAIMS: &str = "What that says of the claims";
pub(crate) const NOT_TRIED: &str = "not tried";
pub(crate) const NO_IMAGES: &str = "no images";

pub(crate) fn fate(fate: FileOutcome) -> &'static str {
    match fate {
        FileOutcome::New => "new",
        FileOutcome::Old => "old",
        FileOutcome::Between => "between",
        FileOutcome::Part => "a part",
        FileOutcome::Mixed => "mixed",
        FileOutcome::Empty => "empty",
        FileOutcome::Zeros => "zeros",
        FileOutcome::Stale => "stale data",
        FileOutcome::Missing => "missing",
        FileOutcome::Mended => "damaged and mended",
        FileOutcome::Broken => "damaged",
        FileOutcome::NotMounted => "not mounted",
    }
}

pub(crate) fn when(when: When) -> &'static str {
    match when {
        When::Before => "before",
        When::During => "during",
        When::After => "after",
    }
}

/// Configurations whose time ended before all their images were made.
pub(crate) fn hurried(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "The time of {} ended before all images were made, so what is not seen there may be possible all the same: a \
             larger --budget of `mountmark crash` makes more.",
            headings(names)
        )
    })
}

/// A claim, and what was seen of it.
pub(crate) fn claim(claim: &ClaimSeen) -> String {
    let mut text = format!("{} {} \"{}\"", claim.study, claim.id, claim.text);
    if !claim.holds.is_empty() {
        text += &format!(" {}", held(&claim.holds));
    }
    // Its cases may have been tried on others, of which it says nothing.
    if !claim.missing.is_empty() {
        text += &format!(" No images of it on {}.", headings(&claim.missing));
    }
    text.extend(claim.note.map(|note| format!(" ({note})")));
    text
}

/// On which configurations a claim holds.
fn held<S: AsRef<str>>(holds: &[(S, bool)]) -> String {
    let so = |wanted: bool| -> Vec<&str> {
        holds.iter().filter(|(_, holds)| *holds == wanted).map(|(name, _)| name.as_ref()).collect()
    };
    match (so(true).as_slice(), so(false).as_slice()) {
        (held, []) => format!("Holds on {}.", headings(held)),
        ([], failed) => format!("Does not hold on {}.", headings(failed)),
        (held, failed) => format!("Holds on {}; not on {}.", headings(held), headings(failed)),
    }
}

/// The sentence of [`hurried`] about these claims, which say each of their own images that not all were made.
pub(crate) fn hurried_at(claims: &[JudgedClaim]) -> Option<String> {
    let names = claims.iter().filter_map(|claim| claim.cuts.as_ref()).flat_map(|cuts| &cuts.hurried);
    hurried(&each_once(names.map(String::as_str)))
}

/// What the store's campaigns showed of a claim.
pub(crate) fn seen(cuts: &CutsSeen) -> String {
    let of = |(name, images): &(String, BTreeMap<FileOutcome, usize>)| {
        let fates: Vec<String> = images.iter().map(|(found, count)| format!("{} {count}", fate(*found))).collect();
        let far = if cuts.hurried.contains(name) { " (not all made)" } else { "" };
        format!("{}{far}: {}", heading(name), fates.join(", "))
    };
    let images: Vec<String> = cuts.images.iter().map(of).collect();
    format!("By power cuts: {} Images: {}.", held(&cuts.holds), images.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_in_a_hurry_is_said_to_be_so() {
        assert_eq!(hurried(&[]), None);
        let said = hurried(&["ext2", "jfs"]).unwrap();
        assert!(said.starts_with("The time of ext2, jfs ended before all images were made"), "{said}");
    }

    #[test]
    fn configurations_are_named_by_their_headings() {
        let name = "ext4:mkfs=-O ^has_journal#bare";
        let cuts = CutsSeen {
            holds: vec![(name.into(), false)],
            images: vec![(name.into(), BTreeMap::from([(FileOutcome::Old, 3)]))],
            hurried: vec![name.into()],
            ..CutsSeen::default()
        };
        let said = seen(&cuts);
        assert!(said.contains("Does not hold on ext4#bare. Images: ext4#bare (not all made): old 3."), "{said}");
        let holds = vec![("xfs", true)];
        let (note, images, missing) = (None, Vec::new(), vec![name]);
        let said = claim(&ClaimSeen { study: "s", id: "J1", text: "So.", note, holds, images, missing });
        assert_eq!(said, "s J1 \"So.\" Holds on xfs. No images of it on ext4#bare.");
    }

    #[test]
    fn a_claim_names_where_it_has_no_images() {
        let seen = |holds: &[(&'static str, bool)], missing: &[&'static str]| {
            let (holds, missing) = (holds.to_vec(), missing.to_vec());
            claim(&ClaimSeen {
                study: "s",
                id: "J1",
                text: "It is so.",
                note: None,
                holds,
                images: Vec::new(),
                missing,
            })
        };
        assert_eq!(seen(&[], &["ext3", "jfs"]), "s J1 \"It is so.\" No images of it on ext3, jfs.");
        let some = "s J1 \"It is so.\" Holds on ext3. No images of it on jfs.";
        assert_eq!(seen(&[("ext3", true)], &["jfs"]), some);
        assert_eq!(seen(&[("ext3", false)], &[]), "s J1 \"It is so.\" Does not hold on ext3.");
    }
}
