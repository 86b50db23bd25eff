//! The page of the database: the schema as it is created.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The schema of the results store, in the steps in which stores of earlier versions get it.
pub fn page(root: &Path) -> Result<String> {
    let folder = root.join("crates/record/src/schema");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    let mut text = String::from(
        "# Database\n\nThe results store is one SQLite file, `results.sqlite`. A newer program adds what an older store \
         lacks; an older program refuses a newer store. Open it with `sqlite3 -readonly`.\n\n",
    );
    for file in files {
        let schema = fs::read_to_string(&file)?;
        text += &format!("```sql\n{}\n```\n\n", schema.trim_end());
    }
    Ok(text)
}
