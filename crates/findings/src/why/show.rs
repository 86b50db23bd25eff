//! Where a task's time went, and what makes it slower in one configuration, kernel or run than in another.

pub(crate) mod answer;

use anyhow::Result;
use mountmark_document::forms::{Block, Object, Stack, Subject};
use mountmark_document::markup::Markup;
use mountmark_document::writers;

use crate::changes;
use crate::changes::find::differences;
use crate::run::show::about::{about, labels};
use crate::why::show::answer::{Answer, flames, head, lists, sentences, stacks, tables, title};
use crate::why::{page, say as words};

#[derive(Clone, Copy)]
pub struct Why<'a>(pub &'a Answer<'a>);

impl Subject for Why<'_> {
    const COMMAND: &'static str = "why";
    const NAME: &'static str = "where a task's time went";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
    const PAGE: Option<fn(&Self) -> Result<Markup>> = Some(|Why(answer)| {
        let drawn = page::flames(answer);
        Ok(writers::html::page(&told(answer), Self::NAME, Self::COMMAND, &drawn))
    });
    const PICTURE: Option<fn(&Self) -> Result<Markup>> = Some(|Why(answer)| Ok(flames(answer)?.picture));
    const STACKS: Option<fn(&Self) -> Vec<Stack>> = Some(|Why(answer)| stacks(answer));
}

fn parts(Why(why): &Why) -> Vec<Block> {
    told(why)
}

/// Title, sentences, facts and tables.
pub(crate) fn told(why: &Answer) -> Vec<Block> {
    let mut out = vec![Block::Heading(title(why))];
    out.extend(sentences(why).into_iter().map(Block::Text));
    match why.later {
        None => out.extend(about(why.run)),
        Some(later) => {
            out.push(Block::Fact("before".into(), words::run(why.run)));
            out.push(Block::Fact("after".into(), words::run(later)));
            let names = [why.run, later].into_iter().flat_map(|run| &run.plan.configurations).map(String::as_str);
            out.extend(labels(names));
        }
    }
    out.extend(why.chosen.map(|chosen| Block::Fact("chosen".into(), chosen.into())));
    out.push(Block::Fact("figures".into(), words::figures(why.figures, why.is_kept, why.differs)));
    out.extend(tables(why));
    out.extend(why.later.into_iter().flat_map(|later| changes::show::differences(&differences(why.run, later))));
    out
}

fn object(Why(why): &Why, out: &mut Object) -> Result<()> {
    out.head(&head(why))?;
    lists(why).into_iter().try_for_each(|(key, values)| out.list(key, values))
}

/// An explanation as a part of a report.
pub(crate) fn section(why: &Answer) -> Vec<Block> {
    let mut out = vec![Block::Subheading(words::asked(&title(why)))];
    out.extend(sentences(why).into_iter().map(Block::Text));
    out.push(Block::Fact("figures".into(), words::figures(why.figures, why.is_kept, why.differs)));
    out.extend(tables(why));
    for block in &mut out {
        if let Block::Heading(text) = block {
            *block = Block::Subheading(std::mem::take(text));
        }
    }
    out
}
