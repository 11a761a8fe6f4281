//! What a token says, read by name and type.

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

    /// For whom it is (`aud`): one text or several.
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

/// A time in seconds since 1970; `None` if it is null.
pub(crate) fn date(value: &Value) -> Result<Option<i64>, ()> {
    match value.node() {
        Node::Null => Ok(None),
        Node::Int(seconds) => Ok(Some(seconds)),
        // Saturates, which is a time that no clock reaches.
        Node::Float(seconds) => Ok(Some(seconds as i64)),
        _ => Err(()),
    }
}
