use pintle_features::Features;
use pintle_meta::selector::field;

use super::*;
use crate::NODES;

/// One object is related to `n1`, whatever its kind: `ns/mine` and `mine`.
struct One;

#[async_trait]
impl Relations for One {
    async fn has_path(&self, _: Kind, namespace: &str, name: &str, node: &str) -> Result<bool, String> {
        match namespace {
            "broken" => Err("nothing is known".into()),
            _ => Ok(name == "mine" && node == "n1" && (namespace == "ns" || namespace.is_empty())),
        }
    }
}

fn user(name: &str, group: &str) -> User {
    User { name: name.into(), groups: vec![group.into()], ..User::default() }
}

/// `VERB RESOURCE[.GROUP][/SUBRESOURCE] [NAMESPACE/][NAME] [?FIELD=VALUE]`
async fn ask(features: Features, user: &User, request: &str) -> Verdict {
    let mut words = request.split(' ');
    let verb = words.next().expect("a verb");
    let resource = words.next().expect("a resource");
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    let mut attributes = Attributes { subresource, ..Attributes::of_resource(user, verb, group, resource) };
    let mut selector = field::Selector::everything();
    for word in words {
        match (word.strip_prefix('?'), word.split_once('/')) {
            (Some(text), _) => selector = field::Selector::parse(text).expect("a selector"),
            (_, Some((namespace, name))) => (attributes.namespace, attributes.name) = (namespace, name),
            _ => attributes.name = word,
        }
    }
    let requirements: Vec<_> = selector.requirements().to_vec();
    attributes.field_selector = Selector::Requirements(&requirements);
    Node::new(Arc::new(One), features).authorize(&attributes).await
}

async fn check(features: Features, cases: &[(&str, Option<&str>)]) {
    let node = user("system:node:n1", NODES);
    for (request, refusal) in cases {
        let verdict = ask(features, &node, request).await;
        let expected = match refusal {
            None => Verdict::allow(""),
            Some(reason) => Verdict::no_opinion(*reason),
        };
        assert_eq!(verdict, expected, "{request}");
    }
}

const UNRELATED: &str = "no relationship found between node 'n1' and this object";

#[tokio::test]
async fn only_nodes_are_its_business() {
    for (name, group) in [("system:node:n1", "others"), ("n1", NODES), ("system:nodex", NODES)] {
        assert_eq!(
            ask(Features::all(), &user(name, group), "get secrets ns/mine").await,
            Verdict::no_opinion("")
        );
    }
    let unknown = ask(Features::all(), &user("system:node:", NODES), "get secrets ns/mine").await;
    assert_eq!(unknown, Verdict::no_opinion("unknown node for user \"system:node:\""));
    let node = user("system:node:n1", NODES);
    let path = Attributes::of_path(&node, "get", "/metrics");
    assert_eq!(Node::new(Arc::new(One), Features::all()).authorize(&path).await, Verdict::no_opinion(""));
}

