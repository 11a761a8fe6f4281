//! The index of remote APIServices by group version, as current as their cache.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_discovery::Priority;
use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Result, Store};

use crate::condition;
use crate::server::{Connector, Server, ServerTls, ServiceReference};

/// The APIService of the core group, whose paths are not those of groups.
const CORE: &str = "v1.";

/// All APIServices.
pub(crate) struct ApiServices {
    mirror: Mirror<Index>,
    store: Arc<Store>,
}

/// An APIService whose group version another server answers for.
pub(crate) struct RemoteService {
    /// `v1.example.com`
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) priority: Priority,
    pub(crate) is_available: bool,
    pub(crate) server: Arc<Server>,
}

impl RemoteService {
    /// Returns the path of its group version: `/apis/example.com/v1`.
    pub(crate) fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

impl ApiServices {
    pub(crate) fn new(store: Arc<Store>, connector: Arc<Connector>) -> ApiServices {
        let index =
            Index { remote: HashMap::new(), replaced: HashMap::new(), available: BTreeMap::new(), connector };
        ApiServices { mirror: Mirror::new(vec![store.clone()], index), store }
    }

    /// Loads the APIServices.
    pub(crate) async fn ready(&self) -> Result<()> {
        self.mirror.ready().await
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.mirror.is_loaded()
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns the remote APIService that answers for a path.
    pub(crate) fn of_path(&self, path: &str) -> Option<Arc<RemoteService>> {
        let key = group_version(path)?;
        self.mirror.read(|index| match index.remote.is_empty() {
            true => None,
            false => index.remote.get(key).cloned(),
        })
    }

    /// Returns a remote APIService by its name.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<RemoteService>> {
        let key = key_of_name(name)?;
        self.mirror.read(|index| index.remote.get(&key).cloned())
    }

    pub(crate) fn all_remote(&self) -> Vec<Arc<RemoteService>> {
        let mut all: Vec<_> = self.mirror.read(|index| index.remote.values().cloned().collect());
        all.sort_by(|a: &Arc<RemoteService>, b| a.name.cmp(&b.name));
        all
    }

    /// Returns the names of the APIServices behind a service.
    pub(crate) fn behind(&self, namespace: &str, name: &str) -> Vec<String> {
        self.mirror.read(|index| {
            let behind = index.remote.values().filter(|remote| {
                let service = &remote.server.service;
                service.namespace == namespace && service.name == name
            });
            behind.map(|remote| remote.name.clone()).collect()
        })
    }

    /// Returns whether each APIService is available, local ones among them.
    pub(crate) fn availability(&self) -> BTreeMap<String, bool> {
        self.mirror.read(|index| index.available.clone())
    }
}

/// Returns the part of a path that names a group version: `example.com/v1` of `/apis/example.com/v1/boats`. The core group has none.
fn group_version(path: &str) -> Option<&str> {
    if let Some(rest) = path.strip_prefix("/apis/") {
        let group = rest.find('/')?;
        let version = &rest[group + 1..];
        let version = version.find('/').unwrap_or(version.len());
        return Some(&rest[..group + 1 + version]);
    }
    let rest = path.strip_prefix("/api")?;
    (rest.is_empty() || rest.starts_with('/')).then_some("")
}

/// Returns the key of an APIService in the index.
fn key_of_name(name: &str) -> Option<String> {
    if name == CORE {
        return Some(String::new());
    }
    let (version, group) = name.split_once('.')?;
    Some(format!("{group}/{version}"))
}

struct Index {
    /// By group and version: `example.com/v1`; empty for the core group.
    remote: HashMap<String, Arc<RemoteService>>,
    /// While all are read again: those that were there before, whose connections are kept.
    replaced: HashMap<String, Arc<RemoteService>>,
    /// Whether each is available, by name.
    available: BTreeMap<String, bool>,
    connector: Arc<Connector>,
}

impl Index {
    /// Returns the connection to a server; the same for all APIServices that reach it in the same way.
    fn server(&self, service: ServiceReference, tls: ServerTls) -> Arc<Server> {
        let known = self.remote.values().chain(self.replaced.values());
        let mut known = known.map(|remote| &remote.server);
        match known.find(|server| server.is_for(&service, &tls)) {
            Some(server) => server.clone(),
            None => Arc::new(Server::new(service, tls, self.connector.clone())),
        }
    }

