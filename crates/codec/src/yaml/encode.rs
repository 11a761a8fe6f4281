//! Encodes trees as YAML, with the output of the reference's conversion from an object to JSON to YAML.
//!
//! Values that the reference's conversion rejects or changes (control characters above 0x7e and keys of more than
//! 1,024 characters are rejected, a next-line character becomes a space) are written unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::{Node, Value};

use super::go;
use super::order;
use super::resolve::{self, Scalar};
use crate::json;

/// Column after which lines are broken at the next space.
const WIDTH: usize = 80;

/// Encodes a document in block style indented by two spaces, lists at the indentation of their keys, with a newline
/// at the end. [Hollow](Value::hollow) fields are left out.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    let mut emitter = Emitter { out, column: 0, indent: -1, spaced: true, indented: true };
    emitter.value(value, Context::Root);
    emitter.indent = -1;
    emitter.line();
}

#[derive(Clone, Copy, PartialEq)]
enum Context {
    Root,
    Item,
    /// Value with its key on the same line.
    Value,
    /// Value of a complex key.
    ComplexValue,
    Key,
    /// Key that is too long or has line breaks, after a `?`.
    ComplexKey,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

struct Emitter<'o> {
    out: &'o mut Vec<u8>,
    column: usize,
    indent: isize,
    /// Whether a space was just written, or an indicator that needs none after it.
    spaced: bool,
    /// Whether the line contains only indentation and the indicators `-`, `?` and `:` so far.
    indented: bool,
}

impl Emitter<'_> {
    fn value(&mut self, value: &Value, context: Context) {
        match value.node() {
            Node::Null => self.plain("null", context),
            Node::Bool(true) => self.plain("true", context),
            Node::Bool(false) => self.plain("false", context),
            Node::Int(value) => self.plain(&value.to_string(), context),
            Node::Float(value) => self.plain(&number(value), context),
            Node::String(text) => self.string(text, context),
            Node::Bytes(bytes) => self.string(&STANDARD.encode(bytes), context),
            Node::Hollow => self.string("", context),
            Node::Raw(raw) => match json::decode_any(raw) {
                Ok(decoded) => self.value(&decoded.value, context),
                // Invalid JSON can only come from protobuf; JSON has null there too.
                Err(_) => self.plain("null", context),
            },
            Node::List(items) => self.list(items, context),
            Node::Object(object) => {
                let shown = object.iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow));
                let mut entries: Vec<_> = shown.collect();
                order::sort(&mut entries);
                self.object(&entries);
            }
        }
    }

    fn list(&mut self, items: &[Value], context: Context) {
        if items.is_empty() {
            return self.indicator("[]", true, false);
        }
        let outer = self.indent;
        // A list below a key is not indented further.
        self.indent = match outer {
            ..0 => 0,
            outer if context == Context::Value && !self.indented => outer,
            outer => outer + 2,
        };
        for item in items {
            self.line();
            self.indicator("-", true, true);
            self.value(item, Context::Item);
        }
        self.indent = outer;
    }

    fn object(&mut self, entries: &[(&str, &Value)]) {
        if entries.is_empty() {
            return self.indicator("{}", true, false);
        }
        let outer = self.indent;
        self.indent = if outer < 0 { 0 } else { outer + 2 };
        for (key, value) in entries {
            self.line();
            if key.len() <= 128 && !key.contains(is_break) {
                self.string(key, Context::Key);
                self.indicator(":", false, false);
                self.value(value, Context::Value);
            } else {
                self.indicator("?", true, true);
                self.string(key, Context::ComplexKey);
                self.line();
                self.indicator(":", true, true);
                self.value(value, Context::ComplexValue);
            }
        }
        self.indent = outer;
    }

    fn string(&mut self, text: &str, context: Context) {
        let wanted = if text.contains('\n') {
            Style::Literal
        } else if resolve::resolve_plain(text, true) == Scalar::Text && !is_base_60(text) {
            Style::Plain
        } else {
            Style::Double
        };
        let style = Analysis::of(text).style(wanted, context == Context::Key);
        self.scalar(text, style, context);
    }

    fn plain(&mut self, text: &str, context: Context) {
        self.scalar(text, Style::Plain, context);
    }

    fn scalar(&mut self, text: &str, style: Style, context: Context) {
        let outer = self.indent;
        self.indent = outer.max(0) + 2;
        let folds = context != Context::Key;
        match style {
            Style::Plain => self.plain_scalar(text, folds),
            Style::Single => self.single_quoted(text, folds),
            Style::Double => self.double_quoted(text, folds),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    // Characters and lines.

    fn put(&mut self, c: char) {
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.out.push(b'\n');
        self.column = 0;
    }

    /// Writes a line break that is part of a text.
    fn put_text_break(&mut self, c: char) {
        self.put(c);
        self.column = 0;
    }

    /// Moves to the indentation, on a new line unless the current one is empty.
    fn line(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indented || self.column > indent || (self.column == indent && !self.spaced) {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.spaced = true;
        self.indented = true;
    }

    fn indicator(&mut self, text: &str, space: bool, indents: bool) {
        if space && !self.spaced {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.spaced = false;
        self.indented &= indents;
    }

    // Scalars.

    fn plain_scalar(&mut self, text: &str, folds: bool) {
        if !self.spaced {
            self.put(' ');
        }
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                if folds && !spaces && self.column > WIDTH && chars.peek() != Some(&' ') {
                    self.line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                self.indented = false;
                spaces = false;
            }
        }
        self.spaced = false;
        self.indented = false;
    }

    fn single_quoted(&mut self, text: &str, folds: bool) {
        self.indicator("'", true, false);
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((context, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if c == ' ' {
                if folds && !spaces && self.column > WIDTH && context > 0 && !matches!(next, None | Some(' '))
                {
                    self.line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                self.put_text_break(c);
                self.indented = true;
                breaks = true;
            } else {
                if breaks {
                    self.line();
                }
                if c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.indented = false;
                (spaces, breaks) = (false, false);
            }
        }
        self.indicator("'", false, false);
    }

    fn double_quoted(&mut self, text: &str, folds: bool) {
        self.indicator("\"", true, false);
        // The reference checks for a byte order mark at the start only, but then for every character.
        let marked = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((context, c)) = chars.next() {
            if marked || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
                spaces = false;
            } else if c == ' ' {
                let next = chars.peek().map(|(_, next)| *next);
                if folds && !spaces && self.column > WIDTH && context > 0 && next.is_some() {
                    self.line();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false);
    }

    fn escape(&mut self, c: char) {
        self.put('\\');
        let short = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = match u32::from(c) {
                    code @ ..=0xff => format!("x{code:02X}"),
                    code @ ..=0xffff => format!("u{code:04X}"),
                    code => format!("U{code:08X}"),
                };
                return code.chars().for_each(|digit| self.put(digit));
            }
        };
        self.put(short);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false);
        if text.starts_with(' ') || text.starts_with(is_break) {
            self.indicator("2", false, false);
        }
        let mut from_end = text.chars().rev().map(is_break);
        match (from_end.next(), from_end.next()) {
            (Some(true), None | Some(true)) => self.indicator("+", false, false),
            (Some(true), Some(false)) => {}
            _ => self.indicator("-", false, false),
        }
        self.put_break();
        self.spaced = true;
        self.indented = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.put_text_break(c);
                self.indented = true;
                breaks = true;
            } else {
                if breaks {
                    self.line();
                }
                self.put(c);
                self.indented = false;
                breaks = false;
            }
        }
    }
}

