//! Encrypted stores in memory, and a KMS plugin that serves gRPC on a socket.
#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use pintle_encryption::{
    EncryptedBackend, Encryption, Error, GroupResource, Metrics, Setup, Source, StoredResources,
};
use pintle_metrics::Registry;
use pintle_outbound::testing::grpc::GrpcServer;
use pintle_runtime::{Clock, Random};
use pintle_storage::{Backend, KeyValue, Revision, Txn};
use pintle_storage_embedded::{Options, Store};
use prost::Message;

pub(crate) const KEY: &str = "/registry/secrets/default/a";
pub(crate) const OTHER: &str = "/registry/secrets/default/b";

/// The recorded values by name, in bytes.
pub(crate) fn recorded(name: &str) -> Bytes {
    let line =
        include_str!("../data/values.txt").lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    let hex = line.unwrap_or_else(|| panic!("no value {name}"));
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// A key of so many bytes, in base64.
pub(crate) fn key(length: u8) -> String {
    base64::engine::general_purpose::STANDARD.encode((0..length).collect::<Vec<u8>>())
}

/// A key of 32 bytes that is none of the recorded ones.
pub(crate) fn fresh_key(number: u8) -> String {
    base64::engine::general_purpose::STANDARD.encode([number; 32])
}

pub(crate) fn keys(provider: &str, keys: &[(&str, String)]) -> String {
    let mut text = format!("  - {provider}:\n      keys:\n");
    for (name, secret) in keys {
        writeln!(text, "      - name: {name}\n        secret: {secret}").expect("a string");
    }
    text
}

/// A configuration for secrets.
pub(crate) fn config(providers: &[String]) -> String {
    config_of("secrets", providers)
}

pub(crate) fn config_of(resources: &str, providers: &[String]) -> String {
    let resources: String = resources.split(',').map(|of| format!("  - '{of}'\n")).collect();
    format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources:\n{resources}  \
         providers:\n{}",
        providers.concat()
    )
}

pub(crate) const IDENTITY: &str = "  - identity: {}\n";

/// A file that a test may change.
pub(crate) type File = Arc<Mutex<String>>;

pub(crate) struct Loaded {
    pub(crate) encryption: Arc<Encryption>,
    pub(crate) registry: Registry,
    pub(crate) file: File,
}

pub(crate) async fn load(text: &str) -> Result<Loaded, Error> {
    load_with(text, false, Clock::system()).await
}

pub(crate) async fn load_with(text: &str, reloads: bool, clock: Clock) -> Result<Loaded, Error> {
    let (registry, file) = (Registry::default(), File::new(Mutex::new(text.to_owned())));
    let read = file.clone();
    let source = Source {
        path: "/encryption.yaml".into(),
        read: Box::new(move || Ok(read.lock().expect("a file").clone().into_bytes())),
        reloads,
    };
    let metrics = Metrics::new(&registry, "apiserver-test", &clock).expect("metrics");
    let setup = Setup { clock, random: Random::seeded(1), metrics, kms_v1: true };
    Ok(Loaded { encryption: Arc::new(Encryption::load(source, setup).await?), registry, file })
}

impl Loaded {
    pub(crate) fn over(&self, store: &Arc<dyn Backend>) -> Arc<dyn Backend> {
        over(store, self.encryption.clone())
    }

    pub(crate) fn metrics(&self) -> String {
        String::from_utf8(self.registry.render().expect("metrics")).expect("text")
    }
}

pub(crate) fn over(store: &Arc<dyn Backend>, encryption: Arc<Encryption>) -> Arc<dyn Backend> {
    let builtin = ["secrets", "configmaps"];
    let builtin = builtin.map(|name| (name.to_owned(), GroupResource::new("", name)));
    let resources = Arc::new(StoredResources::new("/registry/", builtin));
    Arc::new(EncryptedBackend::new(store.clone(), encryption, resources))
}

pub(crate) fn memory() -> Arc<dyn Backend> {
    Arc::new(Store::open(Options::memory()).expect("a store"))
}

pub(crate) async fn put(store: &Arc<dyn Backend>, key: &str, value: impl Into<Bytes>) -> Revision {
    let done = store.txn(Txn::put(key.to_owned().into(), value.into())).await.expect("written");
    done.revision
}

pub(crate) async fn get(store: &Arc<dyn Backend>, key: &str) -> KeyValue {
    store.get(key.as_bytes(), None).await.expect("readable").0.expect("there")
}

