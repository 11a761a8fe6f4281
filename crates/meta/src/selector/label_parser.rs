//! Parser of label selectors.
//!
//! The grammar, with blanks allowed between all tokens:
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = [ "!" ] key | key operator value | key ( "in" | "notin" ) "(" values ")"
//! operator    = "=" | "==" | "!=" | ">" | "<"
//! ```
//!
//! `in` and `notin` are ordinary words where a key or value is expected. Tokens are slices of the text, each scanned
//! once, so the time is linear in its length.

use std::collections::BTreeSet;

use super::label::{Operator, Requirement, key_error};
use crate::field_path::{Path, aggregate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    /// `= == != ! < > , ( )`
    Symbol(&'t str),
    End,
}

impl<'t> Token<'t> {
    fn text(self) -> &'t str {
        match self {
            Token::Word(text) | Token::Symbol(text) => text,
            Token::End => "",
        }
    }

    fn is(self, symbol: &str) -> bool {
        self == Token::Symbol(symbol)
    }
}

pub(super) fn parse(text: &str, path: &Path<'_>) -> Result<Vec<Requirement>, String> {
    Parser { rest: text, ahead: None, path }.selector()
}

struct Parser<'t, 'p> {
    rest: &'t str,
    ahead: Option<Token<'t>>,
    path: &'p Path<'p>,
}

impl<'t> Parser<'t, '_> {
    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        match self.peek() {
            Token::End => return Ok(requirements),
            token if !starts_requirement(token) => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", token.text()));
            }
            _ => {}
        }
        loop {
            let requirement = self.requirement();
            requirements.push(requirement.map_err(|e| format!("unable to parse requirement: {e}"))?);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => {}
                other => {
                    return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
                }
            }
            let token = self.peek();
            if !starts_requirement(token) {
                return Err(format!("found '{}', expected: identifier after ','", token.text()));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek().is("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if let Some(error) = key_error(key, self.path) {
            return Err(error.to_string());
        }
        let (operator, values) = if negated {
            (Operator::DoesNotExist, BTreeSet::new())
        } else if self.peek() == Token::End || self.peek().is(",") {
            (Operator::Exists, BTreeSet::new())
        } else {
            match self.operator()? {
                operator @ (Operator::In | Operator::NotIn) => (operator, self.values()?),
                operator => (operator, self.exact_value()?),
            }
        };
        let values = values.into_iter().map(str::to_owned).collect();
        Requirement::new(key, operator, values, self.path).map_err(|errors| aggregate(&errors))
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let token = self.next();
        match token {
            Token::Word("in") => Ok(Operator::In),
            Token::Word("notin") => Ok(Operator::NotIn),
            Token::Symbol("=") => Ok(Operator::Equals),
            Token::Symbol("==") => Ok(Operator::DoubleEquals),
            Token::Symbol("!=") => Ok(Operator::NotEquals),
            Token::Symbol(">") => Ok(Operator::GreaterThan),
            Token::Symbol("<") => Ok(Operator::LessThan),
            _ => Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", token.text())),
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<&'t str>, String> {
        if self.peek() == Token::End || self.peek().is(",") {
            return Ok(BTreeSet::from([""]));
        }
        match self.next() {
            Token::Word(value) => Ok(BTreeSet::from([value])),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// Parses `(a, b)`. An empty position between commas and parentheses is the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'t str>, String> {
        let open = self.next();
        if !open.is("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = BTreeSet::new();
        let first = self.peek();
        if first.is(")") {
            self.next();
            return Ok(BTreeSet::from([""]));
        }
        if !first.is(",") && !matches!(first, Token::Word(_)) {
            return Err(format!("found '{}', expected: ',', ')' or identifier", first.text()));
        }
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value);
                    let after = self.peek();
                    if !after.is(",") && !after.is(")") {
                        return Err(format!("found '{}', expected: ',' or ')'", after.text()));
                    }
                }
                Token::Symbol(",") => {
                    let after = self.peek();
                    if values.is_empty() || after.is(",") || after.is(")") {
                        values.insert("");
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
            if self.peek().is(")") {
                self.next();
                return Ok(values);
            }
        }
    }

    fn peek(&mut self) -> Token<'t> {
        let token = self.ahead.take().unwrap_or_else(|| self.scan());
        self.ahead = Some(token);
        token
    }

    fn next(&mut self) -> Token<'t> {
        self.ahead.take().unwrap_or_else(|| self.scan())
    }

    fn scan(&mut self) -> Token<'t> {
        let text = self.rest.trim_start_matches(is_blank);
        let length = match text.as_bytes() {
            // A zero byte ends the selector at the start of a token, and only the token right after one.
            [] | [0, ..] => {
                self.rest = "";
                return Token::End;
            }
            [b'=' | b'!', b'=', ..] => 2,
            [first, ..] if is_symbol(char::from(*first)) => 1,
            _ => text.find(|c| is_symbol(c) || is_blank(c) || c == '\0').unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at(length);
        self.rest = rest.strip_prefix('\0').unwrap_or(rest);
        if token.starts_with(is_symbol) { Token::Symbol(token) } else { Token::Word(token) }
    }
}

