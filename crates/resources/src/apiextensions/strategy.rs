//! The strategies of the group's resources.

use std::collections::HashSet;
use std::sync::Arc;

use pintle_definitions::definition;
use pintle_meta::validation::object_meta;
use pintle_meta::{Value, Warnings, quote};
use pintle_registry::{StagedDeletion, Strategy};

use crate::framework::conversion::build;
use crate::framework::strategy::{Entry, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry { name: "customresourcedefinitions", kind: KIND, rules: DEFINITIONS },
    Entry { name: "customresourcedefinitions/status", kind: KIND, rules: STATUS },
];

const KIND: &str = "apiextensions/v1beta1.CustomResourceDefinition";

const DEFINITIONS: Rules = Rules {
    name_within: Some(name),
    standard_finalizers: false,
    on_create: |_, _, definition| note_stored_version(definition),
    on_update: |_, _, definition, _| note_stored_version(definition),
    validate: |_, new| new.report(definition::validate(new.value())),
    validate_update: |_, new| new.report(definition::validate_update(new.value(), new.before().value())),
    warnings: unknown_formats,
    stages: Some(StagedDeletion { begin: begin_deletion, is_held: |_| false, first_decides: false }),
    ..Rules::CLUSTER.with_status().counting_spec()
};

const STATUS: Rules = Rules {
    validate_update: |_, new| {
        new.report(definition::validate_status_update(new.value(), new.before().value()));
    },
    ..DEFINITIONS.of_status()
};

fn name(definition: &Value, name: &str, is_prefix: bool) -> Vec<String> {
    let mut wrong = object_meta::subdomain_name(name, is_prefix);
    let plural = definition.text_at(&["spec", "names", "plural"]);
    if name != format!("{plural}.{}", definition.text_at(&["spec", "group"])) {
        wrong.push(r#"must be spec.names.plural+"."+spec.group"#.into());
    }
    wrong
}

/// A definition that is deleted stays until its objects are gone.
fn begin_deletion(definition: &mut Value) {
    const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
    let now = definition.deletion_timestamp().unwrap_or_default().to_owned();
    if definition.finalizers().all(|known| known != FINALIZER) {
        let all: Vec<Value> = definition.finalizers().chain([FINALIZER]).map(Value::from).collect();
        tree::set(definition, &["metadata", "finalizers"], all);
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let fields = [
        ("type", "Terminating"),
        ("status", "True"),
        ("lastTransitionTime", now.as_str()),
        ("reason", "InstanceDeletionPending"),
        ("message", message),
    ];
    let fields = fields.map(|(name, text)| (name, Some(Value::from(text))));
    let condition = build("apiextensions/v1beta1.CustomResourceDefinitionCondition", fields);
    let kept = definition.items_at(&["status", "conditions"]).iter();
    let kept = kept.filter(|found| found.text_at(&["type"]) != "Terminating").cloned();
    let all: Vec<Value> = kept.chain([condition]).collect();
    tree::set(definition, &["status", "conditions"], all);
}

/// Objects are stored in this version from now on; that there are some is remembered for good.
fn note_stored_version(definition: &mut Value) {
    const STORED: tree::Path = &["status", "storedVersions"];
    let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    let versions = definition.items_at(&["spec", "versions"]);
    let Some(name) = versions.iter().find(is_stored).and_then(|version| version.get("name")).cloned() else {
        return;
    };
    let known = definition.items_at(STORED);
    if !known.contains(&name) {
        let all: Vec<Value> = known.iter().cloned().chain([name]).collect();
        tree::set(definition, STORED, all);
    }
}

/// Returns warnings about unknown formats, which are ignored; of a changed definition, those that are new to it.
fn unknown_formats(_: &Settings, definition: &Value, old: Option<&Value>) -> Vec<String> {
    let (mut found, mut known) = (Vec::new(), Vec::new());
    formats_of(definition, &mut found);
    if let Some(old) = old {
        formats_of(old, &mut known);
    }
    let known: HashSet<&str> = known.into_iter().collect();
    let unknown = found.into_iter().filter(|format| !known.contains(format));
    let mut warnings = Warnings::new();
    warnings.extend(unknown.map(|format| format!("unrecognized format {}", quote(format))));
    warnings.into_texts()
}

fn formats_of<'a>(definition: &'a Value, found: &mut Vec<&'a str>) {
    let common = definition.at(&["spec", "validation", "openAPIV3Schema"]);
    let versions = definition.items_at(&["spec", "versions"]).iter();
    let schemas = versions.filter_map(|version| version.at(&["schema", "openAPIV3Schema"]));
    for schema in common.into_iter().chain(schemas) {
        in_schema(schema, found);
    }
}

/// A schema's own format, then those of the schemas in it. Trees are never deeper than decoders allow.
fn in_schema<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    let format = schema.text_at(&["format"]);
    if !format.is_empty() && !is_known(schema.text_at(&["type"]), format) {
        found.push(format);
    }
    for field in ["items", "allOf", "anyOf", "oneOf"] {
        let Some(given) = schema.get(field) else { continue };
        match given.as_list() {
            Some(schemas) => schemas.iter().for_each(|schema| in_schema(schema, found)),
            None => in_schema(given, found),
        }
    }
    let one = |field: &str| schema.get(field).filter(|schema| schema.as_object().is_some());
    let named =
        |field: &str| schema.get(field).and_then(Value::as_object).into_iter().flat_map(|all| all.iter());
    one("not").into_iter().for_each(|schema| in_schema(schema, found));
    named("properties").for_each(|(_, schema)| in_schema(schema, found));
    one("additionalProperties").into_iter().for_each(|schema| in_schema(schema, found));
    named("patternProperties").for_each(|(_, schema)| in_schema(schema, found));
    one("additionalItems").into_iter().for_each(|schema| in_schema(schema, found));
    named("definitions").for_each(|(_, schema)| in_schema(schema, found));
    named("dependencies").for_each(|(_, schema)| in_schema(schema, found));
}

