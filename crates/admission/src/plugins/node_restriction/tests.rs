use std::collections::HashMap;

use pintle_auth::{NODES, User, Verdict, authorizer};
use pintle_features::{Feature, Features};
use pintle_meta::{Reason, Status};
use rcgen::{CertificateParams, DnType, KeyPair};

use super::*;
use crate::testing::{self, Outcome};

/// Objects by resource, namespace and name; one namespace and one node cannot be read.
#[derive(Default)]
struct Objects(HashMap<(Resource, &'static str, &'static str), Value>);

#[async_trait]
impl ObjectLister for Objects {
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
        if namespace == "broken" || (resource, name) == (Resource::Node, "broken") {
            return Err(Box::new(Status::timeout("no store")));
        }
        let found = self
            .0
            .iter()
            .find(|((of, within, called), _)| (*of, *within, *called) == (resource, namespace, name));
        Ok(found.map(|(_, object)| object.clone()))
    }

    async fn list(&self, resource: Resource, _: &str) -> Result<Vec<Value>> {
        panic!("the plugin does not list {resource:?}")
    }
}

/// Allows requests for one audience.
struct Audiences;

#[async_trait]
impl Authorizer for Audiences {
    async fn authorize(&self, attributes: &authorizer::Attributes<'_>) -> Verdict {
        let asked = (attributes.verb, attributes.resource, attributes.namespace, attributes.name);
        match asked {
            ("request-serviceaccounts-token-audience", "granted", "ns", "sa") => Verdict::allow(""),
            (_, "failing", ..) => Verdict { error: Some("no policy".into()), ..Verdict::no_opinion("") },
            _ => Verdict::no_opinion("no"),
        }
    }
}

fn json(text: &str) -> Value {
    pintle_codec::json::decode_untyped(text.as_bytes()).expect("a test's JSON").value
}

struct Case {
    resource: &'static str,
    operation: Operation,
    namespace: &'static str,
    name: &'static str,
    object: Option<Value>,
    old: Option<Value>,
    user: User,
    features: Features,
}

fn node_user(name: &str) -> User {
    User { name: name.into(), groups: vec![NODES.into()], ..User::default() }
}

fn case(operation: Operation, resource: &'static str) -> Case {
    Case {
        resource,
        operation,
        namespace: "",
        name: "",
        object: None,
        old: None,
        user: node_user("system:node:n1"),
        features: Features::default().with(Feature::PodCertificateRequest, true),
    }
}

impl Case {
    fn of(mut self, namespace: &'static str, name: &'static str) -> Case {
        (self.namespace, self.name) = (namespace, name);
        self
    }

    fn with(mut self, object: &str) -> Case {
        self.object = Some(json(object));
        self
    }

    fn old(mut self, object: &str) -> Case {
        self.old = Some(json(object));
        self
    }

    async fn answer(self) -> Result<()> {
        let plugin = NodeRestriction {
            objects: Arc::new(cluster()),
            authorizer: Arc::new(Audiences),
            features: self.features,
        };
        let mut case = testing::Case::new(self.operation, self.resource)
            .in_namespace(self.namespace)
            .named(self.name)
            .by(self.user);
        if let Some(object) = self.object {
            case = case.object(object);
        }
        if let Some(old) = self.old {
            case = case.old_object(old);
        }
        match case.run(&plugin).await {
            Outcome::Rejected(status) => Err(status),
            _ => Ok(()),
        }
    }

    async fn allowed(self) {
        self.answer().await.expect("allowed");
    }

    async fn refused(self, why: &str) {
        let status = self.answer().await.expect_err(why);
        assert_eq!(status.reason, Reason::Forbidden, "{}", status.message);
        let (_, message) = status.message.split_once(" is forbidden: ").expect("the usual beginning");
        assert_eq!(message, why);
    }
}

