//! Environments of expressions about admission requests: match conditions of webhooks, validations, variables and mutations of
//! policies.

use crate::composition::PolicyVariables;
use crate::environment::{Declarations, TypeNames};
use crate::types::{Field, ObjectType, Record, Type};

/// Variables that not all expressions have, beside `object`, `oldObject`, `request` and `namespaceObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionVariables {
    pub params: bool,
    /// `authorizer` and `authorizer.requestResource`.
    pub authorizer: bool,
    /// The types `Object` and `JSONPatch`, of which mutations are made, and `jsonpatch.escapeKey`.
    pub patch_types: bool,
}

/// Returns the declarations of an expression. Objects are of no known type. `variables` has the variables before the
/// expression, for policies that have some.
pub fn admission(has: AdmissionVariables, variables: Option<&PolicyVariables>) -> Declarations {
    let mut declarations = Declarations::new()
        .variable("object", Type::Dyn)
        .variable("oldObject", Type::Dyn)
        .variable("namespaceObject", namespace())
        .variable("request", request());
    if let Some(variables) = variables {
        declarations = declarations.variable("variables", variables.declared());
    }
    if has.params {
        declarations = declarations.variable("params", Type::Dyn);
    }
    if has.authorizer {
        declarations = declarations
            .variable("authorizer", Type::AUTHORIZER)
            .variable("authorizer.requestResource", Type::RESOURCE_CHECK);
    }
    if has.patch_types { declarations.types(PatchTypes).json_patch() } else { declarations }
}

/// Returns the declarations of an expression whose objects have known types, for type checking. As in the reference, the
/// resource of the request cannot be authorized there.
pub fn typed_admission(object: &Type, params: Option<&Type>, variables: &PolicyVariables) -> Declarations {
    let declarations = Declarations::new()
        .variable("object", object.clone())
        .variable("oldObject", object.clone())
        .variable("namespaceObject", namespace())
        .variable("request", request())
        .variable("authorizer", Type::AUTHORIZER)
        .variable("variables", variables.declared());
    match params {
        Some(params) => declarations.variable("params", params.clone()),
        None => declarations,
    }
}

/// Returns the type that a variable has in later expressions, by the type of its own; unknown for objects.
pub fn variable_type(of: Option<&Type>) -> Type {
    match of {
        Some(Type::List(list)) => Type::list(variable_type(Some(&list.item))),
        Some(Type::Map(map)) => Type::map(variable_type(Some(&map.0)), variable_type(Some(&map.1))),
        Some(
            Type::Bool
            | Type::Bytes
            | Type::Double
            | Type::Duration
            | Type::Int
            | Type::Null
            | Type::String
            | Type::Timestamp
            | Type::Uint,
        ) => of.cloned().unwrap_or(Type::Dyn),
        _ => Type::Dyn,
    }
}

/// The names of types that mutations are made of, without knowledge of the object's kind: `Object`, `Object.spec` and so on, with
/// any fields.
#[derive(Debug)]
struct PatchTypes;

impl TypeNames for PatchTypes {
    fn find(&self, name: &str) -> Option<Type> {
        let is_object = name == "Object" || name.starts_with("Object.");
        if name == "JSONPatch" {
            Some(Type::json_patch())
        } else {
            is_object.then(|| Type::object(AnyFields(name.to_owned())))
        }
    }
}

impl Type {
    /// Type of one operation of a JSON patch.
    pub fn json_patch() -> Type {
        Type::object(
            Record::new("JSONPatch")
                .field("op", Type::String)
                .field("from", Type::String)
                .field("path", Type::String)
                .field("value", Type::Dyn),
        )
    }

    /// Type of an apply configuration, whose fields are not known.
    pub fn apply_configuration() -> Type {
        Type::object(AnyFields("Object".to_owned()))
    }
}

/// Object type that has every field.
#[derive(Debug)]
struct AnyFields(String);

impl ObjectType for AnyFields {
    fn name(&self) -> &str {
        &self.0
    }

    fn field(&self, name: &str) -> Option<Field> {
        Some(Field { property: name.into(), of: Type::Dyn })
    }
}

fn record(name: &str, texts: &[&str]) -> Record {
    texts.iter().fold(Record::new(name), |record, field| record.field(*field, Type::String))
}

