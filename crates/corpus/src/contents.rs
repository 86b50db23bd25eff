//! Contents of generated files: text like C source, or random bytes.
//!
//! The text is for file systems that compress and for people who look: lines from templates filled with identifiers, of
//! which each file prefers its own few. It shrinks about fourfold under gzip, as kernel source does. It does not
//! compile as C, and does not model how parts of real files repeat over long distances.

use std::io::{self, Write};

use mountmark_random::Stream;

/// Longest token in bytes. Tokens are copied at this fixed length, which the compiler turns into two moves, and the
/// next one overwrites the surplus.
const TOKEN: usize = 32;
/// Bytes generated before they are written.
const BLOCK: usize = 128 << 10;
/// Number of identifiers in a corpus; a power of two.
const IDENTIFIERS: usize = 4096;
/// Number of numbers in a corpus; a power of two.
const NUMBERS: usize = 1024;

/// `$` is an identifier that this file prefers, `@` any identifier, `#` a number, `~` a word of prose.
const TEMPLATES: &[&str] = &[
    "\t$ = $;\n",
    "\t$->$ = @(#);\n",
    "\tif ($ < #)\n\t\treturn -@;\n",
    "\tif (!$)\n\t\tgoto @;\n",
    "\tfor ($ = 0; $ < #; $++) {\n\t\t@($, $);\n\t}\n",
    "\t@($->$, $, #);\n",
    "}\n\nstatic int @(struct @ *$, int $)\n{\n",
    "\tstruct @ *$ = $->$;\n",
    "\tunsigned long $ = #;\n",
    "/*\n * ~ ~ ~ ~ the ~ ~ of ~ ~\n * ~ ~ ~ ~ ~.\n */\n",
    "\t/* ~ ~ ~ ~ */\n",
    "#define @\t#\n",
    "#define @($)\t(@ | #)\n",
    "#include <linux/@.h>\n",
    "\tswitch ($) {\n\tcase #:\n\t\t$ |= @;\n\t\tbreak;\n\t}\n",
    "\tspin_lock_irqsave(&$->@, $);\n",
    "\tprintk(KERN_WARNING \"%s: ~ ~ ~ %d\\n\", $->@, $);\n",
    "\treturn $ & #;\n",
    "\t{ #, #, @ },\n",
    "\twhile ($--)\n\t\t*$++ = @ + #;\n",
    "EXPORT_SYMBOL(@);\n\n",
    "\t@ = readl($ + #);\n",
    "\twritel(@, $->@ + #);\n",
    "\t.@ = @,\n",
    "\tmemset(&$, 0, sizeof(struct @));\n",
    "\t\t$ = @ >> #;\n",
    "\n",
    "\t} else if ($->@ == #) {\n",
    "\tint $, @;\n",
    "\tunsigned char $[#];\n",
    "\tu32 @;\t/* ~ ~ */\n",
    "\tkfree($);\n",
];

/// Parts of identifiers and words of prose.
const WORDS: &[&str] = &[
    "add", "addr", "alloc", "area", "base", "bit", "block", "buf", "bus", "cache", "call", "card", "chan", "check",
    "clear", "clock", "cmd", "config", "conn", "count", "cpu", "ctl", "data", "dev", "dir", "dma", "done", "entry",
    "err", "event", "exit", "fifo", "file", "find", "flag", "flush", "frame", "free", "get", "group", "handle", "hash",
    "head", "host", "hw", "id", "index", "info", "init", "inode", "int", "io", "irq", "item", "key", "len", "level",
    "limit", "line", "link", "list", "lock", "log", "map", "mask", "max", "mem", "mode", "msg", "name", "next", "node",
    "num", "offset", "open", "page", "parse", "pci", "phy", "pid", "port", "priv", "probe", "proc", "ptr", "put",
    "queue", "read", "reg", "remove", "req", "reset", "ring", "rx", "seq", "set", "size", "sk", "slot", "start",
    "state", "stop", "sync", "table", "task", "test", "time", "tx", "type", "unit", "update", "user", "val", "wait",
    "work", "write", "zone",
];

