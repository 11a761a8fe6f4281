//! kube-rs on both stores: typed and dynamic objects, discovery, watchers and reflectors.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use kube::{Api, Client, Config, Resource};
use serde_json::json;

use crate::support::Server;
use crate::support::shared::Shared;

mod apply;
mod dynamic;
mod lists;
mod typed;
mod watchers;
pub(crate) mod watches;

/// The administrator, by the kubeconfig that the server wrote.
pub(crate) async fn client(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

/// Objects in a new namespace, so that tests leave each other alone.
async fn api<K>(shared: &Shared, namespace: &str) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let client = client(&shared.server).await;
    make_namespace(&client, namespace).await;
    Api::namespaced(client, namespace)
}

pub(crate) async fn make_namespace(client: &Client, name: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = from_json(json!({"metadata": {"name": name}}));
    namespaces.create(&PostParams::default(), &namespace).await.expect("a namespace");
}

/// Deserializes an object; absent fields have their defaults.
pub(crate) fn from_json<K: k8s_openapi::serde::de::DeserializeOwned>(value: serde_json::Value) -> K {
    serde_json::from_value(value).expect("an object")
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    from_json(json!({"metadata": {"name": name, "labels": {"value": value}}, "data": {"value": value}}))
}

/// Returns the status of a rejected request.
#[track_caller]
fn refused<T>(result: kube::Result<T>) -> Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        Err(other) => panic!("not an answer: {other}"),
        Ok(_) => panic!("it was not refused"),
    }
}
