//! Keys and values.

use anyhow::Result;
use serde::Serialize;

/// An object while it is written.
pub struct Object {
    text: String,
    is_empty: bool,
}

impl Default for Object {
    fn default() -> Object {
        Object { text: "{".into(), is_empty: true }
    }
}

impl Object {
    /// The object as text with a final newline.
    pub fn into_text(self) -> String {
        self.text + "}\n"
    }

    /// Adds the keys of a structure.
    pub fn head(&mut self, head: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(head)?;
        let keys = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        if !keys.is_empty() {
            self.text += if self.is_empty { "" } else { ",\n" };
            self.text += keys;
            self.is_empty = false;
        }
        Ok(())
    }

    /// Adds a list, one element per line.
    pub fn list<T: Serialize>(&mut self, key: &str, elements: impl IntoIterator<Item = T>) -> Result<()> {
        self.text += if self.is_empty { "" } else { ",\n" };
        self.text += &format!("\"{key}\":[");
        self.is_empty = false;
        let mut separator = "\n";
        for element in elements {
            self.text += separator;
            self.text += &serde_json::to_string(&element)?;
            separator = ",\n";
        }
        self.text += "\n]";
        Ok(())
    }
}