/// Formats of strings; dashes in names do not matter.
const FORMATS: &[&str] = &[
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

fn is_known(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{invalid, invalid_update, of, text, warnings};

    fn definition(name: &str, spec: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"group":"g.io","names":{{"plural":"as","kind":"A"}},"scope":"Cluster"{spec}}},"status":{{"conditions":null,"acceptedNames":{{"plural":"","kind":""}},"storedVersions":null}}}}"#
        )
    }

    fn versions(first: bool, second: bool) -> String {
        format!(
            r#","versions":[{{"name":"v1","served":true,"storage":{first}}},{{"name":"v2","served":true,"storage":{second}}}]"#
        )
    }

    #[test]
    fn versions_that_objects_were_stored_in_are_remembered() {
        let definitions = of("apiextensions.k8s.io", "customresourcedefinitions");
        let created = definitions.created(&definition("as.g.io", &versions(false, true)));
        assert_eq!(created.generation(), 1);
        assert_eq!(
            text(created.get("status").unwrap()),
            r#"{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v2"]}"#
        );
        let old = definition("as.g.io", &versions(false, true)).replace("null}", r#"["v2"]}"#);
        let new = definition("as.g.io", &versions(true, false));
        let updated = definitions.updated(&new, &old);
        assert_eq!(text(updated.at(&["status", "storedVersions"]).unwrap()), r#"["v2","v1"]"#);
        assert_eq!(updated.generation(), 1);
        assert_eq!(text(&definitions.updated(&old, &old)), old);
    }

    #[test]
    fn a_definition_is_named_after_its_resource() {
        let definitions = of("apiextensions.k8s.io", "customresourcedefinitions");
        assert!(invalid(&definitions, &whole("as.g.io", "as")).is_empty());
        assert_eq!(
            invalid(&definitions, &whole("bs.g.io", "as")),
            [r#"metadata.name: Invalid value: "bs.g.io": must be spec.names.plural+"."+spec.group"#]
        );
    }

    /// A definition with nothing wrong but these names.
    fn whole(name: &str, plural: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"{name}","resourceVersion":"1"}},"spec":{{"group":"g.io",
                "names":{{"plural":"{plural}","singular":"a","kind":"A","listKind":"AList"}},"scope":"Cluster",
                "versions":[{{"name":"v1","served":true,"storage":true}}],"preserveUnknownFields":false,
                "validation":{{"openAPIV3Schema":{{"type":"object"}}}}}},
                "status":{{"conditions":null,"acceptedNames":{{"plural":"","kind":""}},"storedVersions":["v1"]}}}}"#
        )
    }

    #[test]
    fn definitions_are_checked_whenever_they_are_written() {
        let definitions = of("apiextensions.k8s.io", "customresourcedefinitions");
        let good = whole("as.g.io", "as");
        let wrong = good.replace(r#""type":"object""#, r#""type":"string""#);
        let told =
            [r#"spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root"#];
        assert_eq!(invalid(&definitions, &wrong), told);
        assert_eq!(invalid_update(&definitions, &wrong, &good), told);
        assert_eq!(
            invalid_update(&definitions, &whole("as.g.io", "bs"), &good),
            [r#"spec.names.plural: Invalid value: "bs": field is immutable"#]
        );
        let status = of("apiextensions.k8s.io", "customresourcedefinitions/status");
        let wrong = wrong.replace(r#""plural":"","kind":"""#, r#""plural":"B","kind":"""#);
        let told = invalid_update(&status, &wrong, &good);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with(r#"status.acceptedNames.plural: Invalid value: "B": a DNS-1035 label"#));
    }

    #[test]
    fn formats_that_nobody_knows_are_warned_of_once() {
        let definitions = of("apiextensions.k8s.io", "customresourcedefinitions");
        let schema = |properties: &str| {
            definition(
                "as.g.io",
                &format!(
                    r#","validation":{{"openAPIV3Schema":{{"type":"object","properties":{{{properties}}}}}}}"#
                ),
            )
        };
        let first = r#""a":{"type":"string","format":"date-time"},"b":{"type":"integer","format":"int16"},
            "c":{"type":"array","items":{"type":"string","format":"k8s-short-name"}}"#;
        let old = schema(first);
        assert_eq!(warnings(&definitions, &old, None), [r#"unrecognized format "int16""#]);
        let new = schema(&format!(r#"{first},"d":{{"additionalProperties":{{"format":"x"}}}}"#));
        assert_eq!(warnings(&definitions, &new, Some(&old)), [r#"unrecognized format "x""#]);
    }
}
