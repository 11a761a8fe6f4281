//! Authorization checks from expressions: `authorizer.group('').resource('pods').check('get').allowed()`.

use std::fmt;
use std::sync::Arc;

use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::types::Type;
use crate::value::{Other, Val, opaque};

/// Decides the authorization checks of expressions. It is called during evaluation.
pub trait Authorizer: fmt::Debug + Send + Sync {
    fn check(&self, check: &Check) -> Decision;
}

/// One authorization check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Namespace and name of the service account to check; `None` for the user of the request.
    pub service_account: Option<(String, String)>,
    pub verb: String,
    pub what: Checked,
}

/// Subject matter of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    Path(String),
    Resource(ResourceCheck),
}

/// Attributes of a resource; the version is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceCheck {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    /// Unparsed; may be invalid.
    pub field_selector: String,
    /// Unparsed; may be invalid.
    pub label_selector: String,
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: String,
    pub error: Option<String>,
}

/// The value of a variable of type [`Type::AUTHORIZER`].
pub fn authorizer(authorizer: Arc<dyn Authorizer>) -> Val<'static> {
    Val::Other(Other::new(Subject { authorizer, service_account: None }))
}

/// The value of a variable of type [`Type::RESOURCE_CHECK`]: an authorizer for the resource of the request.
pub fn resource_check(authorizer: Arc<dyn Authorizer>, resource: ResourceCheck) -> Val<'static> {
    Val::Other(Other::new(Resource { subject: Subject { authorizer, service_account: None }, resource }))
}

#[derive(Clone, Debug)]
struct Subject {
    authorizer: Arc<dyn Authorizer>,
    service_account: Option<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Path {
    subject: Subject,
    path: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Group {
    subject: Subject,
    group: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Resource {
    subject: Subject,
    resource: ResourceCheck,
}

impl PartialEq for Subject {
    fn eq(&self, other: &Subject) -> bool {
        Arc::ptr_eq(&self.authorizer, &other.authorizer) && self.service_account == other.service_account
    }
}

/// Displays values without a literal form by their type's name.
macro_rules! display_type_name {
    ($($name:ty => $display_type_name:literal;)*) => {
        $(
            opaque!($name, Type::Named($display_type_name));

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str($display_type_name)
                }
            }
        )*
    };
}

display_type_name! {
    Subject => "kubernetes.authorization.Authorizer";
    Path => "kubernetes.authorization.PathCheck";
    Group => "kubernetes.authorization.GroupCheck";
    Resource => "kubernetes.authorization.ResourceCheck";
    Decision => "kubernetes.authorization.Decision";
}

impl Type {
    /// Type of the variable `authorizer`.
    pub const AUTHORIZER: Type = Type::Named("kubernetes.authorization.Authorizer");
    /// Type of the variable `authorizer.requestResource`.
    pub const RESOURCE_CHECK: Type = Type::Named("kubernetes.authorization.ResourceCheck");
}

/// Function that sets an attribute of a resource check.
macro_rules! part {
    ($name:literal, $id:literal, $field:ident) => {
        Declared {
            name: $name,
            overloads: &[(
                $id,
                ".kubernetes.authorization.ResourceCheck, string -> kubernetes.authorization.ResourceCheck",
            )],
            run: |call, args| {
                with::<Resource>(call, args, |resource, text| {
                    let mut resource = resource.clone();
                    text.clone_into(&mut resource.resource.$field);
                    Ok(Val::Other(Other::new(resource)))
                })
            },
        }
    };
}

/// Function that returns a property of a decision.
macro_rules! decision_property {
    ($name:literal, $id:literal, $result:literal, $decision_property:expr) => {
        Declared {
            name: $name,
            overloads: &[($id, concat!(".kubernetes.authorization.Decision -> ", $result))],
            run: |call, args| match args {
                [Val::Other(other)] if let Some(decision) = other.downcast::<Decision>() => {
                    let decision_property: fn(&Decision) -> Val<'static> = $decision_property;
                    Ok(decision_property(decision))
                }
                _ => call.no_such_overload(args),
            },
        }
    };
}

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "path",
        overloads: &[(
            "authorizer_path",
            ".kubernetes.authorization.Authorizer, string -> kubernetes.authorization.PathCheck",
        )],
        run: |call, args| {
            with::<Subject>(call, args, |subject, path| {
                if path.trim().is_empty() {
                    return Failure::error("path must not be empty");
                }
                Ok(Val::Other(Other::new(Path { subject: subject.clone(), path: path.to_owned() })))
            })
        },
    },
    Declared {
        name: "group",
        overloads: &[(
            "authorizer_group",
            ".kubernetes.authorization.Authorizer, string -> kubernetes.authorization.GroupCheck",
        )],
        run: |call, args| {
            with::<Subject>(call, args, |subject, group| {
                Ok(Val::Other(Other::new(Group { subject: subject.clone(), group: group.to_owned() })))
            })
        },
    },
    Declared {
        name: "serviceAccount",
        overloads: &[(
            "authorizer_serviceaccount",
            ".kubernetes.authorization.Authorizer, string, string -> kubernetes.authorization.Authorizer",
        )],
        run: service_account,
    },
    Declared {
        name: "resource",
        overloads: &[(
            "groupcheck_resource",
            ".kubernetes.authorization.GroupCheck, string -> kubernetes.authorization.ResourceCheck",
        )],
        run: |call, args| {
            with::<Group>(call, args, |group, resource| {
                if resource.trim().is_empty() {
                    return Failure::error("resource must not be empty");
                }
                let resource = ResourceCheck {
                    group: group.group.clone(),
                    resource: resource.to_owned(),
                    ..ResourceCheck::default()
                };
                Ok(Val::Other(Other::new(Resource { subject: group.subject.clone(), resource })))
            })
        },
    },
    part!("subresource", "resourcecheck_subresource", subresource),
    part!("namespace", "resourcecheck_namespace", namespace),
    part!("name", "resourcecheck_name", name),
    part!("fieldSelector", "authorizer_fieldselector", field_selector),
    part!("labelSelector", "authorizer_labelselector", label_selector),
    Declared {
        name: "check",
        overloads: &[
            (
                "pathcheck_check",
                ".kubernetes.authorization.PathCheck, string -> kubernetes.authorization.Decision",
            ),
            (
                "resourcecheck_check",
                ".kubernetes.authorization.ResourceCheck, string -> kubernetes.authorization.Decision",
            ),
        ],
        run: check,
    },
    decision_property!("errored", "decision_errored", "bool", |decision| Val::Bool(decision.error.is_some())),
    decision_property!("error", "decision_error", "string", |decision| Val::string(
        decision.error.clone().unwrap_or_default()
    )),
    decision_property!("allowed", "decision_allowed", "bool", |decision| Val::Bool(decision.allowed)),
    decision_property!("reason", "decision_reason", "string", |decision| Val::string(
        decision.reason.clone()
    )),
];