/// The reason why a value cannot be read.
pub(crate) async fn refusal(store: &Arc<dyn Backend>, key: &str) -> String {
    store.get(key.as_bytes(), None).await.expect_err("unreadable").to_string()
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Text {
    #[prost(string, tag = "1")]
    pub(crate) first: String,
    #[prost(string, tag = "2")]
    pub(crate) second: String,
    #[prost(string, tag = "3")]
    pub(crate) third: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Data {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) first: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) second: Vec<u8>,
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

/// The state of a plugin that a test changes.
#[derive(Clone)]
pub(crate) struct Kms(Arc<Mutex<KmsState>>);

#[derive(Clone)]
pub(crate) struct KmsState {
    pub(crate) key_id: String,
    pub(crate) healthz: String,
    pub(crate) version: String,
    /// Calls by method.
    pub(crate) calls: BTreeMap<String, u32>,
}

impl Kms {
    pub(crate) fn new() -> Kms {
        Kms(Arc::new(Mutex::new(KmsState {
            key_id: "kek1".into(),
            healthz: "ok".into(),
            version: "v2".into(),
            calls: BTreeMap::new(),
        })))
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut KmsState)) {
        change(&mut self.0.lock().expect("a plugin"));
    }

    pub(crate) fn calls(&self, method: &str) -> u32 {
        self.0.lock().expect("a plugin").calls.get(method).copied().unwrap_or_default()
    }

    /// Serves both versions of the protocol. A key's cipher text is `wrapped:` and the key reversed.
    pub(crate) fn serve(&self, socket: &str) -> GrpcServer {
        let state = self.0.clone();
        GrpcServer::start(socket, move |path, message| {
            let mut state = state.lock().expect("a plugin");
            let method = path.rsplit('/').next().unwrap_or_default().to_owned();
            *state.calls.entry(method).or_default() += 1;
            let wrap = |plain: &[u8]| [b"wrapped:".to_vec(), plain.iter().rev().copied().collect()].concat();
            let unwrap = |cipher: &[u8]| {
                let plain = cipher.strip_prefix(b"wrapped:").ok_or((3, "not of this plugin"))?;
                Ok::<Vec<u8>, (u32, &'static str)>(plain.iter().rev().copied().collect())
            };
            let read = Data::decode(message).map_err(|_| (3, "no message"));
            match path {
                "/v2.KeyManagementService/Status" => Ok(Text {
                    first: state.version.clone(),
                    second: state.healthz.clone(),
                    third: state.key_id.clone(),
                }
                .encode_to_vec()),
                "/v2.KeyManagementService/Encrypt" => Ok(Data {
                    first: wrap(&read?.first),
                    second: state.key_id.clone().into_bytes(),
                    annotations: BTreeMap::from([("version.example.com".into(), b"7".to_vec())]),
                }
                .encode_to_vec()),
                "/v2.KeyManagementService/Decrypt"
                | "/v1beta1.KeyManagementService/Encrypt"
                | "/v1beta1.KeyManagementService/Decrypt" => {
                    let is_v2 = path.starts_with("/v2.");
                    // The cipher text comes first in version 2, behind the version in version 1.
                    let cipher = if is_v2 { first_bytes(message) } else { read?.second };
                    let answer = if path.ends_with("Encrypt") { wrap(&cipher) } else { unwrap(&cipher)? };
                    Ok(Data { first: answer, ..Data::default() }.encode_to_vec())
                }
                "/v1beta1.KeyManagementService/Version" => {
                    Ok(Text { first: "v1beta1".into(), ..Text::default() }.encode_to_vec())
                }
                _ => Err((12, "no such method")),
            }
        })
    }
}

/// The first field of a message whose others have other types.
fn first_bytes(message: &[u8]) -> Vec<u8> {
    #[derive(Clone, PartialEq, prost::Message)]
    struct First {
        #[prost(bytes = "vec", tag = "1")]
        first: Vec<u8>,
    }
    First::decode(message).expect("a message").first
}

pub(crate) fn kms(version: &str, name: &str, socket: &str, timeout: &str) -> String {
    format!(
        "  - kms:\n      apiVersion: {version}\n      name: {name}\n      endpoint: unix://{socket}\n      timeout: {timeout}\n"
    )
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not happen: {what}");
}
