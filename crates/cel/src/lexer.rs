//! Lexer: splits an expression into tokens by longest match. A character that starts no token is reported and
//! skipped.

use crate::source::Issues;

/// TokenKind of a token, in the order in which messages list the expected ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum TokenKind {
    End,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    Dot,
    Comma,
    Minus,
    Exclamation,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    Escaped,
}

use TokenKind::*;

const ALL: [(TokenKind, &str); 36] = [
    (End, "<EOF>"),
    (Equals, "'=='"),
    (NotEquals, "'!='"),
    (In, "'in'"),
    (Less, "'<'"),
    (LessEquals, "'<='"),
    (GreaterEquals, "'>='"),
    (Greater, "'>'"),
    (And, "'&&'"),
    (Or, "'||'"),
    (OpenBracket, "'['"),
    (CloseBracket, "']'"),
    (OpenBrace, "'{'"),
    (CloseBrace, "'}'"),
    (OpenParen, "'('"),
    (CloseParen, "')'"),
    (Dot, "'.'"),
    (Comma, "','"),
    (Minus, "'-'"),
    (Exclamation, "'!'"),
    (Question, "'?'"),
    (Colon, "':'"),
    (Plus, "'+'"),
    (Star, "'*'"),
    (Slash, "'/'"),
    (Percent, "'%'"),
    (True, "'true'"),
    (False, "'false'"),
    (Null, "'null'"),
    (Float, "NUM_FLOAT"),
    (Int, "NUM_INT"),
    (Uint, "NUM_UINT"),
    (String, "STRING"),
    (Bytes, "BYTES"),
    (Identifier, "IDENTIFIER"),
    (Escaped, "ESC_IDENTIFIER"),
];

/// Set of token kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenKinds(u64);

impl TokenKinds {
    pub(crate) const NONE: TokenKinds = TokenKinds(0);

    pub(crate) const fn of(kinds: &[TokenKind]) -> TokenKinds {
        let (mut bits, mut index) = (0, 0);
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u8;
            index += 1;
        }
        TokenKinds(bits)
    }

    pub(crate) const fn with(self, other: TokenKinds) -> TokenKinds {
        TokenKinds(self.0 | other.0)
    }

    pub(crate) const fn contains(self, kind: TokenKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Formats the set as messages do.
    pub(crate) fn describe(self) -> std::string::String {
        let names: Vec<&str> =
            ALL.iter().filter(|(kind, _)| self.contains(*kind)).map(|(_, name)| *name).collect();
        match names.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }
}

/// Token as a range of characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Splits a text into tokens; the last one is `End`.
pub(crate) fn tokens(text: &[char], issues: &mut Issues) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match next(&text[at..]) {
            Ok((Some(kind), length)) => {
                found.push(Token { kind, start: at as u32, end: (at + length) as u32 });
                at += length;
            }
            Ok((None, length)) => at += length,
            Err(length) => {
                // The character that did not match is skipped too.
                let end = (at + length + 1).min(text.len());
                let shown: std::string::String = text[at..end].iter().collect();
                let shown = shown.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
                issues
                    .report(Some(at as u32), format!("Syntax error: token recognition error at: '{shown}'"));
                at = end;
            }
        }
    }
    found.push(Token { kind: End, start: text.len() as u32, end: text.len() as u32 });
    found
}

