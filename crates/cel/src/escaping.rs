//! Property names as identifiers: characters outside of identifiers and reserved words are escaped.
//!
//! ```text
//! a-b        a__dash__b
//! a.b/c      a__dot__b__slash__c
//! a__b       a__underscores__b
//! namespace  __namespace__
//! ```

use crate::parser::RESERVED;

/// Returns the identifier of a property name; `None` if a character cannot be escaped or it starts with a digit.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            escaped.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => escaped.push(c),
            _ => return None,
        }
        rest = &rest[1..];
    }
    Some(escaped)
}

/// Returns the property name of an identifier; `None` if it contains an unknown escape.
pub fn unescape(identifier: &str) -> Option<String> {
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while !rest.is_empty() {
        let Some(start) = rest.find("__") else {
            name.push_str(rest);
            break;
        };
        // An escape is the text between two double underscores without underscores inside; other double underscores
        // are literal.
        let inside = &rest[start + 2..];
        let length = inside.find('_').unwrap_or(inside.len());
        if length == 0 || !inside[length..].starts_with("__") {
            name.push_str(&rest[..start + 1]);
            rest = &rest[start + 1..];
            continue;
        }
        name.push_str(&rest[..start]);
        match &inside[..length] {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            word if RESERVED.contains(&word) && length + 4 == identifier.len() => name.push_str(word),
            _ => return None,
        }
        rest = &inside[length + 2..];
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_names_are_escaped_and_unescaped() {
        for (name, escaped) in [
            ("a", "a"),
            ("a_b", "a_b"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("___", "__underscores___"),
            ("namespace", "__namespace__"),
            ("namespaces", "namespaces"),
            ("-", "__dash__"),
            ("__dot__", "__underscores__dot__underscores__"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped), "{name}");
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
    }

    #[test]
    fn names_that_cannot_be_escaped_have_no_identifier() {
        for name in ["", "1a", "a b", "ä", "a$"] {
            assert_eq!(escape(name), None, "{name}");
        }
        for identifier in ["__nope__", "a__namespace__"] {
            assert_eq!(unescape(identifier), None, "{identifier}");
        }
    }
}
