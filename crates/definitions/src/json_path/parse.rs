//! Reading paths.
//!
//! ```text
//! template   text { action } text { action } ...
//! action     .field  ..field  [index]  [a:b:c]  [a,b]  ['key']  [?(left == right)]  "text"  12  true  range  end
//! ```

use std::borrow::Cow;
use std::str::Chars;

use pintle_meta::value::Key;

use super::{Filter, Node, Slice};

/// The nodes of a template: a list for each action, and the text between them.
pub(super) fn template(text: &str) -> Result<Vec<Node>, String> {
    let mut parser = Parser { input: text, at: 0 };
    let mut root = Vec::new();
    while parser.at < text.len() {
        let rest = parser.rest();
        let before = rest.find('{').unwrap_or(rest.len());
        if before > 0 {
            root.push(Node::Text(rest[..before].into()));
            parser.at += before;
        } else {
            parser.at += 1;
            root.push(Node::List(parser.action()?));
        }
    }
    Ok(root)
}

/// Parses a part of an action as if it stood in braces.
fn part(text: &str) -> Result<Vec<Node>, String> {
    match template(&format!("{{{text}}}"))?.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

struct Parser<'a> {
    input: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.input[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn since(&self, start: usize) -> &'a str {
        &self.input[start..self.at]
    }

    /// Up to and with the brace that ends it.
    fn action(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with("[?(") {
                self.at += 3;
                nodes.push(self.filter()?);
                continue;
            }
            if rest.starts_with("..") {
                if nodes.last() == Some(&Node::Recursive) {
                    return Err("invalid multiple recursive descent".into());
                }
                self.at += 2;
                nodes.push(Node::Recursive);
                if self.peek().is_some_and(is_alphanumeric) {
                    nodes.push(self.field());
                }
                continue;
            }
            let start = self.at;
            match self.next() {
                Some('}') => return Ok(nodes),
                None | Some('\r' | '\n') => return Err("unclosed action".into()),
                Some(' ' | '@' | '$') => {}
                Some('[') => self.array(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(start, quote)?),
                Some('.') => nodes.push(self.field()),
                Some(c) if c == '+' || c == '-' || c.is_numeric() => nodes.push(self.number(start)?),
                Some(c) if is_alphanumeric(c) => nodes.push(self.identifier(start)),
                Some(c) => {
                    let code = u32::from(c);
                    let shown = if pintle_meta::is_printable(c) { format!(" '{c}'") } else { String::new() };
                    return Err(format!("unrecognized character in action: U+{code:04X}{shown}"));
                }
            }
        }
    }

    fn identifier(&mut self, start: usize) -> Node {
        while self.peek().is_some_and(|c| !is_terminator(c)) {
            self.next();
        }
        match self.since(start) {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            name => Node::Identifier(name.into()),
        }
    }

    fn number(&mut self, start: usize) -> Result<Node, String> {
        while self.peek().is_some_and(|c| c == '.' || c.is_numeric()) {
            self.next();
        }
        let text = self.since(start);
        match (text.parse(), text.parse()) {
            (Ok(value), _) => Ok(Node::Int(value)),
            (_, Ok(value)) if f64::is_finite(value) => Ok(Node::Float(value)),
            _ => Err(format!("cannot parse number {text}")),
        }
    }

    /// Up to whatever ends a name that is not behind a backslash.
    fn field(&mut self) -> Node {
        let start = self.at;
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.next();
            } else if is_terminator(c) {
                break;
            }
            self.next();
        }
        match self.since(start) {
            "*" => Node::Wildcard,
            name => Node::Field(Key::from(&*name.replace('\\', ""))),
        }
    }

    fn quoted(&mut self, start: usize, quote: char) -> Result<Node, String> {
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated quoted string".into()),
                Some(c) if c == quote && !self.is_escaped() => break,
                Some(_) => {}
            }
        }
        let text = self.since(start);
        match unquote(&text[1..text.len() - 1], quote) {
            Some(unquoted) => Ok(Node::Text(unquoted.into())),
            None => Err(format!("unquote string {text} error invalid syntax")),
        }
    }

    /// Whether a backslash stands before the quote that was read last.
    fn is_escaped(&self) -> bool {
        self.at >= 2 && self.input.as_bytes()[self.at - 2] == b'\\'
    }

    /// Parses the content of brackets after the opening one.
    fn array(&mut self, nodes: &mut Vec<Node>) -> Result<(), String> {
        let start = self.at;
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated array".into()),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = self.since(start);
        let text = &text[..text.len() - 1];
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts = text.split(',').map(|text| part(&format!("[{}]", text.trim_matches(' '))));
            nodes.push(Node::Union(parts.collect::<Result<_, _>>()?));
        } else if let Some(key) = quoted_key(text) {
            nodes.extend(part(&format!(".{key}"))?);
        } else {
            nodes.push(Node::Array(slice(text)?));
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<Node, String> {
        let start = self.at;
        let (mut begun, mut ended) = (None, false);
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated filter".into()),
                Some(quote @ ('"' | '\'')) => match begun {
                    None => begun = Some(quote),
                    Some(pair) => ended |= quote == pair && !self.is_escaped(),
                },
                // Within quotes it is a character like others.
                Some(')') if begun.is_some() == ended => break,
                Some(_) => {}
            }
        }
        let text = self.since(start);
        let text = &text[..text.len() - 1];
        if self.next() != Some(']') {
            return Err("unclosed array expect ]".into());
        }
        let filter = match comparison(text) {
            None => Filter { left: part(text)?, right: Vec::new(), operator: "exists".into() },
            Some([left, operator, right]) => {
                Filter { left: part(left)?, right: part(right)?, operator: operator.into() }
            }
        };
        Ok(Node::Filter(Box::new(filter)))
    }
}

