//! The formats of strings that schemas can name.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use pintle_cel::formats::{is_base64, is_date, is_date_time, is_request_uri, is_uuid};
use pintle_meta::parse_duration;
use pintle_meta::validation::{parse_cidr_sloppy, parse_ip_sloppy};
use pintle_regex::Regex;
use pintle_schema::structural::Json;

use super::email::is_email;

/// Says whether a text has a format.
pub(super) type Check = fn(&str) -> bool;

/// Whether a schema of a type may name a format and it means something; others are ignored. A node that takes integers and
/// strings counts as one without a type.
pub fn is_known_format(kind: Option<Json>, name: &str) -> bool {
    match kind {
        None | Some(Json::String) => find(name).is_some(),
        Some(Json::Integer) => matches!(name, "int32" | "int64"),
        Some(Json::Number) => matches!(name, "float" | "double"),
        Some(Json::Object | Json::Array | Json::Boolean) => false,
    }
}

/// Dashes in a name do not count.
pub(super) fn find(name: &str) -> Option<Check> {
    let plain = name.replace('-', "");
    Some(match plain.as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_request_uri,
        "email" => is_email,
        "hostname" => is_hostname,
        "ipv4" => |text| text.contains('.') && parse_ip_sloppy(text).is_some(),
        "ipv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => |text| parse_cidr_sloppy(text).is_some(),
        "mac" => is_mac,
        "uuid" => is_uuid,
        "uuid3" => |text| is_uuid_of(text, b'3'),
        "uuid4" => |text| is_uuid_of(text, b'4'),
        "uuid5" => |text| is_uuid_of(text, b'5'),
        "isbn" => |text| is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => is_ssn,
        "hexcolor" => is_hex_color,
        "rgbcolor" => is_rgb_color,
        "byte" => is_base64,
        "password" => |_| true,
        "date" => is_date,
        "duration" => is_duration,
        "datetime" => is_date_time,
        "k8sshortname" => |text| text.len() <= 63 && is_name(text),
        "k8slongname" => |text| text.len() <= 253 && text.split('.').all(is_name),
        _ => return None,
    })
}

fn is_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Letters and symbols of all languages.
fn is_hostname_char(c: char) -> bool {
    static WIDE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{S}\p{L}]$").ok());
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' => true,
        c if c.is_ascii() => false,
        c => WIDE.as_ref().is_some_and(|wide| wide.is_match(c.encode_utf8(&mut [0; 4]))),
    }
}

fn is_letter(c: char) -> bool {
    static WIDE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        WIDE.as_ref().is_some_and(|wide| wide.is_match(c.encode_utf8(&mut [0; 4])))
    }
}

fn is_hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|label| label.len() > 63) {
        return false;
    }
    let Some((labels, top)) = text.rsplit_once('.') else {
        // Alone, with at most one dash, which is the second character.
        let mut chars = text.chars();
        let first = chars.next().is_some_and(is_hostname_char);
        let rest = chars.as_str();
        return first && rest.strip_prefix('-').unwrap_or(rest).chars().all(is_hostname_char);
    };
    let is_label = |label: &str| {
        let ends = [label.chars().next(), label.chars().next_back()];
        ends.into_iter().all(|end| end.is_some_and(is_hostname_char))
            && label.chars().all(|c| c == '-' || is_hostname_char(c))
    };
    labels.split('.').all(is_label) && top.chars().count() >= 2 && top.chars().all(is_letter)
}

fn is_mac(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_group =
        |group: &[u8], digits: usize| group.len() == digits && group.iter().all(|b| b.is_ascii_hexdigit());
    let (separator, digits) = match (bytes.get(2), bytes.get(4)) {
        (Some(separator @ (b':' | b'-')), _) => (*separator, 2),
        (_, Some(b'.')) => (b'.', 4),
        _ => return false,
    };
    let groups = bytes.split(|b| *b == separator);
    let count = groups.clone().count();
    matches!(count * digits, 12 | 16 | 40) && groups.into_iter().all(|group| is_group(group, digits))
}

