//! Semantic versions: `1.36.0-alpha.1+build`.

use std::cmp::Ordering;

/// A version; what follows a plus has no part in comparisons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Version<'a> {
    /// Major, minor, patch.
    numbers: [u64; 3],
    prerelease: Vec<Identifier<'a>>,
}

/// A part of a prerelease; numbers come before texts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Text(&'a str),
}

impl<'a> Version<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Version<'a>> {
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        let (text, prerelease) = match text.split_once('-') {
            Some((text, prerelease)) => (text, Some(prerelease)),
            None => (text, None),
        };
        if !build.is_none_or(|build| build.split('.').all(is_word)) {
            return None;
        }
        let mut parts = text.split('.');
        let numbers = [number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?];
        if parts.next().is_some() {
            return None;
        }
        let prerelease = prerelease.into_iter().flat_map(|text| text.split('.')).map(Identifier::parse);
        Some(Version { numbers, prerelease: prerelease.collect::<Option<_>>()? })
    }
}

impl<'a> Identifier<'a> {
    fn parse(text: &'a str) -> Option<Identifier<'a>> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return number(text).map(Identifier::Number);
        }
        is_word(text).then_some(Identifier::Text(text))
    }
}

impl Ord for Version<'_> {
    /// A prerelease comes before its release.
    fn cmp(&self, other: &Self) -> Ordering {
        let is_release = |version: &Version<'_>| version.prerelease.is_empty();
        let numbers = self.numbers.cmp(&other.numbers);
        let releases = is_release(self).cmp(&is_release(other));
        numbers.then(releases).then_with(|| self.prerelease.cmp(&other.prerelease))
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Parses a number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if is_plain { text.parse().ok() } else { None }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_their_specification_says() {
        let ordered = [
            "0.0.1",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0",
            "1.2.0",
            "1.10.0",
            "2.0.0",
        ];
        let parsed: Vec<_> = ordered.iter().map(|text| Version::parse(text).unwrap()).collect();
        assert!(parsed.is_sorted() && parsed.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(Version::parse("1.0.0+a.b"), Version::parse("1.0.0+c"));
        assert_eq!(Version::parse("0.0.0+x"), Some(Version::default()));
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3-a..b",
            "1.2.3+",
            "1.2.x",
            "1.2.3+a_b",
            "99999999999999999999.0.0",
        ] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
