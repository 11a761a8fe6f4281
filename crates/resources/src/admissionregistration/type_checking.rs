//! Type checking of ValidatingAdmissionPolicies: their expressions against the types of the kinds that they match.
//!
//! Requests are evaluated without types, so an expression that cannot work is found by the first request that needs it. The
//! warnings in a policy's status say so before.

use pintle_cel::{Environment, Field, ObjectType, PolicyVariables, Type, typed_admission, variable_type};
use pintle_definitions::rules::ResourceType;
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_schema::structural::Structural;

use super::builtin_types::builtin_type;

/// Kinds that are checked for one rule.
const MOST_KINDS: usize = 10;

/// The type of a kind, for the checker and for its messages.
#[derive(Clone)]
pub struct KindType {
    of: Type,
    custom: Option<ResourceType>,
    name: String,
}

impl KindType {
    /// Returns the type of a built-in kind. `number` makes the name of the type unique, so that no expression can rely on it.
    pub fn builtin(kind: &'static pintle_schema::Type, number: u64) -> KindType {
        let name = format!("{}{number}", kind.kind_name());
        KindType { of: builtin_type(kind, &name).unwrap_or(Type::Dyn), custom: None, name }
    }

    /// Returns the type of a custom kind; unknown if its schema gives no type. The metadata is that of every object, whatever
    /// the schema says.
    pub fn custom(schema: &Structural, kind: &str, number: u64) -> KindType {
        let name = format!("{kind}{number}");
        let custom = ResourceType::of(schema);
        let metadata = pintle_schema::find("meta/v1.ObjectMeta")
            .and_then(|metadata| builtin_type(metadata, &format!("{name}.metadata")));
        let of = match (custom.as_ref().map(ResourceType::declared), metadata) {
            (Some(Type::Object(own)), Some(metadata)) => Type::object(WithMetadata { own, metadata }),
            (of, _) => of.unwrap_or(Type::Dyn),
        };
        KindType { of, custom, name }
    }

    fn named(&self, message: &str) -> String {
        self.custom.as_ref().map_or_else(|| message.to_owned(), |custom| custom.named(message, &self.name))
    }
}

/// A custom object with the metadata of every object.
#[derive(Debug)]
struct WithMetadata {
    own: std::sync::Arc<dyn ObjectType>,
    metadata: Type,
}

impl ObjectType for WithMetadata {
    fn name(&self) -> &str {
        self.own.name()
    }

    fn field(&self, name: &str) -> Option<Field> {
        if name == "metadata" {
            return Some(Field { property: "metadata".into(), of: self.metadata.clone() });
        }
        self.own.field(name)
    }
}

/// The kinds that a policy is checked against.
#[derive(Default)]
pub struct CheckedKinds {
    /// In the order of group, version and kind.
    pub objects: Vec<(GroupVersionKind, KindType)>,
    /// `paramKind`, if the policy has one; without a type if that is not known.
    pub params: Option<Option<KindType>>,
}

/// A warning of the checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionWarning {
    /// `spec.validations[0].expression`.
    pub field: String,
    pub warning: String,
}

/// A resource that the rules of a policy name: group, version and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedResource {
    pub group: String,
    pub version: String,
    pub resource: String,
}

/// Finds the kinds that a policy is checked against. `kinds` returns those of a resource. Rules with wildcards name none; a rule
/// with more than a few ends the search.
pub fn kinds_to_check(
    policy: &Value,
    kinds: impl Fn(&NamedResource) -> Vec<GroupVersionKind>,
) -> Vec<GroupVersionKind> {
    let mut found: Vec<GroupVersionKind> = Vec::new();
    'rules: for rule in policy.items_at(&["spec", "matchConstraints", "resourceRules"]) {
        let (Some(groups), Some(versions)) = (exact(rule, "apiGroups"), exact(rule, "apiVersions")) else {
            continue;
        };
        let resources = rule.items_at(&["resources"]).iter().filter_map(Value::as_str);
        let mut resources: Vec<&str> = resources.filter(|name| !name.contains(['*', '/'])).collect();
        resources.sort_unstable();
        let mut count = 0;
        for group in &groups {
            for version in &versions {
                for resource in &resources {
                    let resource = NamedResource {
                        group: (*group).to_owned(),
                        version: (*version).to_owned(),
                        resource: (*resource).to_owned(),
                    };
                    for kind in kinds(&resource) {
                        if !found.contains(&kind) {
                            found.push(kind);
                        }
                        count += 1;
                        if count == MOST_KINDS {
                            break 'rules;
                        }
                    }
                }
            }
        }
    }
    found.sort_unstable_by(|a, b| (&a.group, &a.version, &a.kind).cmp(&(&b.group, &b.version, &b.kind)));
    found
}

/// Returns the names of a field, sorted; `None` if one of them is a wildcard.
fn exact<'r>(rule: &'r Value, field: &str) -> Option<Vec<&'r str>> {
    let mut names: Vec<&str> = rule.items_at(&[field]).iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    (!names.iter().any(|name| name.contains('*'))).then_some(names)
}

/// Checks the validations of a policy and their messages against each kind.
pub fn type_warnings(policy: &Value, kinds: &CheckedKinds) -> Vec<ExpressionWarning> {
    let environments: Vec<_> = kinds
        .objects
        .iter()
        .map(|(kind, of)| (kind, of, environment(policy, of, kinds.params.as_ref())))
        .collect();
    let mut warnings = Vec::new();
    for (index, validation) in policy.items_at(&["spec", "validations"]).iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let text = validation.text_at(&[field]);
            if text.is_empty() && field == "messageExpression" {
                continue;
            }
            let issues = environments.iter().filter_map(|(kind, of, environment)| {
                let error = environment.check(text).err()?;
                let mut message = of.named(&error.to_string());
                if let Some(Some(params)) = &kinds.params {
                    message = params.named(&message);
                }
                let GroupVersionKind { group, version, kind } = kind;
                Some(format!("{group}/{version}, Kind={kind}: {message}\n"))
            });
            let issues: Vec<String> = issues.collect();
            if !issues.is_empty() {
                let field = format!("spec.validations[{index}].{field}");
                warnings.push(ExpressionWarning { field, warning: issues.join("\n") });
            }
        }
    }
    warnings
}

/// Returns the environment of expressions about one kind, with the variables of the policy.
fn environment(policy: &Value, of: &KindType, params: Option<&Option<KindType>>) -> Environment {
    let params = params.map(|params| params.as_ref().map_or(Type::Dyn, |params| params.of.clone()));
    let mut variables = PolicyVariables::new();
    for variable in policy.items_at(&["spec", "variables"]) {
        let environment = Environment::new(typed_admission(&of.of, params.as_ref(), &variables));
        let checked = environment.check(variable.text_at(&["expression"]));
        // The error of a variable is not reported; the variable is of any type then.
        let result = checked.ok().map(|expression| expression.result_type());
        variables.declare(variable.text_at(&["name"]), variable_type(result.as_ref()));
    }
    Environment::new(typed_admission(&of.of, params.as_ref(), &variables))
}

#[cfg(test)]
#[path = "type_checking_tests.rs"]
mod tests;