fn is_uuid_of(text: &str, version: u8) -> bool {
    if !is_uuid(text) {
        return false;
    }
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b'-').collect();
    let variant = digits[16].to_ascii_lowercase();
    digits[12] == version && (version == b'3' || matches!(variant, b'8' | b'9' | b'a' | b'b'))
}

/// Without blanks and dashes.
fn isbn_digits(text: &str) -> Vec<u8> {
    text.bytes().filter(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r' | b'-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = isbn_digits(text);
    let [first @ .., last] = digits.as_slice() else { return false };
    if first.len() != 9 || !first.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X')
    {
        return false;
    }
    let value = |b: &u8| if *b == b'X' { 10 } else { u32::from(b - b'0') };
    digits.iter().zip(1..).map(|(b, weight)| weight * value(b)).sum::<u32>().is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = isbn_digits(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let weights = [1, 3].into_iter().cycle();
    digits.iter().zip(weights).map(|(b, weight)| weight * u32::from(b - b'0')).sum::<u32>().is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter(char::is_ascii_digit).filter_map(|c| c.to_digit(10)).collect();
    let starts = |with: &[u32]| digits.starts_with(with);
    let issued = match digits.len() {
        13 => starts(&[4]),
        14 => (starts(&[3, 0]) && digits[2] <= 5) || starts(&[3, 6]) || starts(&[3, 8]),
        15 => starts(&[3, 4]) || starts(&[3, 7]) || starts(&[2, 1, 3, 1]) || starts(&[1, 8, 0, 0]),
        16 => {
            starts(&[4])
                || (starts(&[5]) && (1..=5).contains(&digits[1]))
                || starts(&[6, 0, 1, 1])
                || starts(&[6, 5])
                || starts(&[3, 5])
        }
        _ => false,
    };
    let doubled = |(place, digit): (usize, &u32)| match digit * 2 {
        _ if place.is_multiple_of(2) => *digit,
        twice @ 10.. => twice % 10 + 1,
        twice => twice,
    };
    issued && digits.iter().rev().enumerate().map(doubled).sum::<u32>().is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(place, b)| match place {
            3 | 6 => matches!(b, b'-' | b' '),
            _ => b.is_ascii_digit(),
        })
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r');
    let is_part = |part: &str| {
        let digits = part.trim_matches(blank);
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        plain && digits.len() <= 3 && digits.parse::<u16>().is_ok_and(|part| part <= 255)
    };
    inner.split(',').count() == 3 && inner.split(',').all(is_part)
}

/// As Go writes durations, or numbers with words for units in any text: `2 days and 3 hours`.
fn is_duration(text: &str) -> bool {
    if parse_duration(text).is_ok() {
        return true;
    }
    let is_unit = |unit: &str| {
        matches!(unit, "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" | "hr" | "d" | "w" | "wk")
            || ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"]
                .iter()
                .any(|u| unit.starts_with(u))
    };
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let (digits, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let behind = behind.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == 'µ';
        let (unit, after) = behind.split_at(behind.find(|c: char| !is_letter(c)).unwrap_or(behind.len()));
        if !unit.is_empty() {
            if digits.parse::<i64>().is_err() {
                return false;
            }
            found |= is_unit(&unit.to_lowercase());
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_take_what_the_reference_takes() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                "bsonobjectid",
                &["507f1f77bcf86cd799439011"],
                &["", "507f1f77bcf86cd79943901", "g07f1f77bcf86cd799439011"],
            ),
            (
                "uri",
                &["http://example.com/a?b#c", "/path", "a:b"],
                &["", "a b", "example.com", "http://[::1"],
            ),
            ("email", &["a@b.c", "A <a@b>"], &["", "a", "@b"]),
            (
                "hostname",
                &["a", "a-", "a-b", "example.com", "1.example.com", "a-b.example.com", "ü.de", "☃.com"],
                &["", "-a", "a-b-c", "example.c", "example.c0m", "a_b", "a..com", ".com", "a-.com", "a.b1"],
            ),
            ("ipv4", &["1.2.3.4", "010.0.0.1", "::ffff:1.2.3.4"], &["", "1.2.3", "::1", "1.2.3.256"]),
            ("ipv6", &["::1", "fe80::1", "::ffff:1.2.3.4"], &["", "1.2.3.4", "fe80::1%eth0", "12345::"]),
            ("cidr", &["10.0.0.0/8", "::/0", "010.0.0.0/8"], &["", "10.0.0.0", "10.0.0.0/33"]),
            (
                "mac",
                &["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef"],
                &["", "01:23:45:67:89", "01:23-45:67:89:ab", "0123.4567.89", "01:23:45:67:89:ag"],
            ),
            (
                "uuid",
                &["00000000-0000-0000-0000-000000000000", "ABCDEFAB000000000000000000000000"],
                &["", "0"],
            ),
            ("uuid3", &["bcd02e22-68f0-3046-a512-327cca9def8f"], &["bcd02e22-68f0-4046-a512-327cca9def8f"]),
            (
                "uuid4",
                &["025b0d74-00a2-4048-BF57-227c5111bb34"],
                &["025b0d74-00a2-4048-cf57-227c5111bb34", "025b0d74-00a2-3048-bf57-227c5111bb34"],
            ),
            ("uuid5", &["886313e1-3b8a-5372-9b90-0c9aee199e5d"], &["886313e1-3b8a-4372-9b90-0c9aee199e5d"]),
            ("isbn", &["0321751043", "978-0321751041"], &["", "0321751042", "978-0321751042"]),
            ("isbn10", &["0-8044-2957-X"], &["978-0321751041", "X804429570"]),
            ("isbn13", &["978 3 16 148410 0"], &["0321751043"]),
            ("creditcard", &["4111-1111-1111-1111", "378282246310005"], &["", "4111-1111-1111-1112", "123"]),
            ("ssn", &["111-11-1111", "111 11 1111"], &["111111111", "111-11-111", "abc-11-1111"]),
            ("hexcolor", &["#FFFFFF", "fff"], &["", "#ffff", "#ggg"]),
            ("rgbcolor", &["rgb(255, 0,  10)"], &["rgb(256,0,0)", "rgb(1,2)", "rgb(01,2,3)", "(1,2,3)"]),
            ("byte", &["aGk=", "YWJj"], &["", "a", "aGk", "a===", "=aaa"]),
            ("password", &["", "anything"], &[]),
            ("date", &["2024-02-29", "2023-12-31"], &["", "2023-02-29", "2023-1-1", "2023-01-01T"]),
            (
                "duration",
                &["1s", "-1h5m", "0", "22 ns", "2 days", "3 Weeks 1hr", "1 hours"],
                &["", "1", "s", "5 parsecs", "99999999999999999999 s"],
            ),
            (
                "date-time",
                &["2014-12-15T19:30:20Z", "2014-12-15t19:30:20.000z", "2014-12-15T19:30:20+01:00"],
                &["", "2014-12-15", "2014-12-15T19:30:20", "2014-12-15T24:00:00Z", "2014-13-15T19:30:20Z"],
            ),
            ("k8s-short-name", &["a", "0-a"], &["", "A", "-a", "a-", "a.b"]),
            ("k8s-long-name", &["a", "a.b-c.d"], &["", "a..b", "A.b", "a.-b"]),
        ];
        for (name, good, bad) in cases {
            let check = find(name).unwrap();
            good.iter().for_each(|text| assert!(check(text), "{name}: {text}"));
            bad.iter().for_each(|text| assert!(!check(text), "{name}: {text}"));
        }
        assert!(find("no-such").is_none());
        let long = "a".repeat(64);
        assert!(!find("k8s-short-name").unwrap()(&long) && find("k8s-long-name").unwrap()(&long));
    }

    #[test]
    fn formats_are_known_for_their_types() {
        assert!(is_known_format(None, "date-time") && is_known_format(Some(Json::String), "datetime"));
        assert!(
            is_known_format(Some(Json::Integer), "int32") && !is_known_format(Some(Json::Integer), "float")
        );
        assert!(is_known_format(Some(Json::Number), "double") && !is_known_format(None, "int64"));
        assert!(!is_known_format(Some(Json::Object), "date"));
    }
}
