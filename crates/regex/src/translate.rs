//! Parses a pattern as Go's `regexp/syntax` does and translates it to the `regex` crate's syntax.
//!
//! Groups are translated without captures, which are not used here: a matcher keeps two slots per group in every
//! state.

use super::names;

/// Maximal count of a repetition, and maximal product of nested counts.
const MOST_REPEATS: u64 = 1000;

/// Maximal height of a pattern's tree.
const MOST_HEIGHT: usize = 1000;

/// Pattern in the `regex` crate's syntax.
pub(super) struct Translated {
    pub(super) text: String,
    /// Height of the pattern's tree.
    pub(super) height: usize,
    /// Whether it contains `\B`, which only the byte matcher supports as Go means it.
    pub(super) between: bool,
}

pub(super) fn translate(pattern: &str) -> Result<Translated, String> {
    let mut reader =
        Reader { pattern, at: 0, open: Vec::new(), group: Group::new(String::new(), false), between: false };
    reader.all()?;
    let whole = reader.group.close();
    Ok(Translated { text: whole.text, height: whole.height, between: reader.between })
}

/// Part of a pattern that can be repeated.
struct Atom {
    text: String,
    /// Maximal product of counted repetitions in it.
    repeats: u64,
    height: usize,
    repeated: bool,
}

impl Atom {
    fn leaf(text: String) -> Atom {
        Atom { text, repeats: 0, height: 1, repeated: false }
    }
}

enum Piece {
    Atom(Atom),
    /// Flags from here on, which a repetition operator applies across: `a(?i)*` is `a*(?i)`.
    Flags(String),
}

/// Open group, or the whole pattern.
struct Group {
    /// Starts with the flags of the group.
    text: String,
    captures: bool,
    alternatives: usize,
    /// Of the finished alternatives.
    repeats: u64,
    height: usize,
    /// Of the current alternative.
    pieces: Vec<Piece>,
}

impl Group {
    fn new(begin: String, captures: bool) -> Group {
        Group { text: begin, captures, alternatives: 0, repeats: 0, height: 0, pieces: Vec::new() }
    }

    fn end_alternative(&mut self) {
        let (mut count, mut height) = (0, 1);
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::Flags(flags) => self.text.push_str(&flags),
                Piece::Atom(atom) => {
                    count += 1;
                    height = height.max(atom.height);
                    self.repeats = self.repeats.max(atom.repeats);
                    self.text.push_str(&atom.text);
                }
            }
        }
        self.alternatives += 1;
        self.height = self.height.max(height + usize::from(count > 1));
    }

    fn close(mut self) -> Atom {
        self.end_alternative();
        let height = self.height + usize::from(self.alternatives > 1) + usize::from(self.captures);
        Atom { text: self.text, repeats: self.repeats, height, repeated: false }
    }
}

struct Reader<'p> {
    pattern: &'p str,
    at: usize,
    /// Enclosing groups.
    open: Vec<Group>,
    group: Group,
    between: bool,
}

