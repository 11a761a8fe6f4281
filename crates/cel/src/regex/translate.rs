//! Reads a pattern as Go does and writes it in the language of the `regex` crate.

/// What a repetition may ask for at most.
const MOST_REPEATS: u32 = 1000;

/// How deep groups may be.
const DEEPEST: usize = 250;

pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut reader = Reader {
        pattern,
        at: 0,
        out: String::new(),
        groups: Vec::new(),
        level: 1,
        last: 1,
        classes: Vec::new(),
    };
    reader.all()?;
    Ok(reader.out)
}

struct Reader<'p> {
    pattern: &'p str,
    at: usize,
    out: String,
    /// What repetitions within repetitions come to at most: around each open group, in this one, and in the last thing.
    groups: Vec<u64>,
    level: u64,
    last: u64,
    /// Unicode classes that were found to exist.
    classes: Vec<String>,
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

    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            // By number: some of them mean something with a backslash in front, and some without.
            self.out.push_str(&format!("\\x{{{:X}}}", c as u32));
        } else {
            self.out.push(c);
        }
    }

    fn enter(&mut self) {
        self.groups.push(self.level);
        self.level = 1;
    }

    fn all(&mut self) -> Result<(), String> {
        // Where the last thing that can be repeated starts in the pattern, and whether it is repeated already.
        let mut repeatable = false;
        let mut repeated: Option<usize> = None;
        while let Some(c) = self.peek() {
            let start = self.at;
            if !matches!(c, '*' | '+' | '?' | '{') {
                self.last = 1;
            }
            match c {
                '(' => {
                    self.open()?;
                    (repeatable, repeated) = (self.pattern[start..self.at].ends_with(')'), None);
                }
                ')' => {
                    let Some(around) = self.groups.pop() else {
                        return Err(format!("unexpected ): `{}`", self.pattern));
                    };
                    self.last = self.level;
                    self.level = self.level.max(around);
                    self.at += 1;
                    self.out.push(')');
                    (repeatable, repeated) = (true, None);
                }
                '|' => {
                    self.at += 1;
                    self.out.push('|');
                    (repeatable, repeated) = (false, None);
                }
                '*' | '+' | '?' => {
                    self.at += 1;
                    self.out.push(c);
                    self.repeat(start, &mut repeatable, &mut repeated)?;
                }
                '{' => match self.counts() {
                    Some((low, high)) => {
                        let text = &self.pattern[start..self.at];
                        let most = high.unwrap_or(low);
                        let total = self.last.saturating_mul(u64::from(most.max(1)));
                        if low.max(most) > MOST_REPEATS
                            || most < low
                            || (most >= 2 && total > MOST_REPEATS.into())
                        {
                            return Err(format!("invalid repeat count: `{text}`"));
                        }
                        self.level = self.level.max(total);
                        self.out.push_str(text);
                        self.repeat(start, &mut repeatable, &mut repeated)?;
                    }
                    None => {
                        self.at += 1;
                        self.literal('{');
                        (repeatable, repeated) = (true, None);
                    }
                },
                '[' => {
                    self.class()?;
                    (repeatable, repeated) = (true, None);
                }
                '\\' => {
                    repeatable = self.escape()? || repeatable;
                    repeated = None;
                }
                '^' | '$' | '.' => {
                    self.at += 1;
                    self.out.push(c);
                    (repeatable, repeated) = (true, None);
                }
                c => {
                    self.at += c.len_utf8();
                    self.literal(c);
                    (repeatable, repeated) = (true, None);
                }
            }
        }
        if self.groups.is_empty() { Ok(()) } else { Err(format!("missing closing ): `{}`", self.pattern)) }
    }

    /// After an operator that repeats: it may be lazy, but nothing is repeated twice.
    fn repeat(
        &mut self,
        start: usize,
        repeatable: &mut bool,
        repeated: &mut Option<usize>,
    ) -> Result<(), String> {
        if self.eat("?") {
            self.out.push('?');
        }
        let operator = &self.pattern[start..self.at];
        if let Some(before) = repeated {
            return Err(format!("invalid nested repetition operator: `{}`", &self.pattern[*before..self.at]));
        }
        if !*repeatable {
            return Err(format!("missing argument to repetition operator: `{operator}`"));
        }
        *repeated = Some(start);
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,3}`; nothing, and nothing read, if it is something else.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let inside = self.rest().strip_prefix('{')?;
        let end = inside.find('}')?;
        let number = |text: &str| {
            let fits = !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text == "0" || !text.starts_with('0'));
            fits.then(|| text.parse::<u32>().unwrap_or(u32::MAX))
        };
        let counts = match inside[..end].split_once(',') {
            None => {
                let count = number(&inside[..end])?;
                (count, Some(count))
            }
            Some((low, "")) => (number(low)?, None),
            Some((low, high)) => (number(low)?, Some(number(high)?)),
        };
        self.at += end + 2;
        Some(counts)
    }

    fn open(&mut self) -> Result<(), String> {
        let start = self.at;
        self.at += 1;
        if self.groups.len() >= DEEPEST {
            return Err(format!("expression nests too deeply: `{}`", self.pattern));
        }
        if !self.eat("?") {
            self.enter();
            self.out.push('(');
            return Ok(());
        }
        if self.eat("P<") || (self.rest().starts_with('<') && self.eat("<")) {
            let rest = self.rest();
            let Some(end) = rest.find('>') else {
                return Err(format!("invalid named capture: `{}`", &self.pattern[start..]));
            };
            let name = &rest[..end];
            self.at += end + 1;
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(format!("invalid named capture: `{}`", &self.pattern[start..self.at]));
            }
            // Nobody here asks for groups by name, and a name may start with a digit in Go.
            self.enter();
            self.out.push('(');
            return Ok(());
        }
        let flags_start = self.at;
        let mut negative = false;
        let mut some = false;
        while let Some(c) = self.next() {
            match c {
                'i' | 'm' | 's' | 'U' => some = true,
                '-' if !negative => {
                    negative = true;
                    some = false;
                }
                ':' | ')' if !negative || some => {
                    let flags = &self.pattern[flags_start..self.at - 1];
                    if c == ':' {
                        self.enter();
                        self.out.push_str(&format!("(?{flags}:"));
                    } else if !flags.is_empty() {
                        self.out.push_str(&format!("(?{flags})"));
                    }
                    return Ok(());
                }
                _ => {
                    return Err(format!(
                        "invalid or unsupported Perl syntax: `{}`",
                        &self.pattern[start..self.at]
                    ));
                }
            }
        }
        Err(format!("missing closing ): `{}`", self.pattern))
    }

    /// An escape sequence outside of brackets; whether it can be repeated.
    fn escape(&mut self) -> Result<bool, String> {
        if self.eat("\\Q") {
            let rest = self.rest();
            let (quoted, length) = match rest.find("\\E") {
                Some(end) => (&rest[..end], end + 2),
                None => (rest, rest.len()),
            };
            quoted.chars().for_each(|c| self.literal(c));
            self.at += length;
            return Ok(!quoted.is_empty());
        }
        for (sequence, written) in [("\\A", "\\A"), ("\\z", "\\z"), ("\\b", "(?-u:\\b)"), ("\\B", "\\B")] {
            if self.eat(sequence) {
                self.out.push_str(written);
                return Ok(true);
            }
        }
        if self.rest().starts_with("\\C") {
            return Err("invalid escape sequence: `\\C`".to_owned());
        }
        match self.escaped()? {
            Escaped::Char(c) => self.literal(c),
            Escaped::Class(class) => self.out.push_str(&class),
        }
        Ok(true)
    }

    /// What an escape sequence stands for, in brackets and out of them.
    fn escaped(&mut self) -> Result<Escaped, String> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let char = |code: u32| char::from_u32(code).map(Escaped::Char);
        let escaped = match c {
            'd' => Some(Escaped::Class("[0-9]".to_owned())),
            'D' => Some(Escaped::Class("[^0-9]".to_owned())),
            's' => Some(Escaped::Class("[\\t\\n\\x0C\\r ]".to_owned())),
            'S' => Some(Escaped::Class("[^\\t\\n\\x0C\\r ]".to_owned())),
            'w' => Some(Escaped::Class("[0-9A-Za-z_]".to_owned())),
            'W' => Some(Escaped::Class("[^0-9A-Za-z_]".to_owned())),
            'p' | 'P' => return self.unicode(start, c == 'P'),
            'a' => char(7),
            'f' => char(12),
            't' => char(9),
            'n' => char(10),
            'r' => char(13),
            'v' => char(11),
            'x' => self.hexadecimal().and_then(char),
            '0' => char(self.octal(0, 2)),
            '1'..='7' if self.peek().is_some_and(|next| matches!(next, '0'..='7')) => {
                char(self.octal(c.to_digit(8).unwrap_or_default(), 2))
            }
            c if c.is_ascii_punctuation() || c == '_' => Some(Escaped::Char(c)),
            _ => None,
        };
        escaped.ok_or_else(|| format!("invalid escape sequence: `{}`", &self.pattern[start..self.at]))
    }

    fn octal(&mut self, first: u32, most: usize) -> u32 {
        let mut code = first;
        for _ in 0..most {
            match self.peek().and_then(|c| c.to_digit(8)) {
                Some(digit) => {
                    code = code * 8 + digit;
                    self.at += 1;
                }
                None => break,
            }
        }
        code
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        if self.eat("{") {
            let end = self.rest().find('}')?;
            let digits = &self.rest()[..end];
            let code = (digits.bytes().all(|b| b.is_ascii_hexdigit()) && digits.len() <= 8)
                .then(|| u32::from_str_radix(digits, 16).ok())
                .flatten();
            self.at += end + 1;
            return code;
        }
        let (first, second) = (self.next()?, self.next()?);
        Some(first.to_digit(16)? * 16 + second.to_digit(16)?)
    }

    /// `\pL`, `\p{Greek}`, `\p{^Greek}`.
    fn unicode(&mut self, start: usize, mut negated: bool) -> Result<Escaped, String> {
        let invalid = |reader: &Self| {
            Err(format!("invalid character class range: `{}`", &reader.pattern[start..reader.at]))
        };
        let Some(c) = self.next() else { return invalid(self) };
        let mut name = c.to_string();
        if c == '{' {
            let Some(end) = self.rest().find('}') else {
                self.at = self.pattern.len();
                return invalid(self);
            };
            name = self.rest()[..end].to_owned();
            self.at += end + 1;
        }
        if let Some(rest) = name.strip_prefix('^') {
            negated = !negated;
            name = rest.to_owned();
        }
        let known = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && name.starts_with(|c: char| c.is_ascii_uppercase());
        let class = format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' });
        if name == "Any" {
            return Ok(Escaped::Class(
                if negated { "[^\\x00-\\x{10FFFF}]" } else { "[\\x00-\\x{10FFFF}]" }.into(),
            ));
        }
        if !known || (!self.classes.contains(&name) && regex::Regex::new(&class).is_err()) {
            return invalid(self);
        }
        if !self.classes.contains(&name) {
            self.classes.push(name);
        }
        Ok(Escaped::Class(class))
    }

    /// `[...]`.
    fn class(&mut self) -> Result<(), String> {
        let start = self.at;
        let missing = |reader: &Self| format!("missing closing ]: `{}`", &reader.pattern[start..]);
        self.at += 1;
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            if self.peek().is_none() {
                return Err(missing(self));
            }
            if !first && self.eat("]") {
                self.out.push(']');
                return Ok(());
            }
            // A minus is itself at either end only.
            let dash = self.rest().starts_with('-');
            if dash && !first && !self.rest().starts_with("-]") && self.rest().len() > 1 {
                let end = self.at + 1 + self.rest()[1..].chars().next().map_or(0, char::len_utf8);
                return Err(format!("invalid character class range: `{}`", &self.pattern[self.at..end]));
            }
            first = false;
            if self.rest().starts_with("[:")
                && let Some(end) = self.rest()[2..].find(":]").map(|end| end + 2)
            {
                let name = &self.rest()[..end + 2];
                let plain = name[2..end].trim_start_matches('^');
                if !NAMED_CLASSES.contains(&plain) {
                    return Err(format!("invalid character class range: `{name}`"));
                }
                self.at += end + 2;
                self.out.push_str(name);
                continue;
            }
            let item = self.at;
            let low = match self.class_char(start)? {
                Escaped::Class(class) => {
                    self.out.push_str(&class);
                    continue;
                }
                Escaped::Char(c) => c,
            };
            self.literal(low);
            if !self.rest().starts_with('-') || self.rest().starts_with("-]") || self.rest() == "-" {
                continue;
            }
            self.at += 1;
            match self.class_char(start)? {
                Escaped::Char(high) if high >= low => {
                    self.out.push('-');
                    self.literal(high);
                }
                _ => {
                    return Err(format!("invalid character class range: `{}`", &self.pattern[item..self.at]));
                }
            }
        }
    }

    fn class_char(&mut self, start: usize) -> Result<Escaped, String> {
        match self.peek() {
            None => Err(format!("missing closing ]: `{}`", &self.pattern[start..])),
            Some('\\') => self.escaped(),
            Some(c) => {
                self.at += c.len_utf8();
                Ok(Escaped::Char(c))
            }
        }
    }
}

enum Escaped {
    Char(char),
    Class(String),
}

const NAMED_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];
