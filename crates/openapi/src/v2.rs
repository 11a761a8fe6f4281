//! OpenAPI 2.0 (Swagger): `/openapi/v2`, one document of everything, which most generators of clients read.
//!
//! Parameters that stand at many paths are written once and referred to by a name that a hash of them is part of.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use pintle_codec::json;
use pintle_discovery::GroupVersion;
use pintle_meta::Value;
use pintle_schema::Type;

use crate::Options;
use crate::json::{empty, map, object, optional, set, texts};
use crate::operations::{self, Answer, Body, Media, Operation, Path, Reference};
use crate::parameters::Parameter;
use crate::protobuf;
use crate::schema::{Dialect, Registered, definition, name, reachable};
use crate::v3::{self, Document};

/// The document of all group versions.
pub fn document(served: &[GroupVersion], logs: bool, options: &Options<'_>) -> Document {
    Document::new(&tree(served, logs, options))
}

/// The same as a message of `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`. Its ETag is that of the JSON, since
/// clients that cache go by `Vary: Accept` too.
pub fn protobuf(served: &[GroupVersion], logs: bool, options: &Options<'_>) -> Vec<u8> {
    protobuf::encode(&tree(served, logs, options))
}

fn tree(served: &[GroupVersion], logs: bool, options: &Options<'_>) -> Value {
    Parts::builtin(served, logs, options, &[]).tree(options)
}

/// Definitions and parameters, each once in the document.
pub(crate) struct Parts {
    pub(crate) paths: Vec<(String, Value)>,
    pub(crate) definitions: Vec<(String, Value)>,
    pub(crate) parameters: BTreeMap<String, Value>,
}

impl Parts {
    /// Returns the parts of built-in group versions. `also` are types to be explained besides those that these name.
    pub(crate) fn builtin(
        served: &[GroupVersion],
        logs: bool,
        options: &Options<'_>,
        also: &[&'static Type],
    ) -> Parts {
        let others = operations::others(&v3::groups(served), logs).into_iter().flat_map(|(_, paths)| paths);
        let paths: Vec<Path> = others
            .chain(served.iter().flat_map(|served| operations::group_version(served, options)))
            .collect();
        let roots = paths.iter().flat_map(|path| path.operations.iter().flat_map(v3::roots));
        let mut definitions: Vec<(String, Value)> = reachable(roots.chain(also.iter().copied()))
            .into_iter()
            .map(|(name, of)| (name, definition(of, Dialect::V2, options, Registered::Server)))
            .collect();
        definitions.push((v3::VERSION_INFO.to_owned(), v3::version_info(Dialect::V2)));
        let mut shared = Shared::default();
        let paths =
            paths.iter().map(|path| (path.path.clone(), path_item(path, options, &mut shared))).collect();
        Parts { paths, definitions, parameters: shared.by_name }
    }

    pub(crate) fn tree(self, options: &Options<'_>) -> Value {
        let info = object([("title", Value::literal("Kubernetes")), ("version", options.version.into())]);
        object([
            ("swagger", Value::literal("2.0")),
            ("info", info),
            ("paths", map(self.paths)),
            ("definitions", map(self.definitions)),
            ("parameters", map(self.parameters.into_iter().collect())),
            ("securityDefinitions", object([("BearerToken", v3::bearer_token())])),
            ("security", Value::list(vec![object([("BearerToken", Value::list(Vec::new()))])])),
        ])
    }
}

/// Parameters by the name under which they are referred to.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) by_name: BTreeMap<String, Value>,
}

impl Shared {
    /// A parameter, or a reference to it. Those about a kind are not shared, and not those by which old clients find out
    /// what a server can do.
    fn refer(&mut self, name: &'static str, own: bool, parameter: Value) -> Value {
        if own || matches!(name, "name" | "fieldValidation" | "dryRun") {
            return parameter;
        }
        let key = format!("{name}-{}", URL_SAFE.encode(&fnv(&hashed(&parameter)).to_be_bytes()[..6]));
        let reference = format!("#/parameters/{key}");
        self.by_name.insert(key, parameter);
        object([("$ref", reference.into())])
    }
}

