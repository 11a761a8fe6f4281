//! Small languages: quantities, selectors, times, durations.

use pintle_meta::quantity::Quantity;
use pintle_meta::selector::{field, label};
use pintle_meta::time::{MicroTime, Time};
use pintle_meta::{format_duration, parse_duration};

use super::{refused, skeleton, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[
    Target {
        name: "quantity",
        seeds: || {
            seeds(&["0", "100m", "1.5Gi", "-3e6", "12E", "9223372036854775807", "1e-9", "0.5", "1Ki", "+.1"])
        },
        tokens: &[
            "Ki",
            "Mi",
            "Gi",
            "Ti",
            "Pi",
            "Ei",
            "n",
            "u",
            "m",
            "k",
            "E",
            "e",
            "e-",
            "E+",
            "999999999999999999",
        ],
        run: quantity,
    },
    Target {
        name: "label-selector",
        seeds: || {
            seeds(&["a=b", "a==b,c!=d", "x in (a,b),!y", "z notin ()", "a,b>3,c<-4", "example.com/a in (b)"])
        },
        tokens: &[" in ", " notin ", "(", ")", ",", "=", "==", "!=", "!", ">", "<", "a/b"],
        run: label_selector,
    },
    Target {
        name: "field-selector",
        seeds: || seeds(&["metadata.name=a", "a!=b,c==d", "a=\\,b", "a=b\\=c", "spec.nodeName="]),
        tokens: &["\\,", "\\=", "\\\\", "!=", "==", "=", ","],
        run: field_selector,
    },
    Target {
        name: "time",
        seeds: || {
            seeds(&["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+14:00", "0001-01-01T00:00:00Z"])
        },
        tokens: &["T", "Z", "+00:00", "-23:59", ".000000001", "9999", "0000", "02-29", "24:00:00", ":60"],
        run: time,
    },
    Target {
        name: "duration",
        seeds: || seeds(&["1h2m3.5s", "-1.5h", "100ms", "2us", "3ns", "0", "+9223372036854775807ns"]),
        tokens: &["h", "m", "s", "ms", "us", "µs", "ns", "-", "+", ".", "2562047h"],
        run: duration,
    },
];

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// A parsed value prints as a text that parses to an equal value.
fn quantity(input: &[u8]) -> u64 {
    match Quantity::parse(&String::from_utf8_lossy(input)) {
        Err(error) => refused(error),
        Ok(read) => {
            let text = read.to_string();
            let again = Quantity::parse(&text).expect("a printed quantity can be read");
            assert_eq!(again.to_string(), text);
            way((text.len(), text.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_owned()))
        }
    }
}

fn label_selector(input: &[u8]) -> u64 {
    match label::Selector::parse(&String::from_utf8_lossy(input)) {
        Err(error) => refused(error),
        Ok(read) => {
            let text = read.to_string();
            let again = label::Selector::parse(&text).expect("a printed selector can be read");
            assert_eq!(again.to_string(), text);
            way(skeleton(&text))
        }
    }
}

/// Terms are sorted as they were written, so it is the second print that stays the same.
fn field_selector(input: &[u8]) -> u64 {
    match field::Selector::parse(&String::from_utf8_lossy(input)) {
        Err(error) => refused(error),
        Ok(read) => {
            let again = |text: &str| {
                field::Selector::parse(text).expect("a printed selector can be read").to_string()
            };
            let text = again(&read.to_string());
            assert_eq!(again(&text), text);
            way(skeleton(&text))
        }
    }
}

fn time(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let micro = MicroTime::parse(&text).is_ok();
    match Time::parse(&text) {
        Err(error) => refused(error),
        Ok(read) => {
            let printed = read.truncated().to_string();
            if let Ok(again) = Time::parse(&printed) {
                assert_eq!(again.to_string(), printed);
            }
            way((micro, text.len().min(40), printed.len()))
        }
    }
}

fn duration(input: &[u8]) -> u64 {
    match parse_duration(&String::from_utf8_lossy(input)) {
        Err(error) => refused(error),
        Ok(nanos) => {
            let text = format_duration(nanos);
            assert_eq!(parse_duration(&text), Ok(nanos), "{text}");
            way(text.chars().filter(|c| !c.is_ascii_digit()).take(8).collect::<String>())
        }
    }
}
