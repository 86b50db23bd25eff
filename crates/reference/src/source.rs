//! The types of the workspace as their files declare them, with their doc comments.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Attribute, Expr, Item, ItemFn, Lit, Meta, Stmt};
use walkdir::WalkDir;

use crate::serde_words::is_derived;

/// Crates with types that files hold, in the order in which a name is looked up.
const CRATES: [&str; 6] = ["model", "disk", "crash", "record", "findings", "plan"];

/// A type, and where it is.
pub struct Declared {
    pub name: String,
    pub item: Item,
    pub file: PathBuf,
    pub krate: &'static str,
}

impl Declared {
    pub fn attributes(&self) -> &[Attribute] {
        match &self.item {
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            _ => &[],
        }
    }
}

/// All structures and enumerations, by name.
pub struct Sources {
    root: PathBuf,
    types: HashMap<String, Vec<Declared>>,
    /// What functions without an argument return, if that is plain, by file and name.
    plain: HashMap<(PathBuf, String), String>,
}

impl Sources {
    /// Reads the sources of the workspace in `root`.
    pub fn read(root: &Path) -> Result<Sources> {
        let mut types: HashMap<String, Vec<Declared>> = HashMap::new();
        let mut plain = HashMap::new();
        for krate in CRATES {
            for entry in WalkDir::new(root.join("crates").join(krate).join("src")).sort_by_file_name() {
                let entry = entry?;
                if entry.path().extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let file = entry.path().strip_prefix(root)?.to_owned();
                let parsed = parsed(entry.path())?;
                for item in parsed.items {
                    let name = match &item {
                        Item::Struct(item) => item.ident.to_string(),
                        Item::Enum(item) => item.ident.to_string(),
                        Item::Fn(item) => {
                            let value = returned(item).map(|value| ((file.clone(), item.sig.ident.to_string()), value));
                            plain.extend(value);
                            continue;
                        }
                        _ => continue,
                    };
                    let declared = Declared { name: name.clone(), item, file: file.clone(), krate };
                    types.entry(name).or_default().push(declared);
                }
            }
        }
        Ok(Sources { root: root.to_owned(), types, plain })
    }

    /// The type that a name stands for in a file: the file's own, one of its crate that serde reads, or another crate's.
    pub fn find(&self, name: &str, file: &Path, krate: &str) -> Option<&Declared> {
        let all = self.types.get(name)?;
        let of_crate = |declared: &&Declared| declared.krate == krate && is_derived(declared.attributes(), krate);
        let own = all.iter().find(|declared| declared.file == file);
        own.or_else(|| all.iter().find(of_crate)).or(all.first())
    }

    /// The type that a page names, as `FILE` and `NAME`.
    pub fn at(&self, file: &str, name: &str) -> Result<&Declared> {
        let found = self.types.get(name).into_iter().flatten().find(|declared| declared.file == Path::new(file));
        found.with_context(|| format!("{file} declares no type {name}"))
    }

    /// What a function that gives a default returns.
    pub fn returned(&self, file: &Path, function: &str) -> Option<&str> {
        self.plain.get(&(file.to_owned(), function.to_owned())).map(String::as_str)
    }

    /// The comment at the head of a file.
    pub fn head(&self, file: &str) -> Result<String> {
        Ok(doc(&parsed(&self.root.join(file))?.attrs))
    }
}

/// The literal that a function returns, in whatever type it is wrapped.
fn returned(function: &ItemFn) -> Option<String> {
    match function.block.stmts.last()? {
        Stmt::Expr(value, None) => literal(value),
        _ => None,
    }
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(value) => match &value.lit {
            Lit::Str(text) => Some(format!("\"{}\"", text.value())),
            Lit::Int(number) => Some(number.base10_digits().to_owned()),
            Lit::Float(number) => Some(number.base10_digits().trim_end_matches(".0").to_owned()),
            Lit::Bool(value) => Some(value.value.to_string()),
            _ => None,
        },
        Expr::Call(call) => literal(call.args.first()?),
        Expr::MethodCall(call) => literal(&call.receiver),
        _ => None,
    }
}

fn parsed(path: &Path) -> Result<syn::File> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))
}

/// The doc comment among attributes, as Markdown without links of rustdoc.
pub fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let text = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect::<Vec<_>>().join("\n");
    unlinked(text.trim()).replace("`None`", "absent")
}

/// Text with `[`Type`]` as `Type`: rustdoc's links lead nowhere in a book.
fn unlinked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("[`") {
        let Some(end) = rest[at..].find("`]") else { break };
        out += &rest[..at];
        let name = &rest[at + 2..at + end];
        out += &format!("`{}`", name.strip_prefix("crate::").unwrap_or(name));
        rest = &rest[at + end + 2..];
    }
    out + rest
}
