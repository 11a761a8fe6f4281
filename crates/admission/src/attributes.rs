//! The attributes of a request that plugins decide by.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use pintle_auth::User;
use pintle_codec::json;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Object, Status, Value};
use pintle_patch::typed::TypeRef;
use tokio::time::Instant;

use crate::Result;
use crate::conversion::{Equivalent, ObjectConversion};
use crate::notes::Notes;
use crate::reinvocation::Reinvocation;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Create,
    Update,
    Delete,
    /// A connection to a pod, service or node, such as `exec`.
    Connect,
}

impl Operation {
    /// Returns the operation as messages and metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// The kind and resource of a request, in its version; the same for all requests to one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub kind: GroupVersionKind,
    pub resource: GroupVersionResource,
    /// Empty for the resource itself.
    pub subresource: String,
    /// The resources under which the same objects are served, this one among them, in the order in which rules are compared
    /// with them.
    pub equivalents: Arc<[Equivalent]>,
}

impl Target {
    pub fn is_namespace(&self) -> bool {
        self.kind.group.is_empty() && self.kind.kind == "Namespace"
    }

    /// Returns whether this is the resource of namespaces, or a subresource of it.
    pub fn is_namespaces(&self) -> bool {
        self.resource.group.is_empty() && self.resource.resource == "namespaces"
    }
}

/// One request, apart from the objects, which may differ between attempts.
#[derive(Clone, Default)]
pub struct Request {
    pub target: Arc<Target>,
    /// Namespace of the request's path; empty for a cluster-scoped resource.
    pub namespace: String,
    /// Name of the request's path; empty for a creation or a collection.
    pub name: String,
    pub user: Arc<User>,
    /// Nothing will be stored, so plugins must not change anything elsewhere.
    pub dry_run: bool,
    /// The fields of the request's options, such as `fieldManager`; see [`Attributes::options`]. None for connections and
    /// for writes of the server itself.
    pub options: Option<Object>,
    /// The served versions of the resource; without them, objects are seen in the storage version alone.
    pub conversion: Option<Arc<dyn ObjectConversion>>,
    /// Warnings and audit annotations that plugins add.
    pub notes: Notes,
    /// The time by which the request must be answered; `None` if it has no limit.
    pub deadline: Option<Instant>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { target, namespace, name, user, dry_run, options, notes, deadline, conversion: _ } =
            self;
        f.debug_struct("Request")
            .field("target", target)
            .field("namespace", namespace)
            .field("name", name)
            .field("user", user)
            .field("dry_run", dry_run)
            .field("options", options)
            .field("notes", notes)
            .field("deadline", deadline)
            .finish_non_exhaustive()
    }
}

/// A request with the objects of one attempt, in the storage version and in normal form.
#[derive(Debug)]
pub struct Attributes<'a> {
    pub request: &'a Request,
    pub operation: Operation,
    pub reinvocation: Reinvocation,
    /// The object's own name at the begin of the attempt, where the request has none in its path.
    own_name: Box<str>,
    /// The fields of the operation's options, where they differ from those of the request.
    options: Option<Object>,
    object: Option<Value>,
    old_object: Option<Value>,
    /// The objects in other versions, as far as plugins have seen them there. The new one is forgotten when it changes.
    converted: Mutex<Conversions>,
}

#[derive(Debug, Default)]
struct Conversions {
    new: Vec<Arc<Converted>>,
    old: Vec<Arc<Converted>>,
}

/// An object in one served version.
#[derive(Debug)]
struct Converted {
    kind: GroupVersionKind,
    object: Value,
    json: OnceLock<Bytes>,
}

impl Converted {
    fn json(&self) -> Bytes {
        let encode = || {
            let mut out = Vec::new();
            json::encode(&self.object, &mut out);
            Bytes::from(out)
        };
        self.json.get_or_init(encode).clone()
    }
}

/// The objects of an attempt in one served version.
#[derive(Clone, Debug, Default)]
pub struct Versioned {
    object: Option<Arc<Converted>>,
    old_object: Option<Arc<Converted>>,
}

impl Versioned {
    /// Returns the new object; none for a deletion.
    pub fn object(&self) -> Option<&Value> {
        Some(&self.object.as_ref()?.object)
    }

    /// Returns the stored object; none for a creation.
    pub fn old_object(&self) -> Option<&Value> {
        Some(&self.old_object.as_ref()?.object)
    }

