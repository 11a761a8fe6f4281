//! The types of built-in kinds in expressions, from the type graph.
//!
//! They are those that the reference derives from its OpenAPI definitions: a quantity has no single type there, so fields of
//! quantities are not known, nor are maps of them; a type within itself has no fields.

use std::sync::Arc;

use pintle_cel::{Field, ObjectType, Type, escape};
use pintle_schema::{Opaque, Scalar, Shape, Struct, TypeKind};

/// A struct at some place of a kind.
#[derive(Debug)]
struct BuiltinObject {
    name: String,
    fields: &'static Struct,
    /// The named types around it, itself included.
    within: Arc<[&'static pintle_schema::Type]>,
}

/// An object without known fields.
#[derive(Debug)]
struct NoFields(String);

/// Returns the type of a built-in struct type; `name` begins the names of all types in it.
pub(crate) fn builtin_type(of: &'static pintle_schema::Type, name: &str) -> Option<Type> {
    typed(Shape::Named(of), name, &[])
}

fn typed(shape: Shape, name: &str, within: &[&'static pintle_schema::Type]) -> Option<Type> {
    match shape {
        Shape::Pointer(inner) => typed(*inner, name, within),
        Shape::Bytes => Some(Type::Bytes),
        Shape::Scalar(scalar) => match scalar {
            Scalar::String => Some(Type::String),
            Scalar::Bool => Some(Type::Bool),
            Scalar::Int32 | Scalar::Int64 => Some(Type::Int),
            Scalar::Float64 => Some(Type::Double),
            Scalar::Any => None,
        },
        Shape::List(item) => Some(Type::list(typed(*item, &format!("{name}.@idx"), within)?)),
        Shape::Map(_, value) => {
            Some(Type::map(Type::String, typed(*value, &format!("{name}.@elem"), within)?))
        }
        Shape::Named(named) => match &named.kind {
            TypeKind::Alias { of, .. } => typed(*of, name, within),
            TypeKind::Opaque(opaque) => of_opaque(*opaque, name),
            TypeKind::Struct(_) if within.iter().any(|known| std::ptr::eq(*known, named)) => {
                Some(Type::object(NoFields(name.to_owned())))
            }
            TypeKind::Struct(fields) => {
                let within = within.iter().copied().chain([named]).collect();
                Some(Type::object(BuiltinObject { name: name.to_owned(), fields, within }))
            }
        },
    }
}

fn of_opaque(opaque: Opaque, name: &str) -> Option<Type> {
    match opaque {
        Opaque::Time | Opaque::MicroTime => Some(Type::Timestamp),
        Opaque::Duration | Opaque::GroupVersion => Some(Type::String),
        Opaque::IntOrString => Some(Type::Dyn),
        Opaque::FieldsV1 | Opaque::RawExtension => Some(Type::object(NoFields(name.to_owned()))),
        Opaque::Quantity
        | Opaque::JSON
        | Opaque::JSONSchemaPropsOrArray
        | Opaque::JSONSchemaPropsOrBool
        | Opaque::JSONSchemaPropsOrStringArray => None,
    }
}

/// Returns whether a property has a name in expressions: its own, its escaped one, or a word of the language as it is.
fn is_named(property: &str, name: &str) -> bool {
    match escape(property) {
        Some(escaped) => name == escaped || (name == property && escaped == format!("__{property}__")),
        None => false,
    }
}

impl ObjectType for BuiltinObject {
    fn name(&self) -> &str {
        &self.name
    }

    fn field(&self, name: &str) -> Option<Field> {
        let field = self.fields.flat.iter().find(|field| is_named(field.name, name))?;
        let of = typed(field.shape, &format!("{}.{}", self.name, field.name), &self.within)?;
        Some(Field { property: field.name.into(), of })
    }
}

impl ObjectType for NoFields {
    fn name(&self) -> &str {
        &self.0
    }

    fn field(&self, _: &str) -> Option<Field> {
        None
    }
}

#[cfg(test)]
mod tests {
    use pintle_cel::{Declarations, Environment};

    use super::*;

    fn checked(of: &str, text: &str) -> String {
        let of = builtin_type(pintle_schema::find(of).unwrap(), "Kind1").unwrap();
        match Environment::new(Declarations::new().variable("object", of)).check(text) {
            Ok(expression) => expression.result_type().declared_name(),
            Err(error) => error.issues()[0].message.clone(),
        }
    }

    #[test]
    fn fields_have_the_types_of_the_openapi_definitions() {
        let pod = |text: &str| checked("core/v1.Pod", text);
        assert_eq!(pod("object.metadata.name"), "string");
        assert_eq!(pod("object.metadata.namespace"), "string");
        assert_eq!(pod("object.metadata.__namespace__"), "string");
        assert_eq!(pod("object.metadata.labels"), "map(string, string)");
        assert_eq!(pod("object.metadata.creationTimestamp"), "google.protobuf.Timestamp");
        assert_eq!(pod("object.metadata.generation"), "int");
        assert_eq!(pod("object.spec.hostNetwork"), "bool");
        assert_eq!(pod("object.spec.containers[0].ports[0].containerPort"), "int");
        assert_eq!(pod("object.spec.containers[0]"), "Kind1.spec.containers.@idx");
        assert_eq!(pod("object.kind + object.apiVersion"), "string");
        assert_eq!(pod("object.spec.nope"), "undefined field 'nope'");
        assert_eq!(pod("object.spec.containers[0].livenessProbe.httpGet.port"), "dyn", "a number or a text");
        assert_eq!(pod("object.spec.containers[0].resources.limits"), "undefined field 'limits'");
        assert_eq!(checked("core/v1.Secret", "object.data"), "map(string, bytes)");
        assert_eq!(checked("core/v1.Service", "object.spec.ports[0].targetPort"), "dyn");
        assert_eq!(
            checked("apps/v1.Deployment", "object.spec.replicas > '1'"),
            "found no matching overload for '_>_' applied to '(int, string)'"
        );
        assert_eq!(
            checked("apps/v1.Deployment", "object.spec.template.spec.containers.all(c, c.image != '')"),
            "bool"
        );
    }

    #[test]
    fn a_type_within_itself_has_no_fields() {
        let definition = |text: &str| checked("apiextensions/v1.CustomResourceDefinition", text);
        let schema = "object.spec.versions[0].schema.openAPIV3Schema";
        assert_eq!(definition(&format!("{schema}.type")), "string");
        assert_eq!(
            definition(&format!("{schema}.properties['a']")),
            "Kind1.spec.versions.@idx.schema.openAPIV3Schema.properties.@elem"
        );
        assert_eq!(definition(&format!("{schema}.properties['a'].type")), "undefined field 'type'");
        assert_eq!(definition(&format!("{schema}.default")), "undefined field 'default'");
    }
}
