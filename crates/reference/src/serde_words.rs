//! What serde's attributes say of a type or a key.

use syn::{Attribute, Expr, LitStr, Token};

/// The attributes that change how something is written.
#[derive(Default)]
pub struct Words {
    pub rename: Option<String>,
    rename_all: Option<String>,
    /// The key that names an enumeration's value.
    pub tag: Option<String>,
    /// `Some` if the key may be absent; with the function that gives its value then.
    pub default: Option<Option<String>>,
    pub flatten: bool,
    /// The type that it is read as.
    pub read_as: Option<String>,
    pub skip: bool,
}

/// Reads them; what does not matter here is passed over.
pub fn of(attributes: &[Attribute]) -> Words {
    let mut words = Words::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // Attributes that compile are well-formed.
        let _ = attribute.parse_nested_meta(|meta| {
            let text = |meta: &syn::meta::ParseNestedMeta| meta.value()?.parse::<LitStr>().map(|text| text.value());
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match name.as_str() {
                "rename" => words.rename = Some(text(&meta)?),
                "rename_all" => words.rename_all = Some(text(&meta)?),
                "tag" => words.tag = Some(text(&meta)?),
                "default" if meta.input.peek(Token![=]) => words.default = Some(Some(text(&meta)?)),
                "default" => words.default = Some(None),
                "flatten" => words.flatten = true,
                "skip" => words.skip = true,
                "try_from" | "from" => words.read_as = Some(text(&meta)?),
                _ if meta.input.peek(Token![=]) => drop(meta.value()?.parse::<Expr>()?),
                _ => {}
            }
            Ok(())
        });
    }
    words
}

/// Whether serde reads the type by its fields: crates of definitions read files, the others print.
pub fn is_derived(attributes: &[Attribute], krate: &str) -> bool {
    let wanted = if matches!(krate, "findings" | "record") { "Serialize" } else { "Deserialize" };
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // Attributes that compile are well-formed.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == wanted);
            Ok(())
        });
    }
    found
}

impl Words {
    /// A value of the enumeration as files have it.
    pub fn cased(&self, name: &str) -> String {
        match self.rename_all.as_deref() {
            Some("lowercase") => name.to_lowercase(),
            Some("kebab-case") => split(name, '-'),
            Some("snake_case") => split(name, '_'),
            _ => name.to_owned(),
        }
    }

    /// A key of the structure as files have it.
    pub fn cased_field(&self, name: &str) -> String {
        let name = name.strip_prefix("r#").unwrap_or(name);
        match self.rename_all.as_deref() {
            Some("kebab-case") => name.replace('_', "-"),
            _ => name.to_owned(),
        }
    }
}

fn split(name: &str, by: char) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            out.push(by);
        }
        out.extend(letter.to_lowercase());
    }
    out
}