fn starts_requirement(token: Token<'_>) -> bool {
    matches!(token, Token::Word(_) | Token::Symbol("!"))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

#[cfg(test)]
mod tests {
    use super::super::label::Selector;
    use super::*;

    #[test]
    fn selectors_are_parsed_and_printed_in_order_of_keys() {
        let cases = [
            ("", ""),
            ("  ", ""),
            ("x", "x"),
            ("!x", "!x"),
            (" x = a , y == b ", "x=a,y==b"),
            ("x!=a", "x!=a"),
            ("x>1,y<2", "x>1,y<2"),
            ("x in (b, a,b)", "x in (a,b)"),
            ("x notin (a)", "x notin (a)"),
            ("z,y,x", "x,y,z"),
            ("a=2,a=1", "a=2,a=1"),
            ("x=", "x="),
            ("x=,y=", "x=,y="),
            ("x in ()", "x in ()"),
            ("x in (,)", "x in ()"),
            ("x in (a,)", "x in (,a)"),
            ("x in (,a)", "x in (,a)"),
            ("x in (a,,b)", "x in (,a,b)"),
            ("in", "in"),
            ("in in (in,notin)", "in in (in,notin)"),
            ("notin=in", "notin=in"),
            ("!in", "!in"),
            ("y,!x", "!x,y"),
            ("example.com/a=b", "example.com/a=b"),
            ("x\0,y", "x,y"),
            ("x \0,y", "x"),
        ];
        for (text, want) in cases {
            let parsed = Selector::parse(text).map(|selector| selector.to_string());
            assert_eq!(parsed.as_deref(), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn invalid_selectors_have_the_references_messages() {
        let cases = [
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("()", "found '(', expected: !, identifier, or 'end of string'"),
            ("x,", "found '', expected: identifier after ','"),
            ("x,,y", "found ',', expected: identifier after ','"),
            ("x==a==b", "found '==', expected: ',' or 'end of string'"),
            ("x=a=b", "found '=', expected: ',' or 'end of string'"),
            ("!x=a", "found '=', expected: ',' or 'end of string'"),
            ("!x in (a)", "found 'in', expected: ',' or 'end of string'"),
            ("x=a b", "found 'b', expected: ',' or 'end of string'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("!!x", "unable to parse requirement: found '!', expected: identifier"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
            ("a(b)", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"),
            ("x===a", "unable to parse requirement: found '=', expected: identifier"),
            ("x=(a)", "unable to parse requirement: found '(', expected: identifier"),
            ("x in x", "unable to parse requirement: found 'x' expected: '('"),
            ("x in", "unable to parse requirement: found '' expected: '('"),
            ("x in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
            ("x in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("x in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"),
            ("x in (a,", "unable to parse requirement: found '', expected: ',', or identifier"),
            ("x in (a,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
            (
                "x>abc",
                r#"unable to parse requirement: values[0]: Invalid value: "abc": for 'Gt', 'Lt' operators, the value must be an integer"#,
            ),
            (
                "a/b/c=d",
                r#"unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"#,
            ),
            (
                "a=b@",
                r#"unable to parse requirement: values[0][a]: Invalid value: "b@": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
            ),
        ];
        for (text, want) in cases {
            assert_eq!(Selector::parse(text), Err(want.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_field_of_the_selector() {
        let path = Path::new("spec.labelSelector");
        let error = Selector::parse_at("a=b@", &path).unwrap_err();
        assert!(error.contains("spec.labelSelector.values[0][a]: Invalid value"), "{error}");
        let error = Selector::parse_at("-a", &path).unwrap_err();
        assert!(error.contains(r#": spec.labelSelector: Invalid value: "-a""#), "{error}");
    }

    #[test]
    fn long_selectors_are_parsed_in_linear_time() {
        let many = vec!["a=b"; 50_000].join(",");
        let values = format!("a in ({})", vec!["b"; 50_000].join(","));
        let symbols = "!".repeat(200_000);
        let word = "x".repeat(200_000);
        let started = std::time::Instant::now();
        assert!(Selector::parse(&many).is_ok());
        assert!(Selector::parse(&values).is_ok());
        assert!(Selector::parse(&symbols).is_err());
        assert!(Selector::parse(&word).is_err());
        assert!(Selector::parse(&" ".repeat(200_000)).is_ok());
        // Quadratic time would be hundreds of times as long.
        assert!(started.elapsed().as_secs() < 20);
    }
}
