//! Plugins of pods.

use http::Method;
use serde_json::{Value, json};

use super::{PODS, configured, made, namespace, pod, post, send, start};
use crate::support::Launch;

const NAMESPACES: &str = "/api/v1/namespaces";

#[tokio::test]
async fn images_are_always_pulled() {
    let server = start(Launch::new(), "AlwaysPullImages").await;
    let spec = json!({
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Never"}, {"name": "d", "image": "j:1"}],
        "initContainers": [{"name": "i", "image": "k", "imagePullPolicy": "IfNotPresent"}],
        "volumes": [{"name": "v", "image": {"reference": "r", "pullPolicy": "Never"}}],
    });
    let created = made(&server, PODS, &pod("p", spec)).await;
    let policies = |pod: &Value| {
        let spec = &pod["spec"];
        let of = |list: &str, index: usize| spec[list][index]["imagePullPolicy"].clone();
        json!([
            of("containers", 0),
            of("containers", 1),
            of("initContainers", 0),
            spec["volumes"][0]["image"]["pullPolicy"]
        ])
    };
    assert_eq!(policies(&created), json!(["Always", "Always", "Always", "Always"]));
    assert_eq!(policies(&server.admin().get(&format!("{PODS}/p")).await.json()), policies(&created));

    // Templates are not changed, their pods are.
    let kept = json!({"containers": [{"name": "c", "image": "i", "imagePullPolicy": "Never"}]});
    let template = json!({"metadata": {"name": "t"}, "template": pod("x", kept.clone())});
    let template = made(&server, "/api/v1/namespaces/default/podtemplates", &template).await;
    assert_eq!(template["template"]["spec"]["containers"][0]["imagePullPolicy"], "Never");

    let other = start(Launch::new(), "NodeRestriction").await;
    let kept = made(&other, PODS, &pod("p", kept)).await;
    assert_eq!(kept["spec"]["containers"][0]["imagePullPolicy"], "Never");
}

#[tokio::test]
async fn anti_affinity_is_required_by_hostname_alone() {
    let server = start(Launch::new(), "LimitPodHardAntiAffinityTopology").await;
    let affinity = |key: &str| {
        let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}});
        json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
    };
    made(&server, PODS, &pod("here", affinity("kubernetes.io/hostname"))).await;
    post(&server, PODS, &pod("zone", affinity("topology.kubernetes.io/zone"))).await.is_status(
        403,
        "Forbidden",
        "pods \"zone\" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey \
         topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed",
    );
}

#[tokio::test]
async fn extended_resources_are_tolerated() {
    let server = start(Launch::new(), "ExtendedResourceToleration").await;
    let asks = |resource: &str| {
        let amounts = json!({resource: "1"});
        let resources = json!({"requests": amounts, "limits": amounts});
        json!({"containers": [{"name": "c", "image": "i", "resources": resources}]})
    };
    let tolerates = |pod: &Value| {
        let all = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        all.iter().any(|toleration| {
            *toleration == json!({"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"})
        })
    };
    assert!(tolerates(&made(&server, PODS, &pod("gpu", asks("example.com/gpu"))).await));
    assert!(!tolerates(&made(&server, PODS, &pod("cpu", asks("cpu"))).await));
}

#[tokio::test]
async fn pods_have_the_node_selector_of_their_namespace() {
    let selectors = json!({"clusterDefaultNodeSelector": "env=dev", "fenced": "env=prod,disk=ssd"});
    let entry =
        json!([{"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": selectors}}]);
    let server = start(configured(Launch::new(), &entry), "PodNodeSelector").await;
    let annotation = json!({"scheduler.alpha.kubernetes.io/node-selector": "env=prod"});
    made(&server, NAMESPACES, &namespace("fenced", annotation)).await;
    let fenced = "/api/v1/namespaces/fenced/pods";

    let selector = |selector: Value| json!({"nodeSelector": selector});
    let plain = made(&server, PODS, &pod("plain", selector(json!({"a": "b"})))).await;
    assert_eq!(plain["spec"]["nodeSelector"], json!({"a": "b", "env": "dev"}));
    // At once after the namespace.
    let inside = made(&server, fenced, &pod("inside", selector(json!({"disk": "ssd"})))).await;
    assert_eq!(inside["spec"]["nodeSelector"], json!({"disk": "ssd", "env": "prod"}));
    post(&server, fenced, &pod("dev", selector(json!({"env": "dev"})))).await.is_status(
        403,
        "Forbidden",
        "pods \"dev\" is forbidden: pod node label selector conflicts with its namespace node label selector",
    );
    post(&server, fenced, &pod("hdd", selector(json!({"disk": "hdd"})))).await.is_status(
        403,
        "Forbidden",
        "pods \"hdd\" is forbidden: pod node label selector labels conflict with its namespace whitelist",
    );
    let none = json!({"scheduler.alpha.kubernetes.io/node-selector": ""});
    made(&server, NAMESPACES, &namespace("free", none)).await;
    let free = made(&server, "/api/v1/namespaces/free/pods", &pod("free", selector(json!({"a": "b"})))).await;
    assert_eq!(free["spec"]["nodeSelector"], json!({"a": "b"}), "not that of the cluster");
    let broken = json!({"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/node-selector": "env"}}});
    send(&server, Method::PATCH, "/api/v1/namespaces/fenced", &broken).await.gives(200);
    let answer = post(&server, fenced, &pod("any", json!({}))).await;
    assert_eq!((answer.code, &answer.json()["message"]), (500, &json!("invalid selector: [env]")));
}

#[tokio::test]
async fn tolerations_are_those_of_the_namespace() {
    let launch = Launch::new();
    // In a file of its own, as YAML.
    let file = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\ndefault:\n\
                - {key: usual, operator: Exists}\n";
    std::fs::write(launch.path("tolerations.yaml"), file).expect("write a configuration");
    let entry = json!([{"name": "PodTolerationRestriction", "path": "tolerations.yaml"}]);
    let server = start(configured(launch, &entry), "PodTolerationRestriction").await;
    let keys = |pod: &Value| {
        let all = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        let keys = all.iter().map(|toleration| toleration["key"].as_str().unwrap_or_default().to_owned());
        keys.filter(|key| !key.contains("not-ready") && !key.contains("unreachable")).collect::<Vec<_>>()
    };
    assert_eq!(keys(&made(&server, PODS, &pod("p", json!({}))).await), ["usual"]);
    let asks = json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]});
    let burstable = made(&server, PODS, &pod("q", asks)).await;
    assert_eq!(keys(&burstable), ["usual", "node.kubernetes.io/memory-pressure"]);

    let everything =
        json!([{"key": "a", "operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"}]);
    let annotations = json!({
        "scheduler.alpha.kubernetes.io/defaultTolerations": "[]",
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": everything.to_string(),
    });
    made(&server, NAMESPACES, &namespace("strict", annotations)).await;
    let strict = "/api/v1/namespaces/strict/pods";
    let tolerates =
        |key: &str| json!({"tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"}]});
    assert_eq!(keys(&made(&server, strict, &pod("a", tolerates("a"))).await), ["a"]);
    let answer = post(&server, strict, &pod("b", tolerates("b"))).await;
    let conflict = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist";
    assert_eq!((answer.code, &answer.json()["message"]), (500, &json!(conflict)));
}
