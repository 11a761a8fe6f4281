//! OpenAPI 3.0: `/openapi/v3`, an index by path, and below it one document per group version.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA512, digest};
use pintle_codec::json;
use pintle_discovery::GroupVersion;
use pintle_meta::Value;
use pintle_schema::Type;

use crate::Options;
use crate::json::{empty, map, object, optional, set};
use crate::operations::{self, Answer, Media, Operation, Path, Reference};
use crate::parameters::Parameter;
use crate::protobuf;
use crate::schema::{Dialect, Registered, definition, group_version_kind, reachable};

/// A document as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub json: Vec<u8>,
    /// Hash of the content; part of the path in the index, and the ETag.
    pub hash: String,
}

impl Document {
    pub(crate) fn new(value: &Value) -> Document {
        let mut json = Vec::new();
        json::encode(value, &mut json);
        let hash = hash(&json);
        Document { json, hash }
    }
}

/// As the index and ETags have it.
pub(crate) fn hash(content: &[u8]) -> String {
    let mut text = String::with_capacity(128);
    for byte in digest(&SHA512, content).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// The names of all documents, in the order of the index: `api/v1`, `apis/apps`, `apis/apps/v1`, `version`.
pub fn names(served: &[GroupVersion], logs: bool) -> Vec<String> {
    let mut names: Vec<String> =
        operations::others(&groups(served), logs).into_iter().map(|(name, _)| name).collect();
    names.extend(served.iter().map(|served| served.path().trim_start_matches('/').to_owned()));
    names.sort();
    names
}

/// `/openapi/v3`, of the names and hashes of all documents.
pub fn index<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Document {
    let entry = |(name, hash): (&str, &str)| {
        let url = format!("/openapi/v3/{name}?hash={hash}");
        (name.to_owned(), object([("serverRelativeURL", url.into())]))
    };
    Document::new(&object([("paths", map(documents.into_iter().map(entry).collect()))]))
}

/// The document of a name; `None` if there is none such.
pub fn document(served: &[GroupVersion], logs: bool, name: &str, options: &Options<'_>) -> Option<Document> {
    tree(served, logs, name, options).map(|tree| Document::new(&tree))
}

/// The same as a message of `application/com.github.proto-openapi.spec.v3.v1.0+protobuf`. Its ETag is that of the JSON.
pub fn protobuf(served: &[GroupVersion], logs: bool, name: &str, options: &Options<'_>) -> Option<Vec<u8>> {
    tree(served, logs, name, options).map(|tree| protobuf::v3::encode(&tree))
}

/// Encodes the document of another server as a protobuf message. `None` if it is not JSON.
pub fn json_to_protobuf(json: &[u8]) -> Option<Vec<u8>> {
    json::decode_any(json).ok().map(|decoded| protobuf::v3::encode(&decoded.value))
}

/// The document of a group version.
pub fn group_version(served: &GroupVersion, options: &Options<'_>) -> Document {
    Document::new(&tree_of(served, options))
}

fn tree(served: &[GroupVersion], logs: bool, name: &str, options: &Options<'_>) -> Option<Value> {
    match served.iter().find(|served| served.path().trim_start_matches('/') == name) {
        Some(served) => Some(tree_of(served, options)),
        None => {
            let others = operations::others(&groups(served), logs);
            let (_, paths) = others.into_iter().find(|(found, _)| found == name)?;
            Some(document_of(&paths, options, ("", "v1")))
        }
    }
}

fn tree_of(served: &GroupVersion, options: &Options<'_>) -> Value {
    let paths = operations::group_version(served, options);
    document_of(&paths, options, (&served.group, &served.version))
}

pub(crate) fn groups(served: &[GroupVersion]) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for served in served {
        if !groups.contains(&served.group.as_str()) {
            groups.push(&served.group);
        }
    }
    groups
}

