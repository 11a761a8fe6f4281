//! Field selectors of a request's `fieldSelector=`: `metadata.name=a,spec.nodeName!=b`.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    Equals,
    NotEquals,
}

/// Condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    pub field: String,
    pub operator: Operator,
    pub value: String,
}

/// Conjunction of requirements. An empty one selects everything; [`Selector::nothing`] selects nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// `None` selects nothing.
    requirements: Option<Vec<Requirement>>,
}

impl Selector {
    pub fn everything() -> Selector {
        Selector::new(Vec::new())
    }

    pub fn nothing() -> Selector {
        Selector { requirements: None }
    }

    pub fn new(requirements: Vec<Requirement>) -> Selector {
        Selector { requirements: Some(requirements) }
    }

    /// Returns a selector of objects whose field has this value.
    pub fn equals(field: impl Into<String>, value: impl Into<String>) -> Selector {
        let (field, value) = (field.into(), value.into());
        Selector::new(vec![Requirement { field, operator: Operator::Equals, value }])
    }

    /// Parses a selector. Its terms are sorted, and printed, alphabetically.
    pub fn parse(text: &str) -> Result<Selector, String> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let mut requirements = Vec::with_capacity(terms.len());
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let (field, operator, value) = split_term(term)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
            requirements.push(Requirement { field: field.into(), operator, value: unescape(value)? });
        }
        Ok(Selector::new(requirements))
    }

    /// Replaces each field and value, as when a field has another name in the storage version or is not selectable. A
    /// term that becomes empty is dropped; the first error is returned.
    pub fn transform<E>(
        self,
        mut change: impl FnMut(&str, &str) -> Result<(String, String), E>,
    ) -> Result<Selector, E> {
        let Some(old) = self.requirements else { return Ok(Selector::nothing()) };
        let mut requirements = Vec::with_capacity(old.len());
        for Requirement { field, operator, value } in old {
            let (field, value) = change(&field, &value)?;
            if !field.is_empty() || !value.is_empty() {
                requirements.push(Requirement { field, operator, value });
            }
        }
        Ok(Selector::new(requirements))
    }

    /// Joins the requirements of both selectors.
    #[must_use]
    pub fn and(self, other: Selector) -> Selector {
        match (self.requirements, other.requirements) {
            (Some(mut all), Some(more)) => {
                all.extend(more);
                Selector::new(all)
            }
            _ => Selector::nothing(),
        }
    }

    /// Returns whether an object matches; `field` looks up its fields, empty if absent.
    pub fn matches<'f>(&self, field: impl Fn(&str) -> &'f str) -> bool {
        self.requirements.as_ref().is_some_and(|all| {
            all.iter().all(|requirement| {
                let equal = field(&requirement.field) == requirement.value;
                equal == (requirement.operator == Operator::Equals)
            })
        })
    }

    /// Returns whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    pub fn matches_nothing(&self) -> bool {
        self.requirements.is_none()
    }

    /// Empty if it selects nothing, and if it selects everything.
    pub fn requirements(&self) -> &[Requirement] {
        self.requirements.as_deref().unwrap_or_default()
    }

    /// Returns the value that the field must have, if there is one: an index can then be used.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        let exact = |r: &&Requirement| r.operator == Operator::Equals && r.field == field;
        self.requirements().iter().find(exact).map(|requirement| requirement.value.as_str())
    }
}

