//! The claims of a token, read by name and type.

use pintle_meta::Value;
use pintle_meta::value::Node;

use super::Error;

/// The payload of a token: a JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims(pub(super) Value);

impl Claims {
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// A text; `None` if it is not there or null.
    pub fn text(&self, name: &'static str) -> Result<Option<&str>, Error> {
        match self.0.get(name).map(Value::node) {
            None | Some(Node::Null) => Ok(None),
            Some(Node::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::Claim(name)),
        }
    }

    /// A time in seconds since 1970, fractions cut off.
    pub fn date(&self, name: &'static str) -> Result<Option<i64>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => date(value).map_err(|()| Error::Claim(name)),
        }
    }

    /// The same in tokens of identity providers, which are read by other rules. `required` says whether null is a mistake.
    pub fn openid_date(&self, name: &'static str, required: bool) -> Result<Option<i64>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) if value.is_null() && !required => Ok(None),
            Some(value) => openid_date(value).map(Some).map_err(|()| Error::Claim(name)),
        }
    }

    /// Returns the audiences (`aud`): one text or several.
    pub fn audiences(&self) -> Result<Vec<String>, Error> {
        match self.0.get("aud").map(Value::node) {
            None => Ok(Vec::new()),
            Some(Node::String(one)) => Ok(vec![one.to_owned()]),
            Some(Node::List(several)) => several
                .iter()
                .map(|audience| audience.as_str().map(str::to_owned).ok_or(Error::Claim("aud")))
                .collect(),
            Some(_) => Err(Error::Claim("aud")),
        }
    }
}

/// A time of a service account's token in seconds since 1970; `None` if it is null. Read as a floating point number, also where it
/// is an integer.
pub(crate) fn date(value: &Value) -> Result<Option<i64>, ()> {
    match value.node() {
        Node::Null => Ok(None),
        Node::Int(seconds) => Ok(Some(on_the_clock(truncated(seconds as f64)))),
        Node::Float(seconds) => Ok(Some(on_the_clock(truncated(seconds)))),
        _ => Err(()),
    }
}

/// A time of an identity provider's token in seconds since 1970: an integer, another number, or either of them as text.
fn openid_date(value: &Value) -> Result<i64, ()> {
    let seconds = match value.node() {
        Node::Int(seconds) => seconds,
        Node::Float(seconds) => truncated(seconds),
        Node::String(text) if is_number(text) => match text.parse::<i64>() {
            Ok(seconds) => seconds,
            Err(_) => truncated(text.parse().ok().filter(|seconds: &f64| seconds.is_finite()).ok_or(())?),
        },
        _ => return Err(()),
    };
    Ok(on_the_clock(seconds))
}

/// Whether a text is a number as JSON writes them, and nothing else.
fn is_number(text: &str) -> bool {
    let decoded = pintle_codec::json::decode_any(text.as_bytes());
    decoded.is_ok_and(|decoded| matches!(decoded.value.node(), Node::Int(_) | Node::Float(_)))
        && !text.starts_with(char::is_whitespace)
        && !text.ends_with(char::is_whitespace)
}

/// A floating point number as the reference's processors make an integer of it: whatever does not fit is the smallest of all. A token
/// that expires in 10^20 seconds has therefore expired.
fn truncated(seconds: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&seconds) { seconds as i64 } else { i64::MIN }
}

/// Go counts seconds from the year 1: times that do not fit there come out before everything else.
fn on_the_clock(seconds: i64) -> i64 {
    const FROM_YEAR_ONE: i64 = 62_135_596_800;
    if seconds.checked_add(FROM_YEAR_ONE).is_some() { seconds } else { i64::MIN }
}
