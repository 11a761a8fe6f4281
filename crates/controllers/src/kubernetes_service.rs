//! The service `default/kubernetes`, by which pods find the API servers, and its endpoints.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Result};

use crate::default_service_range::DefaultServiceRange;
use crate::runtime::{Controller, Requeue, Source};

const NAME: &str = "kubernetes";
const NAMESPACE: &str = "default";
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";

/// The API servers of the cluster.
#[async_trait]
pub trait Peers: Send + Sync + 'static {
    /// Announces this server, and returns the addresses of all servers.
    async fn join(&self) -> std::result::Result<Vec<IpAddr>, String>;

    /// Withdraws this server, and returns the addresses of the others.
    async fn leave(&self) -> std::result::Result<Vec<IpAddr>, String>;

    /// Returns whether there may be other servers.
    fn are_many(&self) -> bool;
}

/// Addresses and ports of the service and of this server.
#[derive(Clone)]
pub struct ServiceConfig {
    /// The cluster IP; the first address of the range.
    pub service_ip: IpAddr,
    /// The node port; unless it is 0, the service is of type NodePort.
    pub node_port: u16,
    /// The port of this server.
    pub port: u16,
    /// `None` with `--endpoint-reconciler-type=none`: then the endpoints are not managed.
    pub peers: Option<Arc<dyn Peers>>,
    pub interval: Duration,
}

/// Creates the service where it is missing, and keeps its endpoints up to date.
#[derive(Clone)]
pub struct KubernetesService {
    pub services: Client,
    /// The range of the service's cluster IP.
    pub range: DefaultServiceRange,
    pub endpoints: Client,
    pub slices: Client,
    pub config: ServiceConfig,
}

impl KubernetesService {
    /// The post-start and pre-shutdown hooks.
    pub const HOOK: &'static str = "bootstrap-controller";
    pub const STOP_HOOK: &'static str = "stop-kubernetes-service-controller";

    pub async fn sync(&self) {
        let (service, endpoints) = tokio::join!(self.ensure_service(), self.ensure_endpoints());
        if let Err(status) = service.and(endpoints) {
            tracing::error!("unable to sync kubernetes service: {}", status.message);
        }
    }

    /// Withdraws this server from the endpoints, so that clients use the others. A server that is alone leaves them as they are.
    pub async fn stop(&self) {
        let Some(peers) = self.config.peers.as_ref().filter(|peers| peers.are_many()) else { return };
        let left = match peers.leave().await {
            Ok(left) => self.publish(&left).await,
            Err(error) => Err(Box::new(Status::internal(error))),
        };
        if let Err(status) = left {
            tracing::error!("Unable to remove endpoints from kubernetes service: {}", status.message);
        }
    }

