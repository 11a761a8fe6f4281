//! The `spec` of a SubjectAccessReview.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use pintle_meta::selector::{field, label};
use serde::Serialize;

use super::{GROUP, KIND};
use crate::authorizer::Attributes;
use crate::review::Version;

/// Fields in the order of the reference's type.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_attributes: Option<ResourceAttributes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub non_resource_attributes: Option<NonResourceAttributes<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub user: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub uid: &'a str,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAttributes<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub verb: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub subresource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: &'a str,
    #[serde(skip_serializing_if = "Requirements::is_empty")]
    pub field_selector: Requirements<'a>,
    #[serde(skip_serializing_if = "Requirements::is_empty")]
    pub label_selector: Requirements<'a>,
}

#[derive(Clone, Serialize)]
pub struct NonResourceAttributes<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub path: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub verb: &'a str,
}

/// A selector, as far as the review can say it. What it cannot say is left out: it would only narrow it down.
#[derive(Clone, Default, Serialize)]
pub struct Requirements<'a> {
    pub requirements: Vec<Requirement<'a>>,
}

#[derive(Clone, Serialize)]
pub struct Requirement<'a> {
    pub key: &'a str,
    pub operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<&'a str>,
}

impl Requirements<'_> {
    fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl<'a> Spec<'a> {
    pub fn new(attributes: &Attributes<'a>, selectors: bool) -> Spec<'a> {
        let user = attributes.user;
        let resource = attributes.is_resource.then(|| ResourceAttributes {
            namespace: attributes.namespace,
            verb: attributes.verb,
            group: attributes.group,
            version: attributes.version,
            resource: attributes.resource,
            subresource: attributes.subresource,
            name: attributes.name,
            field_selector: if selectors {
                fields(attributes.field_selector.requirements())
            } else {
                Requirements::default()
            },
            label_selector: if selectors {
                labels(attributes.label_selector.requirements())
            } else {
                Requirements::default()
            },
        });
        let path = (!attributes.is_resource)
            .then_some(NonResourceAttributes { path: attributes.path, verb: attributes.verb });
        Spec {
            resource_attributes: resource,
            non_resource_attributes: path,
            user: &user.name,
            groups: &user.groups,
            extra: &user.extra,
            uid: &user.uid,
        }
    }

    /// Stands for everything that is asked. A digest, since users may be long.
    pub(super) fn key(&self) -> serde_json::Result<[u8; 32]> {
        let digest = digest::digest(&digest::SHA256, &serde_json::to_vec(self)?);
        let mut key = [0; 32];
        key.copy_from_slice(digest.as_ref());
        Ok(key)
    }

    pub(super) fn review(&self, version: Version) -> serde_json::Result<Vec<u8>> {
        let api_version = format!("{GROUP}/{}", version.name());
        let mut body = match version {
            Version::V1 => serde_json::to_vec(&Review::new(api_version, self))?,
            Version::V1beta1 => serde_json::to_vec(&Review::new(api_version, Beta::from(self)))?,
        };
        body.push(b'\n');
        Ok(body)
    }
}

fn fields(requirements: &[field::Requirement]) -> Requirements<'_> {
    let one = |requirement: &'_ field::Requirement| match requirement.operator {
        field::Operator::Equals => "In",
        field::Operator::NotEquals => "NotIn",
    };
    let requirements = requirements.iter().map(|requirement| Requirement {
        key: &requirement.field,
        operator: one(requirement),
        values: vec![&requirement.value],
    });
    Requirements { requirements: requirements.collect() }
}

fn labels(requirements: &[label::Requirement]) -> Requirements<'_> {
    use label::Operator;
    let requirements = requirements.iter().filter_map(|requirement| {
        let operator = match requirement.operator() {
            Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
            Operator::NotEquals | Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        let values = requirement.values().iter().map(String::as_str).collect();
        Some(Requirement { key: requirement.key(), operator, values })
    });
    Requirements { requirements: requirements.collect() }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<S> {
    kind: &'static str,
    api_version: String,
    metadata: Empty,
    spec: S,
    status: NotAllowed,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct NotAllowed {
    allowed: bool,
}

impl<S> Review<S> {
    fn new(api_version: String, spec: S) -> Review<S> {
        Review { kind: KIND, api_version, metadata: Empty {}, spec, status: NotAllowed { allowed: false } }
    }
}

/// v1beta1 calls the groups `group`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Beta<'s, 'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_attributes: &'s Option<ResourceAttributes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    non_resource_attributes: &'s Option<NonResourceAttributes<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    user: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    group: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
}

impl<'s, 'a> From<&'s Spec<'a>> for Beta<'s, 'a> {
    fn from(spec: &'s Spec<'a>) -> Beta<'s, 'a> {
        Beta {
            resource_attributes: &spec.resource_attributes,
            non_resource_attributes: &spec.non_resource_attributes,
            user: spec.user,
            group: spec.groups,
            extra: spec.extra,
            uid: spec.uid,
        }
    }
}
