//! The `scale` subresource: how many replicas a workload has, the same for every kind of workload.
//!
//! ```text
//! read     parent -> of
//! write    parent -> before_update -> the request's own Scale, its managers recorded -> apply -> parent
//! ```
//!
//! A write changes nothing of the parent but its replicas and their managers. Objects are of the stored versions.

mod subresource;

use pintle_meta::field_path::Error;
use pintle_meta::selector::{LabelSelector, label};
use pintle_meta::validation::object_meta;
use pintle_meta::{Status, Value};
use pintle_patch::fieldset::Element;
use pintle_patch::managed::{Managed, to_parent, to_scale};

use crate::framework::conversion::build;
use crate::framework::strategy::rules::metadata;
use crate::framework::validation::{Cursor, Errors};

/// The version in which clients see a scale.
pub use self::subresource::{Scale, Scaled};

pub const API_VERSION: &str = "autoscaling/v1";

/// A resource that has a scale.
#[derive(Debug, PartialEq, Eq)]
pub struct Parent {
    group: &'static str,
    resource: &'static str,
    /// With the subresource, as messages have it.
    scale: &'static str,
    /// Versions that managed fields may be of. Others have been no version of the kind for long.
    api_versions: &'static [&'static str],
}

const PARENTS: &[Parent] = &[
    Parent {
        group: "",
        resource: "replicationcontrollers",
        scale: "replicationcontrollers/scale",
        api_versions: &["v1"],
    },
    Parent {
        group: "apps",
        resource: "deployments",
        scale: "deployments/scale",
        api_versions: &["apps/v1beta1", "apps/v1beta2", "apps/v1"],
    },
    Parent {
        group: "apps",
        resource: "replicasets",
        scale: "replicasets/scale",
        api_versions: &["apps/v1beta2", "apps/v1"],
    },
    Parent {
        group: "apps",
        resource: "statefulsets",
        scale: "statefulsets/scale",
        api_versions: &["apps/v1beta1", "apps/v1beta2", "apps/v1"],
    },
];

impl Parent {
    /// Of a resource; `None` if it has no scale.
    pub fn find(group: &str, resource: &str) -> Option<&'static Parent> {
        PARENTS.iter().find(|parent| parent.group == group && parent.resource == resource)
    }

    fn replicas_path(&self, api_version: &str) -> Option<Vec<Element>> {
        let known = self.api_versions.contains(&api_version);
        known.then(|| vec![Element::field("spec"), Element::field("replicas")])
    }

    /// The scale of a workload, as clients get it. `BadRequest` if its selector cannot be read.
    pub fn of(&self, parent: &Value) -> Result<Value, Box<Status>> {
        let selector = self.selector(parent).map_err(|why| Box::new(Status::bad_request(why)))?;
        let from_metadata = |field: &str| parent.at(&["metadata", field]).cloned();
        let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
            .map(|field| (field, from_metadata(field)));
        let replicas = |of: &str| parent.at(&[of, "replicas"]).cloned();
        let spec = build("autoscaling/v1.ScaleSpec", [("replicas", replicas("spec"))]);
        let status = [("replicas", replicas("status")), ("selector", Some(selector.into()))];
        let fields = [
            ("kind", Some(Value::literal("Scale"))),
            ("apiVersion", Some(Value::literal(API_VERSION))),
            ("metadata", Some(build("meta/v1.ObjectMeta", metadata))),
            ("spec", Some(spec)),
            ("status", Some(build("autoscaling/v1.ScaleStatus", status))),
        ];
        Ok(build("autoscaling/v1.Scale", fields))
    }

    /// The oldest kind selects by plain labels. No selector reads like an empty one, whatever it selects.
    fn selector(&self, parent: &Value) -> Result<String, String> {
        let given = parent.at(&["spec", "selector"]).filter(|given| !given.is_null());
        let selector = match given {
            None => label::Selector::everything(),
            Some(given) if self.group.is_empty() => {
                let entries = given.as_object().into_iter().flat_map(pintle_meta::Object::iter);
                label::Selector::from_labels(entries.filter_map(|(key, value)| Some((key, value.as_str()?))))
            }
            Some(given) => given.view::<LabelSelector>().map_err(|error| error.to_string())?.selector()?,
        };
        Ok(selector.to_string())
    }

    /// The scale that a write starts from: with the managers of the replicas.
    pub fn before_update(&self, parent: &Value) -> Result<Value, Box<Status>> {
        let mut scale = self.of(parent)?;
        to_scale(&managers(parent)?, |version| self.replicas_path(version)).set(&mut scale);
        Ok(scale)
    }

    /// The workload after a write of its scale, which came through the API of the parent's version `api_version`.
    ///
    /// The resourceVersion is the scale's, so that the store finds out whether it is a current one; empty, it is any.
    ///
    /// Errors: `Invalid`; `Conflict` if the scale is of another object of the same name.
    pub fn apply(&self, parent: &Value, scale: &Value, api_version: &str) -> Result<Value, Box<Status>> {
        let errors = validate(scale);
        if !errors.is_empty() {
            return Err(Box::new(Status::invalid("autoscaling", "Scale", parent.name(), &errors)));
        }
        if !scale.uid().is_empty() && scale.uid() != parent.uid() {
            let why = format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                scale.uid(),
                parent.uid()
            );
            return Err(Box::new(Status::conflict(self.group, self.scale, parent.name(), why)));
        }
        let managers = to_parent(&managers(parent)?, managers(scale)?, api_version, |version| {
            self.replicas_path(version)
        });
        let mut parent = parent.clone();
        let replicas = scale.at(&["spec", "replicas"]).cloned().unwrap_or_else(|| 0.into());
        if let Some(spec) = parent.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("replicas", replicas);
        }
        if let Some(metadata) = parent.metadata_mut() {
            match scale.resource_version() {
                "" => metadata.remove("resourceVersion"),
                version => metadata.insert("resourceVersion", version),
            };
        }
        managers.set(&mut parent);
        Ok(parent)
    }
}