    async fn ensure_service(&self) -> Result<()> {
        let ServiceConfig { service_ip: ip, node_port, port, .. } = &self.config;
        // An existing service is left alone.
        if self.services.find(NAMESPACE, NAME).await?.is_some() {
            return Ok(());
        }
        self.range.ensure().await?;
        let (kind, node_port) = match node_port {
            0 => ("ClusterIP", String::new()),
            port => ("NodePort", format!(r#","nodePort":{port}"#)),
        };
        let json = format!(
            r#"{{"kind":"Service","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}","labels":{{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"ports":[{{"name":"https","protocol":"TCP","port":443,"targetPort":{port}{node_port}}}],"clusterIP":"{ip}","type":"{kind}","sessionAffinity":"None","ipFamilyPolicy":"SingleStack"}}}}"#
        );
        match self.services.create_if_missing(NAMESPACE, json.as_bytes()).await {
            // Another server was faster: it has the address for this service.
            Err(status) if status.reason == Reason::Invalid => {
                let found = self.services.find(NAMESPACE, NAME).await?;
                found.map(|_| ()).ok_or(status)
            }
            done => done.map(|_| ()),
        }
    }

    async fn ensure_endpoints(&self) -> Result<()> {
        let Some(peers) = &self.config.peers else { return Ok(()) };
        let addresses = peers.join().await.map_err(|error| Box::new(Status::internal(error)))?;
        if addresses.is_empty() {
            let why = "no API server IP addresses were listed in storage, refusing to erase all endpoints for the \
                       kubernetes Service";
            return Err(Box::new(Status::internal(why)));
        }
        self.publish(&addresses).await
    }

    async fn publish(&self, addresses: &[IpAddr]) -> Result<()> {
        let mut texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
        texts.sort_unstable();
        texts.dedup();
        let (current, slice) =
            tokio::join!(self.endpoints.find(NAMESPACE, NAME), self.slices.find(NAMESPACE, NAME));
        let (current, slice) = (current?, slice?);
        // The port of several servers is the one that is published.
        let known = current.as_ref().and_then(|current| current.items_at(&["subsets"]).first());
        let known = known.and_then(|subset| subset.items_at(&["ports"]).first());
        let port =
            known.and_then(|port| port.get("port")).and_then(Value::as_i64).filter(|_| texts.len() > 1);
        let port = port.unwrap_or_else(|| self.config.port.into());
        let (endpoints, slices) = (endpoints_json(&texts, port), slice_json(&texts, port));
        let endpoints = ensure(&self.endpoints, &endpoints, current.as_ref(), &["subsets"]);
        let slices = self.ensure_slice(&slices, slice.as_ref());
        let (endpoints, slices) = tokio::join!(endpoints, slices);
        endpoints.and(slices)
    }

    async fn ensure_slice(&self, json: &str, current: Option<&Value>) -> Result<()> {
        let wanted = self.slices.read(json.as_bytes())?;
        // The address type is immutable.
        let other = current.is_some_and(|current| current.get("addressType") != wanted.get("addressType"));
        if let Some(current) = current.filter(|_| other) {
            self.slices.delete(NAMESPACE, current).await?;
        }
        ensure(&self.slices, json, current.filter(|_| !other), &["endpoints", "ports"]).await
    }
}

#[async_trait]
impl Controller for KubernetesService {
    fn name(&self) -> &'static str {
        "kubernetes_service"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(self.config.interval, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await;
        Ok(Requeue::Never)
    }

    fn awaited(&self) -> Option<&'static str> {
        Some("the service kubernetes and its endpoints")
    }
}

/// Creates an object, or sets these fields and the labels of an existing one.
async fn ensure(objects: &Client, json: &str, current: Option<&Value>, fields: &[&str]) -> Result<()> {
    let Some(current) = current else {
        return objects.create_if_missing(NAMESPACE, json.as_bytes()).await.map(|_| ());
    };
    let wanted = objects.read(json.as_bytes())?;
    let revise = |object: &mut Value| {
        let mut changed = false;
        for field in fields {
            if object.get(field) != wanted.get(field)
                && let Some(object) = object.as_object_mut()
            {
                changed = true;
                if let Some(value) = wanted.get(field) {
                    object.insert((*field).to_owned(), value.clone());
                } else {
                    object.remove(field);
                }
            }
        }
        for (label, value) in wanted.labels() {
            if object.label(label) != Some(value)
                && let Some(metadata) = object.metadata_mut()
            {
                changed = true;
                let labels = metadata.get_or_insert_with("labels", || pintle_meta::Object::default().into());
                if let Some(labels) = labels.as_object_mut() {
                    labels.insert(label.to_owned(), value);
                }
            }
        }
        changed
    };
    if !revise(&mut current.clone()) {
        return Ok(());
    }
    let mut change = |object: &Value| {
        let mut new = object.clone();
        Ok(revise(&mut new).then_some(new))
    };
    match objects.update(NAMESPACE, NAME, &mut change).await {
        // Another writer was faster; the next round looks again.
        Err(status) if !matches!(status.reason, Reason::Conflict | Reason::NotFound) => Err(status),
        _ => Ok(()),
    }
}

fn endpoints_json(addresses: &[String], port: i64) -> String {
    let all: Vec<String> = addresses.iter().map(|ip| format!(r#"{{"ip":"{ip}"}}"#)).collect();
    let subsets = match all.as_slice() {
        [] => String::new(),
        all => format!(
            r#","subsets":[{{"addresses":[{}],"ports":[{{"name":"https","port":{port},"protocol":"TCP"}}]}}]"#,
            all.join(",")
        ),
    };
    format!(
        r#"{{"kind":"Endpoints","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}","labels":{{"{SKIP_MIRROR}":"true"}}}}{subsets}}}"#
    )
}

fn slice_json(addresses: &[String], port: i64) -> String {
    let all: Vec<String> = addresses
        .iter()
        .map(|ip| format!(r#"{{"addresses":["{ip}"],"conditions":{{"ready":true}}}}"#))
        .collect();
    let is_ipv6 = !addresses.is_empty() && addresses.iter().all(|ip| ip.contains(':'));
    let family = if is_ipv6 { "IPv6" } else { "IPv4" };
    let ports = if all.is_empty() {
        String::new()
    } else {
        format!(r#","ports":[{{"name":"https","port":{port},"protocol":"TCP"}}]"#)
    };
    format!(
        r#"{{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}","labels":{{"kubernetes.io/service-name":"{NAME}"}}}},"addressType":"{family}","endpoints":[{}]{ports}}}"#,
        all.join(",")
    )
}