/// Node n1; pods `p` on it and `q` on n2; a claim with a volume of a driver that asks for tokens.
fn cluster() -> Objects {
    let pod = |node: &str, rest: &str| {
        json(&format!(
            r#"{{"metadata":{{"name":"p","namespace":"ns","uid":"up"}},"spec":{{"nodeName":"{node}","serviceAccountName":"sa","volumes":[
            {{"name":"t","projected":{{"sources":[{{"serviceAccountToken":{{"audience":"projected"}}}}]}}}}{rest}]}}}}"#
        ))
    };
    Objects(HashMap::from([
        ((Resource::Node, "", "n1"), json(r#"{"metadata":{"name":"n1","uid":"un"}}"#)),
        ((Resource::ServiceAccount, "ns", "sa"), json(r#"{"metadata":{"name":"sa","uid":"us"}}"#)),
        (
            (Resource::Pod, "ns", "p"),
            pod(
                "n1",
                r#",{"name":"c","persistentVolumeClaim":{"claimName":"c"}},{"name":"i","csi":{"driver":"inline"}},{"name":"o","azureFile":{}}"#,
            ),
        ),
        ((Resource::Pod, "ns", "q"), pod("n2", "")),
        (
            (Resource::Pod, "ns", "lost"),
            pod(
                "n1",
                r#",{"name":"c","persistentVolumeClaim":{"claimName":"gone"}},{"name":"e","ephemeral":{"volumeClaimTemplate":{}}}"#,
            ),
        ),
        ((Resource::PersistentVolumeClaim, "ns", "c"), json(r#"{"spec":{"volumeName":"v"}}"#)),
        ((Resource::PersistentVolume, "", "v"), json(r#"{"spec":{"csi":{"driver":"d"}}}"#)),
        ((Resource::CsiDriver, "", "d"), json(r#"{"spec":{"tokenRequests":[{"audience":"claimed"}]}}"#)),
        ((Resource::CsiDriver, "", "inline"), json(r#"{"spec":{"tokenRequests":[{"audience":"inlined"}]}}"#)),
        (
            (Resource::CsiDriver, "", "file.csi.azure.com"),
            json(r#"{"spec":{"tokenRequests":[{"audience":"translated"}]}}"#),
        ),
    ]))
}

use Operation::{Create, Delete, Update};

#[tokio::test]
async fn users_that_are_not_nodes_are_not_restricted() {
    let mut admin = case(Create, "pods").of("ns", "x").with("{}");
    admin.user = User { name: "admin".into(), ..User::default() };
    admin.allowed().await;
    let mut nameless = case(Create, "pods").of("ns", "x").with("{}");
    nameless.user = node_user("system:node:");
    nameless.refused(r#"could not determine node from user "system:node:""#).await;
    case(Create, "events").of("ns", "x").with("{}").allowed().await;
}

const OWNER: &str = r#"{"apiVersion":"v1","kind":"Node","name":"n1","uid":"un","controller":true}"#;

fn mirror(owners: &str, spec: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"m","annotations":{{"kubernetes.io/config.mirror":"x"}},"ownerReferences":[{owners}]}},"spec":{{"nodeName":"n1"{spec}}}}}"#
    )
}

#[tokio::test]
async fn a_node_creates_mirror_pods_bound_to_itself_only() {
    let create = |object: &str| case(Create, "pods").of("ns", "").with(object);
    create(&mirror(OWNER, r#","volumes":[{"name":"h","hostPath":{}},{"name":"p","projected":{"sources":[{"downwardAPI":{}}]}}]"#))
        .allowed()
        .await;
    create(r#"{"metadata":{"name":"m"},"spec":{"nodeName":"n1"}}"#)
        .refused(r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods"#)
        .await;
    create(&mirror(OWNER, "").replace(r#""nodeName":"n1""#, r#""nodeName":"n2""#))
        .refused(r#"node "n1" can only create pods with spec.nodeName set to itself"#)
        .await;
    for (owners, why) in [
        ("".to_owned(), r#"node "n1" can only create pods with an owner reference set to itself"#),
        (
            format!("{OWNER},{OWNER}"),
            r#"node "n1" can only create pods with a single owner reference set to itself"#,
        ),
        (
            OWNER.replace("\"n1\"", "\"n2\""),
            r#"node "n1" can only create pods with an owner reference set to itself"#,
        ),
        (
            OWNER.replace("true", "false"),
            r#"node "n1" can only create pods with a controller owner reference set to itself"#,
        ),
        (
            OWNER.replace("true", r#"true,"blockOwnerDeletion":true"#),
            r#"node "n1" must not set blockOwnerDeletion on an owner reference"#,
        ),
        (OWNER.replace("\"un\"", "\"other\""), "node n1 UID mismatch: expected other got un"),
    ] {
        create(&mirror(&owners, "")).refused(why).await;
    }
    let mut unknown = create(&mirror(&OWNER.replace("n1", "n9"), "").replace("n1", "n9"));
    unknown.user = node_user("system:node:n9");
    let status = unknown.answer().await.expect_err("no such node");
    assert_eq!((status.reason, status.message.as_str()), (Reason::NotFound, r#"node "n9" not found"#));
    let mut unread = create(&mirror(OWNER, "").replace("n1", "broken"));
    unread.user = node_user("system:node:broken");
    unread.refused("error looking up node broken to verify uid: Timeout: no store").await;
}

#[tokio::test]
async fn a_mirror_pod_refers_to_no_api_object() {
    for (spec, resource) in [
        (r#""serviceAccountName":"sa""#, "serviceaccounts"),
        (r#""imagePullSecrets":[{"name":"s"}]"#, "secrets"),
        (r#""containers":[{"envFrom":[{"secretRef":{"name":"s"}}]}]"#, "secrets"),
        (r#""containers":[{"env":[{"valueFrom":{"configMapKeyRef":{"name":"c"}}}]}]"#, "configmaps"),
        (r#""volumes":[{"name":"v","configMap":{}}]"#, "configmaps (via configmap volumes)"),
        (r#""volumes":[{"name":"v","secret":{}}]"#, "secrets (via secret volumes)"),
        (r#""volumes":[{"name":"v","csi":{}}]"#, "csidrivers (via CSI volumes)"),
        (r#""volumes":[{"name":"v","glusterfs":{}}]"#, "endpoints (via glusterFS volumes)"),
        (r#""volumes":[{"name":"v","persistentVolumeClaim":{}}]"#, "persistentvolumeclaims"),
        (r#""volumes":[{"name":"v","ephemeral":{}}]"#, "persistentvolumeclaims (via ephemeral volumes)"),
        (r#""volumes":[{"name":"v","azureFile":{}}]"#, "secrets (via azureFile volumes)"),
        (
            r#""volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{}}]}}]"#,
            "serviceaccounts (via projected volumes)",
        ),
        (
            r#""volumes":[{"name":"v","projected":{"sources":[{"clusterTrustBundle":{}}]}}]"#,
            "clustertrustbundles",
        ),
        (r#""resourceClaims":[{"name":"r"}]"#, "resourceclaims"),
    ] {
        case(Create, "pods")
            .of("ns", "")
            .with(&mirror(OWNER, &format!(",{spec}")))
            .refused(&format!(r#"node "n1" can not create pods that reference {resource}"#))
            .await;
    }
    case(Create, "pods")
        .of("ns", "")
        .with(&mirror(OWNER, r#","volumes":[{"name":"v"}]"#))
        .refused(r#"error checking mirror pod for API references: unknown volume type for volume  "v""#)
        .await;
}

#[tokio::test]
async fn a_node_deletes_evicts_and_updates_its_own_pods_only() {
    let (mine, other) = (r#"{"spec":{"nodeName":"n1"}}"#, r#"{"spec":{"nodeName":"n2"}}"#);
    case(Delete, "pods").of("ns", "p").old(mine).allowed().await;
    case(Delete, "pods")
        .of("ns", "p")
        .old(other)
        .refused(r#"node "n1" can only delete pods with spec.nodeName set to itself"#)
        .await;
    case(Update, "pods")
        .of("ns", "p")
        .refused(r#"unexpected operation "UPDATE", node "n1" can only create and delete mirror pods"#)
        .await;
    let status = |new: &str| case(Update, "pods/status").of("ns", "p").old(mine).with(new);
    status(r#"{"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}"#).allowed().await;
    status(r#"{"metadata":{"labels":{"a":"b"}}}"#)
        .refused(r#"node "n1" cannot update labels through pod status"#)
        .await;
    status(r#"{"status":{"resourceClaimStatuses":[{"name":"a"}]}}"#)
        .refused(r#"node "n1" cannot update resource claim statues"#)
        .await;
    status(r#"{"status":{"extendedResourceClaimStatus":{"resourceClaimName":"a"}}}"#)
        .refused(r#"node "n1" cannot update extended resource claim status"#)
        .await;
    case(Update, "pods/status")
        .of("ns", "p")
        .old(other)
        .with(other)
        .refused(r#"node "n1" can only update pod status for pods with spec.nodeName set to itself"#)
        .await;
    case(Create, "pods/status").of("ns", "p").refused(r#"unexpected operation "CREATE""#).await;
    case(Create, "pods/binding")
        .of("ns", "p")
        .refused(r#"unexpected pod subresource "binding", only 'status' and 'eviction' are allowed"#)
        .await;
    case(Create, "pods/eviction").of("ns", "p").with("{}").allowed().await;
    case(Create, "pods/eviction")
        .of("ns", "q")
        .with("{}")
        .refused("node n1 can only evict pods with spec.nodeName set to itself")
        .await;
    case(Create, "pods/eviction").of("broken", "p").with("{}").refused("Timeout: no store").await;
    let gone = case(Create, "pods/eviction").of("ns", "gone").with("{}").answer().await.expect_err("gone");
    assert_eq!(gone.message, r#"pod "gone" not found"#);
}

#[tokio::test]
async fn a_node_does_not_change_its_taints_and_restricted_labels() {
    let node = |operation| case(operation, "nodes").of("", "n1");
    node(Create).with(r#"{"metadata":{"name":"n1","labels":{"kubernetes.io/os":"linux","a":"b","x.node.kubernetes.io/y":"z"}}}"#)
        .allowed()
        .await;
    case(Update, "nodes").of("", "n2").refused(r#"node "n1" is not allowed to modify node "n2""#).await;
    node(Create)
        .with(r#"{"spec":{"configSource":{}}}"#)
        .refused(r#"node "n1" is not allowed to create pods with a non-nil configSource"#)
        .await;
    node(Create)
        .with(r#"{"metadata":{"labels":{"node-restriction.kubernetes.io/b":"","x.k8s.io/a":"","xk8s.io/fine":""}}}"#)
        .refused(
            r#"node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/b, x.k8s.io/a"#,
        )
        .await;
    let update = |new: &str, old: &str| node(Update).with(new).old(old);
    update(r#"{"spec":{"configSource":{"a":1}}}"#, "{}")
        .refused(r#"node "n1" is not allowed to update configSource to a new non-nil configSource"#)
        .await;
    update("{}", r#"{"spec":{"configSource":{"a":1}}}"#).allowed().await;
    update("{}", r#"{"spec":{"taints":[{"key":"a"}]}}"#)
        .refused(r#"node "n1" is not allowed to modify taints"#)
        .await;
    update(r#"{"metadata":{"ownerReferences":[{"name":"a"}]}}"#, "{}")
        .refused(r#"node "n1" is not allowed to modify ownerReferences"#)
        .await;
    update("{}", r#"{"metadata":{"labels":{"other.kubernetes.io/a":"b"}}}"#)
        .refused("is not allowed to modify labels: other.kubernetes.io/a")
        .await;
    case(Update, "nodes/status")
        .of("", "n1")
        .with(r#"{"metadata":{"labels":{"k8s.io/a":"b"}}}"#)
        .old("{}")
        .refused("is not allowed to modify labels: k8s.io/a")
        .await;
}

#[tokio::test]
async fn a_node_updates_only_expansion_fields_of_a_claim() {
    let update = |new: &str| {
        case(Update, "persistentvolumeclaims/status").of("ns", "c").with(new).old(
            r#"{"metadata":{"name":"c","resourceVersion":"1"},"status":{"capacity":{"storage":"1Gi"},"phase":"Bound"}}"#,
        )
    };
    update(r#"{"metadata":{"name":"c","managedFields":[{}]},"status":{"capacity":{"storage":"2Gi"},"conditions":[{}],"allocatedResources":{"storage":"1"},"phase":"Bound"}}"#)
        .allowed()
        .await;
    let status =
        update(r#"{"metadata":{"name":"c"},"status":{"phase":"Lost"}}"#).answer().await.expect_err("");
    let why =
        r#"node "n1" is not allowed to update fields other than status.quantity and status.conditions: "#;
    assert!(status.message.contains(why), "{}", status.message);
    assert!(status.message.contains("Lost"), "{}", status.message);
    case(Create, "persistentvolumeclaims").of("ns", "c").refused("may only update PVC status").await;
}

fn token(bound: &str, audiences: &str) -> Case {
    case(Create, "serviceaccounts/token")
        .of("ns", "sa")
        .with(&format!(r#"{{"spec":{{"boundObjectRef":{bound},"audiences":[{audiences}]}}}}"#))
}

const BOUND: &str = r#"{"apiVersion":"v1","kind":"Pod","name":"p","uid":"up"}"#;

#[tokio::test]
async fn a_token_is_for_a_pod_of_the_node() {
    for unbound in ["null", &BOUND.replace("Pod", "Secret"), &BOUND.replace("\"p\"", "\"\"")] {
        token(unbound, "").refused("node requested token not bound to a pod").await;
    }
    token(&BOUND.replace("up", ""), "")
        .refused("node requested token with a pod binding without a uid")
        .await;
    token(&BOUND.replace("up", "other"), "")
        .refused(
            "the UID in the bound object reference (other) does not match the UID in record. The object might have been \
             deleted and then recreated",
        )
        .await;
    token(&BOUND.replace("\"p\"", "\"q\""), "")
        .refused("node requested token bound to a pod scheduled on a different node")
        .await;
    let gone = token(&BOUND.replace("\"p\"", "\"gone\""), "").answer().await.expect_err("gone");
    assert_eq!((gone.reason, gone.message.as_str()), (Reason::NotFound, r#"pod "gone" not found"#));
    case(Update, "serviceaccounts").of("ns", "sa").with("{}").allowed().await;
}

#[tokio::test]
async fn a_token_is_for_an_audience_of_the_pod_s_volumes_and_drivers() {
    for audience in ["projected", "claimed", "inlined", "translated", "granted"] {
        token(BOUND, &format!("{audience:?}")).allowed().await;
    }
    for (audiences, why) in [
        (
            "\"x\"",
            r#"audience "x" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience"#,
        ),
        (
            "",
            r#"audience "" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience"#,
        ),
        (
            "\"failing\"",
            r#"audience "failing" not found in pod spec volume, error authorizing system:node:n1 to request tokens for this audience: no policy"#,
        ),
        (r#""a","b""#, "node may only request 0 or 1 audiences"),
    ] {
        token(BOUND, audiences).refused(why).await;
    }
    let lost = BOUND.replace("\"p\"", "\"lost\"");
    token(&lost, "\"x\"")
        .refused(
            r#"error validating audience "x": [persistentvolumeclaim "gone" not found, persistentvolumeclaim "p-e" not found]"#,
        )
        .await;
    let mut unrestricted = token(&lost, "\"x\"");
    unrestricted.features.set(Feature::ServiceAccountNodeAudienceRestriction, false);
    unrestricted.allowed().await;
}

#[tokio::test]
async fn leases_csi_nodes_and_slices_must_be_the_node_s_own() {
    let lease = "leases.coordination.k8s.io";
    let own = r#"{"metadata":{"name":"n1"}}"#;
    let why = "can only access node lease with the same name as the requesting node";
    case(Create, lease).of("kube-node-lease", "").with(own).allowed().await;
    case(Update, lease).of("kube-node-lease", "n1").with(own).allowed().await;
    case(Create, lease).of("kube-node-lease", "").with("{}").refused(why).await;
    case(Delete, lease).of("kube-node-lease", "n2").refused(why).await;
    case(Create, lease)
        .of("ns", "")
        .with(own)
        .refused(r#"can only access leases in the "kube-node-lease" system namespace"#)
        .await;
    let csi = "csinodes.storage.k8s.io";
    case(Create, csi).with(own).allowed().await;
    case(Update, csi)
        .of("", "n2")
        .refused("can only access CSINode with the same name as the requesting node")
        .await;
    let slices = "resourceslices.resource.k8s.io";
    let (mine, other) = (r#"{"spec":{"nodeName":"n1"}}"#, r#"{"spec":{"nodeName":"n2"}}"#);
    case(Create, slices).with(mine).allowed().await;
    case(Delete, slices).old(mine).allowed().await;
    case(Update, slices).with(other).allowed().await;
    case(Create, slices)
        .with(other)
        .refused("can only create ResourceSlice with the same NodeName as the requesting node")
        .await;
    case(Delete, slices)
        .old("{}")
        .refused("can only delete ResourceSlice with the same NodeName as the requesting node")
        .await;
}

fn signing_request(name: &str, signer: &str) -> Case {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let pem = params.serialize_request(&KeyPair::generate().expect("a key")).expect("a request");
    let pem = Value::bytes(pem.pem().expect("PEM").into_bytes());
    let mut object = json(&format!(r#"{{"spec":{{"signerName":"{signer}"}}}}"#));
    object.get_mut("spec").and_then(Value::as_object_mut).expect("a spec").insert("request", pem);
    let mut case = case(Create, "certificatesigningrequests.certificates.k8s.io");
    case.object = Some(object);
    case
}

#[tokio::test]
async fn a_certificate_request_of_a_node_is_for_itself() {
    let signer = "kubernetes.io/kubelet-serving";
    signing_request("system:node:n1", signer).allowed().await;
    signing_request("somebody", "example.com/x").allowed().await;
    let why = "can only create a node CSR with CN=system:node:n1";
    signing_request("system:node:n2", signer).refused(why).await;
    signing_request("system:node:n2", "kubernetes.io/kube-apiserver-client-kubelet").refused(why).await;
    let mut insecure = signing_request("system:node:n2", signer);
    insecure.features.set(Feature::AllowInsecureKubeletCertificateSigningRequests, true);
    insecure.allowed().await;
    case(Create, "certificatesigningrequests.certificates.k8s.io")
        .with(&format!(r#"{{"spec":{{"signerName":"{signer}"}}}}"#))
        .refused("unable to parse csr: PEM block type must be CERTIFICATE REQUEST")
        .await;
}

#[tokio::test]
async fn a_pod_certificate_request_is_for_a_pod_of_the_node() {
    let spec = r#"{"nodeName":"n1","nodeUID":"un","podName":"p","podUID":"up","serviceAccountName":"sa","serviceAccountUID":"us"}"#;
    let request = |spec: &str| {
        case(Create, "podcertificaterequests.certificates.k8s.io")
            .of("ns", "r")
            .with(&format!(r#"{{"spec":{spec}}}"#))
    };
    request(spec).allowed().await;
    request(&spec.replace("n1", "n2"))
        .refused(r#"PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1""#)
        .await;
    request(&spec.replace(r#""podName":"p""#, r#""podName":"q""#))
        .refused(r#"pod "ns/q" is not running on node "n1" named in the PodCertificateRequest"#)
        .await;
    request(&spec.replace("\"sa\"", "\"other\""))
        .refused(
            r#"PodCertificateRequest for pod "ns/p" contains serviceAccountName ("other") that differs from running pod ("sa")"#,
        )
        .await;
    for (wrong, error) in [
        (
            spec.replace("un", "x"),
            r#"PodCertificateRequest for pod "ns/p" names node UID "x", inconsistent with the running node ("un")"#,
        ),
        (
            spec.replace("\"p\"", "\"gone\""),
            r#"while retrieving pod "ns/gone" named in the PodCertificateRequest: pod "gone" not found"#,
        ),
        (
            spec.replace("\"up\"", "\"x\""),
            r#"PodCertificateRequest for pod "ns/p" contains pod UID ("x") which differs from running pod "up""#,
        ),
        (
            spec.replace("\"us\"", "\"x\""),
            r#"PodCertificateRequest for pod "ns/p" names service account UID "x", which differs from the running service account ("us")"#,
        ),
    ] {
        let status = request(&wrong).answer().await.expect_err("an error");
        assert_eq!((status.code, status.message.as_str()), (500, error));
    }
    let mut off = request(spec);
    off.features.set(Feature::PodCertificateRequest, false);
    off.refused("PodCertificateRequest feature gate is disabled").await;
}
