//! One object as the cache keeps it: the normal bytes, what selectors ask for, and the bodies that clients got.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use smol_str::SmolStr;

use crate::facts::{Facts, Texts};
use crate::map::Keyed;
use crate::pool::{Holder, Pool};

/// The format of an encoded body: an encoding of a served version, numbered by the [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyFormat(pub u16);

/// The cache's view of a resource: how its stored values are decoded, indexed and encoded.
pub trait Kind: Send + Sync + 'static {
    /// Called once per value that the store delivers: brings it into normal form and reads what selectors need.
    /// An error is kept in the entry's place and returned to its readers.
    fn read(&self, key: &str, stored: &Bytes) -> Result<Read, String>;

    /// The places of the fields that lists select by so often that they are found without looking at every object.
    fn indexed_fields(&self) -> &[usize] {
        &[]
    }

    /// Called at most once per entry and format while the pool holds the result: the object's body with the entry's
    /// revision in it.
    fn encode(&self, entry: &Entry, format: BodyFormat) -> Result<Bytes, String>;

    /// Appends the body, for a caller that does not keep it.
    fn write_body(&self, entry: &Entry, format: BodyFormat, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(&self.encode(entry, format)?);
        Ok(())
    }

    /// How long the body would be, where that is known without encoding it.
    fn body_length(&self, _entry: &Entry, _format: BodyFormat) -> Option<usize> {
        None
    }
}

impl fmt::Debug for dyn Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kind")
    }
}

/// A stored value, looked into.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The value in normal form.
    pub value: Bytes,
    pub labels: Box<[(SmolStr, SmolStr)]>,
    /// The values of the kind's selectable fields, in the kind's own order.
    pub fields: Box<[SmolStr]>,
}

/// An object at a revision.
#[derive(Debug)]
pub struct Entry {
    key: Box<str>,
    revision: u64,
    stored: Bytes,
    /// The value in normal form, where it is not what is stored.
    normal: Option<Box<Bytes>>,
    read: Result<Texts, Box<str>>,
    bodies: Mutex<Vec<(BodyFormat, Bytes)>>,
}

impl Keyed for Entry {
    fn key(&self) -> &str {
        &self.key
    }
}

impl Entry {
    pub(crate) fn new(kind: &dyn Kind, key: &str, revision: u64, stored: &Bytes) -> Entry {
        let (normal, read) = match kind.read(key, stored) {
            Ok(read) => {
                let normal = (read.value != *stored).then(|| Box::new(Bytes::copy_from_slice(&read.value)));
                (normal, Ok(Texts::new(&read)))
            }
            Err(reason) => (None, Err(reason.into())),
        };
        // Copied, because what the store gave may be a small part of something large, or have room to grow.
        let stored = Bytes::copy_from_slice(stored);
        Entry { key: key.into(), revision, stored, normal, read, bodies: Mutex::default() }
    }

    /// The same object at another revision: what was deleted, or left a selector, is shown at the revision of that.
    pub(crate) fn at(&self, revision: u64) -> Entry {
        Entry {
            key: self.key.clone(),
            revision,
            stored: self.stored.clone(),
            normal: self.normal.clone(),
            read: self.read.clone(),
            bodies: Mutex::default(),
        }
    }

    /// Below the resource's prefix: `namespace/name`, or `name`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The revision that wrote it, which is the object's resourceVersion.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The bytes as the store has them, for comparing.
    pub fn stored(&self) -> &Bytes {
        &self.stored
    }

    /// The value in normal form and what was read of it; or why it could not be read.
    pub fn read(&self) -> Result<Facts<'_>, &str> {
        match &self.read {
            Ok(texts) => Ok(Facts { value: self.normal.as_deref().unwrap_or(&self.stored), texts }),
            Err(reason) => Err(reason),
        }
    }

    /// Whether the value in normal form is what is stored.
    pub fn is_as_stored(&self) -> bool {
        self.normal.is_none()
    }

    /// The value of a selectable field, by its place; `None` if it could not be read.
    pub fn field(&self, place: usize) -> Option<&str> {
        self.read.as_ref().ok()?.field(place)
    }

    /// The object in a format. Encoded now if the pool does not have it.
    pub fn body(
        self: &Arc<Entry>,
        kind: &dyn Kind,
        pool: &Pool,
        format: BodyFormat,
    ) -> Result<Bytes, String> {
        if let Some(found) = self.kept(format) {
            return Ok(found);
        }
        // Copied, because what was written into grew in leaps.
        let body = Bytes::copy_from_slice(&kind.encode(self, format)?);
        let mut bodies = self.bodies();
        if let Some((_, found)) = bodies.iter().find(|(kept, _)| *kept == format) {
            return Ok(found.clone());
        }
        bodies.reserve_exact(1);
        bodies.push((format, body.clone()));
        drop(bodies);
        pool.add_body(self, format, body.len());
        Ok(body)
    }

    /// As [`Entry::body`], but what has to be encoded is not kept: for the frame of a change, which is kept itself.
    pub fn body_once(&self, kind: &dyn Kind, format: BodyFormat) -> Result<Bytes, String> {
        self.kept(format).map_or_else(|| kind.encode(self, format), Ok)
    }

    fn bodies(&self) -> MutexGuard<'_, Vec<(BodyFormat, Bytes)>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, format: BodyFormat) -> Option<Bytes> {
        self.bodies().iter().find(|(kept, _)| *kept == format).map(|(_, body)| body.clone())
    }

    /// Drops the encoded bodies of an entry that is no longer current: it is rarely read, but the history may hold it for long.
    pub(crate) fn forget_all(&self) {
        *self.bodies() = Vec::new();
    }
}

impl Holder<BodyFormat> for Entry {
    fn holds(&self, format: BodyFormat) -> bool {
        self.bodies().iter().any(|(kept, _)| *kept == format)
    }

    fn forget(&self, format: BodyFormat) {
        let mut bodies = self.bodies();
        bodies.retain(|(kept, _)| *kept != format);
        bodies.shrink_to_fit();
    }
}
