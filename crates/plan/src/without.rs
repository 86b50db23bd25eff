//! What an option that `mountmark advise` tries takes away.
//!
//! `without`, beside `option` in an `[[option]]`, lists the topics of `[facts]` that a file system has without the option
//! alone. Such an option is not tried if a `--need` is among them.
//!
//! ```toml
//! [[option]]
//! option = "mount=nodatacow"
//! without = ["checksums", "compression"]
//! ```

use std::collections::BTreeMap;

use mountmark_model::FileSystem;
use mountmark_model::facts::Topic;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// Its key in a file. Guests know nothing of it, so that it is kept apart from what they read.
const KEY: &str = "without";

/// What options of a file system take away, by option.
pub(crate) type Without = BTreeMap<String, Vec<Topic>>;

/// What the text of a file system says of it.
pub(crate) fn of(text: &str) -> Result<Without, Error> {
    #[derive(Deserialize)]
    struct Written {
        #[serde(default)]
        option: Vec<One>,
    }
    #[derive(Deserialize)]
    struct One {
        option: String,
        #[serde(default)]
        without: Vec<Topic>,
    }
    let written: Written = toml::from_str(text)?;
    let some = written.option.into_iter().filter(|one| !one.without.is_empty());
    Ok(some.map(|one| (one.option, one.without)).collect())
}

/// The rest of what is written, with its places.
pub(crate) fn rest(text: &str) -> Result<Spanned<DeTable<'_>>, Error> {
    let mut written = DeTable::parse(text)?;
    for (key, value) in written.get_mut().iter_mut() {
        let DeValue::Array(options) = value.get_mut() else { continue };
        for option in options.iter_mut().filter(|_| key.get_ref() == "option") {
            if let DeValue::Table(option) = option.get_mut() {
                option.remove(KEY);
            }
        }
    }
    Ok(written)
}

/// What is wrong with it, a sentence each.
pub(crate) fn faults<'a>(of: &'a Without, filesystem: &'a FileSystem) -> impl Iterator<Item = String> + 'a {
    let all = of.iter().flat_map(|(option, topics)| topics.iter().map(move |topic| (option, *topic)));
    let has = |topic: Topic| filesystem.facts.get(&topic).is_some_and(|fact| fact.is_met() == Some(true));
    all.filter(move |(_, topic)| !has(*topic)).map(|(option, topic)| {
        format!("option {option}: {KEY}: [facts] do not say that it has {:?} otherwise; leave it out", topic.title())
    })
}
