//! Documents of custom resources.
//!
//! [`Templates`] are what all of them have in common, made once. What is left to be done for a resource is its schema, which
//! comes out of its definition when it is needed ([`Source`]). What the document of everything says of it is kept with the
//! definition ([`cached`]). The hash of a document follows from the content of the definitions ([`digest`]), so that the index
//! can be written without any of the documents.

mod cached;
mod names;
mod paths;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws_lc_rs::digest::{Context, SHA256};
use pintle_codec::json;
use pintle_discovery::{Custom, CustomVersion};
use pintle_meta::Value;
use pintle_schema::{Type, find};

pub use self::cached::{Builtin, CachedParts, Member};
use self::names::{Names, Template};
use self::paths::Shape;
use self::schema::Writer;
use crate::Options;
use crate::json::{map, object};
use crate::protobuf;
use crate::remote::RemoteParts;
use crate::schema::{Dialect, Registered, definition, reachable};
use crate::v2::{self, Parts};
use crate::v3;

/// A resource in one of its versions.
pub struct Source<'a> {
    pub custom: &'a Custom,
    pub version: &'a CustomVersion,
    schema: Option<Value>,
}

/// The encoding of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Protobuf,
}

/// The hash of the content of a resource in a version.
pub type Digest = [u8; 32];

/// The texts that documents of custom resources have in common. Belongs to [`Options`] that do not change.
#[derive(Default)]
pub struct Templates {
    /// The paths of each shape.
    v2: [OnceLock<V2Paths>; Shape::COUNT],
    v3: [OnceLock<Vec<PathTemplate>>; Shape::COUNT],
    /// Built-in types that are referred to in documents of version 3, without and with those of `scale`.
    types: [OnceLock<Texts>; 2],
    messages: Mutex<Messages>,
    /// Number of bytes that are cached with definitions.
    cached_bytes: Arc<AtomicUsize>,
}

/// The paths of resources in version 2 as messages, which cannot be written as templates: lengths stand before names. They do not
/// depend on schemas, so that they are made once for each resource.
#[derive(Default)]
struct Messages {
    by_names: HashMap<(Names, usize), Paths>,
    bytes: usize,
}

/// Messages by their paths.
type Paths = Arc<[(String, Value)]>;

/// How much of them is kept, in bytes. When that is full, all are made anew.
const KEPT: usize = 32 << 20;

/// Schemas as JSON, by their names.
type Texts = Vec<(String, Box<[u8]>)>;

struct V2Paths {
    paths: Vec<PathTemplate>,
    parameters: BTreeMap<String, Value>,
}

struct PathTemplate {
    path: Template,
    item: Template,
}

impl<'a> Source<'a> {
    /// Fetches the schema.
    pub fn new(custom: &'a Custom, version: &'a CustomVersion) -> Source<'a> {
        Source { custom, version, schema: custom.schemas.schema(&version.name) }
    }

    /// Returns the hash of everything that its documents depend on.
    pub fn digest(&self) -> Digest {
        let Source { custom, version, schema } = self;
        let mut text = Vec::new();
        // Behind its length, so that nothing can be taken for the end of something else.
        let mut add = |part: &str| {
            text.extend_from_slice(&(part.len() as u64).to_le_bytes());
            text.extend_from_slice(part.as_bytes());
        };
        // The text may change with the program.
        add(env!("CARGO_PKG_VERSION"));
        for name in [&custom.group, &custom.plural, &custom.kind, &custom.list_kind, &version.name] {
            add(name);
        }
        version.selectable.iter().for_each(|path| add(path));
        let flags = [custom.namespaced, custom.preserves_unknown, version.status, version.scale];
        text.extend(flags.map(u8::from));
        if let Some(schema) = schema {
            json::encode(schema, &mut text);
        }
        let mut context = Context::new(&SHA256);
        context.update(&text);
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        digest
    }

    fn shape(&self) -> Shape {
        shape(self.custom, self.version)
    }

    /// The resource and the list of it.
    fn definitions(&self, names: &Names, dialect: Dialect, options: &Options<'_>) -> [(String, Value); 2] {
        let Source { custom, version, schema } = self;
        let writer = Writer { dialect, options };
        let preserves = custom.preserves_unknown;
        let resource = writer.resource(names, &custom.kind, version, schema.as_ref(), preserves);
        let list = writer.list(names, &custom.kind, &custom.list_kind, version);
        [(names.definition().to_owned(), resource), (names.list_definition().to_owned(), list)]
    }
}

/// The hash of a document of these, in the order of their names. `beside` is that of what else is in it.
pub fn hash(beside: &str, digests: impl IntoIterator<Item = Digest>) -> String {
    let mut text = beside.as_bytes().to_vec();
    text.extend(digests.into_iter().flatten());
    v3::hash(&text)
}