fn managers(object: &Value) -> Result<Managed, Box<Status>> {
    Managed::of(object).map_err(|error| Box::new(Status::internal(error)))
}

fn validate(scale: &Value) -> Vec<Error> {
    let errors = Errors::default();
    let cursor = Cursor::root(scale, None, &errors);
    metadata(&cursor, true, object_meta::subdomain_name);
    cursor.at(&["spec", "replicas"]).non_negative();
    errors.into_vec()
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn tree(of: &str, text: &str) -> Value {
        json::decode(pintle_schema::find(of).unwrap(), text.as_bytes()).unwrap().value
    }

    fn text(value: &Value) -> String {
        let mut out = Vec::new();
        json::encode(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn deployment(spec: &str, managers: &str) -> Value {
        tree(
            "apps/v1.Deployment",
            &format!(
                r#"{{"kind":"Deployment","apiVersion":"apps/v1","metadata":{{"name":"d","namespace":"n","uid":"u",
                    "resourceVersion":"7","generation":2,"labels":{{"l":"m"}},"creationTimestamp":"2026-01-01T00:00:00Z",
                    "managedFields":[{managers}]}},
                    "spec":{{{spec}}},"status":{{"replicas":1}}}}"#
            ),
        )
    }

    fn scale(metadata: &str, replicas: i64) -> Value {
        tree(
            "autoscaling/v1.Scale",
            &format!(
                r#"{{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{{"name":"d","namespace":"n",{metadata}}},
                    "spec":{{"replicas":{replicas}}}}}"#
            ),
        )
    }

    fn deployments() -> &'static Parent {
        Parent::find("apps", "deployments").unwrap()
    }

    #[test]
    fn a_scale_has_the_replicas_and_the_selector() {
        let parent = deployment(
            r#""replicas":3,"selector":{"matchLabels":{"b":"2","a":"1"},
                "matchExpressions":[{"key":"c","operator":"In","values":["y","x"]}]}"#,
            "",
        );
        let metadata = r#""metadata":{"name":"d","namespace":"n","uid":"u","resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:00Z"}"#;
        assert_eq!(
            text(&deployments().of(&parent).unwrap()),
            format!(
                r#"{{"kind":"Scale","apiVersion":"autoscaling/v1",{metadata},"spec":{{"replicas":3}},"status":{{"replicas":1,"selector":"a=1,b=2,c in (x,y)"}}}}"#
            )
        );
        // A zero is left out of the spec and not of the status.
        let idle = deployment(r#""replicas":0,"selector":{}"#, "");
        assert!(
            text(&deployments().of(&idle).unwrap()).ends_with(r#""spec":{},"status":{"replicas":1}}"#),
            "{:?}",
            deployments().of(&idle)
        );
    }

    #[test]
    fn the_oldest_kind_selects_by_plain_labels() {
        let parent = tree(
            "core/v1.ReplicationController",
            r#"{"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"r"},"spec":{"replicas":2,
                "selector":{"b":"2","a":"1"}}}"#,
        );
        let scale = Parent::find("", "replicationcontrollers").unwrap().of(&parent).unwrap();
        assert_eq!(scale.text_at(&["status", "selector"]), "a=1,b=2");
        assert!(Parent::find("", "pods").is_none() && Parent::find("apps", "daemonsets").is_none());
    }

    #[test]
    fn a_selector_that_cannot_be_read_is_a_bad_request() {
        let parent = deployment(r#""selector":{"matchExpressions":[{"key":"c","operator":"Is"}]}"#, "");
        let status = deployments().of(&parent).unwrap_err();
        assert_eq!(status.message, r#""Is" is not a valid label selector operator"#);
        assert_eq!(status.code, 400);
    }

    #[test]
    fn a_write_changes_the_replicas_and_nothing_else() {
        let parent = deployment(r#""replicas":3,"selector":{"matchLabels":{"a":"b"}}"#, "");
        let changed = deployments().apply(&parent, &scale(r#""labels":{"x":"y"}"#, 5), "apps/v1").unwrap();
        let mut expected = parent.clone();
        expected.get_mut("spec").unwrap().as_object_mut().unwrap().insert("replicas", 5);
        // Any revision is meant. No managers are none.
        expected.metadata_mut().unwrap().remove("resourceVersion");
        expected.metadata_mut().unwrap().remove("managedFields");
        assert_eq!(text(&changed), text(&expected));
        let changed = deployments().apply(&parent, &scale(r#""resourceVersion":"6""#, 0), "apps/v1").unwrap();
        assert_eq!(changed.at(&["spec", "replicas"]), Some(&0.into()));
        assert_eq!(changed.resource_version(), "6");
    }

    #[test]
    fn replicas_are_not_negative_and_the_object_is_the_one_that_was_meant() {
        let parent = deployment(r#""replicas":3"#, "");
        let status = deployments().apply(&parent, &scale(r#""labels":{}"#, -1), "apps/v1").unwrap_err();
        assert_eq!(
            status.message,
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        let status = deployments().apply(&parent, &scale(r#""uid":"v""#, 1), "apps/v1").unwrap_err();
        assert_eq!(
            status.message,
            "Operation cannot be fulfilled on deployments/scale.apps \"d\": Precondition failed: UID in precondition: v, UID in \
             object meta: u"
        );
        assert_eq!(status.code, 409);
        let nameless = tree("autoscaling/v1.Scale", r#"{"kind":"Scale","apiVersion":"autoscaling/v1"}"#);
        let status = deployments().apply(&parent, &nameless, "apps/v1").unwrap_err();
        assert!(status.message.contains("metadata.name: Required value: name or generateName is required"));
    }

    #[test]
    fn who_changes_a_scale_manages_the_replicas_of_its_parent() {
        let owner = r#"{"manager":"a","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z",
            "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}}"#;
        let parent = deployment(r#""replicas":3"#, owner);
        let before = deployments().before_update(&parent).unwrap();
        assert_eq!(
            text(&before.items_at(&["metadata", "managedFields"])[0]),
            r#"{"manager":"a","operation":"Update","apiVersion":"autoscaling/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}"#
        );
        let other = r#""managedFields":[{"manager":"b","operation":"Update","apiVersion":"autoscaling/v1",
            "time":"2026-01-02T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},
            "subresource":"scale"}]"#;
        let after = deployments().apply(&parent, &scale(other, 4), "apps/v1").unwrap();
        let entries: Vec<String> = after.items_at(&["metadata", "managedFields"]).iter().map(text).collect();
        assert_eq!(
            entries,
            [
                r#"{"manager":"b","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}"#,
                r#"{"manager":"a","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{}}}}"#,
            ]
        );
    }
}