    /// Returns the JSON of the new object, encoded once for all plugins.
    pub fn object_json(&self) -> Option<Bytes> {
        Some(self.object.as_ref()?.json())
    }

    /// Returns the JSON of the stored object, encoded once for all plugins.
    pub fn old_object_json(&self) -> Option<Bytes> {
        Some(self.old_object.as_ref()?.json())
    }
}

impl<'a> Attributes<'a> {
    pub fn new(
        request: &'a Request,
        operation: Operation,
        object: Option<Value>,
        old_object: Option<Value>,
    ) -> Attributes<'a> {
        let own_name = match request.name.as_str() {
            "" => object.as_ref().map_or("", Value::name).into(),
            _ => "".into(),
        };
        Attributes {
            request,
            operation,
            reinvocation: Reinvocation::default(),
            own_name,
            options: None,
            object,
            old_object,
            converted: Mutex::default(),
        }
    }

    /// Sets options that differ from those of the request.
    pub(crate) fn with_options(mut self, options: Option<Object>) -> Attributes<'a> {
        self.options = options;
        self
    }

    pub fn target(&self) -> &Target {
        &self.request.target
    }

    /// Returns the namespace; empty for a cluster-scoped resource. A namespace is in itself.
    pub fn namespace(&self) -> &str {
        match self.request.namespace.as_str() {
            "" if self.target().is_namespaces() => self.name(),
            namespace => namespace,
        }
    }

    /// Returns the name of the object; empty if it will be generated, and for a collection.
    pub fn name(&self) -> &str {
        match self.request.name.as_str() {
            "" => &self.own_name,
            name => name,
        }
    }

    /// Returns the new object; none for a deletion.
    pub fn object(&self) -> Option<&Value> {
        self.object.as_ref()
    }

    /// Returns the new object for changes.
    pub fn object_mut(&mut self) -> Option<&mut Value> {
        self.forget_converted();
        self.object.as_mut()
    }

    pub fn set_object(&mut self, object: Value) {
        self.forget_converted();
        self.object = Some(object);
    }

    pub(crate) fn into_object(self) -> Option<Value> {
        self.object
    }

    /// Returns the stored object; none for a creation.
    pub fn old_object(&self) -> Option<&Value> {
        self.old_object.as_ref()
    }

    /// Returns the options of the operation, an object of `meta.k8s.io/v1`: `CreateOptions`, `UpdateOptions` or
    /// `DeleteOptions`. A patch has those of an update; an update or apply that creates has those of a creation.
    pub fn options(&self) -> Option<Value> {
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => return None,
        };
        let mut options = self.options.as_ref().or(self.request.options.as_ref()).cloned()?;
        options.insert("kind", kind);
        options.insert("apiVersion", "meta.k8s.io/v1");
        Some(options.into())
    }

    fn forget_converted(&mut self) {
        self.converted.get_mut().unwrap_or_else(PoisonError::into_inner).new.clear();
    }

    /// Returns the objects in the version of `kind`, converted on first use. Errors if the resource is not served in it.
    ///
    /// Conversion may take long: to be called in [`pintle_work::run`] where the version is not that of a built-in resource.
    pub fn versioned(&self, kind: &GroupVersionKind) -> Result<Versioned> {
        let converted =
            |known: &[Arc<Converted>], object: Option<&Value>| -> Result<Option<Arc<Converted>>> {
                let Some(object) = object else { return Ok(None) };
                if let Some(known) = known.iter().find(|known| known.kind == *kind) {
                    return Ok(Some(known.clone()));
                }
                let object = of_kind(self.conversion()?.to_version(object.clone(), kind)?, kind);
                Ok(Some(Arc::new(Converted { kind: kind.clone(), object, json: OnceLock::new() })))
            };
        let (new, old) = {
            let known = self.known();
            (known.new.clone(), known.old.clone())
        };
        let object = converted(&new, self.object.as_ref())?;
        let old_object = converted(&old, self.old_object.as_ref())?;
        let mut known = self.known();
        let keep = |known: &mut Vec<Arc<Converted>>, made: Option<&Arc<Converted>>| {
            if let Some(made) = made
                && !known.iter().any(|known| known.kind == *kind)
            {
                known.push(made.clone());
            }
        };
        keep(&mut known.new, object.as_ref());
        keep(&mut known.old, old_object.as_ref());
        Ok(Versioned { object, old_object })
    }

    fn known(&self) -> MutexGuard<'_, Conversions> {
        self.converted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the new object by one of the version of `kind`, as a plugin that works in this version left it.
    pub fn set_versioned(&mut self, object: Value, kind: &GroupVersionKind) -> Result<()> {
        let object = self.to_storage(object, kind)?;
        self.set_object(object);
        Ok(())
    }

    /// Returns an object of the version of `kind` in the storage version, with its defaults.
    pub fn to_storage(&self, object: Value, kind: &GroupVersionKind) -> Result<Value> {
        self.conversion()?.to_storage(object, kind)
    }

    /// Reads the JSON of an object of the version of `kind`; see [`ObjectConversion::parse`].
    pub fn parse(&self, text: &[u8], kind: &GroupVersionKind) -> Result<Value, String> {
        self.conversion().map_err(|status| status.message)?.parse(text, kind)
    }

    /// Reads JSON as [`Attributes::parse`] does; see [`ObjectConversion::parse_strictly`].
    pub fn parse_strictly(&self, text: &[u8], kind: &GroupVersionKind) -> Result<Value, String> {
        self.conversion().map_err(|status| status.message)?.parse_strictly(text, kind)
    }

    /// Returns the type by which apply configurations of a kind are merged, if it is served.
    pub fn managed_type(&self, kind: &GroupVersionKind) -> Option<TypeRef<'_>> {
        self.request.conversion.as_deref()?.managed_type(kind)
    }

    /// Returns the resources under which the objects are served, that of the request among them.
    pub fn equivalents(&self) -> &[Equivalent] {
        self.request.conversion.as_deref().map_or(&[], ObjectConversion::equivalents)
    }

    fn conversion(&self) -> Result<&dyn ObjectConversion> {
        let unknown = || Box::new(Status::internal("the served versions of the resource are not known"));
        self.request.conversion.as_deref().ok_or_else(unknown)
    }

    /// `pods "a" is forbidden: why`.
    pub fn forbidden(&self, why: &str) -> Box<Status> {
        let resource = &self.target().resource;
        Box::new(Status::forbidden(&resource.group, &resource.resource, self.name_in_messages(), why))
    }

    /// `pods "a" not found`.
    pub fn not_found(&self) -> Box<Status> {
        let resource = &self.target().resource;
        Box::new(Status::not_found(&resource.group, &resource.resource, self.name_in_messages()))
    }

    /// Returns the name, or else what it will be generated from.
    fn name_in_messages(&self) -> &str {
        let own = self.object.as_ref().map_or("", Value::name);
        let generated = self.object.as_ref().map_or("", Value::generate_name);
        [self.name(), own, generated].into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
    }
}

