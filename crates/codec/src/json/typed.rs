//! Decodes values of known types into normal form, as Go's reflection fills structs.

use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::normal::{Builder, Frame, zero};
use pintle_schema::{Scalar, Shape, Struct, Type, TypeKind};

use super::base64;
use super::opaque::is_schema;
use super::path::{Path, Segment, Strict, wrong_type};
use super::read::{Reader, validate};
use super::untyped::Entries;
use crate::{Decoded, Error};

pub(super) struct Decoder<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) strict: Strict,
    builder: Builder,
    /// The first value of a wrong type. Decoding continues after it.
    saved: Option<Error>,
    /// Value of the previous occurrence of a repeated field, into which Go decodes the next one.
    seed: Option<Box<Value>>,
    /// Number of entries that may still be copied for repeated maps.
    room: usize,
}

/// A repeated map is merged into a copy of the previous one, so a large map followed by many small ones would cost
/// their product. Go does not copy; clients do not repeat maps this often.
const MAX_MERGED: usize = 4 << 20;

/// Reason for stopping. Boxed, since deep documents are decoded deep in the stack.
pub(super) type Stop = Box<Reason>;

pub(super) enum Reason {
    Syntax(Error),
    /// Error of a type's own decoding. A later syntax error still takes precedence.
    Refused(Error),
}

impl From<Error> for Stop {
    #[cold]
    fn from(error: Error) -> Stop {
        Box::new(Reason::Syntax(error))
    }
}

#[cold]
pub(super) fn refused(error: Error) -> Stop {
    Box::new(Reason::Refused(error))
}

pub(super) type At<'p> = Option<&'p Path<'p>>;

pub(super) fn decode(of: &'static Type, text: &[u8]) -> Result<Decoded, Error> {
    document(text, |decoder| {
        let shape = Shape::Named(of);
        Ok(decoder.value(shape, None)?.unwrap_or_else(|| zero(shape)))
    })
}

pub(super) fn decode_untyped(text: &[u8]) -> Result<Decoded, Error> {
    document(text, |decoder| match decoder.reader.begin()? {
        b'{' => decoder.any(None),
        b'n' => {
            decoder.reader.literal()?;
            Ok(Value::object(pintle_meta::Object::new()))
        }
        first => {
            decoder.mismatch(first, "map[string]interface {}", None)?;
            Ok(Value::NULL)
        }
    })
}

pub(super) fn decode_any(text: &[u8]) -> Result<Decoded, Error> {
    document(text, |decoder| decoder.any(None))
}

pub(super) fn document<'a>(
    text: &'a [u8],
    read: impl FnOnce(&mut Decoder<'a>) -> Result<Value, Stop>,
) -> Result<Decoded, Error> {
    let mut decoder = Decoder {
        reader: Reader::new(text),
        strict: Strict::default(),
        builder: Builder::default(),
        saved: None,
        seed: None,
        room: MAX_MERGED,
    };
    match read(&mut decoder) {
        Ok(value) => {
            decoder.reader.end()?;
            match decoder.saved {
                Some(error) => Err(error),
                None => Ok(Decoded { value, strict: decoder.strict.into_messages() }),
            }
        }
        Err(stop) => match *stop {
            Reason::Syntax(error) => Err(error),
            Reason::Refused(error) => validate(text).and(Err(error)),
        },
    }
}

impl<'a> Decoder<'a> {
    /// Decodes the next value; `None` if it leaves the current one unchanged: null for a shape that is not nullable,
    /// or a value of a wrong type, which is recorded.
    pub(super) fn value(&mut self, shape: Shape, at: At<'_>) -> Result<Option<Value>, Stop> {
        let first = self.reader.begin()?;
        let mut shape = shape;
        while let Shape::Pointer(to) = shape {
            if first == b'n' {
                return self.null();
            }
            shape = *to;
        }
        match shape.underlying() {
            Shape::Named(named) => match &named.kind {
                TypeKind::Struct(of) if first == b'{' => self.structure((named_of(shape, named), of), at),
                TypeKind::Opaque(opaque) if first == b'{' && is_schema(*opaque) => self.schema(named, at),
                TypeKind::Opaque(opaque) => self.opaque(*opaque, named, first, at),
                _ => self.null_or_mismatch(first, shape, at),
            },
            Shape::Scalar(Scalar::Any) => self.any(at).map(Some),
            Shape::Scalar(scalar) => self.scalar(scalar, shape, first, at),
            _ if first == b'n' => self.null(),
            Shape::List(of) if first == b'[' => self.list(*of, at),
            Shape::Map(_, of) if first == b'{' => self.map(*of, at),
            Shape::Bytes => self.bytes(shape, first, at),
            _ => self.null_or_mismatch(first, shape, at),
        }
    }