fn document_of(paths: &[Path], options: &Options<'_>, own: (&str, &str)) -> Value {
    let roots = paths.iter().flat_map(|path| path.operations.iter().flat_map(roots));
    let mut schemas: Vec<(String, Value)> = reachable(roots)
        .into_iter()
        .map(|(name, of)| (name, definition(of, Dialect::V3, options, Registered::Own(own.0, own.1))))
        .collect();
    if paths
        .iter()
        .any(|path| path.operations.iter().any(|found| matches!(found.answer, Answer::VersionInfo)))
    {
        schemas.push((VERSION_INFO.to_owned(), version_info(Dialect::V3)));
    }
    let schemas = if schemas.is_empty() { Value::NULL } else { map(schemas) };
    let schemes = object([("BearerToken", bearer_token())]);
    let paths = paths.iter().map(|path| (path.path.clone(), path_item(path, options)));
    object([
        ("openapi", Value::literal("3.0.0")),
        ("info", object([("title", Value::literal("Kubernetes")), ("version", options.version.into())])),
        ("paths", map(paths.collect())),
        ("components", object([("schemas", schemas), ("securitySchemes", schemes)])),
    ])
}

pub(crate) fn bearer_token() -> Value {
    object([
        ("description", Value::literal("Bearer Token authentication")),
        ("in", Value::literal("header")),
        ("name", Value::literal("authorization")),
        ("type", Value::literal("apiKey")),
    ])
}

/// The types that an operation names.
pub(crate) fn roots(operation: &Operation) -> impl Iterator<Item = &'static Type> {
    let answer = match &operation.answer {
        Answer::Object(of) => Some(of),
        _ => None,
    };
    let all = answer.into_iter().chain(operation.body.as_ref().map(|body| &body.of));
    all.filter_map(|of| match of {
        Reference::Type(of) => Some(*of),
        Reference::Custom(_) => None,
    })
}

/// Returns the parameters that all operations of a path take, sorted.
pub(crate) fn shared(path: &Path) -> Vec<&Parameter> {
    let mut shared: Vec<&Parameter> = Vec::new();
    if let Some((first, rest)) = path.operations.split_first() {
        let everywhere =
            |parameter: &&Parameter| rest.iter().all(|found| found.parameters.contains(parameter));
        shared.extend(first.parameters.iter().filter(everywhere));
    }
    shared.sort_by_key(|parameter| (parameter.name, parameter.location()));
    shared
}

pub(crate) fn own<'a>(operation: &'a Operation, shared: &[&Parameter]) -> Vec<&'a Parameter> {
    let mut own: Vec<&Parameter> =
        operation.parameters.iter().filter(|parameter| !shared.contains(parameter)).collect();
    own.sort_by_key(|parameter| (parameter.name, parameter.location()));
    own.dedup();
    own
}

pub(crate) fn path_item(path: &Path, options: &Options<'_>) -> Value {
    let shared = shared(path);
    let mut item = empty();
    for found in &path.operations {
        set(&mut item, found.method, operation(found, &shared, options));
    }
    if !shared.is_empty() {
        set(&mut item, "parameters", Value::list(shared.iter().map(|found| parameter(found)).collect()));
    }
    item
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = object([("type", Value::literal(parameter.of)), ("uniqueItems", true.into())]);
    object([
        ("name", Value::literal(parameter.name)),
        ("in", Value::literal(parameter.location())),
        ("description", optional(Some(parameter.description.as_str()).filter(|text| !text.is_empty()))),
        ("required", if parameter.in_path { true.into() } else { Value::NULL }),
        ("schema", schema),
    ])
}

pub(crate) fn operation_base(operation: &Operation) -> Value {
    let mut value = object([
        ("operationId", operation.id.as_str().into()),
        ("description", optional(Some(operation.description.as_str()).filter(|text| !text.is_empty()))),
        ("tags", Value::list(vec![operation.tag.as_str().into()])),
    ]);
    if let Some((action, [group, version, kind])) = &operation.action {
        set(&mut value, "x-kubernetes-action", Value::literal(action));
        set(&mut value, "x-kubernetes-group-version-kind", group_version_kind(group, version, kind));
    }
    value
}

