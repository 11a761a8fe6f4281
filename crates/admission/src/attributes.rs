//! What a plugin is told about a request.

use std::sync::Arc;

use pintle_auth::User;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Status, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
    /// To something that is no object, such as a pod's shell.
    Connect,
}

impl Operation {
    /// As messages have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// What a request is about; the same for all requests to one resource or subresource of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub kind: GroupVersionKind,
    pub resource: GroupVersionResource,
    pub subresource: String,
}

impl Target {
    pub fn is_namespace(&self) -> bool {
        self.kind.group.is_empty() && self.kind.kind == "Namespace"
    }
}

/// One request, apart from the objects, which may be others on every attempt.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub target: Arc<Target>,
    /// Of the request's path; empty for what is in no namespace.
    pub namespace: String,
    /// Of the request's path; empty for a creation or a collection.
    pub name: String,
    pub user: Arc<User>,
    /// Nothing will be stored. Whoever changes something elsewhere must not.
    pub dry_run: bool,
    /// `CreateOptions` or what else the request said about itself.
    pub options: Option<Value>,
}

/// A request with the objects of this attempt, which are of the stored version and in normal form.
#[derive(Debug)]
pub struct Attributes<'a> {
    pub request: &'a Request,
    pub operation: Operation,
    /// The new object. Nothing for a deletion.
    pub object: Option<Value>,
    /// What there is now. Nothing for a creation.
    pub old_object: Option<Value>,
}

impl Attributes<'_> {
    pub fn target(&self) -> &Target {
        &self.request.target
    }

    pub fn namespace(&self) -> &str {
        &self.request.namespace
    }

    /// Empty for an object whose name will be generated, and for a collection.
    pub fn name(&self) -> &str {
        match self.request.name.as_str() {
            "" => self.object.as_ref().map_or("", Value::name),
            name => name,
        }
    }

    /// `pods "a" is forbidden: why`.
    pub fn forbidden(&self, why: &str) -> Box<Status> {
        let resource = &self.target().resource;
        Box::new(Status::forbidden(&resource.group, &resource.resource, self.shown_name(), why))
    }

    /// `pods "a" not found`.
    pub fn not_found(&self) -> Box<Status> {
        let resource = &self.target().resource;
        Box::new(Status::not_found(&resource.group, &resource.resource, self.shown_name()))
    }

    /// For messages: names may not be there yet.
    fn shown_name(&self) -> &str {
        let generated = self.object.as_ref().map_or("", Value::generate_name);
        [self.name(), generated].into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
    }
}
