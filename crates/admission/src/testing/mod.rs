//! For tests of plugins: a request in one line, and what a plugin makes of it.
//!
//! ```text
//! create("pods").json(r#"{"spec":{}}"#).run(&plugin).await.object()          the object as the plugin left it
//! update("nodes/status").by(user).named("n").run(&plugin).await.why()        why the request was rejected, if it was
//! ```

mod cluster;

use std::sync::Arc;

use pintle_auth::User;
use pintle_codec::negotiate::Encoding;
use pintle_codec::{json, kind};
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Reason, Status, Value};
use pintle_patch::typed::TypeRef;
use pintle_schema::{Resources, Type};

use crate::Result;
use crate::attributes::{Attributes, Operation, Request, Target};
use crate::conversion::{Equivalent, ObjectConversion};
use crate::plugin::Plugin;

pub(crate) use cluster::TestCluster;

/// A request to a plugin.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) operation: Operation,
    pub(crate) request: Request,
    object: Option<Value>,
    old_object: Option<Value>,
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The plugin neither admits nor validates such requests.
    NotHandled,
    /// The object as the plugin left it; none for a deletion.
    Admitted(Option<Value>),
    Rejected(Box<Status>),
}

/// Returns a creation. The resource is written as in messages, with its subresource: `deployments.apps/scale`.
pub(crate) fn create(resource: &str) -> Case {
    Case::new(Operation::Create, resource)
}

/// Returns an update, of a resource as in [`create`].
pub(crate) fn update(resource: &str) -> Case {
    Case::new(Operation::Update, resource)
}

/// Returns the target of requests for a resource, as in [`create`]: of the version that a built-in one prefers, else `v1`.
pub(crate) fn target(resource: &str) -> Target {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let (name, group) = resource.split_once('.').unwrap_or((resource, ""));
    let (version, kind) = builtin(group, name).unwrap_or_default();
    let version = if version.is_empty() { "v1" } else { version };
    Target {
        kind: GroupVersionKind::new(group, version, kind.map_or("Kind", Type::kind_name)),
        resource: GroupVersionResource::new(group, version, name),
        subresource: subresource.into(),
        equivalents: Arc::default(),
    }
}

/// Returns the preferred version and the type of a built-in resource.
fn builtin(group: &str, name: &str) -> Option<(&'static str, Option<&'static Type>)> {
    let resources = Resources::builtin().expect("the built-in resources");
    resources.versions().iter().filter(|version| version.group == group).find_map(|version| {
        let mut all = version.resources.iter();
        let resource = all.find(|found| found.name == name && found.subresource.is_none())?;
        Some((version.version, Some(resource.kind)))
    })
}

/// Encodes a value as JSON.
pub(crate) fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).expect("JSON")
}