fn operation(operation: &Operation, shared: &[&Parameter], options: &Options<'_>) -> Value {
    let mut value = operation_base(operation);
    let own = own(operation, shared);
    if !own.is_empty() {
        set(&mut value, "parameters", Value::list(own.into_iter().map(parameter).collect()));
    }
    if let Some(body) = &operation.body {
        let media = match (body.patch, operation.produces) {
            (true, produces) => patches(produces, options),
            (false, Media::Custom) => media(Media::Custom, options),
            (false, _) => vec!["*/*"],
        };
        let body = object([
            ("content", content(&media, &Dialect::V3.refer(&body.of))),
            ("required", if body.required { true.into() } else { Value::NULL }),
        ]);
        set(&mut value, "requestBody", body);
    }
    let schema = answer(&operation.answer, Dialect::V3);
    let media = media(operation.produces, options);
    let mut responses: Vec<(String, Value)> = operation
        .codes
        .iter()
        .map(|code| {
            let content = schema.as_ref().map_or(Value::NULL, |schema| content(&media, schema));
            (code.to_string(), object([("description", status_text(*code)), ("content", content)]))
        })
        .collect();
    responses.push(("401".to_owned(), object([("description", status_text(401))])));
    set(&mut value, "responses", map(responses));
    value
}

pub(crate) fn status_text(code: u16) -> Value {
    Value::literal(match code {
        201 => "Created",
        202 => "Accepted",
        401 => "Unauthorized",
        _ => "OK",
    })
}

pub(crate) fn answer(answer: &Answer, dialect: Dialect) -> Option<Value> {
    Some(match answer {
        Answer::Nothing => return None,
        Answer::Text => object([("type", Value::literal("string"))]),
        Answer::Object(of) => dialect.refer(of),
        Answer::VersionInfo => dialect.named(VERSION_INFO),
    })
}

fn content(media: &[&'static str], schema: &Value) -> Value {
    let entries = media.iter().map(|media| ((*media).to_owned(), object([("schema", schema.clone())])));
    map(entries.collect())
}

/// The kinds of patches that go with what is answered: there are no strategic ones of custom resources.
pub(crate) fn patches(produces: Media, options: &Options<'_>) -> Vec<&'static str> {
    if produces == Media::Custom {
        return vec![
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ];
    }
    let mut media = vec![
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ];
    if options.cbor {
        media.push("application/apply-patch+cbor");
    }
    media
}

pub(crate) fn media(media: Media, options: &Options<'_>) -> Vec<&'static str> {
    let mut found = vec!["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
    if options.cbor && media != Media::Discovery {
        found.push("application/cbor");
    }
    match media {
        Media::Objects | Media::Discovery => {}
        Media::Streams => {
            found.extend([
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ]);
            if options.cbor {
                found.push("application/cbor-seq");
            }
        }
        Media::Logs => found.insert(0, "text/plain"),
        Media::Custom => return vec!["application/json", "application/yaml"],
        Media::Any => return vec!["*/*"],
        Media::Only(media) => return vec![media],
    }
    found
}

pub(crate) const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";

/// The schema of `/version`, in the order of its declaration; the optional ones are about compatibility.
pub(crate) fn version_info(dialect: Dialect) -> Value {
    let fields = [
        ("major", true),
        ("minor", true),
        ("emulationMajor", false),
        ("emulationMinor", false),
        ("minCompatibilityMajor", false),
        ("minCompatibilityMinor", false),
        ("gitVersion", true),
        ("gitCommit", true),
        ("gitTreeState", true),
        ("buildDate", true),
        ("goVersion", true),
        ("compiler", true),
        ("platform", true),
    ];
    let property = |(name, required): (&str, bool)| {
        let default = if required && dialect == Dialect::V3 { Value::literal("") } else { Value::NULL };
        (name.to_owned(), object([("type", Value::literal("string")), ("default", default)]))
    };
    let required = fields.iter().filter(|(_, required)| *required).map(|(name, _)| Value::literal(name));
    object([
        ("type", Value::literal("object")),
        ("required", Value::list(required.collect())),
        ("properties", map(fields.into_iter().map(property).collect())),
    ])
}
