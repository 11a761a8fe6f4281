//! Nodes to values: resolves aliases, merge keys and scalars; then to JSON.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::go;
use super::parser::{Content, Document};
use super::resolve::{self, Scalar};
use crate::json::write;
use crate::{Error, MAX_DEPTH};

/// Limit of how much longer than the text the JSON may become through aliases. The reference only counts nodes, so a
/// long text with many aliases exhausts its memory.
const MAX_EXPANSION: usize = 32 << 20;

/// Value of a node.
#[derive(Clone, Debug)]
pub(super) enum Plain<'d> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'d, str>),
    List(Vec<Plain<'d>>),
    Map(Map<'d>),
}

/// Keys have types: `1` and `"1"` are two.
pub(super) type Map<'d> = BTreeMap<Key<'d>, Plain<'d>>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'d> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(Bits),
    Text(Cow<'d, str>),
}

/// Float as a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits(pub(super) f64);

impl Ord for Bits {
    fn cmp(&self, other: &Bits) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Bits) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bits {}

/// Converter of a document into values.
pub(super) struct Decoder<'d> {
    document: &'d Document<'d>,
    /// Whether each node is an alias target being resolved.
    following: Vec<bool>,
    depth: usize,
    alias_depth: usize,
    decoded: usize,
    from_aliases: usize,
    /// Bytes left for texts that aliases repeat.
    room: usize,
    /// Duplicate keys of mappings, with their lines.
    pub(super) duplicates: Vec<String>,
}

impl<'d> Decoder<'d> {
    pub(super) fn new(document: &'d Document<'d>) -> Decoder<'d> {
        Decoder {
            document,
            following: vec![false; document.nodes.len()],
            depth: 0,
            alias_depth: 0,
            decoded: 0,
            from_aliases: 0,
            room: MAX_EXPANSION,
            duplicates: Vec::new(),
        }
    }

    pub(super) fn root(&mut self) -> Result<Plain<'d>, Error> {
        // The document counts as a node.
        self.decoded = 1;
        self.value(0)
    }

    fn value(&mut self, node: usize) -> Result<Plain<'d>, Error> {
        pintle_work::check();
        self.count()?;
        match &self.document.nodes[node].content {
            Content::Alias { name, target } => {
                self.follow(node, name)?;
                let value = self.value(*target);
                self.unfollow(node);
                value
            }
            Content::Scalar { tag, value, implicit } => self.scalar(tag, value, *implicit),
            Content::Sequence(items) => self.sequence(items),
            Content::Mapping(entries) => {
                self.enter()?;
                let mut map = Map::new();
                self.mapping(entries, &mut map)?;
                self.depth -= 1;
                Ok(Plain::Map(map))
            }
        }
    }

    // Functions on the path of a deep document are small and use plain loops, since their stack frames add up.

    fn sequence(&mut self, items: &'d [usize]) -> Result<Plain<'d>, Error> {
        self.enter()?;
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.push(self.value(*item)?);
        }
        self.depth -= 1;
        Ok(Plain::List(list))
    }

    fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::new(format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        Ok(())
    }

    /// Counts a node, and rejects a document that consists mostly of aliases.
    fn count(&mut self) -> Result<(), Error> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.from_aliases += 1;
        }
        let (all, aliased) = (self.decoded as f64, self.from_aliases as f64);
        if self.from_aliases > 100 && self.decoded > 1000 && aliased / all > allowed_ratio(all) {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn follow(&mut self, node: usize, name: &str) -> Result<(), Error> {
        if std::mem::replace(&mut self.following[node], true) {
            return Err(Error::new(format!("yaml: anchor '{name}' value contains itself")));
        }
        self.alias_depth += 1;
        self.enter()
    }

    fn unfollow(&mut self, node: usize) {
        self.following[node] = false;
        self.alias_depth -= 1;
        self.depth -= 1;
    }

    fn scalar(&mut self, tag: &str, text: &'d str, implicit: bool) -> Result<Plain<'d>, Error> {
        if self.alias_depth > 0 {
            self.room = self.room.checked_sub(text.len()).ok_or_else(excessive_aliasing)?;
        }
        if tag.is_empty() && !implicit {
            return Ok(Plain::Text(Cow::Borrowed(text)));
        }
        if tag == resolve::BINARY {
            return binary(text).map(|text| Plain::Text(Cow::Owned(text)));
        }
        Ok(match resolve::resolve(tag, text)? {
            Scalar::Null => Plain::Null,
            Scalar::Bool(value) => Plain::Bool(value),
            Scalar::Int(value) => Plain::Int(value),
            Scalar::Uint(value) => Plain::Uint(value),
            Scalar::Float(value) => Plain::Float(value),
            Scalar::Timestamp | Scalar::Text => Plain::Text(Cow::Borrowed(text)),
        })
    }

    fn mapping(&mut self, entries: &'d [usize], map: &mut Map<'d>) -> Result<(), Error> {
        for pair in entries.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge(key) {
                self.merge(value, map)?;
                continue;
            }
            let key = key_of(self.value(key)?)?;
            let found = self.value(value)?;
            self.set(map, key, found, value);
        }
        Ok(())
    }

    /// Sets a key to the value of a node.
    fn set(&mut self, map: &mut Map<'d>, key: Key<'d>, value: Plain<'d>, node: usize) {
        if map.contains_key(&key) {
            let (line, key) = (self.document.nodes[node].line + 1, go::syntax_of_key(&key));
            self.duplicates.push(format!("line {line}: key {key} already set in map"));
        }
        map.insert(key, value);
    }

    fn is_merge(&self, key: usize) -> bool {
        match &self.document.nodes[key].content {
            Content::Scalar { tag, value, implicit } => value == "<<" && (*implicit || tag == resolve::MERGE),
            _ => false,
        }
    }

    /// Sets the entries of merged mappings, overwriting previous ones.
    fn merge(&mut self, from: usize, map: &mut Map<'d>) -> Result<(), Error> {
        match &self.document.nodes[from].content {
            // In reverse, since the first of them wins.
            Content::Sequence(items) => items.iter().rev().try_for_each(|item| self.merge_one(*item, map)),
            _ => self.merge_one(from, map),
        }
    }

    fn merge_one(&mut self, from: usize, map: &mut Map<'d>) -> Result<(), Error> {
        let nodes = &self.document.nodes;
        let (alias, node) = match nodes[from].content {
            Content::Alias { name, target } => (Some(name), target),
            _ => (None, from),
        };
        let Content::Mapping(entries) = &nodes[node].content else {
            return Err(Error::new("yaml: map merge requires map or sequence of maps as the value"));
        };
        self.count()?;
        match alias {
            None => {
                self.enter()?;
                self.mapping(entries, map)?;
                self.depth -= 1;
            }
            Some(name) => {
                self.follow(from, name)?;
                self.count()?;
                self.mapping(entries, map)?;
                self.unfollow(from);
            }
        }
        Ok(())
    }
}

