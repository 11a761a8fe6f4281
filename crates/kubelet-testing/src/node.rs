//! The node of a kubelet and the pods on it, as the API server has them.
//!
//! The kubelet takes every pod that has no node yet, since there is no scheduler in tests. Pods run from then on until they are deleted, or
//! until a client that is attached to one ends it.

use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::host::{Host, JSON, MERGE};

const PERIOD: Duration = Duration::from_millis(100);

/// Registers a node and keeps its pods' statuses, until the future is dropped.
pub(crate) async fn keep(host: &Host, name: &str, address: SocketAddr) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    let status = json!({"status": {
        "addresses": [{"type": "InternalIP", "address": address.ip().to_string()}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": address.port()}},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }});
    loop {
        let _ = host.send(Method::POST, "/api/v1/nodes", JSON, &node).await;
        let path = format!("/api/v1/nodes/{name}/status");
        if matches!(host.send(Method::PATCH, &path, MERGE, &status).await, Ok((code, _)) if code.is_success())
        {
            break;
        }
        tokio::time::sleep(PERIOD).await;
    }
    loop {
        if let Ok((_, pods)) = host.send(Method::GET, "/api/v1/pods", JSON, &Value::Null).await {
            for pod in pods["items"].as_array().into_iter().flatten() {
                // Another change of the pod came first: the next round sees it.
                let _ = advance(host, name, address, pod).await;
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// Brings a pod one step further: to the node, to life, or to its end.
async fn advance(host: &Host, node: &str, address: SocketAddr, pod: &Value) -> Result<(), String> {
    let (namespace, name) = (&pod["metadata"]["namespace"], &pod["metadata"]["name"]);
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}",
        namespace.as_str().unwrap_or_default(),
        name.as_str().unwrap_or_default()
    );
    match pod["spec"]["nodeName"].as_str() {
        None => {
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
            host.send(Method::POST, &format!("{path}/binding"), JSON, &binding).await?;
        }
        Some(of) if of != node => {}
        Some(_) if pod["metadata"]["deletionTimestamp"].is_string() => {
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
            host.send(Method::DELETE, &path, JSON, &options).await?;
        }
        Some(_) if pod["status"]["phase"] == "Pending" => {
            let ip = address.ip().to_string();
            let ready = |kind: &str| json!({"type": kind, "status": "True"});
            let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(ready);
            let status = json!({"status": {
                "phase": "Running", "hostIP": ip, "podIP": ip, "podIPs": [{"ip": ip}],
                "conditions": conditions,
                "containerStatuses": containers(pod, true, &json!({"running": {}})),
            }});
            host.send(Method::PATCH, &format!("{path}/status"), MERGE, &status).await?;
        }
        Some(_) => {}
    }
    Ok(())
}

/// Ends a pod whose main process has ended.
pub(crate) async fn end(host: &Host, namespace: &str, name: &str, code: i32) -> Result<(), String> {
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    let (_, pod) = host.send(Method::GET, &path, JSON, &Value::Null).await?;
    if pod["spec"]["restartPolicy"] == "Always" {
        return Ok(());
    }
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let status = json!({"status": {
        "phase": phase, "containerStatuses": containers(&pod, false, &json!({"terminated": {"exitCode": code}})),
    }});
    host.send(Method::PATCH, &format!("{path}/status"), MERGE, &status).await.map(drop)
}

fn containers(pod: &Value, ready: bool, state: &Value) -> Vec<Value> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let status = |container: &Value| {
        json!({"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
            "ready": ready, "started": ready, "state": state})
    };
    containers.map(status).collect()
}