#[derive(Clone, Copy)]
struct Token {
    bytes: [u8; TOKEN],
    length: usize,
}

impl Token {
    fn new(text: &str) -> Token {
        let mut bytes = [0; TOKEN];
        let length = text.len().min(TOKEN);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Token { bytes, length }
    }
}

#[derive(Clone, Copy)]
enum Piece {
    Literal(Token),
    Own,
    Any,
    Number,
    Word,
}

/// Generates the contents of a corpus's files.
pub(crate) struct Contents {
    seed: u64,
    text: Option<Text>,
    buffer: Vec<u8>,
}

struct Text {
    templates: Vec<Vec<Piece>>,
    identifiers: Vec<Token>,
    numbers: Vec<Token>,
    words: Vec<Token>,
}

impl Contents {
    pub(crate) fn new(seed: u64, text: bool) -> Contents {
        Contents { seed, text: text.then(|| Text::new(seed)), buffer: vec![0; BLOCK + 8 * TOKEN * TOKEN] }
    }

    /// Writes the `size` bytes of file number `index`.
    pub(crate) fn write(&mut self, index: u64, size: u64, out: &mut impl Write) -> io::Result<()> {
        let mut stream = Stream::numbered(self.seed, "contents", index);
        let mut rest = size;
        match &self.text {
            None => {
                while rest > 0 {
                    let length = rest.min(BLOCK as u64) as usize;
                    stream.fill(&mut self.buffer[..length]);
                    out.write_all(&self.buffer[..length])?;
                    rest -= length as u64;
                }
            }
            Some(text) => {
                let own = stream.below(IDENTIFIERS as u64) as usize;
                let mut bits = Bits { stream, held: 0, count: 0 };
                while rest > 0 {
                    let wanted = rest.min(BLOCK as u64) as usize;
                    let made = text.fill(&mut self.buffer, wanted, own, &mut bits);
                    let length = made.min(usize::try_from(rest).unwrap_or(usize::MAX));
                    rest -= length as u64;
                    if rest == 0 {
                        self.buffer[length - 1] = b'\n';
                    }
                    out.write_all(&self.buffer[..length])?;
                }
            }
        }
        Ok(())
    }
}

/// Splits a stream into few bits: most choices need only a byte, and drawing is what takes time.
struct Bits {
    stream: Stream,
    held: u64,
    count: u32,
}

impl Bits {
    #[inline]
    fn take(&mut self, count: u32) -> usize {
        if self.count < count {
            self.held = self.stream.next_u64();
            self.count = 64;
        }
        let value = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        value as usize
    }
}

impl Text {
    fn new(seed: u64) -> Text {
        let mut stream = Stream::new(seed, "words");
        let mut pick = || WORDS[stream.below(WORDS.len() as u64) as usize];
        let identifiers = (0..IDENTIFIERS)
            .map(|index| match index % 4 {
                0 => Token::new(pick()),
                1 | 2 => Token::new(&format!("{}_{}", pick(), pick())),
                _ => Token::new(&format!("{}_{}_{}", pick(), pick(), pick())),
            })
            .collect();
        let numbers = (0..NUMBERS)
            .map(|index| match index % 3 {
                0 => Token::new(&format!("{:#x}", stream.below(1 << 16))),
                1 => Token::new(&stream.below(256).to_string()),
                _ => Token::new(&stream.below(16).to_string()),
            })
            .collect();
        let templates = TEMPLATES.iter().map(|template| pieces(template)).collect();
        Text { templates, identifiers, numbers, words: WORDS.iter().map(|word| Token::new(word)).collect() }
    }

