//! The attributes of a request that plugins decide by.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_auth::User;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Object, Status, Value};

use crate::Result;
use crate::conversion::ObjectConversion;
use crate::notes::Notes;
use crate::reinvocation::Reinvocation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl Target {
    pub fn is_namespace(&self) -> bool {
        self.kind.group.is_empty() && self.kind.kind == "Namespace"
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
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { target, namespace, name, user, dry_run, options, notes, conversion: _ } = self;
        f.debug_struct("Request")
            .field("target", target)
            .field("namespace", namespace)
            .field("name", name)
            .field("user", user)
            .field("dry_run", dry_run)
            .field("options", options)
            .field("notes", notes)
            .finish_non_exhaustive()
    }
}

/// A request with the objects of one attempt, in the storage version and in normal form.
#[derive(Debug)]
pub struct Attributes<'a> {
    pub request: &'a Request,
    pub operation: Operation,
    pub reinvocation: Reinvocation,
    object: Option<Value>,
    old_object: Option<Value>,
    /// The objects in other versions, as far as plugins have seen them there. Cleared when the object changes.
    converted: Mutex<Vec<Converted>>,
}

#[derive(Debug)]
struct Converted {
    kind: GroupVersionKind,
    objects: Versioned,
}

/// The objects of an attempt in one served version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Versioned {
    pub object: Option<Value>,
    pub old_object: Option<Value>,
}

impl<'a> Attributes<'a> {
    pub fn new(
        request: &'a Request,
        operation: Operation,
        object: Option<Value>,
        old_object: Option<Value>,
    ) -> Attributes<'a> {
        let (reinvocation, converted) = (Reinvocation::default(), Mutex::default());
        Attributes { request, operation, reinvocation, object, old_object, converted }
    }

    pub fn target(&self) -> &Target {
        &self.request.target
    }

    pub fn namespace(&self) -> &str {
        &self.request.namespace
    }

    /// Returns the name of the object; empty if it will be generated, and for a collection.
    pub fn name(&self) -> &str {
        match self.request.name.as_str() {
            "" => self.object.as_ref().map_or("", Value::name),
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
        let mut options = self.request.options.clone()?;
        options.insert("kind", kind);
        options.insert("apiVersion", "meta.k8s.io/v1");
        Some(options.into())
    }

    fn forget_converted(&mut self) {
        self.converted.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the objects in the version of `kind`, converted on first use. Errors if the resource is not served in it.
    pub fn versioned(&self, kind: &GroupVersionKind) -> Result<Versioned> {
        let mut converted = self.converted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = converted.iter().find(|known| known.kind == *kind) {
            return Ok(known.objects.clone());
        }
        let conversion = self.conversion()?;
        let convert = |object: &Option<Value>| {
            object.as_ref().map(|object| conversion.to_version(object.clone(), kind)).transpose()
        };
        let objects = Versioned { object: convert(&self.object)?, old_object: convert(&self.old_object)? };
        converted.push(Converted { kind: kind.clone(), objects: objects.clone() });
        Ok(objects)
    }

    /// Replaces the new object by one of the version of `kind`, as a plugin that works in this version left it.
    pub fn set_versioned(&mut self, object: Value, kind: &GroupVersionKind) -> Result<()> {
        let object = self.conversion()?.to_storage(object, kind)?;
        self.set_object(object);
        Ok(())
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
        let generated = self.object.as_ref().map_or("", Value::generate_name);
        [self.name(), generated].into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Writes the version into the object, and counts conversions.
    #[derive(Default)]
    struct Versions(AtomicUsize);

    impl ObjectConversion for Versions {
        fn to_version(&self, mut object: Value, kind: &GroupVersionKind) -> Result<Value> {
            if kind.version == "v3" {
                return Err(Box::new(Status::internal("v3 is not served")));
            }
            self.0.fetch_add(1, Ordering::Relaxed);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("version", &*kind.version);
            }
            Ok(object)
        }

        fn to_storage(&self, mut object: Value, _: &GroupVersionKind) -> Result<Value> {
            if let Some(fields) = object.as_object_mut() {
                fields.remove("version");
            }
            Ok(object)
        }

        fn kinds(&self) -> Vec<GroupVersionKind> {
            vec![GroupVersionKind::new("g", "v1", "K"), GroupVersionKind::new("g", "v2", "K")]
        }
    }

    fn object(text: &str) -> Value {
        pintle_registry::testing::object(text)
    }

    #[test]
    fn objects_are_converted_once_until_the_object_changes() {
        let versions = Arc::new(Versions::default());
        let request = Request { conversion: Some(versions.clone()), ..Request::default() };
        let kinds = versions.kinds();
        let (new, old) = (object(r#"{"a":"new"}"#), object(r#"{"a":"old"}"#));
        let mut attributes = Attributes::new(&request, Operation::Update, Some(new), Some(old));
        for kind in kinds.iter().chain(&kinds) {
            let versioned = attributes.versioned(kind).unwrap();
            assert_eq!(versioned.object.unwrap().text_at(&["version"]), &*kind.version);
            assert_eq!(versioned.old_object.unwrap().text_at(&["a"]), "old");
        }
        assert_eq!(versions.0.load(Ordering::Relaxed), 4);

        let mut changed = attributes.versioned(&kinds[1]).unwrap().object.unwrap();
        changed.as_object_mut().unwrap().insert("a", "changed");
        attributes.set_versioned(changed, &kinds[1]).unwrap();
        assert_eq!(attributes.object(), Some(&object(r#"{"a":"changed"}"#)), "in the storage version");
        let versioned = attributes.versioned(&kinds[0]).unwrap();
        assert_eq!(versioned.object.unwrap().text_at(&["a"]), "changed");
        assert_eq!(versions.0.load(Ordering::Relaxed), 6);
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
    fn without_served_versions_there_is_only_the_storage_version() {
        let request = Request::default();
        let attributes = Attributes::new(&request, Operation::Create, Some(object("{}")), None);
        attributes.versioned(&GroupVersionKind::new("", "v1", "Pod")).unwrap_err();
    }
}
