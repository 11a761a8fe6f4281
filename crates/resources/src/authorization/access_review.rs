//! SubjectAccessReview, LocalSubjectAccessReview and SelfSubjectAccessReview.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{Attributes, Authorizer, Decision, User};
use pintle_meta::{Status, Value};
use pintle_registry::{Admission, Context, Result, Subresource, WriteOptions};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::selectors::{FieldSelector, LabelSelector};
use super::validation;
use crate::framework::review::{decoded, part, requesting_user};
use crate::framework::validation::{Cursor, Errors};

/// The kind of an access review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SubjectAccessReview: access of any user.
    Subject,
    /// LocalSubjectAccessReview: access of any user in the namespace of the request.
    LocalSubject,
    /// SelfSubjectAccessReview: access of the caller.
    SelfSubject,
}

/// Answers by asking the authorizers of the server.
pub struct AccessReview {
    pub authorizer: Arc<dyn Authorizer>,
    pub kind: Kind,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    resource_attributes: Option<Resource>,
    non_resource_attributes: Option<NonResource>,
    user: String,
    groups: Vec<String>,
    #[serde(deserialize_with = "without_nulls")]
    extra: Extra,
    uid: String,
}

type Extra = BTreeMap<String, Vec<String>>;

/// Reads a map of lists, of which a null is an empty one.
fn without_nulls<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Extra, D::Error> {
    let read: Option<BTreeMap<String, Option<Vec<String>>>> = Deserialize::deserialize(from)?;
    let entries = read.unwrap_or_default().into_iter();
    Ok(entries.map(|(key, values)| (key, values.unwrap_or_default())).collect())
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Resource {
    namespace: String,
    verb: String,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    name: String,
    field_selector: Option<FieldSelector>,
    label_selector: Option<LabelSelector>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NonResource {
    path: String,
    verb: String,
}

#[async_trait]
impl Subresource for AccessReview {
    async fn create(
        &self,
        context: &mut Context,
        _: &str,
        mut object: Value,
        admission: &dyn Admission,
        _: WriteOptions,
    ) -> Result<Option<Value>> {
        let spec: Spec = part(&object, "spec")?;
        let errors = Errors::default();
        validation::validate(&Cursor::root(&object, None, &errors), self.kind);
        let errors = errors.into_vec();
        if !errors.is_empty() {
            // As in the reference, whose error has no kind.
            return Err(Box::new(Status::invalid("authorization.k8s.io", "", "", &errors)));
        }
        if self.kind == Kind::LocalSubject && context.namespace != object.namespace() {
            let why =
                format!("spec.resourceAttributes.namespace must match namespace: {}", context.namespace);
            return Err(Box::new(Status::bad_request(why)));
        }
        admission.create(&object).await?;
        let user = match self.kind {
            Kind::SelfSubject => requesting_user(context),
            _ => User {
                name: spec.user.clone(),
                uid: spec.uid.clone(),
                groups: spec.groups.clone(),
                extra: spec.extra.clone(),
            },
        };
        let status = self.status(&user, &spec).await;
        if let Some(object) = object.as_object_mut() {
            object.insert("status", decoded("authorization/v1.SubjectAccessReviewStatus", &status)?);
        }
        Ok(Some(object))
    }
}

impl AccessReview {
    async fn status(&self, user: &User, spec: &Spec) -> serde_json::Value {
        let none = Resource::default();
        let resource = spec.resource_attributes.as_ref().unwrap_or(&none);
        let fields = resource.field_selector.as_ref().map(FieldSelector::parsed);
        let labels = resource.label_selector.as_ref().map(LabelSelector::parsed);
        let attributes = match &spec.non_resource_attributes {
            Some(path) => Attributes::of_path(user, &path.verb, &path.path),
            None => Attributes {
                namespace: &resource.namespace,
                version: if resource.version.is_empty() { "*" } else { &resource.version },
                subresource: &resource.subresource,
                name: &resource.name,
                field_selector: super::selectors::for_authorizer(fields.as_ref()),
                label_selector: super::selectors::for_authorizer(labels.as_ref()),
                ..Attributes::of_resource(user, &resource.verb, &resource.group, &resource.resource)
            },
        };
        let verdict = self.authorizer.authorize(&attributes).await;
        let mut errors: Vec<String> = verdict.error.into_iter().collect();
        let (fields, labels) = (attributes.field_selector, attributes.label_selector);
        errors.extend(fields.error().map(|_| ignored("fieldSelector", fields.requirements().is_empty())));
        errors.extend(labels.error().map(|_| ignored("labelSelector", labels.requirements().is_empty())));
        json!({
            "allowed": verdict.decision == Decision::Allow,
            "denied": verdict.decision == Decision::Deny,
            "reason": verdict.reason.as_str(),
            "evaluationError": errors.join("; "),
        })
    }
}

fn ignored(selector: &str, wholly: bool) -> String {
    let how = if wholly { "" } else { "partially " };
    format!("spec.resourceAttributes.{selector} {how}ignored due to parse error")
}
