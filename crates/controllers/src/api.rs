//! Requests of controllers to this server, each in the name of the controller's service account.
//!
//! They pass the same authorization, admission and handlers as the requests of kube-controller-manager's controllers would, without
//! a socket. Objects come as JSON says, in the version that was asked for.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_auth::{ALL_AUTHENTICATED, User};
use pintle_codec::json;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Reason, Value};
use pintle_registry::Result;
use serde_json::{Value as Json, json};

/// The namespace of the service accounts of controllers.
pub const SYSTEM_NAMESPACE: &str = "kube-system";

/// Objects in one page of a list.
const PAGE: usize = 500;

/// An object, a collection or a subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub resource: GroupVersionResource,
    /// Empty for cluster-scoped resources, and for a collection over all namespaces.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    /// Empty for the object itself.
    pub subresource: &'static str,
}

impl Location {
    pub fn collection(resource: GroupVersionResource, namespace: &str) -> Location {
        Location { resource, namespace: namespace.into(), name: String::new(), subresource: "" }
    }

    pub fn object(resource: GroupVersionResource, namespace: &str, name: &str) -> Location {
        Location { resource, namespace: namespace.into(), name: name.into(), subresource: "" }
    }

    #[must_use]
    pub fn subresource(mut self, subresource: &'static str) -> Location {
        self.subresource = subresource;
        self
    }
}

/// How a patch changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    Json,
    Merge,
    Strategic,
    /// A configuration of this field manager, which takes over the fields of others.
    Apply(&'static str),
}

/// One operation. Bodies are JSON.
#[derive(Clone, Debug)]
pub enum Operation {
    Get,
    List {
        limit: usize,
        page: String,
        label_selector: String,
    },
    Create(Bytes),
    Replace(Bytes),
    Patch(PatchKind, Bytes),
    /// With `DeleteOptions`; for a collection, of all its objects.
    Delete(Bytes),
}

/// A request of a controller.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub user: Arc<User>,
    pub location: Location,
    pub operation: Operation,
    /// Whether objects come as their metadata alone.
    pub metadata_only: bool,
}

/// Takes requests.
#[async_trait]
pub trait Api: Send + Sync + 'static {
    /// Returns the object of the answer: the object or a list. That of a deletion is not read: it may be long.
    ///
    /// Errors: any answer that is not a success.
    async fn send(&self, request: ApiRequest) -> Result<Value>;
}

/// The requests of one controller. Clones are the same.
#[derive(Clone)]
pub struct ApiClient {
    api: Arc<dyn Api>,
    user: Arc<User>,
}

impl ApiClient {
    /// Sends requests as the service account of a controller, such as `namespace-controller`.
    pub fn new(api: Arc<dyn Api>, account: &str) -> ApiClient {
        ApiClient { api, user: Arc::new(controller_user(account)) }
    }

    /// Sends requests as kube-controller-manager itself, whose tokens of service accounts are its own work.
    pub fn of_manager(api: Arc<dyn Api>) -> ApiClient {
        let (name, groups) = ("system:kube-controller-manager".into(), vec![ALL_AUTHENTICATED.into()]);
        ApiClient { api, user: Arc::new(User { name, groups, ..User::default() }) }
    }

    async fn send(&self, location: &Location, operation: Operation, metadata_only: bool) -> Result<Value> {
        let (user, location) = (self.user.clone(), location.clone());
        self.api.send(ApiRequest { user, location, operation, metadata_only }).await
    }

    /// Errors: `NotFound`.
    pub async fn get(&self, object: &Location) -> Result<Value> {
        self.send(object, Operation::Get, false).await
    }

    /// Returns the object if there is one.
    pub async fn find(&self, object: &Location) -> Result<Option<Value>> {
        found(self.get(object).await)
    }

    /// Returns the metadata of the object, as a `PartialObjectMetadata`, if there is one.
    pub async fn find_metadata(&self, object: &Location) -> Result<Option<Value>> {
        found(self.send(object, Operation::Get, true).await)
    }

    /// Returns all objects of a collection, read in pages.
    pub async fn list(&self, collection: &Location) -> Result<Vec<Value>> {
        self.pages(collection, "", false).await
    }

    /// Returns the objects of a collection that a label selector matches.
    pub async fn list_selected(&self, collection: &Location, label_selector: &str) -> Result<Vec<Value>> {
        self.pages(collection, label_selector, false).await
    }

    /// Returns the metadata of all objects of a collection.
    pub async fn list_metadata(&self, collection: &Location) -> Result<Vec<Value>> {
        self.pages(collection, "", true).await
    }

    /// Returns the metadata of one page of a collection, and the next page; an empty text stands for the first one and for none.
    pub async fn list_metadata_page(
        &self,
        collection: &Location,
        page: String,
    ) -> Result<(Vec<Value>, String)> {
        let list = Operation::List { limit: PAGE, page, label_selector: String::new() };
        let list = self.send(collection, list, true).await?;
        let next = list.text_at(&["metadata", "continue"]).to_owned();
        Ok((list.items_at(&["items"]).to_vec(), next))
    }

    async fn pages(
        &self,
        collection: &Location,
        label_selector: &str,
        metadata_only: bool,
    ) -> Result<Vec<Value>> {
        let (mut objects, mut page) = (Vec::new(), String::new());
        loop {
            let label_selector = label_selector.to_owned();
            let list = Operation::List { limit: PAGE, page, label_selector };
            let list = self.send(collection, list, metadata_only).await?;
            objects.extend_from_slice(list.items_at(&["items"]));
            page = list.text_at(&["metadata", "continue"]).to_owned();
            if page.is_empty() {
                return Ok(objects);
            }
        }
    }

    /// Creates an object in a collection.
    pub async fn create(&self, collection: &Location, object: &Json) -> Result<Value> {
        self.send(collection, Operation::Create(body(object)), false).await
    }

    /// Creates an object that is a tree already.
    pub async fn create_object(&self, collection: &Location, object: &Value) -> Result<Value> {
        let mut text = Vec::new();
        json::encode(object, &mut text);
        self.send(collection, Operation::Create(text.into()), false).await
    }

    /// Replaces an object. With the resourceVersion that it was read at, a write in between is a conflict.
    pub async fn replace(&self, object: &Location, new: &Value) -> Result<Value> {
        let mut text = Vec::new();
        json::encode(new, &mut text);
        self.send(object, Operation::Replace(text.into()), false).await
    }

    pub async fn patch(&self, object: &Location, kind: PatchKind, patch: &Json) -> Result<Value> {
        self.send(object, Operation::Patch(kind, body(patch)), false).await
    }

    /// Deletes an object, or all objects of a collection. `options` are the fields of `DeleteOptions`.
    pub async fn delete(&self, location: &Location, mut options: Json) -> Result<()> {
        options["kind"] = json!("DeleteOptions");
        options["apiVersion"] = json!("v1");
        self.send(location, Operation::Delete(body(&options)), false).await.map(drop)
    }
}

fn body(value: &Json) -> Bytes {
    value.to_string().into()
}

/// Turns the refusal of what is not there into `None`.
pub fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(status) if status.reason == Reason::NotFound => Ok(None),
        Err(status) => Err(status),
    }
}

/// Returns the user of a controller.
fn controller_user(account: &str) -> User {
    User {
        name: format!("system:serviceaccount:{SYSTEM_NAMESPACE}:{account}"),
        groups: vec![
            "system:serviceaccounts".into(),
            format!("system:serviceaccounts:{SYSTEM_NAMESPACE}"),
            ALL_AUTHENTICATED.into(),
        ],
        ..User::default()
    }
}
