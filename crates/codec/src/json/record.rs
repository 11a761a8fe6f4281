//! Strict errors of lists of structs that are no API types, such as the operations of a JSON patch.
//!
//! They are not in the type graph and need no normal form, so only their field names are known and no value is kept.

use pintle_meta::Value;
use pintle_schema::Shape;

use super::path::{Path, Segment};
use super::typed::{At, Decoder, Stop, document};
use crate::Error;

/// Go struct outside of the type graph, by its names in messages.
#[derive(Debug)]
pub struct Record {
    /// With its package: `handlers.jsonPatchOp`.
    pub go_name: &'static str,
    pub fields: &'static [(&'static str, Shape)],
}

impl Record {
    /// Returns the name without the package.
    pub(super) fn name(&self) -> &'static str {
        self.go_name.rsplit('.').next().unwrap_or_default()
    }
}

pub(super) fn strict_records(of: &'static Record, text: &[u8]) -> Result<Vec<String>, Error> {
    let decoded = document(text, |decoder| {
        decoder.records(of)?;
        Ok(Value::NULL)
    })?;
    Ok(decoded.strict)
}

impl Decoder<'_> {
    fn records(&mut self, of: &'static Record) -> Result<(), Stop> {
        match self.reader.begin()? {
            b'[' => {}
            b'n' => return Ok(self.reader.literal()?),
            first => return self.mismatch(first, &format!("[]{}", of.go_name), None),
        }
        let mut item = 0;
        let mut more = self.reader.enter_list()?;
        while more {
            self.record(of, Some(&Path { before: None, segment: Segment::Item(item) }))?;
            item += 1;
            more = self.reader.next_item()?;
        }
        Ok(())
    }

    fn record(&mut self, of: &'static Record, at: At<'_>) -> Result<(), Stop> {
        match self.reader.begin()? {
            b'{' => {}
            b'n' => return Ok(self.reader.literal()?),
            first => return self.mismatch(first, of.go_name, at),
        }
        let mut seen = vec![false; of.fields.len()];
        let mut more = self.reader.enter_object()?;
        while more {
            let key = self.reader.key()?;
            match of.fields.iter().position(|(name, _)| *name == key) {
                Some(index) => {
                    if std::mem::replace(&mut seen[index], true) {
                        self.strict.duplicate(at, &key);
                    }
                    let path = Path { before: at, segment: Segment::Record(of, index) };
                    self.value(of.fields[index].1, Some(&path))?;
                }
                None => {
                    self.strict.unknown(at, &key);
                    self.reader.skip()?;
                }
            }
            more = self.reader.next_field()?;
        }
        Ok(())
    }
}