/// Type of `request`, an AdmissionRequest without its objects.
fn request() -> Type {
    let texts = || Type::list(Type::String);
    let kind = || Type::object(record("kubernetes.GroupVersionKind", &["group", "version", "kind"]));
    let resource =
        || Type::object(record("kubernetes.GroupVersionResource", &["group", "version", "resource"]));
    let user = record("kubernetes.UserInfo", &["username", "uid"])
        .field("groups", texts())
        .field("extra", Type::map(Type::String, texts()));
    let names = ["subResource", "requestSubResource", "name", "namespace", "operation"];
    Type::object(
        record("kubernetes.AdmissionRequest", &names)
            .field("kind", kind())
            .field("resource", resource())
            .field("requestKind", kind())
            .field("requestResource", resource())
            .field("userInfo", Type::object(user))
            .field("dryRun", Type::Bool)
            .field("options", Type::Dyn),
    )
}

/// Type of `namespaceObject`, with fewer fields than a Namespace has.
fn namespace() -> Type {
    let labels = || Type::map(Type::String, Type::String);
    let metadata = record(
        "kubernetes.NamespaceMetadata",
        &["name", "generateName", "namespace", "UID", "resourceVersion"],
    )
    .field("labels", labels())
    .field("annotations", labels())
    .field("creationTimestamp", Type::Timestamp)
    .field("deletionGracePeriodSeconds", Type::Int)
    .field("deletionTimestamp", Type::Timestamp)
    .field("generation", Type::Int)
    .field("finalizers", Type::list(Type::String));
    let spec = Record::new("kubernetes.NamespaceSpec").field("finalizers", Type::list(Type::String));
    let condition = record("kubernetes.NamespaceCondition", &["status", "type", "message", "reason"])
        .field("lastTransitionTime", Type::Timestamp);
    let status = record("kubernetes.NamespaceStatus", &["phase"])
        .field("conditions", Type::list(Type::object(condition)));
    Type::object(
        Record::new("kubernetes.Namespace")
            .field("metadata", Type::object(metadata))
            .field("spec", Type::object(spec))
            .field("status", Type::object(status)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    fn result(text: &str, has: AdmissionVariables, variables: Option<&PolicyVariables>) -> String {
        match Environment::new(admission(has, variables)).check(text) {
            Ok(expression) => expression.result_type().declared_name(),
            Err(error) => error.issues()[0].message.clone(),
        }
    }

    #[test]
    fn expressions_have_the_variables_they_are_given() {
        let none = AdmissionVariables::default();
        let all = AdmissionVariables { params: true, authorizer: true, patch_types: true };
        assert_eq!(result("object.a == oldObject.b && request.dryRun", none, None), "bool");
        assert_eq!(result("request.userInfo.groups", none, None), "list(string)");
        assert_eq!(
            result("namespaceObject.metadata.creationTimestamp", none, None),
            "google.protobuf.Timestamp"
        );
        assert_eq!(result("request.object", none, None), "undefined field 'object'");
        assert_eq!(result("params", none, None), "undeclared reference to 'params' (in container '')");
        assert_eq!(result("params", all, None), "dyn");
        assert_eq!(result("authorizer.requestResource.check('get').allowed()", all, None), "bool");
        let mut variables = PolicyVariables::new();
        variables.declare("a", variable_type(Some(&Type::Int)));
        assert_eq!(result("variables.a", none, Some(&variables)), "int");
        assert_eq!(result("variables.b", none, Some(&variables)), "undefined field 'b'");
    }

    #[test]
    fn mutations_make_objects_and_patches() {
        let has = AdmissionVariables { patch_types: true, ..AdmissionVariables::default() };
        assert_eq!(result("Object{spec: Object.spec{replicas: 1}}", has, None), "Object");
        assert_eq!(
            result("[JSONPatch{op: 'test', path: '/a/' + jsonpatch.escapeKey('b')}]", has, None),
            "list(JSONPatch)"
        );
        assert_eq!(result("JSONPatch{what: 1}", has, None), "undefined field 'what'");
        let none = AdmissionVariables::default();
        assert_eq!(result("Object{}", none, None), "undeclared reference to 'Object' (in container '')");
    }
}