/// Styles in which a text can be written.
struct Analysis {
    multiline: bool,
    plain: bool,
    single: bool,
    literal: bool,
}

impl Analysis {
    fn of(text: &str) -> Analysis {
        let mut found = Analysis { multiline: false, plain: true, single: true, literal: !text.is_empty() };
        if text.starts_with("---") || text.starts_with("...") {
            found.plain = false;
        }
        let mut previous = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            let before_space = matches!(next, None | Some(' ' | '\t'));
            let after_space = previous.is_none_or(|c: char| matches!(c, ' ' | '\t' | '\0') || is_break(c));
            let indicates = match c {
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    previous.is_none()
                }
                '?' | '-' => previous.is_none() && before_space,
                ':' => before_space,
                '#' => after_space,
                _ => false,
            };
            found.plain &= !indicates;
            if !is_printable(c) {
                (found.plain, found.single, found.literal) = (false, false, false);
            }
            if c == ' ' {
                if previous.is_none() || next.is_none() {
                    found.plain = false;
                }
                if next.is_none() {
                    found.literal = false;
                }
                if previous.is_some_and(is_break) {
                    found.single = false;
                }
            } else if is_break(c) {
                found.multiline = true;
                found.plain = false;
                if previous == Some(' ') {
                    (found.single, found.literal) = (false, false);
                }
            }
            previous = Some(c);
        }
        found
    }

    fn style(&self, wanted: Style, key: bool) -> Style {
        let quoted = if self.single { Style::Single } else { Style::Double };
        match wanted {
            Style::Plain if self.plain => Style::Plain,
            Style::Plain if self.multiline && key => Style::Double,
            Style::Plain => quoted,
            Style::Literal if self.literal && !key => Style::Literal,
            _ => Style::Double,
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns whether a character is written unescaped. Tabs and characters beyond 16 bits are not.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Formats a float after a round trip through JSON: an integral one is an integer.
fn number(value: f64) -> String {
    let mut text = Vec::new();
    json::write::float(value, &mut text);
    let text = String::from_utf8(text).unwrap_or_default();
    match resolve::resolve_plain(&text, true) {
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => value.to_string(),
        Scalar::Float(value) => go::float(value, false),
        _ => text,
    }
}

/// Returns whether YAML 1.1 parsers would read the text as a base 60 number, such as `190:20:30.15`.
fn is_base_60(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit() || digit == b'_');
    let mut groups = whole.split(':');
    let sixtieth = |group: &str| matches!(group.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    groups.next().is_some_and(digits) && whole.contains(':') && groups.all(sixtieth) && digits(fraction)
}
