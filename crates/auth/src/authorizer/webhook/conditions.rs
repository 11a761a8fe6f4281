//! Which questions a webhook is asked: expressions over `request`, the `spec` of a SubjectAccessReview.

use pintle_cel::{Declarations, Field, ObjectType, Type, Val};
use pintle_meta::{Object, Value, field_path};

use super::MatchConditions;
use super::spec::{Requirements, Spec};
use crate::expression::Expression;

/// All must hold. One that does not is enough to pass the webhook over, whatever fails besides.
pub struct Conditions {
    expressions: Vec<Expression>,
    /// Whether selectors are looked at, since making them into values costs something.
    selectors: bool,
}

impl Conditions {
    /// Compiles expressions; the error says what is wrong with the first that cannot be.
    pub fn new(texts: &[&str]) -> Result<Conditions, String> {
        let declarations = Declarations::new().variable("request", Type::object(Request));
        let compile = |text: &&str| {
            let expression = Expression::compile(declarations.clone(), text)?;
            match expression.result_type() {
                Type::Bool => Ok(expression),
                other => Err(format!("must evaluate to bool but got {other}")),
            }
        };
        // By its name alone, wherever it is: too often costs only time.
        let selectors = texts.iter().any(|text| text.contains("Selector"));
        Ok(Conditions { expressions: texts.iter().map(compile).collect::<Result<_, _>>()?, selectors })
    }
}

impl MatchConditions for Conditions {
    fn matches(&self, spec: &Spec<'_>) -> Result<bool, String> {
        let request = value(spec, self.selectors);
        let mut errors = Vec::new();
        for expression in &self.expressions {
            let is_bool = |value: Val<'_>| {
                let text = &expression.text;
                value.as_bool().ok_or_else(|| format!("expression '{text}' eval result type should be bool"))
            };
            match expression.evaluate("request", &request, is_bool) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => errors.push(format!("cel evaluation error: {error}")),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            errors => Err(field_path::aggregate(errors)),
        }
    }
}

/// Every text is there, also where it is empty.
fn value(spec: &Spec<'_>, selectors: bool) -> Value {
    let texts = |all: &[String]| Value::list(all.iter().map(Value::string).collect());
    let extra: Object = spec.extra.iter().map(|(key, values)| (key.as_str(), texts(values))).collect();
    let mut request = Object::from_iter([
        ("user", Value::string(spec.user)),
        ("groups", texts(spec.groups)),
        ("uid", Value::string(spec.uid)),
        ("extra", Value::object(extra)),
    ]);
    if let Some(resource) = &spec.resource_attributes {
        let mut attributes = Object::from_iter([
            ("namespace", resource.namespace),
            ("verb", resource.verb),
            ("group", resource.group),
            ("version", resource.version),
            ("resource", resource.resource),
            ("subresource", resource.subresource),
            ("name", resource.name),
        ]);
        if selectors {
            for (name, all) in
                [("fieldSelector", &resource.field_selector), ("labelSelector", &resource.label_selector)]
            {
                if !all.requirements.is_empty() {
                    attributes.insert(name, requirements(all));
                }
            }
        }
        request.insert("resourceAttributes", Value::object(attributes));
    }
    if let Some(path) = &spec.non_resource_attributes {
        let attributes = Object::from_iter([("path", path.path), ("verb", path.verb)]);
        request.insert("nonResourceAttributes", Value::object(attributes));
    }
    Value::object(request)
}

fn requirements(all: &Requirements<'_>) -> Value {
    let one = |requirement: &super::spec::Requirement<'_>| {
        let values = requirement.values.iter().map(Value::string).collect();
        Value::object(Object::from_iter([
            ("key", Value::string(requirement.key)),
            ("operator", Value::string(requirement.operator)),
            ("values", Value::list(values)),
        ]))
    };
    let list = Value::list(all.requirements.iter().map(one).collect());
    Value::object(Object::from_iter([("requirements", list)]))
}

/// An object with fields that a function computes.
macro_rules! object {
    ($type:ident, $name:literal, { $($field:literal)|+ => $of:expr $(, $($more:literal)|+ => $and:expr)* $(,)? }) => {
        #[derive(Debug)]
        struct $type;

        impl ObjectType for $type {
            fn name(&self) -> &str {
                $name
            }

            fn field(&self, name: &str) -> Option<Field> {
                let of = match name {
                    $($field)|+ => $of,
                    $($($more)|+ => $and,)*
                    _ => return None,
                };
                Some(Field { property: name.into(), of })
            }
        }
    };
}

object!(Request, "kubernetes.SubjectAccessReviewSpec", {
    "user" | "uid" => Type::String,
    "groups" => Type::list(Type::String),
    "extra" => Type::map(Type::String, Type::list(Type::String)),
    "resourceAttributes" => Type::object(ResourceAttributes),
    "nonResourceAttributes" => Type::object(NonResourceAttributes),
});
object!(ResourceAttributes, "kubernetes.ResourceAttributes", {
    "namespace" | "verb" | "group" | "version" | "resource" | "subresource" | "name" => Type::String,
    "fieldSelector" => Type::object(FieldSelector),
    "labelSelector" => Type::object(LabelSelector),
});
object!(NonResourceAttributes, "kubernetes.NonResourceAttributes", { "path" | "verb" => Type::String });
object!(FieldSelector, "kubernetes.FieldSelectorAttributes", {
    "rawSelector" => Type::String,
    "requirements" => Type::list(Type::object(SelectorRequirement)),
});
object!(LabelSelector, "kubernetes.LabelSelectorAttributes", {
    "rawSelector" => Type::String,
    "requirements" => Type::list(Type::object(SelectorRequirement)),
});
object!(SelectorRequirement, "kubernetes.SelectorRequirement", {
    "key" | "operator" => Type::String,
    "values" => Type::list(Type::String),
});

#[cfg(test)]
mod tests {
    use pintle_meta::selector::label;

    use super::*;
    use crate::User;
    use crate::authorizer::{Attributes, Selector};

    fn matches(texts: &[&str]) -> Result<bool, String> {
        let user = User { name: "ann".into(), groups: vec!["devs".into()], ..User::default() };
        let labels = label::Selector::parse("a=b").unwrap();
        let attributes = Attributes {
            namespace: "ns",
            label_selector: Selector::Requirements(labels.requirements().unwrap()),
            ..Attributes::of_resource(&user, "get", "", "pods")
        };
        Conditions::new(texts).unwrap().matches(&Spec::new(&attributes, true))
    }

    #[test]
    fn all_must_hold() {
        assert_eq!(matches(&["request.user == 'ann'", "'devs' in request.groups"]), Ok(true));
        assert_eq!(
            matches(&["has(request.resourceAttributes)", "request.resourceAttributes.namespace != 'ns'"]),
            Ok(false)
        );
        assert_eq!(matches(&["request.resourceAttributes.name == ''"]), Ok(true), "what is empty is there");
        let selector = "request.resourceAttributes.labelSelector.requirements.exists(r, r.key == 'a' && 'b' in r.values)";
        assert_eq!(matches(&[selector]), Ok(true));
        assert_eq!(matches(&["has(request.resourceAttributes.fieldSelector)"]), Ok(false));
    }

    #[test]
    fn one_that_fails_counts_unless_another_does_not_hold() {
        let failing = "request.nonResourceAttributes.path == '/'";
        let error = matches(&[failing]).unwrap_err();
        assert!(
            error.starts_with(&format!("cel evaluation error: expression '{failing}' resulted in error: ")),
            "{error}"
        );
        assert_eq!(matches(&[failing, "request.user == 'bob'"]), Ok(false));
    }
}