/// `left`, `operator` and `right`, none of them empty.
fn comparison(text: &str) -> Option<[&str; 3]> {
    const SIGNS: [char; 4] = ['!', '<', '>', '='];
    let first = text.find(SIGNS).filter(|first| *first > 0)?;
    let signs = text[first..].find(|c| !SIGNS.contains(&c)).unwrap_or(text.len() - first);
    // Something must be left to compare with, if only one of the signs.
    let end = if first + signs == text.len() { text.len() - 1 } else { first + signs };
    (end > first).then(|| [&text[..first], &text[first..end], &text[end..]])
}

fn quoted_key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'')).then_some(key)
}

fn slice(text: &str) -> Result<Slice, String> {
    let is_index = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = text.splitn(4, ':').collect();
    if parts.len() > 3 || !parts.iter().all(|part| is_index(part)) {
        return Err(format!("invalid array index {text}"));
    }
    let number = |place: usize| match parts.get(place) {
        None | Some(&"") => Ok(None),
        Some(text) => {
            text.parse::<i64>().map(Some).map_err(|_| format!("array index {text} is not a number"))
        }
    };
    let (start, end, step) = (number(0)?, number(1)?, number(2)?);
    let derived = parts.len() == 1;
    let end = if derived { Some(start.unwrap_or_default().wrapping_add(1)) } else { end };
    Ok(Slice { start, end, derived, step })
}

/// Decodes a Go string or character literal with these quotes.
fn unquote(text: &str, quote: char) -> Option<Cow<'_, str>> {
    if !text.contains('\\') && !text.contains(quote) {
        return Some(text.into());
    }
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == quote {
            return None;
        }
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escaped = chars.next()?;
        match escaped {
            'a' => out.push(7),
            'b' => out.push(8),
            'f' => out.push(12),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(11),
            '\\' => out.push(b'\\'),
            'x' => out.push(u8::try_from(code(&mut chars, 16, 0, 2)?).ok()?),
            '0'..='7' => out.push(u8::try_from(code(&mut chars, 8, escaped.to_digit(8)?, 2)?).ok()?),
            'u' | 'U' => {
                let count = if escaped == 'u' { 4 } else { 8 };
                let c = char::from_u32(code(&mut chars, 16, 0, count)?)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            c if c == quote => out.push(c as u8),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned().into())
}

/// The digits of a number, the first of which may be known already.
fn code(chars: &mut Chars<'_>, radix: u32, first: u32, count: usize) -> Option<u32> {
    let digit = |value: u32, _| value.checked_mul(radix)?.checked_add(chars.next()?.to_digit(radix)?);
    (0..count).try_fold(first, digit)
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
