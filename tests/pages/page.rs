//! The commands of a page, each with what the page says beside it.

/// A command of a page.
#[derive(Debug, Default)]
pub struct Command {
    /// The heading that it stands under.
    pub heading: String,
    pub line: String,
    /// What its line `# finds ...` says: signatures, or `nothing`.
    pub finds: Option<String>,
    /// The printed lines that follow it.
    pub printed: String,
    /// The table that it stands in, or the next one under its heading.
    pub table: Vec<Vec<String>>,
}

impl Command {
    /// Cells of the table's first row but the first.
    pub fn columns(&self) -> impl Iterator<Item = &String> {
        self.table.iter().take(1).flatten().skip(1)
    }

    /// The table's rows below its head.
    pub fn rows(&self) -> impl Iterator<Item = &Vec<String>> {
        self.table.iter().skip(1)
    }
}

/// All commands of a page, in their order.
pub fn commands(text: &str) -> Vec<Command> {
    let mut page = Page::default();
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 1 { page.block(part) } else { page.prose(part) }
    }
    page.found
}

#[derive(Default)]
struct Page {
    found: Vec<Command>,
    heading: String,
}

impl Page {
    fn add(&mut self, line: String) {
        self.found.push(Command { heading: self.heading.clone(), line, ..Command::default() });
    }

    fn block(&mut self, block: &str) {
        for line in block.lines().skip(1) {
            let command = line.strip_prefix("$ ").unwrap_or(line);
            if command.starts_with("mountmark ") {
                self.add(without_rest(command).to_owned());
            } else if let Some(last) = self.found.last_mut().filter(|last| last.heading == self.heading) {
                match line.strip_prefix("# finds ") {
                    Some(finds) => last.finds = Some(finds.to_owned()),
                    None => last.printed += &format!("{line}\n"),
                }
            }
        }
    }

    fn prose(&mut self, prose: &str) {
        for part in prose.split("\n\n") {
            let mut lines = part.trim_matches('\n').lines().peekable();
            if let Some(heading) = lines.peek().and_then(|line| line.strip_prefix('#')) {
                heading.trim_start_matches('#').trim().clone_into(&mut self.heading);
                lines.next();
            }
            let (table, text): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('|'));
            for part in [text.join(" "), table.join(" ")] {
                let codes = part.split('`').skip(1).step_by(2).map(|code| code.split_whitespace().collect::<Vec<_>>());
                let commands = codes.filter(|words| words.len() > 2 && words[0] == "mountmark");
                commands.for_each(|words| self.add(words.join(" ")));
            }
            self.table(&table);
        }
    }

    fn table(&mut self, lines: &[&str]) {
        let (rows, heading) = (table(lines), &self.heading);
        let open = self.found.iter_mut().rev().take_while(|command| command.heading == *heading);
        open.filter(|command| command.table.is_empty()).for_each(|command| command.table.clone_from(&rows));
    }
}

/// The rows of a table in Markdown, its head first.
pub fn table(lines: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &&str| -> Vec<String> {
        let inner = line.trim().trim_start_matches('|').strip_suffix('|').unwrap_or_default();
        inner.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let is_rule = |line: &&str| line.chars().all(|letter| "|-: ".contains(letter)) && line.contains("--");
    lines.iter().filter(|line| !is_rule(line)).map(cells).collect()
}

/// A line of a shell up to its comment, or to where its output goes.
fn without_rest(line: &str) -> &str {
    let mut is_quoted = false;
    let rest = line.char_indices().find(|(at, letter)| {
        is_quoted ^= *letter == '\'';
        !is_quoted && matches!(letter, '#' | '>') && line[..*at].ends_with(' ')
    });
    line[..rest.map_or(line.len(), |(at, _)| at)].trim_end()
}
