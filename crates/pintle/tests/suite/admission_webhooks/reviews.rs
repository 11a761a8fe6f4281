//! Reviews of requests that are not about one object of a resource.

use super::*;

/// Starts a server whose webhook sees everything of some groups but events and leases.
async fn watched(groups: &[&str], resources: &[&str]) -> (Server, HttpsServer) {
    let webhook = HttpsServer::start(allow).await;
    let server = started().await;
    let rules =
        json!([{"apiGroups": groups, "apiVersions": ["*"], "operations": ["*"], "resources": resources}]);
    configure(&server, "validating", "v", &[hook("v.example.io", &webhook, "/", &rules)]).await;
    (server, webhook)
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n", "terminationGracePeriodSeconds": 17},
    })
}

#[tokio::test]
async fn deletions_have_the_options_that_take_effect() {
    let (server, webhook) = watched(&[""], &["pods", "configmaps"]).await;
    for name in ["a", "b"] {
        made(&server, PODS, &pod(name)).await;
        made(&server, CONFIG_MAPS, &config_map(name)).await;
    }
    assert_eq!(send(&server, Method::DELETE, &format!("{PODS}/a"), &Value::Null).await.code, 200);
    let seen = last(&webhook);
    assert_eq!(
        json!([seen["operation"], seen["object"], seen["oldObject"]["metadata"]["name"]]),
        json!(["DELETE", null, "a"])
    );
    assert_eq!(
        seen["options"],
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 17}),
        "the pod's own grace period"
    );
    let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5, "propagationPolicy": "Background"});
    assert_eq!(send(&server, Method::DELETE, &format!("{PODS}/b"), &body).await.code, 200);
    let options = last(&webhook)["options"].clone();
    assert_eq!(
        json!([options["gracePeriodSeconds"], options["propagationPolicy"]]),
        json!([5, "Background"])
    );

    let before = webhook.seen().len();
    assert_eq!(send(&server, Method::DELETE, CONFIG_MAPS, &Value::Null).await.code, 200);
    let mut names: Vec<Value> = Vec::new();
    for request in &requests(&webhook)[before..] {
        assert_eq!(
            json!([request["operation"], request["name"], request["namespace"]]),
            json!(["DELETE", null, "default"])
        );
        names.push(request["oldObject"]["metadata"]["name"].clone());
    }
    assert!(
        names.contains(&json!("a")) && names.contains(&json!("b")),
        "each object of a collection: {names:?}"
    );
}

#[tokio::test]
async fn subresources_are_seen_as_their_own_kinds() {
    let (server, webhook) = watched(&["", "apps", "policy"], &["*/*"]).await;
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": pod("x")["spec"]});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    made(&server, deployments, &deployment).await;
    let scaled = send_as(
        &server,
        Method::PATCH,
        &format!("{deployments}/d/scale"),
        "application/merge-patch+json",
        &json!({"spec": {"replicas": 3}}),
    )
    .await;
    assert_eq!(scaled.code, 200, "{scaled:?}");
    let seen = last(&webhook);
    assert_eq!(seen["kind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!(seen["resource"], json!({"group": "apps", "version": "v1", "resource": "deployments"}));
    assert_eq!(
        json!([
            seen["subResource"],
            seen["object"]["kind"],
            seen["object"]["spec"]["replicas"],
            seen["oldObject"]["spec"]["replicas"]
        ]),
        json!(["scale", "Scale", 3, 1])
    );

    made(&server, PODS, &pod("p")).await;
    let status = json!({"status": {"phase": "Running"}});
    let patched =
        send_as(&server, Method::PATCH, &format!("{PODS}/p/status"), "application/merge-patch+json", &status)
            .await;
    assert_eq!(patched.code, 200, "{patched:?}");
    let seen = last(&webhook);
    assert_eq!(
        json!([seen["kind"]["kind"], seen["subResource"], seen["object"]["status"]["phase"]]),
        json!(["Pod", "status", "Running"])
    );

    let mut unbound = pod("u");
    unbound["spec"].as_object_mut().unwrap().remove("nodeName");
    made(&server, PODS, &unbound).await;
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "u"}, "target": {"kind": "Node", "name": "n"}});
    assert_eq!(send(&server, Method::POST, &format!("{PODS}/u/binding"), &binding).await.code, 201);
    let seen = last(&webhook);
    assert_eq!(
        json!([
            seen["operation"],
            seen["kind"]["kind"],
            seen["subResource"],
            seen["name"],
            seen["object"]["target"]["name"]
        ]),
        json!(["CREATE", "Binding", "binding", "u", "n"])
    );

    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "u"}});
    let evicted = send(&server, Method::POST, &format!("{PODS}/u/eviction"), &eviction).await;
    assert_eq!(evicted.code, 201, "{evicted:?}");
    let seen = last(&webhook);
    assert_eq!(
        json!([seen["kind"], seen["object"]["kind"]]),
        json!([{"group": "policy", "version": "v1", "kind": "Eviction"}, "Eviction"])
    );

    let _ = send(&server, Method::POST, &format!("{PODS}/p/exec?command=sh&container=c"), &Value::Null).await;
    let seen = last(&webhook);
    assert_eq!(
        json!([seen["operation"], seen["kind"]["kind"], seen["object"]["kind"], seen["object"]["command"]]),
        json!(["CONNECT", "PodExecOptions", "PodExecOptions", ["sh"]])
    );
    assert_eq!(json!([seen["options"], seen["dryRun"], seen["name"]]), json!([null, false, "p"]));
}

