//! Normal form of built-in kinds: the value that a Go struct would hold and print.
//!
//! A decoder sets the fields that it finds in a [`Builder`] and closes the frame; missing fields get Go's zero value
//! or are left out, as `omitempty` and `omitzero` say.
//!
//! ```text
//! found:   status {}, kind "Pod"
//! becomes: kind "Pod", metadata {}, spec { containers null }, status {}
//! ```

use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};

use crate::graph::{Field, Opaque, Scalar, Shape, Struct};

/// Collects the fields of open structs, innermost last. One builder is used for a whole tree, which reuses its
/// memory.
#[derive(Debug, Default)]
pub struct Builder {
    found: Vec<Option<Value>>,
    /// Entries of the struct that is being closed.
    entries: Vec<(Key, Value)>,
}

/// Open struct of a [`Builder`].
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    of: &'static Struct,
    base: usize,
}

impl Frame {
    pub fn structure(&self) -> &'static Struct {
        self.of
    }
}

impl Builder {
    pub fn open(&mut self, of: &'static Struct) -> Frame {
        let base = self.found.len();
        self.found.resize_with(base + of.flat.len(), || None);
        Frame { of, base }
    }

    /// Sets the field at an index of the struct's `flat`; `NULL` counts as absent, except for [`Builder::is_set`].
    pub fn set(&mut self, frame: Frame, index: usize, value: Value) {
        self.found[frame.base + index] = Some(value);
    }

    pub fn is_set(&self, frame: Frame, index: usize) -> bool {
        self.found[frame.base + index].is_some()
    }

    pub fn get(&self, frame: Frame, index: usize) -> Option<&Value> {
        self.found[frame.base + index].as_ref()
    }

    pub fn get_mut(&mut self, frame: Frame, index: usize) -> Option<&mut Value> {
        self.found[frame.base + index].as_mut()
    }

    pub fn take(&mut self, frame: Frame, index: usize) -> Option<Value> {
        self.found[frame.base + index].take()
    }

    /// Returns the struct in normal form. Frames opened later must be closed before.
    pub fn close(&mut self, frame: Frame) -> Value {
        let Builder { found, entries } = self;
        let mut any = false;
        for (field, found) in frame.of.flat.iter().zip(found.drain(frame.base..)) {
            any |= found.is_some();
            if let Some(value) = normal_field(field, found) {
                entries.push((Key::new_static(field.name), value));
            }
        }
        if !any {
            entries.clear();
            return zero_struct(frame.of);
        }
        // Collected in a reused buffer first, so that the result has its exact size.
        let mut exact = Vec::with_capacity(entries.len());
        exact.append(entries);
        Value::object(Object::of_ordered(&frame.of.layout, exact))
    }
}

/// Returns whether an empty value is significant. An empty list of managed fields requests their removal; the managed
/// fields code then drops it.
fn is_significant(field: &Field, value: Node<'_>) -> bool {
    field.name == "managedFields" && matches!(value, Node::List(_))
}

/// Returns whether an empty list differs from an absent one although no encoding has it: an autoscaler's scaling policies are
/// defaulted if they are absent, and refused if they are empty.
fn is_hollow(field: &Field, value: Node<'_>) -> bool {
    field.name == "policies" && matches!(value, Node::List([]))
}

/// Returns the field in normal form: the value found, Go's zero value, or `None` if JSON omits it.
#[inline]
pub fn normal_field(field: &Field, found: Option<Value>) -> Option<Value> {
    match found {
        None if may_be_absent(field) => None,
        None => Some(zero(field.shape)),
        Some(value) => normal_value(field, value),
    }
}

fn normal_value(field: &Field, value: Value) -> Option<Value> {
    if field.omit_empty {
        match (field.shape.underlying(), value.node()) {
            (Shape::Bytes, Node::Bytes([])) => return Some(Value::hollow()),
            (_, node) if is_hollow(field, node) => return Some(Value::hollow()),
            (Shape::Named(_), _) => {}
            (Shape::Pointer(_), node) if node != Node::Null => {}
            (_, node) if is_empty(node) && !is_significant(field, node) => return None,
            _ => {}
        }
    }
    if value.is_null() {
        // A null for a non-nullable field leaves its zero value.
        return normal_field_of_null(field);
    }
    if field.omit_zero && value == zero(field.shape) {
        return None;
    }
    Some(value)
}

fn normal_field_of_null(field: &Field) -> Option<Value> {
    (!may_be_absent(field)).then(|| zero(field.shape))
}

/// Returns whether JSON omits the field if it is unset: structs and types with their own JSON encoding are kept
/// unless they have `omitzero`.
pub fn may_be_absent(field: &Field) -> bool {
    field.omit_zero || (field.omit_empty && !matches!(field.shape.underlying(), Shape::Named(_)))
}

fn is_empty(node: Node<'_>) -> bool {
    match node {
        Node::Null | Node::Bool(false) | Node::Int(0) => true,
        Node::Float(value) => value == 0.0,
        Node::String(value) => value.is_empty(),
        Node::Bytes(value) => value.is_empty(),
        Node::List(value) => value.is_empty(),
        Node::Object(value) => value.is_empty(),
        _ => false,
    }
}

