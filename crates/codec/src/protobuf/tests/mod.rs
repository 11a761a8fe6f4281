//! Bytes against bytes: messages of the reference round-trip, tolerated ones are tolerated, and hostile ones do no
//! harm.

mod fast_paths;
mod hostile;
mod merging;
mod round_trip;
mod upstream;
mod vectors;

use pintle_meta::Value;
use pintle_schema::{Type, find};

use super::{decode, encode};
use crate::Error;

fn of(name: &str) -> &'static Type {
    find(name).unwrap()
}

/// Builder of a message, field by field.
#[derive(Clone, Debug, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn new() -> Bytes {
        Bytes::default()
    }

    fn varint(mut self, number: u32, value: u64) -> Bytes {
        super::wire::push_varint(u64::from(number) << 3, &mut self.0);
        super::wire::push_varint(value, &mut self.0);
        self
    }

    fn bytes(mut self, number: u32, bytes: impl AsRef<[u8]>) -> Bytes {
        super::wire::push_bytes(number, bytes.as_ref(), &mut self.0);
        self
    }

    fn message(self, number: u32, message: Bytes) -> Bytes {
        self.bytes(number, message.0)
    }

    fn raw(mut self, bytes: &[u8]) -> Bytes {
        self.0.extend_from_slice(bytes);
        self
    }
}

fn read(name: &str, message: &Bytes) -> Result<Value, Error> {
    decode(of(name), &message.0)
}

fn error(name: &str, message: &Bytes) -> String {
    read(name, message).unwrap_err().to_string()
}

fn write(name: &str, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode(of(name), value, &mut out).unwrap();
    out
}
