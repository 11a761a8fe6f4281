//! OpenAPI v2 documents of remote servers, merged into the one document of everything.
//!
//! A server describes all its group versions in one document. Of each, the paths below `/apis/GROUP/VERSION/` are taken, with the
//! definitions and parameters that they refer to. A name that stands for something else already gets a suffix, as in the
//! reference's aggregator:
//!
//! ```text
//! built in   io.example.Status {"type":"object"}
//! remote     io.example.Status {"type":"string"}   -> io.example.Status_v2, also in all references to it
//! ```

use std::collections::{BTreeMap, BTreeSet};

use pintle_codec::json;
use pintle_meta::Value;

use crate::custom::Builtin;

const DEFINITIONS: &str = "#/definitions/";
const PARAMETERS: &str = "#/parameters/";

/// The v2 document of a remote server, and the group version that is taken from it.
#[derive(Clone, Copy, Debug)]
pub struct RemoteDocument<'a> {
    pub json: &'a [u8],
    pub group: &'a str,
    pub version: &'a str,
}

/// The merged parts of remote documents, by name.
#[derive(Debug, Default)]
pub struct RemoteParts {
    pub(crate) paths: BTreeMap<String, Value>,
    pub(crate) definitions: BTreeMap<String, Value>,
    pub(crate) parameters: BTreeMap<String, Value>,
}

impl RemoteParts {
    /// Merges documents in their order. `builtin` must be in JSON. A document that cannot be read is left out.
    pub fn merge<'a>(
        documents: impl IntoIterator<Item = RemoteDocument<'a>>,
        builtin: &Builtin,
    ) -> RemoteParts {
        let mut merged = RemoteParts::default();
        for document in documents {
            if let Ok(decoded) = json::decode_any(document.json) {
                merged.add(&decoded.value, document, builtin);
            }
        }
        merged
    }

    fn add(&mut self, document: &Value, of: RemoteDocument<'_>, builtin: &Builtin) {
        let prefix = format!("/apis/{}/{}/", of.group, of.version);
        let paths = entries(document, "paths").filter(|(path, _)| format!("{path}/").starts_with(&prefix));
        let paths: Vec<(&str, &Value)> = paths.collect();
        let used = Used::find(document, paths.iter().map(|(_, item)| *item));
        let definitions = renames(&used.definitions, &self.definitions, |name| builtin.definition(name));
        let parameters = renames(&used.parameters, &self.parameters, |name| builtin.parameter(name));
        let renamed = |value: &Value| {
            let mut value = value.clone();
            rewrite(&mut value, &definitions, &parameters);
            value
        };
        for (path, item) in paths {
            self.paths.entry(path.to_owned()).or_insert_with(|| renamed(item));
        }
        for (name, value) in &used.definitions {
            let name = definitions.get(name).unwrap_or(name);
            if builtin.definition(name).is_none() {
                self.definitions.entry(name.clone()).or_insert_with(|| renamed(value));
            }
        }
        for (name, value) in &used.parameters {
            let name = parameters.get(name).unwrap_or(name);
            if builtin.parameter(name).is_none() {
                self.parameters.entry(name.clone()).or_insert_with(|| renamed(value));
            }
        }
    }
}

/// The definitions and parameters that paths refer to, directly or not.
#[derive(Default)]
struct Used {
    definitions: BTreeMap<String, Value>,
    parameters: BTreeMap<String, Value>,
}

impl Used {
    fn find<'v>(document: &'v Value, paths: impl Iterator<Item = &'v Value>) -> Used {
        let mut used = Used::default();
        let mut seen = BTreeSet::new();
        let mut left: Vec<&Value> = paths.collect();
        while let Some(value) = left.pop() {
            if let Some(reference) = value.get("$ref").and_then(Value::as_str)
                && seen.insert(reference)
            {
                let found = [
                    (DEFINITIONS, "definitions", &mut used.definitions),
                    (PARAMETERS, "parameters", &mut used.parameters),
                ];
                for (start, section, into) in found {
                    if let Some(name) = reference.strip_prefix(start)
                        && let Some(target) = document.at(&[section, name])
                    {
                        into.insert(name.to_owned(), target.clone());
                        left.push(target);
                    }
                }
            }
            left.extend(value.as_list().into_iter().flatten());
            left.extend(
                value.as_object().into_iter().flat_map(|object| object.iter().map(|(_, value)| value)),
            );
        }
        used
    }
}

fn entries<'v>(document: &'v Value, section: &str) -> impl Iterator<Item = (&'v str, &'v Value)> {
    document.get(section).and_then(Value::as_object).into_iter().flat_map(|object| object.iter())
}

