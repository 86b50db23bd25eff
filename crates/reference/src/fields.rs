//! Types as tables of keys, each with its values, whether it must be there, and its comment.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use syn::{Attribute, Fields, GenericArgument, Item, ItemEnum, ItemStruct, PathArguments, Type, Variant};

use crate::serde_words::{self, Words};
use crate::source::{Declared, Sources, doc};

/// A page's part on one type, and on each that it holds.
pub struct Writer<'s> {
    sources: &'s Sources,
    text: String,
    written: BTreeSet<String>,
    to_write: Vec<(&'s Declared, String)>,
    /// Keys without a comment, as `file: Type.key`.
    silent: Vec<String>,
}

impl<'s> Writer<'s> {
    pub fn new(sources: &'s Sources) -> Writer<'s> {
        Writer { sources, text: String::new(), written: BTreeSet::new(), to_write: Vec::new(), silent: Vec::new() }
    }

    /// Adds a type under a heading, then all types that it holds.
    pub fn add(&mut self, declared: &'s Declared, heading: &str) -> Result<()> {
        self.written.insert(declared.name.clone());
        self.to_write.push((declared, heading.to_owned()));
        while !self.to_write.is_empty() {
            let (declared, heading) = self.to_write.remove(0);
            self.text += &format!("## {heading}\n\n");
            match &declared.item {
                // Read by code of its own, which its comment describes.
                _ if !serde_words::is_derived(declared.attributes(), declared.krate) => {
                    self.comment(declared, declared.attributes());
                }
                Item::Struct(item) => self.structure(declared, item),
                Item::Enum(item) => self.enumeration(declared, item)?,
                _ => ensure!(false, "{heading} is neither a structure nor an enumeration"),
            }
        }
        Ok(())
    }

    pub fn finish(self) -> (String, Vec<String>) {
        (self.text, self.silent)
    }

    fn structure(&mut self, declared: &'s Declared, item: &ItemStruct) {
        self.comment(declared, &item.attrs);
        let words = serde_words::of(&item.attrs);
        self.keys(declared, &declared.name, &item.fields, &words);
    }

    fn enumeration(&mut self, declared: &'s Declared, item: &ItemEnum) -> Result<()> {
        self.comment(declared, &item.attrs);
        let words = serde_words::of(&item.attrs);
        if let Some(tag) = &words.tag {
            self.text += &format!("`{tag}` says which:\n\n");
        }
        let mut rows = Vec::new();
        let mut with_keys = Vec::new();
        for variant in &item.variants {
            let key = serde_words::of(&variant.attrs).rename.unwrap_or_else(|| words.cased(&variant.ident.to_string()));
            let owner = format!("{}.{key}", item.ident);
            let about = self.about(declared, &owner, &variant.attrs);
            let holds = self.holds(declared, variant);
            rows.push(vec![format!("`{key}`"), holds, about]);
            if matches!(variant.fields, Fields::Named(_)) {
                with_keys.push((key, owner, &variant.fields));
            }
        }
        self.table(&["value", "with", "meaning"], &rows);
        for (key, owner, fields) in with_keys {
            self.text += &format!("With `{key}`:\n\n");
            self.keys(declared, &owner, fields, &Words::default());
        }
        Ok(())
    }

    /// What a value of an enumeration holds.
    fn holds(&mut self, declared: &'s Declared, variant: &Variant) -> String {
        match &variant.fields {
            Fields::Unit => String::new(),
            Fields::Named(_) => "keys, below".into(),
            Fields::Unnamed(fields) => {
                let parts: Vec<String> = fields.unnamed.iter().map(|field| self.value(declared, &field.ty)).collect();
                parts.join(", ")
            }
        }
    }

    /// Adds the table of a structure's keys.
    fn keys(&mut self, declared: &'s Declared, owner: &str, fields: &Fields, words: &Words) {
        let mut rows = Vec::new();
        for field in fields {
            let own = serde_words::of(&field.attrs);
            if own.skip {
                continue;
            }
            let ident = field.ident.as_ref().map_or_else(|| "0".into(), ToString::to_string);
            let key = own.rename.clone().unwrap_or_else(|| words.cased_field(&ident));
            let value = self.value(declared, &field.ty);
            let about =
                if own.flatten { String::new() } else { self.about(declared, &format!("{owner}.{key}"), &field.attrs) };
            let (key, value) =
                if own.flatten { (format!("its keys: {value}"), String::new()) } else { (format!("`{key}`"), value) };
            rows.push(vec![key, value, self.default(declared, &field.ty, &own, words), about]);
        }
        self.table(&["key", "value", "default", "meaning"], &rows);
    }

    /// Whether a key must be there, and what it is otherwise.
    fn default(&self, declared: &Declared, of: &Type, own: &Words, all: &Words) -> String {
        let name = plain_name(of).unwrap_or_default();
        match own.default.as_ref().or(all.default.as_ref()) {
            None if name == "Option" => "none".into(),
            None => "required".into(),
            Some(Some(function)) => {
                let value = self.sources.returned(&declared.file, function);
                value.map_or_else(|| "see there".into(), |value| format!("`{value}`"))
            }
            Some(None) => match name.as_str() {
                "Option" => "none".into(),
                "bool" => "`false`".into(),
                "Vec" | "BTreeMap" | "String" => "empty".into(),
                "u8" | "u16" | "u32" | "u64" | "usize" | "f64" | "Bytes" | "Quantity" => "`0`".into(),
                name => self.default_variant(declared, name).unwrap_or_else(|| "its own".into()),
            },
        }
    }

    /// The value that an enumeration has by default.
    fn default_variant(&self, declared: &Declared, name: &str) -> Option<String> {
        let found = self.sources.find(name, &declared.file, declared.krate)?;
        let Item::Enum(item) = &found.item else { return None };
        let is_default =
            |variant: &&Variant| variant.attrs.iter().any(|attribute| attribute.path().is_ident("default"));
        let variant = item.variants.iter().find(is_default)?;
        Some(format!("`{}`", serde_words::of(&item.attrs).cased(&variant.ident.to_string())))
    }

    /// Adds a table; columns without a cell are left out.
    fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        if rows.is_empty() {
            return;
        }
        let kept: Vec<usize> = (0..head.len()).filter(|at| rows.iter().any(|row| !row[*at].is_empty())).collect();
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        self.text += &line(kept.iter().map(|at| head[*at]).collect());
        self.text += &line(kept.iter().map(|_| "---").collect());
        for row in rows {
            let cells: Vec<String> = kept.iter().map(|at| row[*at].replace('|', "\\|")).collect();
            self.text += &line(cells.iter().map(String::as_str).collect());
        }
        self.text.push('\n');
    }