    fn read(&self, name: &str, object: &Value) -> Option<RemoteService> {
        let spec = object.get("spec")?;
        let service = spec.get("service").filter(|service| !service.is_null())?;
        let port = service.get("port").and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
        let reference = ServiceReference {
            namespace: service.text_at(&["namespace"]).to_owned(),
            name: service.text_at(&["name"]).to_owned(),
            port: port.unwrap_or(443),
        };
        let tls = ServerTls {
            ca_bundle: bytes(spec.get("caBundle")),
            skip_verification: spec.get("insecureSkipTLSVerify").and_then(Value::as_bool) == Some(true),
        };
        let number =
            |field: &str| spec.get(field).and_then(Value::as_i64).and_then(|number| number.try_into().ok());
        Some(RemoteService {
            name: name.to_owned(),
            group: spec.text_at(&["group"]).to_owned(),
            version: spec.text_at(&["version"]).to_owned(),
            priority: Priority {
                group: number("groupPriorityMinimum").unwrap_or_default(),
                version: number("versionPriority").unwrap_or_default(),
            },
            is_available: condition::is_available(object),
            server: self.server(reference, tls),
        })
    }
}

/// Returns the bytes of a field, which may be base64.
fn bytes(field: Option<&Value>) -> Vec<u8> {
    let Some(field) = field else { return Vec::new() };
    match field.as_bytes() {
        Some(bytes) => bytes.to_vec(),
        None => field.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default(),
    }
}

impl Reflect for Index {
    fn set(&mut self, _: usize, name: &str, object: Option<&Value>) {
        let Some(key) = key_of_name(name) else { return };
        match object {
            Some(object) => drop(self.available.insert(name.to_owned(), condition::is_available(object))),
            None => drop(self.available.remove(name)),
        }
        match object.and_then(|object| self.read(name, object)) {
            Some(remote) => drop(self.remote.insert(key, Arc::new(remote))),
            None => drop(self.remote.remove(&key)),
        }
    }

    fn clear(&mut self, _: usize) {
        self.replaced = std::mem::take(&mut self.remote);
        self.available.clear();
    }

    fn reloaded(&mut self, _: usize) {
        self.replaced.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_group_versions() {
        for (path, expect) in [
            ("/apis/example.com/v1", Some("example.com/v1")),
            ("/apis/example.com/v1/", Some("example.com/v1")),
            ("/apis/example.com/v1/namespaces/a/boats", Some("example.com/v1")),
            ("/apis/example.com", None),
            ("/apis", None),
            ("/api", Some("")),
            ("/api/v1/pods", Some("")),
            ("/apiserver", None),
            ("/healthz", None),
        ] {
            assert_eq!(group_version(path), expect, "{path}");
        }
    }

    fn index() -> Index {
        let connector = crate::server::testing::connector();
        let (remote, replaced, available) = Default::default();
        Index { remote, replaced, available, connector }
    }

    fn service(version: &str, service: &str, status: &str) -> Value {
        pintle_registry::testing::object(&format!(
            r#"{{"spec":{{"group":"g","version":"{version}","groupPriorityMinimum":100,"versionPriority":5{service}}},
                "status":{{"conditions":[{{"type":"Available","status":"{status}"}}]}}}}"#
        ))
    }

    const BEHIND: &str = r#","service":{"namespace":"ns","name":"s","port":8443},"caBundle":"YQ==""#;

    #[test]
    fn group_versions_of_one_server_share_its_connections_and_changes_keep_them() {
        let mut index = index();
        for version in ["v1", "v2"] {
            index.set(0, &format!("{version}.g"), Some(&service(version, BEHIND, "False")));
        }
        let first = index.remote["g/v1"].clone();
        assert!(Arc::ptr_eq(&first.server, &index.remote["g/v2"].server));
        assert_eq!((first.server.service.port, first.is_available, first.priority.version), (8443, false, 5));
        index.set(0, "v1.g", Some(&service("v1", BEHIND, "True")));
        assert!(index.remote["g/v1"].is_available && index.available["v1.g"]);
        // All are read again, after one was deleted unseen.
        index.clear(0);
        index.set(0, "v1.g", Some(&service("v1", BEHIND, "True")));
        index.reloaded(0);
        assert!(Arc::ptr_eq(&first.server, &index.remote["g/v1"].server) && index.remote.len() == 1);
        // Another certificate is another server, as far as connections go.
        let other = BEHIND.replace("YQ==", "Yg==");
        index.set(0, "v1.g", Some(&service("v1", &other, "True")));
        assert!(!Arc::ptr_eq(&first.server, &index.remote["g/v1"].server));
    }

    #[test]
    fn a_service_that_becomes_local_is_not_remote() {
        let mut index = index();
        index.set(0, "v1.g", Some(&service("v1", BEHIND, "True")));
        index.set(0, "v1.g", Some(&service("v1", "", "True")));
        assert!(index.remote.is_empty() && index.available["v1.g"]);
        index.set(0, "v1.g", None);
        assert!(index.available.is_empty());
    }

    #[test]
    fn names_have_the_keys_of_their_paths() {
        assert_eq!(key_of_name("v1.example.com").as_deref(), Some("example.com/v1"));
        assert_eq!(key_of_name("v1.").as_deref(), Some(""));
        assert_eq!(key_of_name("v1"), None);
    }
}