#[tokio::test]
async fn a_namespace_is_in_itself() {
    let (server, webhook) = watched(&[""], &["namespaces", "namespaces/*"]).await;
    let namespaces = "/api/v1/namespaces";
    made(&server, namespaces, &json!({"metadata": {"name": "mine"}})).await;
    assert_eq!(json!([last(&webhook)["name"], last(&webhook)["namespace"]]), json!(["mine", "mine"]));
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let path = format!("{namespaces}/mine");
    assert_eq!(
        send_as(&server, Method::PATCH, &path, "application/merge-patch+json", &labels).await.code,
        200
    );
    assert_eq!(json!([last(&webhook)["operation"], last(&webhook)["namespace"]]), json!(["UPDATE", "mine"]));
    assert_eq!(send(&server, Method::DELETE, &path, &Value::Null).await.code, 200);
    assert_eq!(json!([last(&webhook)["operation"], last(&webhook)["namespace"]]), json!(["DELETE", "mine"]));
}

#[tokio::test]
async fn objects_are_converted_to_the_version_that_a_webhook_knows() {
    let webhook = HttpsServer::start(|seen| {
        patch(seen, &json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": seen.json()["request"]["object"]["apiVersion"].as_str().unwrap_or_default().replace('/', "-")}}]))
    })
    .await;
    let server = started().await;
    let rules = json!([{"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["horizontalpodautoscalers"]}]);
    configure(&server, "mutating", "m", &[hook("m.example.io", &webhook, "/", &rules)]).await;
    let autoscaler = |name: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {
                "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}],
            },
        })
    };
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let made = made(&server, path, &autoscaler("a")).await;
    assert_eq!(made["metadata"]["labels"]["seen"], "autoscaling-v1");
    assert_eq!(made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 60, "converted back");
    let seen = last(&webhook);
    assert_eq!(seen["object"]["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(
        json!([
            seen["kind"]["version"],
            seen["requestKind"]["version"],
            seen["resource"]["version"],
            seen["requestResource"]["version"]
        ]),
        json!(["v1", "v2", "v1", "v2"])
    );
}

#[tokio::test]
async fn webhooks_behind_services_are_looked_up() {
    let (server, webhook) = (started().await, HttpsServer::start(allow).await);
    let mut missing = hook("s.example.io", &webhook, "/", &rules("", &["secrets"]));
    missing["clientConfig"] = json!({"service": {"namespace": "default", "name": "nowhere", "path": "/p"}});
    configure(&server, "validating", "s", &[missing]).await;
    let secret = json!({"metadata": {"name": "s"}});
    send(&server, Method::POST, "/api/v1/namespaces/default/secrets", &secret).await.is_status(
        500,
        "InternalError",
        "Internal error occurred: failed calling webhook \"s.example.io\": failed to call webhook: Post \
         \"https://nowhere.default.svc:443/p?timeout=10s\": service \"nowhere\" not found",
    );
}