/// Returns the kind and length of the first token; no kind for whitespace and comments. The error is the length of
/// the longest prefix that some token could start with.
fn next(text: &[char]) -> Result<(Option<TokenKind>, usize), usize> {
    let at = |index: usize| text.get(index).copied().unwrap_or('\0');
    let word = |kind, length| Ok((Some(kind), length));
    // A two-character token if the second character matches, else one of one character.
    let either = |second, two, one| if at(1) == second { word(two, 2) } else { word(one, 1) };
    let both = |second, kind| if at(1) == second { word(kind, 2) } else { Err(1) };
    match text[0] {
        '=' => both('=', Equals),
        '&' => both('&', And),
        '|' => both('|', Or),
        '!' => either('=', NotEquals, Exclamation),
        '<' => either('=', LessEquals, Less),
        '>' => either('=', GreaterEquals, Greater),
        '[' => word(OpenBracket, 1),
        ']' => word(CloseBracket, 1),
        '{' => word(OpenBrace, 1),
        '}' => word(CloseBrace, 1),
        '(' => word(OpenParen, 1),
        ')' => word(CloseParen, 1),
        ',' => word(Comma, 1),
        '-' => word(Minus, 1),
        '?' => word(Question, 1),
        ':' => word(Colon, 1),
        '+' => word(Plus, 1),
        '*' => word(Star, 1),
        '%' => word(Percent, 1),
        '/' if at(1) == '/' => Ok((None, text.iter().position(|c| *c == '\n').unwrap_or(text.len()))),
        '/' => word(Slash, 1),
        '\t' | ' ' | '\r' | '\n' | '\u{c}' => {
            Ok((None, text.iter().take_while(|c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}')).count()))
        }
        '.' if at(1).is_ascii_digit() => {
            let digits = 1 + digits(&text[1..]);
            word(Float, digits + exponent(&text[digits..]))
        }
        '.' => word(Dot, 1),
        '0'..='9' => Ok(number(text)),
        '"' | '\'' => quoted(text, false).map(|length| (Some(String), length)),
        '`' => {
            let inside =
                text[1..].iter().take_while(|c| c.is_ascii_alphanumeric() || "_.-/ ".contains(**c)).count();
            if inside > 0 && at(inside + 1) == '`' { word(Escaped, inside + 2) } else { Err(inside + 1) }
        }
        first if first.is_ascii_alphabetic() || first == '_' => {
            if let Some((kind, prefix)) = string_prefix(text)
                && let Ok(length) = quoted(&text[prefix..], text[prefix - 1].eq_ignore_ascii_case(&'r'))
            {
                return word(kind, prefix + length);
            }
            let length = text.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
            let kind = match text[..length].iter().collect::<std::string::String>().as_str() {
                "in" => In,
                "true" => True,
                "false" => False,
                "null" => Null,
                _ => Identifier,
            };
            word(kind, length)
        }
        _ => Err(0),
    }
}

/// Returns the kind and prefix length of a prefixed string: `r"`, `b"`, `br"`.
fn string_prefix(text: &[char]) -> Option<(TokenKind, usize)> {
    let bytes = matches!(text[0], 'b' | 'B');
    let raw = usize::from(bytes);
    let prefix = raw + usize::from(matches!(text.get(raw), Some('r' | 'R')));
    (prefix > 0 && matches!(text.get(prefix), Some('"' | '\'')))
        .then_some((if bytes { Bytes } else { String }, prefix))
}

/// Returns the length of the string that starts with this quote.
fn quoted(text: &[char], raw: bool) -> Result<usize, usize> {
    let quote = text[0];
    if text.len() >= 3 && text[1] == quote && text[2] == quote {
        // `""` would match, but the longer `"""` is taken.
        return Ok(until(text, 3, raw, |rest| rest.starts_with(&[quote; 3]), |_| false)
            .map_or(2, |inside| inside + 3));
    }
    until(text, 1, raw, |rest| rest.first() == Some(&quote), |c| matches!(c, '\n' | '\r'))
        .map(|inside| inside + 1)
}

/// Returns the offset at which quoted text ends, or of the character that is invalid in it.
fn until(
    text: &[char],
    mut at: usize,
    raw: bool,
    ends: impl Fn(&[char]) -> bool,
    forbidden: impl Fn(char) -> bool,
) -> Result<usize, usize> {
    loop {
        let rest = &text[at..];
        let Some(first) = rest.first() else { return Err(at) };
        if ends(rest) {
            return Ok(at);
        }
        if forbidden(*first) {
            return Err(at);
        }
        if *first == '\\' && !raw {
            at += escape(rest).map_err(|length| at + length)?;
        } else {
            at += 1;
        }
    }
}

/// Returns the length of the escape sequence that starts here.
fn escape(text: &[char]) -> Result<usize, usize> {
    let all = |from: usize, count: usize, fits: fn(&char) -> bool| {
        let fitting = text.iter().skip(from).take(count).take_while(|c| fits(c)).count();
        if fitting == count { Ok(from + count) } else { Err(from + fitting) }
    };
    let hexadecimal = |count| all(2, count, char::is_ascii_hexdigit);
    match text.get(1) {
        Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(2),
        Some('x' | 'X') => hexadecimal(2),
        Some('u') => hexadecimal(4),
        Some('U') => hexadecimal(8),
        Some('0'..='3') => all(2, 2, |c| matches!(c, '0'..='7')),
        _ => Err(1),
    }
}

fn number(text: &[char]) -> (Option<TokenKind>, usize) {
    let suffixed = |length: usize| match text.get(length) {
        Some('u' | 'U') => (Some(Uint), length + 1),
        _ => (Some(Int), length),
    };
    if text[0] == '0' && text.get(1) == Some(&'x') {
        let hexadecimal = text[2..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
        return if hexadecimal > 0 { suffixed(2 + hexadecimal) } else { (Some(Int), 1) };
    }
    let whole = digits(text);
    if text.get(whole) == Some(&'.') {
        let fraction = digits(&text[whole + 1..]);
        if fraction > 0 {
            let length = whole + 1 + fraction;
            return (Some(Float), length + exponent(&text[length..]));
        }
    }
    match exponent(&text[whole..]) {
        0 => suffixed(whole),
        exponent => (Some(Float), whole + exponent),
    }
}

fn digits(text: &[char]) -> usize {
    text.iter().take_while(|c| c.is_ascii_digit()).count()
}

/// Returns the length of an exponent, 0 if none starts here.
fn exponent(text: &[char]) -> usize {
    if !matches!(text.first(), Some('e' | 'E')) {
        return 0;
    }
    let sign = 1 + usize::from(matches!(text.get(1), Some('+' | '-')));
    match digits(&text[sign.min(text.len())..]) {
        0 => 0,
        digits => sign + digits,
    }
}
