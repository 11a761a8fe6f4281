//! SubjectAccessReview, LocalSubjectAccessReview and SelfSubjectAccessReview.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{Attributes, Authorizer, Decision, User};
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Status, Value};
use pintle_registry::{Admission, Context, Result, Subresource, WriteOptions};
use pintle_schema::go;
use serde::Deserialize;
use serde_json::json;

use super::selectors::{FieldSelector, LabelSelector};
use crate::framework::review::{decoded, part, requesting_user};

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
    extra: BTreeMap<String, Vec<String>>,
    uid: String,
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
        let errors = self.validate(&object, &spec);
        if !errors.is_empty() {
            // The reference has forgotten by now which kind it is.
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

    fn validate(&self, object: &Value, spec: &Spec) -> Vec<Error> {
        let path = Path::new("spec");
        let mut errors = Vec::new();
        let non_resource = object.at(&["spec", "nonResourceAttributes"]).unwrap_or(&Value::NULL);
        let shown = || go::printed("*authorization.NonResourceAttributes", non_resource);
        match (&spec.resource_attributes, &spec.non_resource_attributes) {
            (Some(_), Some(_)) => {
                let why = "cannot be specified in combination with resourceAttributes";
                errors.push(Error::invalid(&path.child("nonResourceAttributes"), shown(), why));
            }
            (None, None) => {
                let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
                errors.push(Error::invalid(&path.child("resourceAttributes"), shown(), why));
            }
            _ => {}
        }
        if self.kind != Kind::SelfSubject && spec.user.is_empty() && spec.groups.is_empty() {
            let why = "at least one of user or group must be specified";
            errors.push(Error::invalid(&path.child("user"), "", why));
        }
        if let Some(resource) = &spec.resource_attributes {
            let path = Path::new("spec.resourceAttributes");
            if let Some(selector) = &resource.field_selector {
                errors.extend(selector.validate(&path.child("fieldSelector")));
            }
            if let Some(selector) = &resource.label_selector {
                errors.extend(selector.validate(&path.child("labelSelector")));
            }
        }
        errors.extend(self.validate_metadata(object));
        if self.kind == Kind::LocalSubject {
            let resource = spec.resource_attributes.as_ref();
            if let Some(resource) = resource.filter(|resource| resource.namespace != object.namespace()) {
                let path = Path::new("spec.resourceAttributes.namespace");
                errors.push(Error::invalid(&path, &resource.namespace, "must match metadata.namespace"));
            }
            if spec.non_resource_attributes.is_some() {
                let path = Path::new("spec.nonResourceAttributes");
                errors.push(Error::invalid(&path, shown(), "disallowed on this kind of request"));
            }
        }
        errors
    }

    /// Checks that the metadata are empty, but for a namespace where the review is of one.
    fn validate_metadata(&self, object: &Value) -> Option<Error> {
        let local = self.kind == Kind::LocalSubject;
        let counts = |key: &str| key != "managedFields" && !(local && key == "namespace");
        let metadata = object.metadata()?;
        let why = if local { "must be empty except for namespace" } else { "must be empty" };
        metadata.keys().any(counts).then(|| {
            let shown = go::printed("meta/v1.ObjectMeta", &Value::object(metadata.clone()));
            Error::invalid(&Path::new("metadata"), shown, why)
        })
    }
}

fn ignored(selector: &str, wholly: bool) -> String {
    let how = if wholly { "" } else { "partially " };
    format!("spec.resourceAttributes.{selector} {how}ignored due to parse error")
}
