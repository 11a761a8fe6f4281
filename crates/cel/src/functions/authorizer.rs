//! Whether somebody may do something, asked from an expression: `authorizer.group('').resource('pods').check('get').allowed()`.

use std::fmt;
use std::sync::Arc;

use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use super::Declared;
use crate::evaluate::{Call, Failure, Outcome};
use crate::types::Type;
use crate::value::{Other, Val, opaque};

/// Answers what expressions ask about permissions. It is called while an expression is evaluated.
pub trait Authorizer: fmt::Debug + Send + Sync {
    fn check(&self, check: &Check) -> Decision;
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Namespace and name of the service account that is asked about; else it is whoever made the request.
    pub service_account: Option<(String, String)>,
    pub verb: String,
    pub what: Checked,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    Path(String),
    Resource(ResourceCheck),
}

/// A resource, perhaps a certain one. Its version is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceCheck {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    /// As written; it may not be a selector.
    pub field_selector: String,
    /// As written; it may not be a selector.
    pub label_selector: String,
}

/// An answer.
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

/// The value of a variable of type [`Type::RESOURCE_CHECK`]: the authorizer, about the resource of a request.
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

/// Values that expressions cannot look at are shown by their type.
macro_rules! shown {
    ($($name:ty => $shown:literal;)*) => {
        $(
            opaque!($name, Type::Named($shown));

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str($shown)
                }
            }
        )*
    };
}

shown! {
    Subject => "kubernetes.authorization.Authorizer";
    Path => "kubernetes.authorization.PathCheck";
    Group => "kubernetes.authorization.GroupCheck";
    Resource => "kubernetes.authorization.ResourceCheck";
    Decision => "kubernetes.authorization.Decision";
}

impl Type {
    /// Of the variable `authorizer`.
    pub const AUTHORIZER: Type = Type::Named("kubernetes.authorization.Authorizer");
    /// Of the variable `authorizer.requestResource`.
    pub const RESOURCE_CHECK: Type = Type::Named("kubernetes.authorization.ResourceCheck");
}

/// A function that sets a part of a resource check.
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

/// A function that tells something about a decision.
macro_rules! told {
    ($name:literal, $id:literal, $result:literal, $told:expr) => {
        Declared {
            name: $name,
            overloads: &[($id, concat!(".kubernetes.authorization.Decision -> ", $result))],
            run: |call, args| match args {
                [Val::Other(other)] if let Some(decision) = other.downcast::<Decision>() => {
                    let told: fn(&Decision) -> Val<'static> = $told;
                    Ok(told(decision))
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
    told!("errored", "decision_errored", "bool", |decision| Val::Bool(decision.error.is_some())),
    told!("error", "decision_error", "string", |decision| Val::string(
        decision.error.clone().unwrap_or_default()
    )),
    told!("allowed", "decision_allowed", "bool", |decision| Val::Bool(decision.allowed)),
    told!("reason", "decision_reason", "string", |decision| Val::string(decision.reason.clone())),
];

/// A function of one of these values and a text.
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
