//! For tests: objects of no type, kept as the JSON that they are.

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{BodyFormat, Entry, Kind, Read};
use pintle_codec::json;
use pintle_meta::Value;

use crate::{Result, Stored, Transform};

/// An object out of its JSON.
///
/// # Panics
///
/// If that is not JSON.
pub fn object(text: &str) -> Value {
    decode(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn decode(text: &[u8]) -> std::result::Result<Value, String> {
    json::decode_untyped(text).map(|decoded| decoded.value).map_err(|error| error.to_string())
}

/// A kind without a type. Selectors see its phase and its labels.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

impl Untyped {
    /// The place of `status.phase` among what is read of an object.
    pub const PHASE: usize = 0;
}

impl Stored for Untyped {
    fn decode(&self, stored: &[u8]) -> std::result::Result<Value, String> {
        decode(stored)
    }

    fn encode(&self, object: &Value) -> std::result::Result<Bytes, String> {
        let mut out = Vec::new();
        json::encode(object, &mut out);
        Ok(out.into())
    }
}

impl Kind for Untyped {
    fn read(&self, _: &str, stored: &Bytes) -> std::result::Result<Read, String> {
        let object = decode(stored)?;
        let phase = object.text_at(&["status", "phase"]).into();
        let labels = object.labels().map(|(key, value)| (key.into(), value.into())).collect();
        Ok(Read { value: stored.clone(), fields: Box::new([phase]), labels })
    }

    fn encode(&self, entry: &Entry, _: BodyFormat) -> std::result::Result<Bytes, String> {
        Ok(entry.stored().clone())
    }
}

/// An object in the place of whatever is there.
#[derive(Clone, Debug)]
pub struct Put(pub Value);

#[async_trait]
impl Transform for Put {
    async fn transform(&mut self, _: Option<&Value>) -> Result<Value> {
        Ok(self.0.clone())
    }
}