impl Templates {
    /// The document of version 3 of a group version. `None` where there is nothing in it.
    pub fn v3(&self, sources: &[Source<'_>], format: Format, options: &Options<'_>) -> Option<Vec<u8>> {
        sources.first()?;
        let scaled = sources.iter().any(|source| source.version.scale);
        Some(match format {
            Format::Json => self.v3_json(sources, scaled, options),
            Format::Protobuf => protobuf::v3::encode(&v3_tree(sources, scaled, options)),
        })
    }

    fn v3_json(&self, sources: &[Source<'_>], scaled: bool, options: &Options<'_>) -> Vec<u8> {
        let types = self.types[usize::from(scaled)].get_or_init(|| {
            let types = types(scaled, options);
            types.map(|(name, value)| (name, text(&value).into_boxed_slice())).collect()
        });
        let mut schemas: Vec<(String, Part<'_>)> =
            types.iter().map(|(name, text)| (name.clone(), Part::CachedParts(text))).collect();
        let mut paths = Vec::new();
        for source in sources {
            let names = Names::new(source.custom, source.version);
            let made = source.definitions(&names, Dialect::V3, options);
            schemas.extend(made.map(|(name, value)| (name, Part::Made(text(&value)))));
            let shape = source.shape();
            let templates = self.v3[shape.index()].get_or_init(|| {
                let paths = paths::paths(&Names::marks(), shape, options);
                paths
                    .iter()
                    .map(|path| PathTemplate::parse(&path.path, &v3::path_item(path, options)))
                    .collect()
            });
            paths.extend(templates.iter().map(|template| template.fill(&names)));
        }
        let mut out = Vec::new();
        out.extend_from_slice(b"{\"components\":{\"schemas\":");
        write_parts(schemas, &mut out);
        out.extend_from_slice(b"},\"info\":");
        json::encode(&info(), &mut out);
        out.extend_from_slice(b",\"openapi\":\"3.0.0\",\"paths\":");
        write_parts(paths, &mut out);
        out.push(b'}');
        out
    }

    /// Returns the document of version 2 of everything: of built-in group versions, custom resources and remote servers.
    pub fn v2<'a, F: FnOnce() -> Source<'a>>(
        &self,
        builtin: &Builtin,
        members: impl Iterator<Item = Member<'a, F>>,
        remote: &RemoteParts,
        options: &Options<'_>,
    ) -> Vec<u8> {
        let format = builtin.format;
        let mut parts =
            Parts { paths: Vec::new(), definitions: Vec::new(), parameters: builtin.parameters.clone() };
        let mut definitions: Vec<(String, Part<'_>)> = Vec::new();
        let mut paths: Vec<(String, Part<'_>)> = Vec::new();
        if format == Format::Protobuf {
            parts.definitions.extend_from_slice(&builtin.definitions);
            parts.paths.extend_from_slice(&builtin.paths);
        }
        for member in members {
            let names = Names::new(member.custom, member.version).renamed(|name| builtin.has(name));
            let shape = shape(member.custom, member.version);
            let templates = self.v2_paths(shape, options);
            for (name, parameter) in &templates.parameters {
                if !parts.parameters.contains_key(name) {
                    parts.parameters.insert(name.clone(), parameter.clone());
                }
            }
            let encoded = member.encoded(&names, format, &self.cached_bytes, options);
            let called = [names.definition().to_owned(), names.list_definition().to_owned()];
            let encoded = called.into_iter().zip(encoded);
            match format {
                Format::Json => {
                    definitions.extend(encoded.map(|(name, value)| (name, Part::Encoded(value))));
                    paths.extend(templates.paths.iter().map(|template| template.fill(&names)));
                }
                Format::Protobuf => {
                    // Each as the message that it becomes, so that there are never all of them as trees.
                    parts.definitions.extend(encoded);
                    parts.paths.extend(self.v2_messages(names, shape, options).iter().cloned());
                }
            }
        }
        for (name, parameter) in &remote.parameters {
            parts.parameters.entry(name.clone()).or_insert_with(|| parameter.clone());
        }
        match format {
            // In JSON the first of a name counts, which is that of a custom resource.
            Format::Json => {
                let made = |(name, value): (&String, &Value)| (name.clone(), Part::Made(text(value)));
                definitions.extend(remote.definitions.iter().map(made));
                paths.extend(remote.paths.iter().map(made));
            }
            Format::Protobuf => {
                let custom: HashSet<String> =
                    parts.definitions.iter().map(|(name, _)| name.clone()).collect();
                let own = remote.definitions.iter().filter(|(name, _)| !custom.contains(*name));
                parts
                    .definitions
                    .extend(own.map(|(name, value)| (name.clone(), Value::bytes(protobuf::schema(value)))));
                let paths = remote.paths.iter();
                parts
                    .paths
                    .extend(paths.map(|(path, item)| (path.clone(), Value::bytes(protobuf::path(item)))));
                return protobuf::encode(&parts.tree(options));
            }
        }
        let kept = |(name, value): &(String, Value)| (name.clone(), Part::Encoded(value.clone()));
        definitions.extend(builtin.definitions.iter().map(kept));
        paths.extend(builtin.paths.iter().map(kept));
        let rest = parts.tree(options);
        let mut out = Vec::new();
        for (place, (key, value)) in rest.as_object().into_iter().flat_map(|rest| rest.iter()).enumerate() {
            out.push(if place == 0 { b'{' } else { b',' });
            json::write::string(key, &mut out);
            out.push(b':');
            match key {
                "definitions" => write_parts(std::mem::take(&mut definitions), &mut out),
                "paths" => write_parts(std::mem::take(&mut paths), &mut out),
                _ => json::encode(value, &mut out),
            }
        }
        out.push(b'}');
        out
    }

    fn v2_messages(&self, names: Names, shape: Shape, options: &Options<'_>) -> Paths {
        let messages = || self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (names, shape.index());
        if let Some(kept) = messages().by_names.get(&key) {
            return kept.clone();
        }
        let mut shared = v2::Shared::default();
        let mut bytes = 0;
        let made = paths::paths(&key.0, shape, options).into_iter().map(|path| {
            let item = protobuf::path(&v2::path_item(&path, options, &mut shared));
            bytes += path.path.len() + item.len();
            (path.path, Value::bytes(item))
        });
        let made: Paths = made.collect();
        let mut messages = messages();
        if messages.bytes + bytes > KEPT {
            *messages = Messages::default();
        }
        messages.bytes += bytes;
        messages.by_names.insert(key, made.clone());
        made
    }

    fn v2_paths(&self, shape: Shape, options: &Options<'_>) -> &V2Paths {
        self.v2[shape.index()].get_or_init(|| {
            let mut shared = v2::Shared::default();
            let paths = paths::paths(&Names::marks(), shape, options);
            let paths = paths
                .iter()
                .map(|path| PathTemplate::parse(&path.path, &v2::path_item(path, options, &mut shared)))
                .collect();
            V2Paths { paths, parameters: shared.by_name }
        })
    }
}

impl PathTemplate {
    fn parse(path: &str, item: &Value) -> PathTemplate {
        let item = String::from_utf8_lossy(&text(item)).into_owned();
        PathTemplate { path: Template::parse(path), item: Template::parse(&item) }
    }

    fn fill(&self, names: &Names) -> (String, Part<'static>) {
        let (mut path, mut item) = (Vec::new(), Vec::new());
        self.path.fill(names, &mut path);
        self.item.fill(names, &mut item);
        (String::from_utf8_lossy(&path).into_owned(), Part::Made(item))
    }
}

fn shape(custom: &Custom, version: &CustomVersion) -> Shape {
    let CustomVersion { status, scale, .. } = *version;
    Shape { namespaced: custom.namespaced, status, scale }
}

/// A value as JSON.
enum Part<'a> {
    CachedParts(&'a [u8]),
    Made(Vec<u8>),
    /// In bytes that are shared.
    Encoded(Value),
}

impl Part<'_> {
    fn text(&self) -> &[u8] {
        match self {
            Part::CachedParts(text) => text,
            Part::Made(text) => text,
            Part::Encoded(value) => value.as_bytes().unwrap_or(b"{}"),
        }
    }
}

/// An object of these. Where a name is there twice, the first counts.
fn write_parts(mut parts: Vec<(String, Part<'_>)>, out: &mut Vec<u8>) {
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    parts.dedup_by(|(later, _), (earlier, _)| later == earlier);
    let size = |(name, part): &(String, Part<'_>)| name.len() + part.text().len() + 4;
    out.reserve(parts.iter().map(size).sum());
    out.push(b'{');
    for (place, (name, part)) in parts.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        json::write::string(name, out);
        out.push(b':');
        out.extend_from_slice(part.text());
    }
    out.push(b'}');
}

fn v3_tree(sources: &[Source<'_>], scaled: bool, options: &Options<'_>) -> Value {
    let mut schemas: Vec<(String, Value)> = types(scaled, options).collect();
    let mut paths = Vec::new();
    for source in sources {
        let names = Names::new(source.custom, source.version);
        schemas.extend(source.definitions(&names, Dialect::V3, options));
        let made = paths::paths(&names, source.shape(), options);
        paths.extend(made.into_iter().map(|path| {
            let item = v3::path_item(&path, options);
            (path.path, item)
        }));
    }
    object([
        ("openapi", Value::literal("3.0.0")),
        ("info", info()),
        ("paths", map(paths)),
        ("components", object([("schemas", map(schemas))])),
    ])
}

fn info() -> Value {
    object([("title", Value::literal("Kubernetes CRD Swagger")), ("version", Value::literal("v0.1.0"))])
}

/// The built-in types that documents of version 3 refer to.
fn types<'a>(scaled: bool, options: &'a Options<'a>) -> impl Iterator<Item = (String, Value)> + use<'a> {
    let types = reachable(roots(scaled));
    types.into_iter().map(|(name, of)| (name, definition(of, Dialect::V3, options, Registered::Client)))
}

fn roots(scaled: bool) -> impl Iterator<Item = &'static Type> {
    let types = ["ObjectMeta", "ListMeta", "Status", "DeleteOptions", "Patch"];
    let types = types.into_iter().filter_map(|name| find(&format!("meta/v1.{name}")));
    types.chain(find("autoscaling/v1.Scale").filter(|_| scaled))
}

fn text(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    text
}