    /// Writes whole templates to the start of `out` until there are `wanted` bytes; returns their number.
    fn fill(&self, out: &mut [u8], wanted: usize, own: usize, bits: &mut Bits) -> usize {
        let mut position = 0;
        while position < wanted {
            // The product of two draws prefers the first templates, as some statements are more common than others.
            let template = (bits.take(8) * bits.take(8) * self.templates.len()) >> 16;
            for piece in &self.templates[template] {
                let token = match piece {
                    Piece::Literal(token) => token,
                    Piece::Own => {
                        let near = bits.take(5).min(bits.take(5));
                        &self.identifiers[(own + near) % IDENTIFIERS]
                    }
                    Piece::Any => {
                        let index = bits.take(12);
                        &self.identifiers[(index * index * index) / (IDENTIFIERS * IDENTIFIERS)]
                    }
                    Piece::Number => &self.numbers[(bits.take(10) * bits.take(10)) / NUMBERS],
                    Piece::Word => &self.words[(bits.take(8) * bits.take(8) * self.words.len()) >> 16],
                };
                out[position..position + TOKEN].copy_from_slice(&token.bytes);
                position += token.length;
            }
        }
        position
    }
}

fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    for letter in template.chars() {
        let hole = match letter {
            '$' => Piece::Own,
            '@' => Piece::Any,
            '#' if !template.starts_with('#') || !pieces.is_empty() => Piece::Number,
            '~' => Piece::Word,
            other => {
                literal.push(other);
                continue;
            }
        };
        push_literal(&mut pieces, &literal);
        literal.clear();
        pieces.push(hole);
    }
    push_literal(&mut pieces, &literal);
    pieces
}

fn push_literal(pieces: &mut Vec<Piece>, literal: &str) {
    debug_assert!(literal.is_ascii());
    let bytes = literal.as_bytes();
    pieces.extend(bytes.chunks(TOKEN).map(|part| Piece::Literal(Token::new(std::str::from_utf8(part).unwrap_or("")))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: bool, index: u64, size: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Contents::new(9, text).write(index, size, &mut out).unwrap();
        out
    }

    fn gzipped(data: &[u8]) -> usize {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap().len()
    }

    #[test]
    fn sizes_are_exact() {
        for text in [true, false] {
            for size in [0, 1, 7, 511, 4096, BLOCK as u64, BLOCK as u64 + 1, 3 * BLOCK as u64 + 5] {
                assert_eq!(made(text, 0, size).len() as u64, size);
            }
        }
    }

    #[test]
    fn text_shrinks_about_fourfold_and_random_bytes_do_not() {
        // A kernel's tar contains files of about 11 KB one after another.
        let tree: Vec<u8> = (0..200).flat_map(|index| made(true, index, 11_000)).collect();
        let ratio = tree.len() as f64 / gzipped(&tree) as f64;
        assert!((3.5..=5.0).contains(&ratio), "{ratio}");
        assert!(tree.iter().all(|byte| byte.is_ascii_graphic() || b" \t\n".contains(byte)));
        let noise = made(false, 0, 1 << 20);
        assert!(gzipped(&noise) >= noise.len());
    }

    #[test]
    fn files_differ_and_templates_fit_the_buffer() {
        assert_ne!(made(true, 0, 4000), made(true, 1, 4000));
        let longest = TEMPLATES.iter().map(|template| pieces(template).len()).max().unwrap();
        assert!(longest < 8 * TOKEN - 1);
        assert!(TEMPLATES.iter().all(|template| !pieces(template).is_empty()));
    }

    #[test]
    #[ignore = "measures, in release: cargo test --release -p mountmark-corpus speed -- --ignored --nocapture"]
    fn speed() {
        for (text, size, count) in [(true, 11_000, 30_000u64), (true, 1 << 28, 2), (false, 1 << 28, 4)] {
            let mut contents = Contents::new(9, text);
            let start = std::time::Instant::now();
            for index in 0..count {
                contents.write(index, size, &mut io::sink()).unwrap();
            }
            let rate = (size * count) as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("text {text}, files of {size} bytes: {rate:.0} MB/s");
        }
    }
}
