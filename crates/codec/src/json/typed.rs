//! Values of known types, as Go's reflection would fill them, into normal form.

use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::normal::{Builder, Frame, zero};
use pintle_schema::{Kind, Scalar, Shape, Struct, Type};

use super::base64;
use super::opaque::is_schema;
use super::path::{Path, Step, Strict, wrong_type};
use super::read::{Reader, validate};
use super::untyped::Entries;
use crate::{Decoded, Error};

pub(super) struct Decoder<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) strict: Strict,
    builder: Builder,
    /// The first value of a wrong type. Reading goes on behind it.
    saved: Option<Error>,
    /// What the value that is read next is laid over: Go reads a field that comes again into what it holds already.
    seed: Option<Box<Value>>,
    /// Number of entries that may still be copied for maps that come again.
    room: usize,
}

/// A map that comes again is merged into a copy of what was there, so a large one followed by many small ones would cost
/// their product. Go does not copy; no client repeats a map this often.
const MAX_MERGED: usize = 4 << 20;

/// Why reading ends early. Boxed, since what lies deep in a document is read deep in the stack.
pub(super) type Stop = Box<Reason>;

pub(super) enum Reason {
    Syntax(Error),
    /// A type that reads its own JSON refused it. An error of syntax that comes later still goes first.
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
    /// The value that follows; `None` where it leaves what is there untouched: a null for what cannot be null, or
    /// something of a wrong type, which is noted.
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
                Kind::Struct(of) if first == b'{' => self.structure((named_of(shape, named), of), at),
                Kind::Opaque(opaque) if first == b'{' && is_schema(*opaque) => self.schema(named, at),
                Kind::Opaque(opaque) => self.opaque(*opaque, named, first, at),
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

    /// A null for what can be null.
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
        // With a seed, what is set was not necessarily set here.
        let mut seen = self.plant(frame);
        let mut hint = 0;
        let mut more = self.reader.enter_object()?;
        while more {
            let key = self.reader.key()?;
            match place(of, &key, hint) {
                Some(place) => {
                    hint = place + 1;
                    let is_set = self.builder.is_set(frame, place);
                    let again = match &mut seen {
                        Some(seen) => std::mem::replace(&mut seen[place], true),
                        None => is_set,
                    };
                    if again {
                        self.strict.duplicate(at, &key);
                    }
                    if is_set {
                        let old = self.builder.get(frame, place).filter(|old| !old.is_null());
                        self.seed = old.cloned().map(Box::new);
                    }
                    let path = Path { before: at, step: Step::Field(named, of, place) };
                    match self.value(of.flat[place].shape, Some(&path))? {
                        Some(value) => self.builder.set(frame, place, value),
                        None if is_set => {}
                        None => self.builder.set(frame, place, Value::NULL),
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

    /// Puts what an earlier occurrence left into a frame; where there was one, no field has been seen in this one.
    #[inline(never)]
    fn plant(&mut self, frame: Frame) -> Option<Box<[bool]>> {
        let seed = self.seed.take()?;
        for (key, value) in seed.as_object().into_iter().flat_map(|object| object.iter()) {
            if let Some(place) = frame.structure().position(key) {
                self.builder.set(frame, place, value.clone());
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
            let path = Path { before: at, step: Step::Item(items.len()) };
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
            let path = Path { before: at, step: Step::Key(&key) };
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

    /// Base64, or a list of numbers.
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

    /// A null, which changes nothing, or something that does not fit.
    #[inline(never)]
    fn null_or_mismatch(&mut self, first: u8, shape: Shape, at: At<'_>) -> Result<Option<Value>, Stop> {
        if first == b'n' {
            self.reader.literal()?;
        } else {
            self.mismatch(first, &shape.go_name(), at)?;
        }
        Ok(None)
    }

    /// Notes that the value that follows does not fit, and skips it.
    pub(super) fn mismatch(&mut self, first: u8, wanted: &str, at: At<'_>) -> Result<(), Stop> {
        self.save(wrong_type(json_type(first), wanted, at));
        self.reader.skip()?;
        Ok(())
    }

    pub(super) fn save(&mut self, error: Error) {
        self.saved.get_or_insert(error);
    }

    /// Goes inside of a type that reads its own JSON: not strictly, and whatever does not fit is refused. Returns what
    /// [`Decoder::go_out`] needs.
    pub(super) fn go_in(&mut self) -> Option<Error> {
        self.strict.suspend();
        self.saved.take()
    }

    pub(super) fn go_out(&mut self, saved: Option<Error>) -> Result<(), Stop> {
        self.strict.resume();
        match std::mem::replace(&mut self.saved, saved) {
            Some(error) => Err(refused(error)),
            None => Ok(()),
        }
    }

    /// What the value that is read holds already.
    pub(super) fn before(&mut self) -> Option<Value> {
        self.seed.take().map(|seed| *seed)
    }
}

/// The name that Go knows a struct by: the first one, where one is declared to be another.
fn named_of(shape: Shape, underlying: &'static Type) -> &'static Type {
    match shape {
        Shape::Named(named) => named,
        _ => underlying,
    }
}

/// The place in `flat` of the field of a name. Fields mostly come in that order, some left out.
#[inline]
fn place(of: &'static Struct, name: &str, hint: usize) -> Option<usize> {
    let names = of.layout.names.get(hint..).unwrap_or_default();
    match names.iter().take(4).position(|near| *near == name) {
        Some(found) => Some(hint + found),
        None => of.position(name),
    }
}

/// What Go calls the JSON value that begins with a byte.
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