    /// Decodes null for a nullable shape.
    fn null(&mut self) -> Result<Option<Value>, Stop> {
        self.reader.literal()?;
        Ok(Some(Value::NULL))
    }

    fn scalar(&mut self, scalar: Scalar, shape: Shape, first: u8, at: At<'_>) -> Result<Option<Value>, Stop> {
        let is_number = matches!(first, b'-' | b'0'..=b'9');
        let found = match scalar {
            Scalar::String if first == b'"' => return Ok(Some(self.reader.string()?.as_ref().into())),
            Scalar::Bool if matches!(first, b't' | b'f') => {
                self.reader.literal()?;
                return Ok(Some((first == b't').into()));
            }
            Scalar::Int32 | Scalar::Int64 | Scalar::Float64 if is_number => {
                let literal = self.reader.number()?;
                let value = match scalar {
                    Scalar::Int32 => literal.parse::<i32>().ok().map(Value::from),
                    Scalar::Int64 => literal.parse::<i64>().ok().map(Value::from),
                    _ => literal.parse::<f64>().ok().filter(|value| value.is_finite()).map(Value::from),
                };
                if value.is_none() {
                    self.save(wrong_type(&format!("number {literal}"), &shape.go_name(), at));
                }
                value
            }
            _ => return self.null_or_mismatch(first, shape, at),
        };
        Ok(found)
    }

    #[inline(never)]
    pub(super) fn structure(
        &mut self,
        (named, of): (&'static Type, &'static Struct),
        at: At<'_>,
    ) -> Result<Option<Value>, Stop> {
        let frame = self.builder.open(of);
        // With a seed, fields that are set were not necessarily set in this occurrence.
        let mut seen = self.plant(frame);
        let mut hint = 0;
        let mut more = self.reader.enter_object()?;
        while more {
            let key = self.reader.key()?;
            match field_index(of, &key, hint) {
                Some(field_index) => {
                    hint = field_index + 1;
                    let is_set = self.builder.is_set(frame, field_index);
                    let again = match &mut seen {
                        Some(seen) => std::mem::replace(&mut seen[field_index], true),
                        None => is_set,
                    };
                    if again {
                        self.strict.duplicate(at, &key);
                    }
                    if is_set {
                        let old = self.builder.get(frame, field_index).filter(|old| !old.is_null());
                        self.seed = old.cloned().map(Box::new);
                    }
                    let path = Path { before: at, segment: Segment::Field(named, of, field_index) };
                    match self.value(of.flat[field_index].shape, Some(&path))? {
                        Some(value) => self.builder.set(frame, field_index, value),
                        None if is_set => {}
                        None => self.builder.set(frame, field_index, Value::NULL),
                    }
                    self.seed = None;
                }
                None => {
                    self.strict.unknown(at, &key);
                    self.reader.skip()?;
                }
            }
            more = self.reader.next_field()?;
        }
        Ok(Some(self.builder.close(frame)))
    }

    /// Fills a frame with the previous occurrence; if there was one, returns which fields this one has seen: none
    /// yet.
    #[inline(never)]
    fn plant(&mut self, frame: Frame) -> Option<Box<[bool]>> {
        let seed = self.seed.take()?;
        for (key, value) in seed.as_object().into_iter().flat_map(|object| object.iter()) {
            if let Some(field_index) = frame.structure().position(key) {
                self.builder.set(frame, field_index, value.clone());
            }
        }
        Some(vec![false; frame.structure().flat.len()].into())
    }

    #[inline(never)]
    pub(super) fn list(&mut self, of: Shape, at: At<'_>) -> Result<Option<Value>, Stop> {
        let before = self.seed.take();
        let mut items = Vec::new();
        let mut more = self.reader.enter_list()?;
        while more {
            if let Some(before) = &before {
                let old = before.as_list().and_then(|before| before.get(items.len()));
                self.seed = old.cloned().map(Box::new);
            }
            let path = Path { before: at, segment: Segment::Item(items.len()) };
            let item = match self.value(of, Some(&path))? {
                Some(item) => item,
                None => self.seed.take().map_or_else(|| zero(of), |old| *old),
            };
            self.seed = None;
            items.push(item);
            more = self.reader.next_item()?;
        }
        Ok(Some(Value::list(items)))
    }