/// Returns an object that says its kind.
fn of_kind(mut object: Value, kind: &GroupVersionKind) -> Value {
    if (object.kind(), object.api_version()) != (kind.kind.as_str(), kind.api_version().as_str())
        && let Some(fields) = object.as_object_mut()
    {
        fields.insert("kind", kind.kind.as_str());
        fields.insert("apiVersion", kind.api_version());
    }
    object
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Writes the version into the object, and counts conversions.
    struct Versions {
        conversions: AtomicUsize,
        equivalents: Vec<Equivalent>,
    }

    impl Default for Versions {
        fn default() -> Versions {
            let equivalent = |version: &str| Equivalent {
                resource: GroupVersionResource::new("g", version, "ks"),
                kind: GroupVersionKind::new("g", version, "K"),
            };
            Versions {
                conversions: AtomicUsize::new(0),
                equivalents: vec![equivalent("v1"), equivalent("v2")],
            }
        }
    }

    impl ObjectConversion for Versions {
        fn to_version(&self, mut object: Value, kind: &GroupVersionKind) -> Result<Value> {
            if kind.version == "v3" {
                return Err(Box::new(Status::internal("v3 is not served")));
            }
            self.conversions.fetch_add(1, Ordering::Relaxed);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("version", &*kind.version);
            }
            Ok(object)
        }

        fn to_storage(&self, mut object: Value, _: &GroupVersionKind) -> Result<Value> {
            if let Some(fields) = object.as_object_mut() {
                for field in ["version", "kind", "apiVersion"] {
                    fields.remove(field);
                }
            }
            Ok(object)
        }

        fn parse(&self, text: &[u8], _: &GroupVersionKind) -> Result<Value, String> {
            Ok(json::decode_untyped(text).map_err(|error| error.to_string())?.value)
        }

        fn managed_type(&self, _: &GroupVersionKind) -> Option<TypeRef<'_>> {
            None
        }

        fn equivalents(&self) -> &[Equivalent] {
            &self.equivalents
        }
    }

    fn object(text: &str) -> Value {
        pintle_registry::testing::object(text)
    }

    #[test]
    fn objects_are_converted_once_until_the_object_changes() {
        let versions = Arc::new(Versions::default());
        let request = Request { conversion: Some(versions.clone()), ..Request::default() };
        let kinds: Vec<_> = versions.equivalents.iter().map(|found| found.kind.clone()).collect();
        let (new, old) = (object(r#"{"a":"new"}"#), object(r#"{"a":"old"}"#));
        let mut attributes = Attributes::new(&request, Operation::Update, Some(new), Some(old));
        for kind in kinds.iter().chain(&kinds) {
            let versioned = attributes.versioned(kind).unwrap();
            assert_eq!(versioned.object().unwrap().text_at(&["version"]), &*kind.version);
            assert_eq!(versioned.old_object().unwrap().text_at(&["a"]), "old");
        }
        assert_eq!(versions.conversions.load(Ordering::Relaxed), 4);

        let mut changed = attributes.versioned(&kinds[1]).unwrap().object().unwrap().clone();
        changed.as_object_mut().unwrap().insert("a", "changed");
        attributes.set_versioned(changed, &kinds[1]).unwrap();
        assert_eq!(attributes.object(), Some(&object(r#"{"a":"changed"}"#)), "in the storage version");
        let versioned = attributes.versioned(&kinds[0]).unwrap();
        assert_eq!(versioned.object().unwrap().text_at(&["a"]), "changed");
        assert_eq!(versions.conversions.load(Ordering::Relaxed), 5, "the old object is the same");
        let json = versioned.object_json().unwrap();
        let again = attributes.versioned(&kinds[0]).unwrap().object_json().unwrap();
        assert_eq!(json.as_ptr(), again.as_ptr(), "encoded once");
        attributes.versioned(&GroupVersionKind::new("g", "v3", "K")).unwrap_err();
    }

    #[test]
    fn options_are_of_the_kind_of_the_operation() {
        let options = Some(Object::from_iter([("fieldManager", "m")]));
        let request = Request { options, ..Request::default() };
        for (operation, kind) in [
            (Operation::Create, Some("CreateOptions")),
            (Operation::Update, Some("UpdateOptions")),
            (Operation::Delete, Some("DeleteOptions")),
            (Operation::Connect, None),
        ] {
            let options = Attributes::new(&request, operation, None, None).options();
            assert_eq!(options.as_ref().map(Value::kind), kind);
            if let Some(options) = options {
                assert_eq!(options.text_at(&["fieldManager"]), "m");
                assert_eq!(options.api_version(), "meta.k8s.io/v1");
            }
        }
        let request = Request::default();
        assert_eq!(Attributes::new(&request, Operation::Create, None, None).options(), None);
    }

    #[test]
    fn a_namespace_is_in_itself_and_a_name_that_a_plugin_sets_is_not_the_request_s() {
        let target = Arc::new(crate::testing::target("namespaces"));
        let request = Request { target, ..Request::default() };
        let named = object(r#"{"metadata":{"name":"n"}}"#);
        let attributes = Attributes::new(&request, Operation::Create, Some(named.clone()), None);
        assert_eq!((attributes.namespace(), attributes.name()), ("n", "n"));
        let target = Arc::new(crate::testing::target("pods"));
        let request = Request { target, ..Request::default() };
        let unnamed = object(r#"{"metadata":{"generateName":"n-"}}"#);
        let mut attributes = Attributes::new(&request, Operation::Create, Some(unnamed), None);
        attributes.set_object(named);
        assert_eq!((attributes.namespace(), attributes.name()), ("", ""));
        assert_eq!(attributes.forbidden("no").message, "pods \"n\" is forbidden: no");
    }

    #[test]
    fn without_served_versions_there_is_only_the_storage_version() {
        let request = Request::default();
        let attributes = Attributes::new(&request, Operation::Create, Some(object("{}")), None);
        attributes.versioned(&GroupVersionKind::new("", "v1", "Pod")).unwrap_err();
    }
}