    /// The comment of a key, on one line.
    fn about(&mut self, declared: &Declared, name: &str, attributes: &[Attribute]) -> String {
        let text = doc(attributes);
        if text.is_empty() {
            self.silent.push(format!("{}: {name}", declared.file.display()));
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn comment(&mut self, declared: &Declared, attributes: &[Attribute]) {
        let text = doc(attributes);
        if text.is_empty() {
            self.silent.push(format!("{}: {}", declared.file.display(), declared.name));
        }
        self.text += &format!("{text}\n\n");
    }

    /// The values of a type in a reader's words, with a link to the type's own table.
    fn value(&mut self, declared: &'s Declared, of: &Type) -> String {
        let path = match of {
            Type::Path(path) => path,
            Type::Reference(reference) => return self.value(declared, &reference.elem),
            Type::Slice(slice) => return format!("list of {}", self.value(declared, &slice.elem)),
            Type::Array(array) => return format!("list of {}", self.value(declared, &array.elem)),
            Type::Tuple(tuple) => {
                let parts: Vec<String> = tuple.elems.iter().map(|part| self.value(declared, part)).collect();
                return format!("list of {}", parts.join(" and "));
            }
            _ => return "value".into(),
        };
        let Some(last) = path.path.segments.last() else { return "value".into() };
        let inner: Vec<&Type> = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => {
                let types = arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(of) => Some(of),
                    _ => None,
                });
                types.collect()
            }
            _ => Vec::new(),
        };
        match (last.ident.to_string().as_str(), &inner[..]) {
            ("Option" | "Box" | "Cow" | "Arc", [one]) => self.value(declared, one),
            ("Vec" | "BTreeSet", [one]) => format!("list of {}", self.value(declared, one)),
            ("BTreeMap" | "HashMap", [_, one]) => format!("table of {} by name", self.value(declared, one)),
            ("String" | "str" | "PathBuf" | "RunId", _) => "text".into(),
            ("bool", _) => "true, false".into(),
            ("f64" | "f32", _) => "number".into(),
            ("u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64", _) => "whole number".into(),
            ("Value", _) => "value".into(),
            (name, _) => self.named(declared, name),
        }
    }

    /// A type of the workspace: its words if it is a plain choice, else a link to its table.
    fn named(&mut self, declared: &'s Declared, name: &str) -> String {
        let Some(found) = self.sources.find(name, &declared.file, declared.krate) else { return "text".into() };
        if let Some(read_as) = serde_words::of(found.attributes()).read_as {
            let of = syn::parse_str(&read_as);
            return of.map_or("value".into(), |of: Type| self.value(found, &of));
        }
        let heading = heading(name);
        let shown = format!("[{heading}](#{})", heading.replace(' ', "-"));
        if let Item::Struct(item) = &found.item
            && let Fields::Unnamed(fields) = &item.fields
            && serde_words::is_derived(found.attributes(), found.krate)
        {
            let inner = fields.unnamed.iter().next();
            return inner.map_or("value".into(), |inner| self.value(found, &inner.ty));
        }
        if self.written.insert(found.name.clone()) {
            self.to_write.push((found, heading));
        }
        shown
    }
}

/// The name of a type without what it holds.
fn plain_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

/// `StudyRun` as a heading: `study run`.
fn heading(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            out.push(' ');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
