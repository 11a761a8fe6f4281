//! Words of a Go source file, as far as declarations need them.

/// A token with the line it begins on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word(String),
    /// The value of a string, raw or with its escapes resolved.
    Text(String),
    /// A `//` comment without its slashes.
    Comment(String),
    Punctuation(char),
    /// Ends a declaration, as Go's automatic semicolon does.
    LineEnd,
}

pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: source, line: 1, tokens: Vec::new() };
    while lexer.step() {}
    lexer.tokens
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn push(&mut self, kind: Kind) {
        self.tokens.push(Token { kind, line: self.line });
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Everything before `end`, which is skipped too.
    fn until(&mut self, end: &str) -> &'a str {
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        let taken = self.skip(length);
        self.skip(end.len().min(self.rest.len()));
        taken
    }

    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if let Some(comment) = self.rest.strip_prefix("//") {
            let length = comment.find('\n').unwrap_or(comment.len());
            let text = comment[..length].trim().to_owned();
            self.push(Kind::Comment(text));
            self.skip(2 + length);
        } else if self.rest.starts_with("/*") {
            self.until("*/");
        } else if first == '\n' {
            self.push(Kind::LineEnd);
            self.skip(1);
        } else if first == '`' {
            self.skip(1);
            let text = self.until("`").to_owned();
            self.push(Kind::Text(text));
        } else if first == '"' {
            self.quoted();
        } else if first == '\'' {
            // A character, perhaps an escaped quote; declarations have no use for it.
            self.skip(if self.rest.starts_with("'\\") { 3 } else { 2 });
            self.until("'");
        } else if first.is_alphanumeric() || first == '_' {
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            let word = self.skip(end).to_owned();
            self.push(Kind::Word(word));
        } else {
            if !first.is_whitespace() {
                self.push(Kind::Punctuation(first));
            }
            self.skip(first.len_utf8());
        }
        true
    }

    fn quoted(&mut self) {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        let mut end = self.rest.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, other)) => text.push(other),
                    None => {}
                },
                other => text.push(other),
            }
        }
        self.push(Kind::Text(text));
        self.skip(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_texts_and_comments_are_told_apart() {
        let source =
            "// doc +x=1\ntype A struct {\n\tB *c.D `json:\"b\"` /* no */\n} // end\nconst e = \"f\\\"g\"";
        let shown: Vec<String> = tokens(source)
            .into_iter()
            .map(|token| match token.kind {
                Kind::Word(word) => word,
                Kind::Text(text) => format!("<{text}>"),
                Kind::Comment(text) => format!("//{text}"),
                Kind::Punctuation(character) => character.to_string(),
                Kind::LineEnd => "|".into(),
            })
            .collect();
        let expect = "//doc +x=1 | type A struct { | B * c . D <json:\"b\"> | } //end | const e = <f\"g>";
        assert_eq!(shown.join(" "), expect);
    }
}
