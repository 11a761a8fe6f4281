//! The config map `extension-apiserver-authentication`, from which other API servers of the cluster learn what to trust:
//! the authorities of clients' certificates, and which front proxies may name users in which headers.
//!
//! Several servers write to it, with settings of their own. Each adds its authorities to those that are there, so that a
//! client that trusts one server's authority does not lose it through another; certificates leave when they expire.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use pintle_auth::authenticator::merge_bundles;
use pintle_codec::json;
use pintle_meta::value::Object;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::Clock;
use tokio::sync::Notify;

use crate::runtime::{Controller, Requeue, Source};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
const KEY: &str = "kube-system/extension-apiserver-authentication";
const INTERVAL: Duration = Duration::from_secs(60);
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
const UID_HEADERS: &str = "requestheader-uid-headers";

/// The settings that this server publishes. Bundles are read anew whenever they are needed.
#[derive(Clone)]
pub struct Trust {
    /// The authorities of clients, as PEM.
    pub client_ca: Arc<dyn Fn() -> std::result::Result<String, String> + Send + Sync>,
    pub front_proxies: Option<FrontProxies>,
    /// Whether uids come in headers at all (feature gate `RemoteRequestHeaderUID`).
    pub uid_headers: bool,
}

/// The front proxies that may name users in headers, and the headers' names.
#[derive(Clone)]
pub struct FrontProxies {
    /// The authorities of their certificates, as PEM.
    pub authority: Arc<dyn Fn() -> std::result::Result<String, String> + Send + Sync>,
    /// By the key of the config map.
    pub lists: BTreeMap<&'static str, Vec<String>>,
}

impl FrontProxies {
    /// The keys of the lists.
    pub const ALLOWED_NAMES: &'static str = "requestheader-allowed-names";
    pub const EXTRA_PREFIXES: &'static str = "requestheader-extra-headers-prefix";
    pub const GROUP_HEADERS: &'static str = "requestheader-group-headers";
    pub const UID_HEADERS: &'static str = UID_HEADERS;
    pub const USERNAME_HEADERS: &'static str = "requestheader-username-headers";
}

const LISTS: [&str; 5] = [
    FrontProxies::ALLOWED_NAMES,
    FrontProxies::EXTRA_PREFIXES,
    FrontProxies::GROUP_HEADERS,
    UID_HEADERS,
    FrontProxies::USERNAME_HEADERS,
];

/// Merges the trust of this server into the ConfigMap.
pub struct ClusterAuthenticationTrust {
    maps: Client,
    trust: Trust,
    /// Notified when the bundles may have changed.
    changed: Arc<Notify>,
    clock: Clock,
}

impl ClusterAuthenticationTrust {
    /// The post-start hook.
    pub const HOOK: &'static str = "start-cluster-authentication-info-controller";

    pub fn new(maps: Client, trust: Trust, changed: Arc<Notify>, clock: Clock) -> ClusterAuthenticationTrust {
        ClusterAuthenticationTrust { maps, trust, changed, clock }
    }

    pub async fn sync(&self) -> Result<()> {
        let now = self.clock.now();
        let there = self.maps.find(NAMESPACE, NAME).await?;
        let wanted = self.data(there.as_ref(), now)?;
        let Some(there) = there else {
            if wanted.is_empty() {
                return Ok(());
            }
            return self.maps.create_if_missing(NAMESPACE, &object(&wanted)).await.map(drop);
        };
        if wanted == data(&there) {
            return Ok(());
        }
        let mut change = |map: &Value| {
            let wanted = self.data(Some(map), now)?;
            let mut new = map.clone();
            if let Some(object) = new.as_object_mut() {
                let entries = wanted.iter().map(|(key, value)| (*key, value.as_str()));
                object.insert("data", Object::from_iter(entries));
            }
            Ok(Some(new))
        };
        match self.maps.update(NAMESPACE, NAME, &mut change).await {
            Ok(_) => Ok(()),
            // A config map that has grown too large is deleted, and the running servers fill a new one.
            Err(status) if is_too_large(&status) => {
                self.maps.delete(NAMESPACE, &there).await?;
                Err(status)
            }
            Err(status) if matches!(status.reason, Reason::Conflict | Reason::NotFound) => Ok(()),
            Err(status) => Err(status),
        }
    }

