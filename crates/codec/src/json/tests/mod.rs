//! Decoding, behaviour by behaviour. Expectations come from the reference's sources and, for messages that can be
//! provoked over the wire, from recorded responses.

mod hostile;
mod opaque;
mod repeated;
mod strict;
mod types;

use pintle_schema::find;

use super::*;

fn of(name: &str) -> &'static Type {
    find(name).unwrap_or_else(|| panic!("no type {name}"))
}

fn decoded(name: &str, text: &str) -> Result<Decoded, String> {
    decode(of(name), text.as_bytes()).map_err(|error| error.to_string())
}

/// Returns the normal form of a text, in JSON.
fn normal(name: &str, text: &str) -> Result<String, String> {
    decoded(name, text).map(|decoded| text_of(&decoded))
}

fn untyped(text: &str) -> Result<String, String> {
    decode_untyped(text.as_bytes()).map(|decoded| text_of(&decoded)).map_err(|error| error.to_string())
}

fn text_of(decoded: &Decoded) -> String {
    let mut out = Vec::new();
    encode(&decoded.value, &mut out);
    String::from_utf8(out).unwrap()
}

/// Checks that every text has its normal form or, after `!`, its error.
fn check(name: &str, cases: &[(&str, &str)]) {
    for (text, want) in cases {
        let got = normal(name, text).unwrap_or_else(|error| format!("!{error}"));
        assert_eq!(got, *want, "{name} {text}");
    }
}