impl Default for Selector {
    fn default() -> Selector {
        Selector::everything()
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.operator == Operator::Equals { "=" } else { "!=" };
        write!(f, "{}{operator}{}", self.field, escape(&self.value))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements().iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

/// Escapes a value for a selector.
pub fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if is_special(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Unescapes a value of a selector.
pub fn unescape(value: &str) -> Result<String, String> {
    let invalid = |sequence: &str| format!("invalid field selector: invalid escape sequence: {sequence}");
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if is_special(escaped) => out.push(escaped),
                Some(other) => return Err(invalid(&format!("\\{other}"))),
                None => return Err(invalid("\\")),
            },
            // The reference prints the character as a number.
            ',' | '=' => {
                let code = u32::from(c);
                return Err(format!("invalid field selector: unescaped character in value: {code}"));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

fn is_special(c: char) -> bool {
    matches!(c, '\\' | ',' | '=')
}

/// Splits at unescaped commas.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Splits at the first operator. A `!` without a following `=` is part of the field's name.
fn split_term(term: &str) -> Option<(&str, Operator, &str)> {
    let (before, after) = term.split_once('=')?;
    match before.strip_suffix('!') {
        Some(field) => Some((field, Operator::NotEquals, after)),
        None => Some((before, Operator::Equals, after.strip_prefix('=').unwrap_or(after))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_parsed_and_printed_in_order() {
        let cases = [
            ("", ""),
            (",,", ""),
            ("a=b", "a=b"),
            ("a==b", "a=b"),
            ("a!=b", "a!=b"),
            ("b=2,a=1", "a=1,b=2"),
            ("a=", "a="),
            ("=", "="),
            ("!=x", "!=x"),
            (r"a=\,\=\\", r"a=\,\=\\"),
            (r"a=x\,b,c=d", r"a=x\,b,c=d"),
            ("a!b=c", "a!b=c"),
            ("a = b", "a = b"),
        ];
        for (text, want) in cases {
            let parsed = Selector::parse(text).map(|selector| selector.to_string());
            assert_eq!(parsed.as_deref(), Ok(want), "{text:?}");
        }
        assert_eq!(Selector::parse(r"a=\,\=\\").unwrap().requires_exact_match("a"), Some(r",=\"));
    }

    #[test]
    fn invalid_selectors_have_the_references_messages() {
        let cases = [
            ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
            ("a=b,x!", "invalid selector: 'a=b,x!'; can't understand 'x!'"),
            ("z,a=b,y", "invalid selector: 'z,a=b,y'; can't understand 'y'"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            ("a===b", "invalid field selector: unescaped character in value: 61"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=\é", r"invalid field selector: invalid escape sequence: \é"),
            (r"a=b\", r"invalid field selector: invalid escape sequence: \"),
        ];
        for (text, want) in cases {
            assert_eq!(Selector::parse(text), Err(want.to_owned()), "{text:?}");
        }
        let comma = unescape("a,b");
        assert_eq!(comma, Err("invalid field selector: unescaped character in value: 44".into()));
    }

    #[test]
    fn a_missing_field_is_an_empty_one() {
        let matches = |text: &str| {
            let field = |field: &str| if field == "a" { "1" } else { "" };
            Selector::parse(text).unwrap().matches(field)
        };
        for yes in ["", "a=1", "a!=2", "b=", "b!=x", "a=1,b="] {
            assert!(matches(yes), "{yes}");
        }
        for no in ["a=2", "a!=1", "b!=", "b=x", "a=1,b=x"] {
            assert!(!matches(no), "{no}");
        }
        assert!(!Selector::nothing().matches(|_| ""));
        assert!(!Selector::nothing().is_empty() && Selector::everything().is_empty());
    }

    #[test]
    fn only_equality_is_an_exact_match() {
        let selector = Selector::parse("a=1,b!=2,b=3,c!=4").unwrap();
        assert_eq!(selector.requires_exact_match("a"), Some("1"));
        assert_eq!(selector.requires_exact_match("b"), Some("3"));
        assert_eq!(selector.requires_exact_match("c"), None);
        assert_eq!(selector.requires_exact_match("d"), None);
    }

    #[test]
    fn terms_can_be_renamed_dropped_or_rejected() {
        let change = |field: &str, value: &str| match field {
            "spec.host" => Ok(("spec.nodeName".to_owned(), value.to_owned())),
            "metadata.name" => Ok((field.to_owned(), value.to_owned())),
            "drop" => Ok((String::new(), String::new())),
            _ => Err(format!("field label not supported: {field}")),
        };
        let transform = |text: &str| Selector::parse(text).unwrap().transform(change).map(|s| s.to_string());
        assert_eq!(
            transform("spec.host!=a,metadata.name=b,drop=x").as_deref(),
            Ok("metadata.name=b,spec.nodeName!=a")
        );
        assert_eq!(transform("drop=x").as_deref(), Ok(""));
        assert_eq!(transform("x=y"), Err("field label not supported: x".into()));
        assert_eq!(Selector::nothing().transform(change), Ok(Selector::nothing()));
    }

    #[test]
    fn selectors_are_joined() {
        let (a, b) = (Selector::equals("a", "1"), Selector::parse("b!=2").unwrap());
        assert_eq!(a.clone().and(b).to_string(), "a=1,b!=2");
        assert_eq!(a.and(Selector::nothing()), Selector::nothing());
    }

    #[test]
    fn long_selectors_are_parsed_in_linear_time() {
        let started = std::time::Instant::now();
        assert!(Selector::parse(&vec!["a=b"; 50_000].join(",")).is_ok());
        assert!(Selector::parse(&",".repeat(200_000)).is_ok());
        assert!(Selector::parse(&"!".repeat(200_000)).is_err());
        assert!(Selector::parse(&format!("a={}", "\\\\".repeat(100_000))).is_ok());
        assert!(started.elapsed().as_secs() < 20);
    }
}