/// Decodes JSON as a built-in type.
pub(crate) fn decoded(of: &str, text: &str) -> Value {
    let of = pintle_schema::find(of).expect("the type");
    json::decode(of, text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

impl Case {
    pub(crate) fn new(operation: Operation, resource: &str) -> Case {
        let request = Request { target: Arc::new(target(resource)), ..Request::default() };
        Case { operation, request, object: None, old_object: None }
    }

    pub(crate) fn in_namespace(mut self, namespace: &str) -> Case {
        self.request.namespace = namespace.into();
        self
    }

    /// Sets the versions in which objects are served.
    pub(crate) fn versions(mut self, versions: &Arc<TestVersions>) -> Case {
        self.request.conversion = Some(versions.clone());
        Arc::make_mut(&mut self.request.target).equivalents = versions.equivalents().into();
        self
    }

    /// Sets the name in the request's path.
    pub(crate) fn named(mut self, name: &str) -> Case {
        self.request.name = name.into();
        self
    }

    pub(crate) fn by(mut self, user: User) -> Case {
        self.request.user = Arc::new(user);
        self
    }

    /// Sets the new object, decoded as the resource's type.
    pub(crate) fn json(self, json: &str) -> Case {
        let object = self.decoded(json);
        self.object(object)
    }

    pub(crate) fn object(mut self, object: Value) -> Case {
        self.object = Some(object);
        self
    }

    /// Sets the old object, decoded as the resource's type.
    pub(crate) fn old_json(self, json: &str) -> Case {
        let object = self.decoded(json);
        self.old_object(object)
    }

    pub(crate) fn old_object(mut self, object: Value) -> Case {
        self.old_object = Some(object);
        self
    }

    fn decoded(&self, text: &str) -> Value {
        let GroupVersionResource { group, resource, .. } = &self.request.target.resource;
        let decoded = match builtin(group, resource).and_then(|(_, kind)| kind) {
            Some(kind) => json::decode(kind, text.as_bytes()),
            None => json::decode_untyped(text.as_bytes()),
        };
        decoded.unwrap_or_else(|error| panic!("{text}: {error}")).value
    }

    /// Returns the attributes of the request, for calls of one method of a plugin.
    pub(crate) fn attributes(&self) -> Attributes<'_> {
        Attributes::new(&self.request, self.operation, self.object.clone(), self.old_object.clone())
    }

    /// Runs a plugin as the chain does: it admits the request, then validates the result, as far as it handles either.
    pub(crate) async fn run(self, plugin: &dyn Plugin) -> Outcome {
        let Case { operation, request, object, old_object } = self;
        let target = &request.target;
        let (admits, validates) = (plugin.admits(operation, target), plugin.validates(operation, target));
        if !admits && !validates {
            return Outcome::NotHandled;
        }
        let mut attributes = Attributes::new(&request, operation, object, old_object);
        if admits && let Err(status) = plugin.admit(&mut attributes).await {
            return Outcome::Rejected(status);
        }
        if validates && let Err(status) = plugin.validate(&attributes).await {
            return Outcome::Rejected(status);
        }
        Outcome::Admitted(attributes.into_object())
    }
}

impl Outcome {
    pub(crate) fn is_handled(&self) -> bool {
        !matches!(self, Outcome::NotHandled)
    }

    /// Returns the object of an admitted request. A plugin must leave an object of a built-in type in normal form, which
    /// the caller can check with [`Outcome::normal`].
    pub(crate) fn object(self) -> Value {
        match self {
            Outcome::Admitted(Some(object)) => object,
            other => panic!("not admitted with an object: {other:?}"),
        }
    }

    /// Returns the object of an admitted request, and checks that it is in the normal form of its type.
    pub(crate) fn normal(self, of: &str) -> Value {
        let object = self.object();
        assert_eq!(object, decoded(of, &text(&object)), "in normal form");
        object
    }

    /// Returns the message of a rejection; `None` if the request was admitted or is not handled.
    pub(crate) fn message(self) -> Option<String> {
        match self {
            Outcome::Rejected(status) => Some(status.message),
            _ => None,
        }
    }

    /// Returns the reason of a rejection that must be `Forbidden`, without the object's name.
    pub(crate) fn why(self) -> Option<String> {
        let Outcome::Rejected(status) = self else { return None };
        assert_eq!(status.reason, Reason::Forbidden, "{}", status.message);
        let (_, why) = status.message.split_once(" is forbidden: ").expect("the usual beginning");
        Some(why.to_owned())
    }
}

/// The kinds of one resource in several versions, for tests without a control plane. Objects are the same in all of them.
pub(crate) struct TestVersions(Vec<Equivalent>);

impl TestVersions {
    /// `resources` are written `group/version/resource`, and of one kind.
    pub(crate) fn new(kind: &str, resources: &[&str]) -> Arc<TestVersions> {
        let equivalent = |text: &&str| {
            let mut parts = text.splitn(3, '/');
            let mut part = || parts.next().unwrap_or_default().to_owned();
            let (group, version, resource) = (part(), part(), part());
            let kind = GroupVersionKind::new(group.as_str(), version.as_str(), kind);
            Equivalent { resource: GroupVersionResource::new(group, version, resource), kind }
        };
        Arc::new(TestVersions(resources.iter().map(equivalent).collect()))
    }
}

impl ObjectConversion for TestVersions {
    fn to_version(&self, mut object: Value, kind: &GroupVersionKind) -> Result<Value> {
        if let Some(fields) = object.as_object_mut() {
            fields.insert("kind", kind.kind.as_str());
            fields.insert("apiVersion", kind.api_version());
        }
        Ok(object)
    }

    fn to_storage(&self, object: Value, _: &GroupVersionKind) -> Result<Value> {
        Ok(object)
    }

    fn parse(&self, text: &[u8], kind: &GroupVersionKind) -> Result<Value, String> {
        let read = kind::decode(Encoding::Json, text, Some(kind)).map_err(|error| error.to_string())?;
        Ok(read.decoded.value)
    }

    fn parse_strictly(&self, text: &[u8], kind: &GroupVersionKind) -> Result<Value, String> {
        let read = kind::decode(Encoding::Json, text, Some(kind)).map_err(|error| error.to_string())?;
        let strict = read.decoded.strict;
        if strict.is_empty() {
            Ok(read.decoded.value)
        } else {
            Err(format!("strict decoding error: {}", strict.join(", ")))
        }
    }

    fn managed_type(&self, kind: &GroupVersionKind) -> Option<TypeRef<'_>> {
        pintle_schema::find_kind(&kind.group, &kind.version, &kind.kind).map(TypeRef::from)
    }

    fn equivalents(&self) -> &[Equivalent] {
        &self.0
    }
}