fn key_of(value: Plain<'_>) -> Result<Key<'_>, Error> {
    Ok(match value {
        Plain::Null => Key::Null,
        Plain::Bool(value) => Key::Bool(value),
        Plain::Int(value) => Key::Int(value),
        Plain::Uint(value) => Key::Uint(value),
        Plain::Float(value) => Key::Float(Bits(value)),
        Plain::Text(text) => Key::Text(text),
        key @ (Plain::List(_) | Plain::Map(_)) => {
            return Err(Error::new(format!("yaml: invalid map key: {}", go::syntax(&key))));
        }
    })
}

/// Returns the allowed share of nodes from aliases: nearly all in a small document, a tenth in a large one.
fn allowed_ratio(decoded: f64) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    match decoded {
        _ if decoded <= LOW => 0.99,
        _ if decoded >= HIGH => 0.10,
        _ => 0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW)),
    }
}

fn excessive_aliasing() -> Error {
    Error::new("yaml: document contains excessive aliasing")
}

/// Decodes base64 to text; Go ignores line breaks in it, and JSON has only UTF-8.
fn binary(text: &str) -> Result<String, Error> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let bytes = STANDARD
        .decode(digits)
        .map_err(|_| Error::new("yaml: !!binary value contains invalid base64 data"))?;
    Ok(replace_invalid(&bytes))
}

/// Replaces each byte of invalid UTF-8 by U+FFFD, as Go does when it encodes JSON.
fn replace_invalid(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    out
}

/// Writes a value as Go does: keys sorted and converted to strings.
pub(super) fn write_json(value: &Plain<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    pintle_work::check();
    match value {
        Plain::Null => out.extend_from_slice(b"null"),
        Plain::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Plain::Int(value) => write::int(*value, out),
        Plain::Uint(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Plain::Float(value) if !value.is_finite() => {
            let value = go::float(*value, false);
            return Err(Error::new(format!("json: unsupported value: {value}")));
        }
        Plain::Float(value) => write::float(*value, out),
        Plain::Text(text) => write::string(text, out),
        Plain::List(items) => {
            let mut next = b'[';
            for item in items {
                out.push(next);
                write_json(item, out)?;
                next = b',';
            }
            if next == b'[' {
                out.push(next);
            }
            out.push(b']');
        }
        Plain::Map(map) => {
            let mut next = b'{';
            for (key, value) in text_keys(map)? {
                out.push(next);
                write::string(&key, out);
                out.push(b':');
                write_json(value, out)?;
                next = b',';
            }
            if next == b'{' {
                out.push(next);
            }
            out.push(b'}');
        }
    }
    Ok(())
}

/// Returns the entries sorted by their keys as strings. Of equal keys, the reference takes any.
fn text_keys<'v, 'd>(map: &'v Map<'d>) -> Result<Vec<(Cow<'v, str>, &'v Plain<'d>)>, Error> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map {
        entries.push((key_text(key, value)?, value));
    }
    if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(a, _), (b, _)| a == b);
    }
    Ok(entries)
}

fn key_text<'v>(key: &'v Key<'_>, value: &Plain<'_>) -> Result<Cow<'v, str>, Error> {
    let unsupported = |kind: &str| {
        let (key, value) = (go::syntax_of_key(key), go::syntax(value));
        Error::new(format!("unsupported map key of type: {kind}, key: {key}, value: {value}"))
    };
    Ok(match key {
        Key::Text(text) => Cow::Borrowed(text),
        Key::Bool(true) => Cow::Borrowed("true"),
        Key::Bool(false) => Cow::Borrowed("false"),
        Key::Int(value) => Cow::Owned(value.to_string()),
        Key::Float(value) => Cow::Owned(match go::float(value.0, true).as_str() {
            "+Inf" => ".inf".into(),
            "-Inf" => "-.inf".into(),
            "NaN" => ".nan".into(),
            text => text.into(),
        }),
        Key::Uint(_) => return Err(unsupported("uint64")),
        Key::Null => return Err(unsupported("%!s(<nil>)")),
    })
}
