//! Lines of fields under one head.

use anyhow::Result;

/// Lines of fields, starting with the heads.
pub struct Rows(csv::Writer<Vec<u8>>);

impl Default for Rows {
    fn default() -> Rows {
        Rows(csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new()))
    }
}

impl Rows {
    pub fn line<F: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = F>) -> Result<()> {
        Ok(self.0.write_record(fields)?)
    }

    /// Appends the column heads, separated by commas.
    pub fn head(&mut self, names: &str) -> Result<()> {
        self.line(names.split(','))
    }

    pub fn into_text(self) -> Result<String> {
        let bytes = self.0.into_inner().map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(String::from_utf8(bytes)?)
    }
}

/// The shortest decimal that is read back as the same number; with an exponent only if it would be long.
pub fn number(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-7..1e17).contains(&value.abs()) || !value.is_finite();
    if is_plain { format!("{value}") } else { format!("{value:e}") }
}

pub fn number_or_empty(value: Option<f64>) -> String {
    value.map_or(String::new(), number)
}