/// Returns Go's zero value of a shape in JSON.
pub fn zero(shape: Shape) -> Value {
    match shape.underlying() {
        Shape::Scalar(scalar) => match scalar {
            Scalar::String => Value::literal(""),
            Scalar::Bool => false.into(),
            Scalar::Int32 | Scalar::Int64 => 0i64.into(),
            Scalar::Float64 => 0.0.into(),
            Scalar::Any => Value::NULL,
        },
        Shape::Bytes | Shape::Pointer(_) | Shape::List(_) | Shape::Map(..) => Value::NULL,
        named @ Shape::Named(_) => match (named.structure(), named.opaque()) {
            (Some(of), _) => zero_struct(of),
            (None, Some(opaque)) => zero_opaque(opaque),
            (None, None) => Value::NULL,
        },
    }
}

/// Returns a struct without any field set.
///
/// All share one value, so that a list of a million empty items is a million pointers.
pub fn zero_struct(of: &'static Struct) -> Value {
    let make = || {
        let fields = of.flat.iter().filter(|field| !may_be_absent(field));
        let entries = fields.map(|field| (Key::new_static(field.name), zero(field.shape))).collect();
        Value::object(Object::of_ordered(&of.layout, entries))
    };
    of.zero.get_or_init(make).clone()
}

fn zero_opaque(opaque: Opaque) -> Value {
    match opaque {
        Opaque::Duration => Value::literal("0s"),
        Opaque::Quantity => Value::literal("0"),
        Opaque::IntOrString => 0i64.into(),
        Opaque::JSONSchemaPropsOrBool => false.into(),
        Opaque::GroupVersion => Value::literal(""),
        Opaque::Time
        | Opaque::MicroTime
        | Opaque::FieldsV1
        | Opaque::RawExtension
        | Opaque::JSON
        | Opaque::JSONSchemaPropsOrArray
        | Opaque::JSONSchemaPropsOrStringArray => Value::NULL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().collect()
    }

    #[test]
    fn an_empty_pod_has_the_fields_that_go_prints() {
        let pod = zero_struct(find("core/v1.Pod").unwrap().structure().unwrap());
        assert_eq!(keys(&pod), ["metadata", "spec", "status"]);
        assert_eq!(keys(pod.get("metadata").unwrap()), [""; 0]);
        assert_eq!(keys(pod.get("spec").unwrap()), ["containers"]);
        assert!(pod.at(&["spec", "containers"]).unwrap().is_null());
    }

    #[test]
    fn omitempty_fields_are_dropped_and_the_rest_stays_in_order() {
        let of = find("core/v1.Container").unwrap().structure().unwrap();
        let mut builder = Builder::default();
        let frame = builder.open(of);
        let mut set = |name: &str, value: Value| builder.set(frame, of.position(name).unwrap(), value);
        set("image", "".into());
        set("args", Value::list(vec![]));
        set("tty", true.into());
        set("env", Value::NULL);
        set("command", Value::list(vec!["sh".into()]));
        set("name", "a".into());
        let container = builder.close(frame);
        assert_eq!(keys(&container), ["name", "command", "resources", "tty"]);
    }

    #[test]
    fn empty_bytes_that_json_omits_are_kept_for_protobuf() {
        let of = find("admissionregistration/v1.WebhookClientConfig").unwrap().structure().unwrap();
        let mut builder = Builder::default();
        let frame = builder.open(of);
        builder.set(frame, of.position("caBundle").unwrap(), Value::bytes([]));
        assert_eq!(builder.close(frame).get("caBundle").unwrap().node(), Node::Hollow);
    }

    #[test]
    fn zero_structs_are_shared() {
        let of = find("core/v1.Container").unwrap().structure().unwrap();
        let mut builder = Builder::default();
        let mut empty = || {
            let frame = builder.open(of);
            builder.close(frame)
        };
        let (first, mut second) = (empty(), empty());
        assert!(first.is_same(&second));
        second.as_object_mut().unwrap().insert("name", "a");
        assert_ne!(empty(), second);
    }

    #[test]
    fn an_empty_list_of_managed_fields_is_kept() {
        let of = find("meta/v1.ObjectMeta").unwrap().structure().unwrap();
        let mut builder = Builder::default();
        let frame = builder.open(of);
        for list in ["managedFields", "ownerReferences", "finalizers"] {
            builder.set(frame, of.position(list).unwrap(), Value::list(vec![]));
        }
        assert_eq!(keys(&builder.close(frame)), ["managedFields"]);
        let frame = builder.open(of);
        builder.set(frame, of.position("managedFields").unwrap(), Value::NULL);
        assert_eq!(keys(&builder.close(frame)), [""; 0]);
    }

    #[test]
    fn pointers_to_zero_values_are_kept() {
        let of = find("apps/v1.DeploymentSpec").unwrap().structure().unwrap();
        let mut builder = Builder::default();
        let frame = builder.open(of);
        builder.set(frame, of.position("replicas").unwrap(), 0i64.into());
        builder.set(frame, of.position("minReadySeconds").unwrap(), 0i64.into());
        assert_eq!(keys(&builder.close(frame)), ["replicas", "selector", "template", "strategy"]);
    }
}