impl<'p> Reader<'p> {
    fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Returns the pattern from an offset up to the current position.
    fn since(&self, start: usize) -> &'p str {
        &self.pattern[start..self.at]
    }

    fn push(&mut self, atom: Atom) -> Result<(), String> {
        if atom.height > MOST_HEIGHT {
            return Err(format!("expression nests too deeply: `{}`", self.pattern));
        }
        self.group.pieces.push(Piece::Atom(atom));
        Ok(())
    }

    fn push_leaf(&mut self, text: impl Into<String>) {
        self.group.pieces.push(Piece::Atom(Atom::leaf(text.into())));
    }

    fn all(&mut self) -> Result<(), String> {
        // Start of the previous operator, if it was a repetition.
        let mut last_repeat: Option<usize> = None;
        while let Some(c) = self.peek() {
            let start = self.at;
            let before = last_repeat.take();
            match c {
                '(' if self.rest().starts_with("(?") => self.flags()?,
                '(' => {
                    self.at += 1;
                    self.enter("(?:".to_owned(), true)?;
                }
                '|' => {
                    self.at += 1;
                    self.group.end_alternative();
                    self.group.text.push('|');
                }
                ')' => {
                    let Some(around) = self.open.pop() else {
                        return Err(format!("unexpected ): `{}`", self.pattern));
                    };
                    self.at += 1;
                    let mut atom = std::mem::replace(&mut self.group, around).close();
                    atom.text.push(')');
                    self.push(atom)?;
                }
                '^' | '$' | '.' => {
                    self.at += 1;
                    self.push_leaf(c);
                }
                '[' => {
                    let class = self.class()?;
                    self.push_leaf(class);
                }
                '*' | '+' | '?' => {
                    self.at += 1;
                    self.repeat(start, before, &c.to_string(), None)?;
                    last_repeat = Some(start);
                }
                '{' => match self.counts() {
                    Some((least, most)) => {
                        let largest = most.unwrap_or(least).max(least);
                        if largest > MOST_REPEATS || most.is_some_and(|most| most < least) {
                            return Err(format!("invalid repeat count: `{}`", self.since(start)));
                        }
                        let most = most.map(|most| most.to_string()).unwrap_or_default();
                        let written = format!("{{{least},{most}}}");
                        self.repeat(start, before, &written, Some((least, largest)))?;
                        last_repeat = Some(start);
                    }
                    None => {
                        self.at += 1;
                        self.push_leaf(literal('{'));
                    }
                },
                '\\' => self.escape()?,
                c => {
                    self.at += c.len_utf8();
                    self.push_leaf(literal(c));
                }
            }
        }
        if self.open.is_empty() { Ok(()) } else { Err(format!("missing closing ): `{}`", self.pattern)) }
    }

    fn enter(&mut self, begin: String, captures: bool) -> Result<(), String> {
        // Every capturing group adds to the height; non-capturing groups are bounded to protect the stack.
        if self.open.len() >= MOST_HEIGHT {
            return Err(format!("expression nests too deeply: `{}`", self.pattern));
        }
        let around = std::mem::replace(&mut self.group, Group::new(begin, captures));
        self.open.push(around);
        Ok(())
    }

    /// Applies a repetition operator, possibly lazy, to the last part; a repetition cannot be repeated. `counts` are
    /// the minimal and maximal count of an operator in braces.
    fn repeat(
        &mut self,
        start: usize,
        before: Option<usize>,
        operator: &str,
        counts: Option<(u64, u64)>,
    ) -> Result<(), String> {
        let lazy = if self.eat("?") { "?" } else { "" };
        let shown = self.since(start);
        if let Some(before) = before {
            return Err(format!("invalid nested repetition operator: `{}`", self.since(before)));
        }
        let pieces = self.group.pieces.iter_mut().rev();
        let mut atoms = pieces.filter_map(|piece| match piece {
            Piece::Atom(atom) => Some(atom),
            Piece::Flags(_) => None,
        });
        let Some(atom) = atoms.next() else {
            return Err(format!("missing argument to repetition operator: `{shown}`"));
        };
        if atom.repeated {
            atom.text = format!("(?:{})", atom.text);
        }
        atom.text.push_str(operator);
        atom.text.push_str(lazy);
        atom.height += 1;
        atom.repeated = true;
        if let Some((least, largest)) = counts {
            // Inside of `{0}` nothing counts as repeated.
            let is_open = operator.ends_with(",}");
            atom.repeats = match largest {
                0 if !is_open => 0,
                0 => atom.repeats,
                count => count.saturating_mul(atom.repeats.max(1)),
            };
            if (least >= 2 || largest >= 2) && atom.repeats > MOST_REPEATS {
                return Err(format!("invalid repeat count: `{shown}`"));
            }
        }
        if atom.height > MOST_HEIGHT {
            return Err(format!("expression nests too deeply: `{}`", self.pattern));
        }
        Ok(())
    }

    /// Parses `{2}`, `{2,}` or `{2,3}`; `None`, with nothing consumed, if it is something else.
    fn counts(&mut self) -> Option<(u64, Option<u64>)> {
        let inside = self.rest().strip_prefix('{')?;
        let end = inside.find('}')?;
        let number = |text: &str| {
            let is_number = !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text == "0" || !text.starts_with('0'));
            is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
        };
        let counts = match inside[..end].split_once(',') {
            None => {
                let count = number(&inside[..end])?;
                (count, Some(count))
            }
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        self.at += end + 2;
        Some(counts)
    }

    /// Parses `(?P<name>`, `(?<name>`, `(?i-s:` or `(?i)`.
    fn flags(&mut self) -> Result<(), String> {
        let (start, all) = (self.at, self.rest());
        let name_at = match all.as_bytes() {
            [b'(', b'?', b'P', b'<', _, ..] => Some(4),
            [b'(', b'?', b'<', _, ..] => Some(3),
            _ => None,
        };
        if let Some(name_at) = name_at {
            let Some(end) = all.find('>') else {
                return Err(format!("invalid named capture: `{all}`"));
            };
            let name = &all[name_at..end];
            self.at += end + 1;
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(format!("invalid named capture: `{}`", self.since(start)));
            }
            return self.enter("(?:".to_owned(), true);
        }
        self.at += 2;
        // The last setting of each flag, since the `regex` crate rejects repeated flags.
        let mut flags: Vec<(char, bool)> = Vec::new();
        let (mut sets, mut some) = (true, false);
        while let Some(c) = self.next() {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    flags.retain(|(known, _)| *known != c);
                    flags.push((c, sets));
                    some = true;
                }
                '-' if sets => (sets, some) = (false, false),
                ':' | ')' if sets || some => {
                    let with = |wanted: bool| {
                        flags.iter().filter(move |(_, set)| *set == wanted).map(|(flag, _)| *flag)
                    };
                    let (on, off): (String, String) = (with(true).collect(), with(false).collect());
                    let off = if off.is_empty() { off } else { format!("-{off}") };
                    if c == ':' {
                        return self.enter(format!("(?{on}{off}:"), false);
                    }
                    if !flags.is_empty() {
                        self.group.pieces.push(Piece::Flags(format!("(?{on}{off})")));
                    }
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(format!("invalid or unsupported Perl syntax: `{}`", self.since(start)))
    }

    /// Parses an escape sequence outside of brackets.
    fn escape(&mut self) -> Result<(), String> {
        if self.eat("\\Q") {
            let rest = self.rest();
            let (quoted, length) = match rest.find("\\E") {
                Some(end) => (&rest[..end], end + 2),
                None => (rest, rest.len()),
            };
            quoted.chars().for_each(|c| self.push_leaf(literal(c)));
            self.at += length;
            return Ok(());
        }
        for (sequence, written) in
            [("\\A", "\\A"), ("\\z", "\\z"), ("\\b", "(?-u:\\b)"), ("\\B", "(?-u:\\B)")]
        {
            if self.eat(sequence) {
                self.between |= sequence == "\\B";
                self.push_leaf(written);
                return Ok(());
            }
        }
        if self.rest().starts_with("\\C") {
            return Err("invalid escape sequence: `\\C`".to_owned());
        }
        let written = match self.escaped()? {
            Escaped::Class(class) => class,
            // A surrogate matches no text.
            Escaped::Code(code) => char::from_u32(code).map_or_else(|| names::NONE.to_owned(), literal),
        };
        self.push_leaf(written);
        Ok(())
    }

    /// Parses an escape sequence, inside or outside of brackets.
    fn escaped(&mut self) -> Result<Escaped, String> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let class = |text: &str| Some(Escaped::Class(text.to_owned()));
        let code = |code: u32| Some(Escaped::Code(code));
        let escaped = match c {
            'd' => class("[0-9]"),
            'D' => class("[^0-9]"),
            's' => class("[\\t\\n\\x0C\\r ]"),
            'S' => class("[^\\t\\n\\x0C\\r ]"),
            'w' => class("[0-9A-Za-z_]"),
            'W' => class("[^0-9A-Za-z_]"),
            'p' | 'P' => return self.unicode(start, c == 'P'),
            'a' => code(7),
            'f' => code(12),
            't' => code(9),
            'n' => code(10),
            'r' => code(13),
            'v' => code(11),
            'x' => self.hexadecimal().map(Escaped::Code),
            '0' => code(self.octal(0)),
            '1'..='7' if self.peek().is_some_and(|next| matches!(next, '0'..='7')) => {
                code(self.octal(c.to_digit(8).unwrap_or_default()))
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => code(c.into()),
            _ => None,
        };
        escaped.ok_or_else(|| format!("invalid escape sequence: `{}`", self.since(start)))
    }

    /// Parses up to two more octal digits.
    fn octal(&mut self, first: u32) -> u32 {
        let mut code = first;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            code = code * 8 + digit;
            self.at += 1;
        }
        code
    }

    /// Parses `41` or `{1F600}`. Characters of an invalid sequence stay consumed and are part of the message.
    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next()?;
        if first != '{' {
            let second = self.next();
            return Some(first.to_digit(16)? * 16 + second?.to_digit(16)?);
        }
        let (mut code, mut some) = (0, false);
        loop {
            match self.next()? {
                '}' => return some.then_some(code),
                digit => code = code * 16 + digit.to_digit(16)?,
            }
            some = true;
            if code > u32::from(char::MAX) {
                return None;
            }
        }
    }

    /// Parses `\pL`, `\p{Greek}` or `\p{^Greek}`.
    fn unicode(&mut self, start: usize, mut negated: bool) -> Result<Escaped, String> {
        let mut name = match self.next() {
            None => "",
            Some('{') => {
                let rest = self.rest();
                let Some(end) = rest.find('}') else {
                    return Err(format!("invalid character class range: `{}`", &self.pattern[start..]));
                };
                self.at += end + 1;
                &rest[..end]
            }
            Some(c) => &self.pattern[self.at - c.len_utf8()..self.at],
        };
        if let Some(rest) = name.strip_prefix('^') {
            (negated, name) = (!negated, rest);
        }
        let class = names::class(name, negated);
        let shown = self.since(start);
        class.map(Escaped::Class).ok_or_else(|| format!("invalid character class range: `{shown}`"))
    }

    /// Parses `[...]`, in which a hyphen that forms no range is literal.
    fn class(&mut self) -> Result<String, String> {
        let whole = self.rest();
        self.at += 1;
        let negated = self.eat("^");
        let mut inside = String::new();
        let mut first = true;
        loop {
            if !first && self.eat("]") {
                break;
            }
            first = false;
            if let Some(class) = self.named_class()? {
                inside.push_str(&class);
                continue;
            }
            let start = self.at;
            let low = match self.class_part(whole)? {
                Escaped::Class(class) => {
                    inside.push_str(&class);
                    continue;
                }
                Escaped::Code(low) => low,
            };
            let mut high = low;
            let is_range =
                self.rest().starts_with('-') && !matches!(self.rest(), "-") && !self.rest().starts_with("-]");
            if is_range {
                self.at += 1;
                high = match self.class_end(whole)? {
                    Some(high) if high >= low => high,
                    _ => {
                        let shown = self.since(start);
                        return Err(format!("invalid character class range: `{shown}`"));
                    }
                };
            }
            push_range(&mut inside, low, high);
        }
        Ok(match (inside.is_empty(), negated) {
            (true, false) => names::NONE.to_owned(),
            (true, true) => names::ANY.to_owned(),
            (false, false) => format!("[{inside}]"),
            (false, true) => format!("[^{inside}]"),
        })
    }

    /// Parses `[:alpha:]` in brackets.
    fn named_class(&mut self) -> Result<Option<String>, String> {
        let rest = self.rest();
        let Some(end) = rest.strip_prefix("[:").and_then(|inside| inside.find(":]")) else {
            return Ok(None);
        };
        let (shown, name) = (&rest[..end + 4], &rest[2..end + 2]);
        if !NAMED_CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(format!("invalid character class range: `{shown}`"));
        }
        self.at += shown.len();
        Ok(Some(shown.to_owned()))
    }

    /// Parses a character or a class in brackets.
    fn class_part(&mut self, whole: &str) -> Result<Escaped, String> {
        match self.peek() {
            None => Err(format!("missing closing ]: `{whole}`")),
            Some('\\') => self.escaped(),
            Some(c) => {
                self.at += c.len_utf8();
                Ok(Escaped::Code(c.into()))
            }
        }
    }

    /// Parses the upper bound of a range, where a class is an invalid escape sequence.
    fn class_end(&mut self, whole: &str) -> Result<Option<u32>, String> {
        let rest = self.rest();
        if rest.starts_with('\\') && rest[1..].starts_with(['d', 'D', 's', 'S', 'w', 'W', 'p', 'P']) {
            return Err(format!("invalid escape sequence: `{}`", &rest[..2]));
        }
        match self.class_part(whole)? {
            Escaped::Code(code) => Ok(Some(code)),
            Escaped::Class(_) => Ok(None),
        }
    }
}

enum Escaped {
    /// A code point, which may be a surrogate.
    Code(u32),
    Class(String),
}

/// Writes a character as a literal.
fn literal(c: char) -> String {
    // As a code point: some punctuation is special with a backslash, some without.
    if c.is_ascii_punctuation() { format!("\\x{{{:X}}}", c as u32) } else { c.to_string() }
}

/// Adds the characters of a range to a class; surrogates are left out.
fn push_range(inside: &mut String, low: u32, high: u32) {
    let low = if (0xD800..0xE000).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..0xE000).contains(&high) { 0xD7FF } else { high };
    if low > high {
        return;
    }
    inside.push_str(&format!("\\x{{{low:X}}}"));
    if high > low {
        inside.push_str(&format!("-\\x{{{high:X}}}"));
    }
}

const NAMED_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];