/// Returns new names for those that stand for something else, built in or of another remote server.
fn renames(
    used: &BTreeMap<String, Value>,
    merged: &BTreeMap<String, Value>,
    builtin: impl Fn(&str) -> Option<Value>,
) -> BTreeMap<String, String> {
    let mut renames = BTreeMap::new();
    for (name, value) in used {
        let fits = |name: &str| {
            let known = builtin(name).or_else(|| merged.get(name).cloned());
            known.is_none_or(|known| known == *value)
        };
        if fits(name) {
            continue;
        }
        let free = (2..).map(|number| format!("{name}_v{number}"));
        // A name of its own must not be taken by another one of the same document either.
        renames.extend(
            free.into_iter().find(|new| fits(new) && !used.contains_key(new)).map(|new| (name.clone(), new)),
        );
    }
    renames
}

/// Rewrites all references to renamed definitions and parameters.
fn rewrite(value: &mut Value, definitions: &BTreeMap<String, String>, parameters: &BTreeMap<String, String>) {
    if definitions.is_empty() && parameters.is_empty() {
        return;
    }
    let renamed = value.get("$ref").and_then(Value::as_str).and_then(|reference| {
        let name = |start: &str, renames: &BTreeMap<String, String>| {
            Some(format!("{start}{}", renames.get(reference.strip_prefix(start)?)?))
        };
        name(DEFINITIONS, definitions).or_else(|| name(PARAMETERS, parameters))
    });
    if let Some(renamed) = renamed
        && let Some(object) = value.as_object_mut()
    {
        object.insert("$ref", renamed);
    }
    for item in value.as_list_mut().into_iter().flatten() {
        rewrite(item, definitions, parameters);
    }
    for (_, item) in value.as_object_mut().into_iter().flat_map(|object| object.iter_mut()) {
        rewrite(item, definitions, parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::Format;
    use crate::{Options, Undocumented};

    fn builtin() -> Builtin {
        let options = Options { version: "1.36", enums: true, cbor: false, documentation: &Undocumented };
        Builtin::new(&[], false, Format::Json, &options)
    }

    fn document(definition: &str) -> String {
        format!(
            r##"{{"swagger":"2.0","paths":{{
                "/apis/metrics.example.com/v1/pods":{{"get":{{"responses":{{"200":{{"schema":{{"$ref":"#/definitions/Pod"}}}}}}}},
                    "parameters":[{{"$ref":"#/parameters/pretty-1"}}]}},
                "/apis/metrics.example.com/v10/pods":{{"get":{{}}}},
                "/apis/":{{"get":{{}}}}}},
            "definitions":{{
                "Pod":{{"properties":{{"meta":{{"$ref":"#/definitions/io.k8s.apimachinery.pkg.version.Info"}}}}}},
                "io.k8s.apimachinery.pkg.version.Info":{definition},
                "Unused":{{}}}},
            "parameters":{{"pretty-1":{{"name":"pretty","in":"query"}},"other":{{}}}}}}"##
        )
    }

    fn merge(documents: &[&str]) -> RemoteParts {
        let documents = documents.iter().map(|json| RemoteDocument {
            json: json.as_bytes(),
            group: "metrics.example.com",
            version: "v1",
        });
        RemoteParts::merge(documents, &builtin())
    }

    fn names(map: &BTreeMap<String, Value>) -> Vec<&str> {
        map.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_group_version_is_taken_with_all_that_it_refers_to() {
        let info = builtin().definition("io.k8s.apimachinery.pkg.version.Info").unwrap();
        let mut same = Vec::new();
        json::encode(&info, &mut same);
        let parts = merge(&[&document(&String::from_utf8(same).unwrap())]);
        assert_eq!(names(&parts.paths), ["/apis/metrics.example.com/v1/pods"]);
        assert_eq!(names(&parts.definitions), ["Pod"], "a definition that is the same is not repeated");
        assert_eq!(names(&parts.parameters), ["pretty-1"]);
    }

    #[test]
    fn a_definition_that_differs_is_renamed() {
        let other = document(r#"{"type":"integer"}"#).replace("\"meta\"", "\"other\"");
        let parts = merge(&[&document(r#"{"type":"string"}"#), &other, "no JSON"]);
        let info = "io.k8s.apimachinery.pkg.version.Info";
        let all = ["Pod".to_owned(), "Pod_v2".into(), format!("{info}_v2"), format!("{info}_v3")];
        assert_eq!(names(&parts.definitions), all);
        let reference = parts.definitions["Pod"].text_at(&["properties", "meta", "$ref"]);
        assert_eq!(reference, format!("{DEFINITIONS}{info}_v2"));
        let reference = parts.definitions["Pod_v2"].text_at(&["properties", "other", "$ref"]);
        assert_eq!(reference, format!("{DEFINITIONS}{info}_v3"));
    }
}