    #[inline(never)]
    fn map(&mut self, of: Shape, at: At<'_>) -> Result<Option<Value>, Stop> {
        let before = self.seed.take();
        let mut entries = Entries::default();
        let mut more = self.reader.enter_object()?;
        while more {
            let key = self.reader.key()?;
            if entries.contains(&key) {
                self.strict.duplicate(at, &key);
            }
            let path = Path { before: at, segment: Segment::Key(&key) };
            let value = self.value(of, Some(&path))?;
            entries.push(Key::new(&key), value.unwrap_or_else(|| zero(of)));
            more = self.reader.next_field()?;
        }
        let before = before.as_deref().and_then(Value::as_object);
        let copied = before.map_or(0, |before| before.len());
        self.room =
            self.room.checked_sub(copied).ok_or_else(|| Error::new("exceeded max repetition of maps"))?;
        Ok(Some(entries.into_object(before).into()))
    }

    /// Decodes base64 or a list of numbers.
    #[inline(never)]
    fn bytes(&mut self, shape: Shape, first: u8, at: At<'_>) -> Result<Option<Value>, Stop> {
        match first {
            b'"' => {
                let text = self.reader.string()?;
                match base64::decode(text.as_bytes()) {
                    Ok(bytes) => Ok(Some(Value::bytes(bytes))),
                    Err(error) => {
                        self.save(error);
                        Ok(None)
                    }
                }
            }
            b'[' => {
                let mut bytes = Vec::new();
                let mut more = self.reader.enter_list()?;
                while more {
                    bytes.push(self.byte(at)?);
                    more = self.reader.next_item()?;
                }
                Ok(Some(Value::bytes(bytes)))
            }
            _ => self.null_or_mismatch(first, shape, at),
        }
    }

    fn byte(&mut self, at: At<'_>) -> Result<u8, Stop> {
        const GO_NAME: &str = "uint8";
        match self.reader.begin()? {
            b'n' => self.reader.literal()?,
            b'-' | b'0'..=b'9' => {
                let literal = self.reader.number()?;
                match literal.parse() {
                    Ok(byte) => return Ok(byte),
                    Err(_) => self.save(wrong_type(&format!("number {literal}"), GO_NAME, at)),
                }
            }
            first => self.mismatch(first, GO_NAME, at)?,
        }
        Ok(0)
    }

    /// Decodes null, which changes nothing, or records a wrong type.
    #[inline(never)]
    fn null_or_mismatch(&mut self, first: u8, shape: Shape, at: At<'_>) -> Result<Option<Value>, Stop> {
        if first == b'n' {
            self.reader.literal()?;
        } else {
            self.mismatch(first, &shape.go_name(), at)?;
        }
        Ok(None)
    }

    /// Records that the next value is of a wrong type, and skips it.
    pub(super) fn mismatch(&mut self, first: u8, wanted: &str, at: At<'_>) -> Result<(), Stop> {
        self.save(wrong_type(json_type(first), wanted, at));
        self.reader.skip()?;
        Ok(())
    }

    pub(super) fn save(&mut self, error: Error) {
        self.saved.get_or_insert(error);
    }

    /// Enters a type with its own JSON decoding: not strict, and any value of a wrong type is an error. Returns the
    /// state for [`Decoder::leave`].
    pub(super) fn enter(&mut self) -> Option<Error> {
        self.strict.suspend();
        self.saved.take()
    }

    pub(super) fn leave(&mut self, saved: Option<Error>) -> Result<(), Stop> {
        self.strict.resume();
        match std::mem::replace(&mut self.saved, saved) {
            Some(error) => Err(refused(error)),
            None => Ok(()),
        }
    }

    /// Takes the value of the previous occurrence.
    pub(super) fn before(&mut self) -> Option<Value> {
        self.seed.take().map(|seed| *seed)
    }
}

/// Returns the type that Go reports for a struct: the first one, if a type is declared as another.
fn named_of(shape: Shape, underlying: &'static Type) -> &'static Type {
    match shape {
        Shape::Named(named) => named,
        _ => underlying,
    }
}

/// Returns the index in `flat` of a field's name. Fields mostly come in that order, with gaps.
#[inline]
fn field_index(of: &'static Struct, name: &str, hint: usize) -> Option<usize> {
    let names = of.layout.names.get(hint..).unwrap_or_default();
    match names.iter().take(4).position(|near| *near == name) {
        Some(found) => Some(hint + found),
        None => of.position(name),
    }
}

/// Returns Go's name of the JSON type that starts with a byte.
pub(super) fn json_type(first: u8) -> &'static str {
    match first {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        b'n' => "null",
        _ => "number",
    }
}
