//! Policies in the shapes of published libraries: pod security, required labels, image registries, resource limits, hosts of
//! ingresses and a few more, each with an object that passes and one that does not.

use serde_json::{Value, json};

use super::{bind, constraints, create, denial};
use crate::support::Launch;
use crate::support::shared::ready;

/// A policy with its message, and where its objects go.
struct Case {
    name: &'static str,
    resources: &'static [&'static str],
    path: &'static str,
    variables: Value,
    expression: &'static str,
    message: &'static str,
    passes: Value,
    fails: Value,
}

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONTAINERS: &str = "(has(object.spec.containers) ? object.spec.containers : []) + (has(object.spec.initContainers) ? object.spec.initContainers : [])";

fn pod(spec: Value) -> Value {
    let mut whole = json!({"containers": [{"name": "c", "image": "registry.example.com/app:1"}]});
    if let (Some(whole), Value::Object(spec)) = (whole.as_object_mut(), spec) {
        whole.extend(spec);
    }
    json!({"metadata": {"name": "p", "labels": {"app": "a", "owner": "team-b"}}, "spec": whole})
}

fn containers(container: Value) -> Value {
    let mut whole = json!({"name": "c", "image": "registry.example.com/app:1"});
    if let (Some(whole), Value::Object(container)) = (whole.as_object_mut(), container) {
        whole.extend(container);
    }
    pod(json!({"containers": [whole]}))
}

/// The variable that most policies on pods have.
fn all_containers() -> Value {
    json!([{"name": "containers", "expression": CONTAINERS}])
}

