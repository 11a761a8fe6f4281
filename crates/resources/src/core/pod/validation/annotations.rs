//! Annotations of pods that have a meaning to the server.

use pintle_codec::json;
use pintle_meta::{Node, Value};

use super::{Options, security_annotations, tolerations};
use crate::core::pod::app_armor_profile;
use crate::framework::conversion::build;
use crate::framework::validation::Cursor;

/// Of a pod that a kubelet runs from a file, and only shows to the server.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
pub(super) const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";

/// Checks the annotations of a pod or of a template whose spec is given.
pub(super) fn annotations(annotations: &Cursor<'_, '_>, spec: &Cursor<'_, '_>, options: &Options) {
    if !annotations.is_set() {
        return;
    }
    let mirror = annotations.key(MIRROR);
    if mirror.is_set() && spec.field("nodeName").is_empty() {
        mirror.invalid(mirror.text(), "must set spec.nodeName if mirror pod annotation is set");
    }
    if !annotations.key(TOLERATIONS).is_empty() {
        check_tolerations(annotations, options);
    }
    let cost = annotations.key(DELETION_COST);
    if !options.allow_invalid_deletion_cost && !is_deletion_cost(cost.optional_text()) {
        cost.invalid(cost.text(), "must be a 32bit integer");
    }
    security_annotations::seccomp_values(annotations);
    security_annotations::app_armor_values(annotations, spec);
}

/// Checks at a pod that annotations about its source and its profiles do not change, and all of its annotations.
pub(crate) fn changes(pod: &Cursor<'_, '_>, options: &Options) {
    let new = pod.at(&["metadata", "annotations"]);
    let old = new.before();
    for (key, before) in old.entries() {
        if new.key(key).optional_text() != before.optional_text() {
            refuse(&new.key(key), key, "remove or update");
        }
    }
    for (key, added) in new.entries() {
        if !old.key(key).is_set() {
            refuse(&added, key, "add");
        }
    }
    annotations(&new, &pod.field("spec"), options);
}

fn refuse(at: &Cursor<'_, '_>, key: &str, action: &str) {
    if key.starts_with(app_armor_profile::ANNOTATION) {
        at.forbidden(format!("may not {action} AppArmor annotations"));
    }
    if key == MIRROR {
        at.forbidden(format!("may not {action} mirror pod annotation"));
    }
}

/// Whether an annotation is a valid cost, or not there. A plus sign and leading zeros are not valid.
pub(super) fn is_deletion_cost(cost: Option<&str>) -> bool {
    cost.is_none_or(|cost| {
        let is_canonical = cost == "0" || cost.starts_with(|first| matches!(first, '-' | '1'..='9'));
        is_canonical && cost.parse::<i32>().is_ok()
    })
}

/// Checks tolerations in the annotation of the time before there was a field.
fn check_tolerations(annotations: &Cursor<'_, '_>, options: &Options) {
    match read_tolerations(annotations.key(TOLERATIONS).text()) {
        Ok(read) => {
            let at = annotations.field(TOLERATIONS);
            tolerations::tolerations(&at.with_value(&read), options.allow_toleration_comparison);
        }
        Err(why) => annotations.invalid(TOLERATIONS, why),
    }
}

/// Decodes tolerations as Go decodes the internal type: by names of fields in any case.
fn read_tolerations(text: &str) -> Result<Value, String> {
    let decoded = json::decode_any(text.as_bytes()).map_err(|error| error.to_string())?;
    let items = match decoded.value.node() {
        Node::Null => return Ok(Value::list(Vec::new())),
        Node::List(items) => items,
        other => {
            let found = go_name(&other);
            return Err(format!("json: cannot unmarshal {found} into Go value of type []core.Toleration"));
        }
    };
    let mut wrong = None;
    let read = items.iter().map(|item| read_toleration(item, &mut wrong)).collect();
    wrong.map_or(Ok(Value::list(read)), Err)
}

/// Decodes a toleration; of several errors the first stays.
fn read_toleration(item: &Value, wrong: &mut Option<String>) -> Value {
    let fields = match item.node() {
        Node::Object(fields) => fields,
        Node::Null => return Value::object(pintle_meta::Object::default()),
        other => {
            let found = go_name(&other);
            wrong.get_or_insert(format!(
                "json: cannot unmarshal {found} into Go value of type core.Toleration"
            ));
            return Value::NULL;
        }
    };
    let mut read = |name: &str, go: &str, of: &str| {
        let (_, value) = fields.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name))?;
        let is_right = match value.node() {
            Node::Null => return None,
            Node::String(_) => of != "int64",
            Node::Int(_) => of == "int64",
            _ => false,
        };
        if !is_right {
            let found = match value.node() {
                Node::Float(number) if of == "int64" => format!("number {number}"),
                other => go_name(&other).to_owned(),
            };
            wrong.get_or_insert(format!(
                "json: cannot unmarshal {found} into Go struct field Toleration.{go} of type {of}"
            ));
        }
        is_right.then(|| value.clone())
    };
    let fields = [
        ("key", read("key", "Key", "string")),
        ("operator", read("operator", "Operator", "core.TolerationOperator")),
        ("value", read("value", "Value", "string")),
        ("effect", read("effect", "Effect", "core.TaintEffect")),
        ("tolerationSeconds", read("tolerationSeconds", "TolerationSeconds", "int64")),
    ];
    build("core/v1.Toleration", fields)
}

fn go_name(node: &Node<'_>) -> &'static str {
    match node {
        Node::Object(_) => "object",
        Node::List(_) => "array",
        Node::String(_) => "string",
        Node::Bool(_) => "bool",
        _ => "number",
    }
}

#[cfg(test)]
mod tests;