    /// Returns the wanted data, given the current config map.
    fn data(&self, there: Option<&Value>, now: SystemTime) -> Result<BTreeMap<&'static str, String>> {
        let failed = |error: String| Box::new(Status::internal(error));
        let before = |key: &str| there.map_or("", |map| map.text_at(&["data", key]));
        let merged = |key: &str, own: Option<String>| {
            let bundles: Vec<&str> =
                [before(key)].into_iter().filter(|pem| !pem.is_empty()).chain(own.as_deref()).collect();
            merge_bundles(&bundles, now).map_err(failed)
        };
        let Trust { client_ca, front_proxies, uid_headers } = &self.trust;
        let mut data = BTreeMap::new();
        let clients = merged(CLIENT_CA, Some(client_ca().map_err(failed)?))?;
        if !clients.is_empty() {
            data.insert(CLIENT_CA, clients);
        }
        let own = front_proxies.as_ref().map(|proxies| (proxies.authority)()).transpose().map_err(failed)?;
        let mut lists = BTreeMap::new();
        for key in LISTS.into_iter().filter(|key| *uid_headers || *key != UID_HEADERS) {
            let own = front_proxies.as_ref().and_then(|proxies| proxies.lists.get(key));
            let mut all: Vec<String> = Vec::new();
            for value in
                read_list(before(key)).map_err(failed)?.into_iter().chain(own.into_iter().flatten().cloned())
            {
                if !all.contains(&value) {
                    all.push(value);
                }
            }
            lists.insert(key, all);
        }
        let proxies = merged(PROXY_CA, own)?;
        if !proxies.is_empty() {
            data.insert(PROXY_CA, proxies);
            let shown = lists.into_iter().filter(|(key, list)| *key != UID_HEADERS || !list.is_empty());
            data.extend(shown.map(|(key, list)| (key, write_list(&list))));
        }
        Ok(data)
    }
}

#[async_trait]
impl Controller for ClusterAuthenticationTrust {
    fn name(&self) -> &'static str {
        "cluster_authentication_trust_controller"
    }

    fn sources(&self) -> Vec<Source> {
        vec![
            Source::stored(self.maps.store().clone(), KEY, KEY),
            Source::notified(self.changed.clone(), KEY),
            Source::every(INTERVAL, KEY),
        ]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await.map(|()| Requeue::Never)
    }
}

fn is_too_large(status: &Status) -> bool {
    status.code == 413 || (status.reason == Reason::Invalid && status.message.contains("Too long"))
}

fn data(map: &Value) -> BTreeMap<&str, String> {
    let entries = map.get("data").and_then(Value::as_object).into_iter().flat_map(Object::iter);
    entries.map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned())).collect()
}

fn read_list(text: &str) -> std::result::Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list = json::decode_any(text.as_bytes()).map_err(|error| error.to_string())?.value;
    let texts = list.as_list().and_then(|list| {
        list.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    texts.ok_or_else(|| "json: cannot unmarshal into Go value of type []string".into())
}

fn write_list(list: &[String]) -> String {
    let mut out = vec![b'['];
    for (place, value) in list.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        json::write::string(value, &mut out);
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}

fn object(data: &BTreeMap<&'static str, String>) -> Vec<u8> {
    let mut out = format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}"}},"data":{{"#
    )
    .into_bytes();
    for (place, (key, value)) in data.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        json::write::string(key, &mut out);
        out.push(b':');
        json::write::string(value, &mut out);
    }
    out.extend_from_slice(b"}}");
    out
}