#[tokio::test]
async fn objects_are_read_if_they_are_related() {
    check(
        Features::none(),
        &[
            ("get secrets ns/mine", None),
            ("list secrets ns/mine", None),
            ("watch configmaps ns/mine", None),
            ("get secrets ns/other", Some(UNRELATED)),
            ("list secrets ns/", Some("No Object name found")),
            ("list configmaps", Some("can only read namespaced object of this type")),
            ("get configmaps/x ns/mine", Some("cannot read subresource")),
            ("update secrets ns/mine", Some("can only read resources of this type")),
            ("get persistentvolumeclaims ns/mine", None),
            ("list persistentvolumeclaims ns/mine", Some("can only get individual resources of this type")),
            ("get persistentvolumeclaims/x ns/mine", Some("cannot get subresource")),
            ("get persistentvolumeclaims/status ns/mine", Some("can only get/update/patch this type")),
            ("patch persistentvolumeclaims/status ns/mine", None),
            ("update persistentvolumeclaims/status ns/other", Some(UNRELATED)),
            ("get persistentvolumes mine", None),
            ("get persistentvolumes other", Some(UNRELATED)),
            ("get resourceclaims.resource.k8s.io ns/mine", None),
            ("get volumeattachments.storage.k8s.io mine", None),
            (
                "create volumeattachments.storage.k8s.io",
                Some("can only get individual resources of this type"),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn unknown_relations_are_an_error() {
    let verdict = ask(Features::none(), &user("system:node:n1", NODES), "get secrets broken/x").await;
    assert_eq!(verdict, Verdict { error: Some("nothing is known".into()), ..Verdict::no_opinion(UNRELATED) });
}

#[tokio::test]
async fn pods_are_listed_by_a_selector_of_their_node() {
    let selector = "can only list/watch pods with spec.nodeName field selector";
    check(
        Features::none(),
        &[
            ("list pods ?spec.nodeName=n1", None),
            ("watch pods ?spec.nodeName==n1,status.phase=Running", None),
            ("list pods ns/ ?spec.nodeName=n1", None),
            ("list pods ?spec.nodeName=n2", Some(selector)),
            ("list pods ?spec.nodeName!=n1", Some(selector)),
            ("list pods", Some(selector)),
            ("list pods ns/mine ?metadata.name=mine", None),
            ("watch pods ns/other ?metadata.name=other", Some(UNRELATED)),
            ("get pods ns/mine", None),
            ("get pods ns/other", Some(UNRELATED)),
            ("get pods/log ns/mine", Some("")),
            ("create pods ns/", None),
            ("delete pods ns/other", None),
            ("update pods ns/mine", Some("")),
            ("deletecollection pods ns/", Some("")),
            ("patch pods/status ns/other", None),
            ("get pods/status ns/mine", Some("")),
            ("create pods/eviction ns/other", None),
            ("create pods/binding ns/mine", Some("")),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_node_reads_itself_only() {
    check(
        Features::none(),
        &[
            ("get nodes n1", None),
            ("watch nodes n1 ?metadata.name=n1", None),
            ("get nodes n2", Some("node 'n1' cannot read 'n2', only its own Node object")),
            ("list nodes", Some("node 'n1' cannot read all nodes, only its own Node object")),
            ("create nodes", None),
            ("patch nodes n2", None),
            ("patch nodes/status n2", None),
            ("get nodes/status n1", Some("")),
            ("delete nodes n1", Some("")),
            ("get nodes/proxy n1", Some("")),
        ],
    )
    .await;
}

#[tokio::test]
async fn leases_and_csi_nodes_go_by_name() {
    check(
        Features::none(),
        &[
            ("create leases.coordination.k8s.io kube-node-lease/", None),
            ("update leases.coordination.k8s.io kube-node-lease/n1", None),
            (
                "get leases.coordination.k8s.io kube-node-lease/n2",
                Some("can only access node lease with the same name as the requesting node"),
            ),
            (
                "get leases.coordination.k8s.io ns/n1",
                Some("can only access leases in the \"kube-node-lease\" system namespace"),
            ),
            (
                "list leases.coordination.k8s.io kube-node-lease/",
                Some("can only get, create, update, patch, or delete a node lease"),
            ),
            ("create csinodes.storage.k8s.io", None),
            ("delete csinodes.storage.k8s.io n1", None),
            (
                "get csinodes.storage.k8s.io n2",
                Some("can only access CSINode with the same name as the requesting node"),
            ),
            ("get csinodes.storage.k8s.io/x n1", Some("cannot authorize CSINode subresources")),
            (
                "watch csinodes.storage.k8s.io n1",
                Some("can only get, create, update, patch, or delete a CSINode"),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn tokens_are_for_service_accounts_of_its_pods() {
    check(
        Features::none(),
        &[
            ("create serviceaccounts/token ns/mine", None),
            ("create serviceaccounts/token ns/other", Some(UNRELATED)),
            ("create serviceaccounts ns/mine", Some("can only create token subresource of serviceaccount")),
            ("create serviceaccounts ns/", Some("can only create tokens for individual service accounts")),
            ("list serviceaccounts ns/", Some("can only create tokens for individual service accounts")),
            ("get serviceaccounts ns/mine", Some("not allowed to get service accounts")),
        ],
    )
    .await;
    check(
        Features::all(),
        &[("get serviceaccounts ns/mine", None), ("get serviceaccounts ns/x", Some(UNRELATED))],
    )
    .await;
}

#[tokio::test]
async fn slices_and_certificate_requests_are_selected_by_node() {
    let slices = "can only list/watch/deletecollection resourceslices with nodeName field selector";
    let requests = "can only list/watch podcertificaterequests with nodeName field selector";
    check(
        Features::all(),
        &[
            ("create resourceslices.resource.k8s.io", None),
            ("update resourceslices.resource.k8s.io mine", None),
            ("delete resourceslices.resource.k8s.io other", Some(UNRELATED)),
            ("deletecollection resourceslices.resource.k8s.io ?spec.nodeName=n1", None),
            ("list resourceslices.resource.k8s.io", Some(slices)),
            (
                "get resourceslices.resource.k8s.io/x mine",
                Some("cannot authorize ResourceSlice subresources"),
            ),
            ("create podcertificaterequests.certificates.k8s.io ns/", None),
            ("get podcertificaterequests.certificates.k8s.io ns/mine", None),
            ("watch podcertificaterequests.certificates.k8s.io ?spec.nodeName=n1", None),
            ("list podcertificaterequests.certificates.k8s.io", Some(requests)),
            (
                "update podcertificaterequests.certificates.k8s.io ns/mine",
                Some("nodes may not update podcertificaterequests"),
            ),
            (
                "update podcertificaterequests.certificates.k8s.io/status ns/mine",
                Some("nodes may not access the status subresource of PodCertificateRequests"),
            ),
        ],
    )
    .await;
    check(Features::none(), &[("create podcertificaterequests.certificates.k8s.io ns/", Some(""))]).await;
}

#[tokio::test]
async fn all_nodes_may_do_the_rest_of_their_role() {
    check(
        Features::none(),
        &[
            ("watch services", None),
            ("create events ns/", None),
            ("patch events.events.k8s.io ns/x", None),
            ("get endpoints ns/x", None),
            ("list endpoints ns/", Some("")),
            ("create certificatesigningrequests.certificates.k8s.io", None),
            ("update certificatesigningrequests.certificates.k8s.io/approval x", Some("")),
            ("list runtimeclasses.node.k8s.io", None),
            ("list csidrivers.storage.k8s.io", None),
            ("create tokenreviews.authentication.k8s.io", None),
            ("list clustertrustbundles.certificates.k8s.io", Some("")),
            ("get deployments.apps ns/x", Some("")),
        ],
    )
    .await;
    check(Features::all(), &[("list clustertrustbundles.certificates.k8s.io", None)]).await;
}

#[tokio::test]
async fn rules_of_nodes_cannot_be_listed() {
    let node = Node::new(Arc::new(One), Features::none());
    let mut rules = Rules::default();
    node.add_rules(&user("alice", "devs"), "ns", &mut rules).await;
    assert_eq!(rules, Rules::default());
    node.add_rules(&user("system:node:n1", NODES), "ns", &mut rules).await;
    let errors = vec!["node authorizer does not support user rule resolution".to_owned()];
    assert_eq!(rules, Rules { incomplete: true, errors, ..Rules::default() });
}

/// The static rules are the published role, apart from what is looked at one by one.
#[test]
fn static_rules_are_those_of_the_published_role() {
    let Some(folder) = pintle_published::upstream("the role system:node") else { return };
    let path = folder.join("rbac/cluster-roles-featuregates.yaml");
    let yaml = std::fs::read(path).expect("published roles");
    let json = pintle_codec::yaml::to_json(&yaml).expect("YAML");
    let roles = pintle_codec::json::decode_untyped(&json).expect("JSON").value;
    let role = roles.items_at(&["items"]).iter().find(|role| role.name() == "system:node").expect("the role");
    let texts = |rule: &pintle_meta::Value, field: &str| -> Vec<String> {
        rule.items_at(&[field]).iter().map(|text| text.as_str().expect("a string").to_owned()).collect()
    };
    let one_by_one = [
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "persistentvolumeclaims/status",
        "persistentvolumes",
        "resourceclaims",
        "volumeattachments",
        "serviceaccounts",
        "serviceaccounts/token",
        "leases",
        "csinodes",
        "resourceslices",
        "nodes",
        "nodes/status",
        "pods",
        "pods/status",
        "pods/eviction",
        "podcertificaterequests",
    ];
    let mut published = Vec::new();
    for rule in role.items_at(&["rules"]) {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                if !one_by_one.contains(&resource.as_str()) {
                    let mut verbs = texts(rule, "verbs");
                    verbs.sort_unstable();
                    published.push((group.clone(), resource, verbs));
                }
            }
        }
    }
    let mut ours: Vec<_> = STATIC_RULES
        .iter()
        .map(|(group, resource, verbs)| {
            let mut verbs: Vec<String> = verbs.iter().map(|verb| (*verb).to_owned()).collect();
            verbs.sort_unstable();
            ((*group).to_owned(), (*resource).to_owned(), verbs)
        })
        .collect();
    published.sort_unstable();
    ours.sort_unstable();
    assert_eq!(ours, published);
}