/// The text that the name of a shared parameter is a hash of: its fields as Go's struct declares them.
fn hashed(parameter: &Value) -> Vec<u8> {
    const FIELDS: [&str; 7] = ["uniqueItems", "type", "description", "name", "in", "required", "schema"];
    let mut text = vec![b'{'];
    for (field, value) in FIELDS.iter().filter_map(|field| Some((field, parameter.get(field)?))) {
        if text.len() > 1 {
            text.push(b',');
        }
        json::write::string(field, &mut text);
        text.push(b':');
        json::encode(value, &mut text);
    }
    text.push(b'}');
    text
}

/// FNV-1, 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

pub(crate) fn path_item(path: &Path, options: &Options<'_>, shared: &mut Shared) -> Value {
    let everywhere = v3::shared(path);
    let mut item = empty();
    for found in &path.operations {
        let own = v3::own(found, &everywhere);
        set(
            &mut item,
            found.method,
            operation(found, parameters(&own, found.body.as_ref(), shared), options),
        );
    }
    let parameters = parameters(&everywhere, None, shared);
    if !parameters.is_empty() {
        set(&mut item, "parameters", Value::list(parameters));
    }
    item
}

fn parameters(found: &[&Parameter], body: Option<&Body>, shared: &mut Shared) -> Vec<Value> {
    let mut out: Vec<(&str, Value)> =
        found.iter().map(|found| (found.name, shared.refer(found.name, false, parameter(found)))).collect();
    if let Some(body) = body {
        let general = match &body.of {
            Reference::Type(of) => name(of).starts_with("io.k8s.apimachinery"),
            Reference::Custom(_) => false,
        };
        let value = object([
            ("name", Value::literal("body")),
            ("in", Value::literal("body")),
            ("required", if body.required { true.into() } else { Value::NULL }),
            ("schema", Dialect::V2.refer(&body.of)),
        ]);
        out.push(("body", shared.refer("body", !general, value)));
        out.sort_by_key(|(name, _)| *name);
    }
    out.into_iter().map(|(_, value)| value).collect()
}

fn parameter(parameter: &Parameter) -> Value {
    object([
        ("name", Value::literal(parameter.name)),
        ("in", Value::literal(parameter.location())),
        ("description", optional(Some(parameter.description.as_str()).filter(|text| !text.is_empty()))),
        ("required", if parameter.in_path { true.into() } else { Value::NULL }),
        ("type", Value::literal(parameter.of)),
        ("uniqueItems", true.into()),
    ])
}

fn operation(operation: &Operation, parameters: Vec<Value>, options: &Options<'_>) -> Value {
    let mut value = v3::operation_base(operation);
    set(&mut value, "schemes", texts(&["https"]));
    if !parameters.is_empty() {
        set(&mut value, "parameters", Value::list(parameters));
    }
    let produces = v3::media(operation.produces, options);
    let consumes = match (&operation.body, operation.produces, &operation.answer) {
        (Some(Body { patch: true, .. }), produces, _) => v3::patches(produces, options),
        (_, Media::Custom, _) => produces.clone(),
        (_, _, Answer::VersionInfo) => produces.clone(),
        (_, Media::Only(_), _) | (_, _, Answer::Nothing) => Vec::new(),
        // Discovery, which takes nothing, says that it takes what it gives.
        _ if operation.action.is_none() => produces.clone(),
        _ => vec!["*/*"],
    };
    if !consumes.is_empty() {
        set(&mut value, "consumes", texts(&consumes));
    }
    let schema = v3::answer(&operation.answer, Dialect::V2);
    if schema.is_some() {
        set(&mut value, "produces", texts(&produces));
    }
    let response = |code: u16, schema: Option<&Value>| {
        let schema = schema.cloned().unwrap_or_default();
        (code.to_string(), object([("description", v3::status_text(code)), ("schema", schema)]))
    };
    let mut responses: Vec<(String, Value)> =
        operation.codes.iter().map(|code| response(*code, schema.as_ref())).collect();
    responses.push(response(401, None));
    set(&mut value, "responses", map(responses));
    value
}