fn pod_security() -> Vec<Case> {
    let variables = all_containers();
    let of = |name, expression, message, passes, fails| Case {
        name,
        resources: &["/v1/pods"],
        path: PODS,
        variables: variables.clone(),
        expression,
        message,
        passes,
        fails,
    };
    vec![
        of(
            "host-namespaces",
            "!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false) && !object.spec.?hostIPC.orValue(false)",
            "host namespaces are not allowed",
            pod(json!({})),
            pod(json!({"hostPID": true})),
        ),
        of(
            "privileged",
            "variables.containers.all(c, !c.?securityContext.privileged.orValue(false))",
            "privileged containers are not allowed",
            containers(json!({"securityContext": {"privileged": false}})),
            containers(json!({"securityContext": {"privileged": true}})),
        ),
        of(
            "non-root",
            "object.spec.?securityContext.runAsNonRoot.orValue(false) || variables.containers.all(c, c.?securityContext.runAsNonRoot.orValue(false))",
            "containers must not run as root",
            pod(json!({"securityContext": {"runAsNonRoot": true}})),
            pod(json!({})),
        ),
        of(
            "capabilities",
            "variables.containers.all(c, c.?securityContext.capabilities.drop.orValue([]).exists(d, d == 'ALL') && c.?securityContext.capabilities.add.orValue([]).all(a, a == 'NET_BIND_SERVICE'))",
            "capabilities must be dropped",
            containers(
                json!({"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}}),
            ),
            containers(json!({"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}})),
        ),
        of(
            "host-path",
            "!object.spec.?volumes.orValue([]).exists(v, has(v.hostPath))",
            "volumes of the host are not allowed",
            pod(json!({"volumes": [{"name": "v", "emptyDir": {}}]})),
            pod(json!({"volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]})),
        ),
        of(
            "host-ports",
            "variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))",
            "ports of the host are not allowed",
            containers(json!({"ports": [{"containerPort": 80}]})),
            containers(json!({"ports": [{"containerPort": 80, "hostPort": 80}]})),
        ),
        of(
            "seccomp",
            "object.spec.?securityContext.seccompProfile.type.orValue('') in ['RuntimeDefault', 'Localhost']",
            "a seccomp profile is required",
            pod(json!({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}})),
            pod(json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}})),
        ),
    ]
}

fn images_and_limits() -> Vec<Case> {
    let variables = all_containers();
    let of = |name, expression, message, passes, fails| Case {
        name,
        resources: &["/v1/pods"],
        path: PODS,
        variables: variables.clone(),
        expression,
        message,
        passes,
        fails,
    };
    vec![
        of(
            "required-labels",
            "['app', 'owner'].all(label, label in object.metadata.?labels.orValue({})) && object.metadata.labels.owner.matches('^team-[a-z]+$')",
            "labels app and owner are required",
            pod(json!({})),
            json!({"metadata": {"name": "p", "labels": {"app": "a", "owner": "someone"}}, "spec": pod(json!({}))["spec"]}),
        ),
        of(
            "image-registries",
            "variables.containers.all(c, ['registry.example.com/', 'mirror.example.com/'].exists(prefix, c.image.startsWith(prefix)))",
            "images must come from our registries",
            pod(json!({})),
            containers(json!({"image": "docker.io/library/nginx:1"})),
        ),
        of(
            "no-latest-tag",
            "variables.containers.all(c, c.image.contains(':') && !c.image.endsWith(':latest') || c.image.contains('@sha256:'))",
            "images must have a tag other than latest",
            pod(json!({})),
            containers(json!({"image": "registry.example.com/app:latest"})),
        ),
        of(
            "resource-limits",
            "variables.containers.all(c, ['cpu', 'memory'].all(r, r in c.?resources.limits.orValue({}))) && variables.containers.all(c, quantity(c.resources.limits['memory']).compareTo(quantity('2Gi')) <= 0)",
            "limits of at most 2Gi are required",
            containers(json!({"resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}})),
            containers(json!({"resources": {"limits": {"cpu": "500m", "memory": "3Gi"}}})),
        ),
        of(
            "probes",
            "variables.containers.all(c, has(c.readinessProbe) && has(c.livenessProbe))",
            "probes are required",
            containers(
                json!({"readinessProbe": {"tcpSocket": {"port": 1}}, "livenessProbe": {"tcpSocket": {"port": 1}}}),
            ),
            containers(json!({"readinessProbe": {"tcpSocket": {"port": 1}}})),
        ),
        of(
            "no-default-account-token",
            "object.spec.?automountServiceAccountToken.orValue(true) == false",
            "tokens must not be mounted",
            pod(json!({"automountServiceAccountToken": false})),
            pod(json!({})),
        ),
    ]
}

fn others() -> Vec<Case> {
    let none = || json!([]);
    let ingress = |host: &str| {
        json!({"metadata": {"name": "i"}, "spec": {
            "tls": [{"hosts": [host]}],
            "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}],
        }})
    };
    let service = |spec: Value| json!({"metadata": {"name": "s"}, "spec": spec});
    vec![
        Case {
            name: "ingress-hosts",
            resources: &["networking.k8s.io/v1/ingresses"],
            path: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            variables: none(),
            expression: "object.spec.rules.all(r, r.?host.orValue('').endsWith('.apps.example.com') && !r.host.contains('*')) && object.spec.rules.all(r, object.spec.?tls.orValue([]).exists(t, r.host in t.?hosts.orValue([])))",
            message: "hosts must be of apps.example.com and have TLS",
            passes: ingress("shop.apps.example.com"),
            fails: ingress("shop.example.org"),
        },
        Case {
            name: "no-load-balancers",
            resources: &["/v1/services"],
            path: "/api/v1/namespaces/default/services",
            variables: none(),
            expression: "!(object.spec.?type.orValue('ClusterIP') in ['LoadBalancer', 'NodePort'])",
            message: "services of the cluster only",
            passes: service(json!({"ports": [{"port": 80}]})),
            fails: service(json!({"type": "NodePort", "ports": [{"port": 80}]})),
        },
        Case {
            name: "no-cluster-admin-bindings",
            resources: &["rbac.authorization.k8s.io/v1/clusterrolebindings"],
            path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            variables: none(),
            expression: "object.roleRef.name != 'cluster-admin' || object.?subjects.orValue([]).all(s, s.kind == 'Group' && s.name.startsWith('admins:'))",
            message: "only groups of administrators",
            passes: json!({"metadata": {"name": "a"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}),
            fails: json!({"metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]}),
        },
        Case {
            name: "replicas",
            resources: &["apps/v1/deployments", "apps/v1/statefulsets"],
            path: "/apis/apps/v1/namespaces/default/deployments",
            variables: json!([{"name": "replicas", "expression": "object.spec.?replicas.orValue(1)"}]),
            expression: "variables.replicas >= 2 && variables.replicas <= 10",
            message: "between 2 and 10 replicas",
            passes: deployment(3),
            fails: deployment(1),
        },
    ]
}

fn deployment(replicas: i64) -> Value {
    json!({"metadata": {"name": "d"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

#[tokio::test]
async fn policies_of_published_libraries_admit_and_deny() {
    let server = Launch::new().arg("--allow-privileged=true").start().await;
    ready(&server).await;
    for case in pod_security().into_iter().chain(images_and_limits()).chain(others()) {
        let spec = json!({
            "matchConstraints": constraints(case.resources), "variables": case.variables,
            "validations": [{"expression": case.expression, "message": case.message}],
        });
        bind(&server, case.name, spec, json!({})).await;
        let path = format!("{}?dryRun=All", case.path);
        let passed = create(&server, &path, &case.passes).await;
        assert_eq!(passed.code, 201, "{}: {passed:?}", case.name);
        let failed = create(&server, &path, &case.fails).await;
        assert_eq!((failed.code, denial(&failed).as_str()), (422, case.message), "{}", case.name);
        let binding = format!("{}/validatingadmissionpolicybindings/{}", super::REGISTRATION, case.name);
        super::send(&server, http::Method::DELETE, &binding, &json!({})).await.code_is(200);
        assert_eq!(create(&server, &path, &case.fails).await.code, 201, "{}: not bound any more", case.name);
    }
}