/// Calls a function of one of these types with a string argument.
fn with<'v, T: 'static>(
    call: &mut Call<'_, '_>,
    args: &[Val<'v>],
    then: fn(&T, &str) -> Result<Val<'static>, Failure>,
) -> Outcome<'v> {
    match args {
        [Val::Other(other), Val::String(text)] if let Some(value) = other.downcast::<T>() => {
            then(value, text)
        }
        _ => call.no_such_overload(args),
    }
}

fn service_account<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::Other(other), Val::String(namespace), Val::String(name)] = args else {
        return call.no_such_overload(args);
    };
    let Some(subject) = other.downcast::<Subject>() else { return call.no_such_overload(args) };
    if !dns1123_subdomain(name).is_empty() {
        return Failure::error("Invalid service account name");
    }
    if !dns1123_label(namespace).is_empty() {
        return Failure::error("Invalid service account namespace");
    }
    let service_account = Some((namespace.to_string(), name.to_string()));
    Ok(Val::Other(Other::new(Subject { authorizer: Arc::clone(&subject.authorizer), service_account })))
}

fn check<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::Other(other), Val::String(verb)] = args else { return call.no_such_overload(args) };
    let (subject, what) = if let Some(path) = other.downcast::<Path>() {
        (&path.subject, Checked::Path(path.path.clone()))
    } else if let Some(resource) = other.downcast::<Resource>() {
        (&resource.subject, Checked::Resource(resource.resource.clone()))
    } else {
        return call.no_such_overload(args);
    };
    let service_account = subject.service_account.clone();
    let decision = subject.authorizer.check(&Check { service_account, verb: verb.to_string(), what });
    Ok(Val::Other(Other::new(decision)))
}
