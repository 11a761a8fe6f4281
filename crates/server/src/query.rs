//! The parameters of a query, read as the reference's language does: what is malformed is as good as not there.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// Names and values in order. A pair with half an escape, or with a semicolon (which some take for a separator), is left
/// out.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((unescape(name)?, unescape(value)?))
    })
}

/// The first value of a parameter.
pub(crate) fn first(query: &str, name: &str) -> Option<String> {
    pairs(query).find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// Returns whether every `%` begins an escape.
pub(crate) fn escapes_are_whole(text: &str) -> bool {
    let digits = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    text.split('%').skip(1).all(digits)
}

fn unescape(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(text.into());
    }
    if !escapes_are_whole(text) {
        return None;
    }
    let spaced = text.replace('+', " ");
    Some(percent_decode(spaced.as_bytes()).decode_utf8_lossy().into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_pairs_are_not_there() {
        for (query, expect) in [
            ("a=1&b=2&a=3", &[("a", "1"), ("b", "2"), ("a", "3")][..]),
            ("", &[]),
            ("&&", &[]),
            ("a", &[("a", "")]),
            ("=b", &[("", "b")]),
            ("a=b=c", &[("a", "b=c")]),
            ("a+b=c%20d%2B", &[("a b", "c d+")]),
            ("a=%zz&b=%4&c=1%", &[]),
            ("a=1;b=2&c=3", &[("c", "3")]),
            ("a=%ff", &[("a", "\u{fffd}")]),
        ] {
            let found: Vec<_> = pairs(query).collect();
            let expect: Vec<_> = expect.iter().map(|(a, b)| (Cow::from(*a), Cow::from(*b))).collect();
            assert_eq!(found, expect, "{query}");
        }
    }

    #[test]
    fn half_an_escape_is_noticed() {
        for (path, whole) in
            [("/a%20b%2F", true), ("/", true), ("/%", false), ("/%2", false), ("/%zz", false), ("/%é", false)]
        {
            assert_eq!(escapes_are_whole(path), whole, "{path}");
        }
    }
}
