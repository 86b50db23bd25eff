//! Sentences about what power cuts leave of files.

use std::collections::BTreeMap;

use mountmark_analyse::claim::CutsSeen;
use mountmark_crash::cases::ClaimSeen;
use mountmark_model::{Fate, When};

pub(crate) const ABOUT: &str = "Images that a power cut may leave, by what the file holds in them: `new` and `old` are whole, as it was after and before; `mixed` has parts of both. Counts say how many images there are, and not how likely each is.";
pub(crate) const CLAIMS: &str = "What that says of the claims";
pub(crate) const NOT_TRIED: &str = "not tried";

pub(crate) fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::New => "new",
        Fate::Old => "old",
        Fate::Between => "between",
        Fate::Part => "a part",
        Fate::Mixed => "mixed",
        Fate::Empty => "empty",
        Fate::Zeros => "zeros",
        Fate::Stale => "stale data",
        Fate::Missing => "missing",
        Fate::Mended => "damaged and mended",
        Fate::Broken => "damaged",
        Fate::NotMounted => "not mounted",
    }
}

pub(crate) fn when(when: When) -> &'static str {
    match when {
        When::Before => "before",
        When::During => "during",
        When::After => "after",
    }
}

/// A claim, and what was seen of it.
pub(crate) fn claim(claim: &ClaimSeen) -> String {
    let said = if claim.holds.is_empty() { "Not tried.".to_owned() } else { held(&claim.holds) };
    let mut text = format!("{} {} \"{}\" {said}", claim.study, claim.id, claim.text);
    if !claim.missing.is_empty() && !claim.holds.is_empty() {
        text += &format!(" Not tried: {}.", claim.missing.join(", "));
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
        (held, []) => format!("Holds on {}.", held.join(", ")),
        ([], failed) => format!("Does not hold on {}.", failed.join(", ")),
        (held, failed) => format!("Holds on {}; not on {}.", held.join(", "), failed.join(", ")),
    }
}

/// What the store's campaigns showed of a claim.
pub(crate) fn seen(cuts: &CutsSeen) -> String {
    let of = |(name, images): &(String, BTreeMap<Fate, usize>)| {
        let fates: Vec<String> = images.iter().map(|(found, count)| format!("{} {count}", fate(*found))).collect();
        format!("{name}: {}", fates.join(", "))
    };
    let images: Vec<String> = cuts.images.iter().map(of).collect();
    format!("By power cuts: {} Images: {}.", held(&cuts.holds), images.join("; "))
}
