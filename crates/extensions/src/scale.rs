//! `scale` of a custom resource: its replicas, wherever the definition says that they are.

use pintle_codec::json;
use pintle_definitions::object::Scale as Paths;
use pintle_definitions::paths::Path;
use pintle_meta::{Object, Status, Value, quote};
use pintle_patch::fieldset::Element;
use pintle_patch::managed::{Managed, to_parent, to_scale};
use pintle_registry::Result;
use pintle_resources::subresources::Scaled;

/// Stands for replicas that are not set.
const NONE: i64 = i32::MIN as i64;

/// The scale of a version's objects.
pub(crate) struct Replicas {
    /// As the definition spells it, for messages.
    spelled: Box<str>,
    spec_replicas: Path,
    status_replicas: Path,
    selector: Option<Path>,
    /// The version's, as `group/version`.
    api_version: String,
    /// Where the replicas are in every version that has a scale, since managed fields may be of any.
    replicas: Vec<(String, Path)>,
}

impl Replicas {
    pub(crate) fn new(paths: &Paths, api_version: String, replicas: Vec<(String, Path)>) -> Replicas {
        Replicas {
            spelled: paths.spec_replicas.clone(),
            spec_replicas: Path::parse(&paths.spec_replicas),
            status_replicas: Path::parse(&paths.status_replicas),
            selector: paths.label_selector.as_deref().map(Path::parse),
            api_version,
            replicas,
        }
    }

    fn path_in(&self, api_version: &str) -> Option<Vec<Element>> {
        let (_, path) = self.replicas.iter().find(|(known, _)| known == api_version)?;
        Some(path.names().iter().map(|name| Element::field(name.clone())).collect())
    }

    /// The scale of an object, and whether it has replicas at all.
    fn read(&self, parent: &Value) -> std::result::Result<(Value, bool), String> {
        let spec = self.spec_replicas.integer(parent)?;
        let status = self.status_replicas.integer(parent)?;
        let selector = match &self.selector {
            Some(path) => path.text(parent)?,
            None => None,
        };
        let mut metadata = Object::new();
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(found) = parent.at(&["metadata", field]) {
                metadata.insert(field, found.clone());
            }
        }
        Ok((
            typed(metadata, spec.unwrap_or(0), status.unwrap_or(0), selector.unwrap_or_default())?,
            spec.is_some(),
        ))
    }
}

/// A `Scale`. Numbers are cut to their width, as the reference does.
fn typed(
    metadata: Object,
    replicas: i64,
    observed: i64,
    selector: &str,
) -> std::result::Result<Value, String> {
    let (mut spec, mut status, mut scale) = (Object::new(), Object::new(), Object::new());
    spec.insert("replicas", i64::from(replicas as i32));
    status.insert("replicas", i64::from(observed as i32));
    status.insert("selector", selector);
    scale.insert("kind", "Scale");
    scale.insert("apiVersion", "autoscaling/v1");
    scale.insert("metadata", metadata);
    scale.insert("spec", spec);
    scale.insert("status", status);
    let of = pintle_schema::find("autoscaling/v1.Scale").ok_or("there is no type Scale")?;
    let mut text = Vec::new();
    json::encode(&scale.into(), &mut text);
    json::decode(of, &text).map(|decoded| decoded.value).map_err(|error| error.to_string())
}

fn plain(wrong: String) -> Box<Status> {
    Box::new(Status::plain(wrong))
}

fn managers(object: &Value) -> Result<Managed> {
    Managed::of(object).map_err(|error| Box::new(Status::internal(error)))
}

impl Scaled for Replicas {
    fn of(&self, parent: &Value) -> Result<Value> {
        self.read(parent).map(|(scale, _)| scale).map_err(|wrong| Box::new(Status::bad_request(wrong)))
    }

    fn asked_for(&self, parent: &Value) -> Result<Value> {
        match self.read(parent).map_err(plain)? {
            (scale, true) => Ok(scale),
            (_, false) => {
                let path = quote(&self.spelled);
                Err(Box::new(Status::internal(format!("the spec replicas field {path} does not exist"))))
            }
        }
    }

    fn before_update(&self, parent: &Value) -> Result<Value> {
        let (mut before, has_replicas) = self.read(parent).map_err(plain)?;
        if !has_replicas && let Some(spec) = before.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("replicas", NONE);
        }
        to_scale(&managers(parent)?, |version| self.path_in(version)).set(&mut before);
        Ok(before)
    }

    fn apply(&self, parent: &Value, scale: &Value) -> Result<Value> {
        let replicas = scale.at(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
        if replicas == NONE {
            let path = quote(&self.spelled);
            let why = format!("the spec replicas field {path} cannot be empty");
            return Err(Box::new(Status::bad_request(why)));
        }
        let managers = to_parent(&managers(parent)?, managers(scale)?, &self.api_version, |version| {
            self.path_in(version)
        });
        let mut parent = parent.clone();
        self.spec_replicas.set(&mut parent, replicas.into()).map_err(plain)?;
        if let Some(metadata) = parent.metadata_mut()
            && !scale.resource_version().is_empty()
        {
            metadata.insert("resourceVersion", scale.resource_version());
        }
        managers.set(&mut parent);
        Ok(parent)
    }
}
