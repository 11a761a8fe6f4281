use std::collections::BTreeSet;
use std::sync::Mutex;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

/// An authorizer that allows what is listed, and records the requests: `verb resource/subresource.group namespace/name`.
#[derive(Default)]
struct Policy {
    allowed: BTreeSet<&'static str>,
    /// Whether every verdict reports a failure.
    fails: bool,
    asked: Mutex<Vec<String>>,
    versions: Mutex<Vec<String>>,
}

#[async_trait]
impl Authorizer for Policy {
    async fn authorize(&self, about: &Attributes<'_>) -> Verdict {
        let subresource = match about.subresource {
            "" => String::new(),
            subresource => format!("/{subresource}"),
        };
        let (verb, resource, group) = (about.verb, about.resource, about.group);
        let text = format!("{verb} {resource}{subresource}.{group} {}/{}", about.namespace, about.name);
        let allowed = self.allowed.contains(&*text) || self.allowed.contains(about.verb);
        self.asked.lock().unwrap().push(text);
        self.versions.lock().unwrap().push(about.version.to_owned());
        let error = self.fails.then(|| "it failed".to_owned());
        let reason = if self.fails { "for a reason" } else { "" };
        Verdict { error, ..if allowed { Verdict::allow(reason) } else { Verdict::no_opinion(reason) } }
    }
}

struct Fixture {
    filter: Impersonation,
    policy: Arc<Policy>,
}

fn fixture(constrained: bool, allowed: &[&'static str]) -> Fixture {
    let policy = Arc::new(Policy { allowed: allowed.iter().copied().collect(), ..Policy::default() });
    let metrics = Metrics::for_tests();
    Fixture { filter: Impersonation::new(policy.clone(), constrained, metrics), policy }
}

fn headers(text: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        headers.append(
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_bytes(value.trim().as_bytes()).unwrap(),
        );
    }
    headers
}

impl Fixture {
    /// Returns the user that a list of pods in `n` with these headers acts as; or the refusal.
    async fn impersonate(&self, by: &User, text: &str) -> Result<User, String> {
        let mut headers = headers(text);
        let wanted = headers::take(&mut headers, self.filter.last.is_some());
        let wanted = wanted.map_err(|status| status.message)?.unwrap();
        assert!(!headers::is_asked_for(&headers), "nothing is left of them");
        let about = Attributes { namespace: "n", ..Attributes::of_resource(by, "list", "", "pods") };
        let found = match &self.filter.last {
            Some(last_modes) => {
                self.filter.find_mode(last_modes, &wanted, &about).await.map(|(_, actual)| actual)
            }
            None => unconstrained::check(&*self.policy, &wanted, by).await,
        };
        found.map_err(|status| status.message)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.policy.asked.lock().unwrap())
    }
}

fn named(name: &str) -> User {
    User { name: name.into(), ..User::default() }
}

#[tokio::test]
async fn every_part_of_the_impersonated_user_is_authorized() {
    let fixture = fixture(false, &["impersonate"]);
    let text = "Impersonate-User: carol\nImpersonate-Group: a\nImpersonate-Group: b\nImpersonate-Uid: 7\n\
                Impersonate-Extra-Acme.com%2FScope: x";
    let carol = fixture.impersonate(&named("eve"), text).await.unwrap();
    assert_eq!((carol.name.as_str(), carol.uid.as_str()), ("carol", "7"));
    assert_eq!(carol.groups, ["a", "b", ALL_AUTHENTICATED]);
    assert_eq!(carol.extra["acme.com/scope"], ["x"]);
    assert_eq!(
        fixture.asked(),
        [
            "impersonate users. /carol",
            "impersonate groups. /a",
            "impersonate groups. /b",
            "impersonate userextras/acme.com/scope.authentication.k8s.io /x",
            "impersonate uids.authentication.k8s.io /7",
        ]
    );
    assert_eq!(*fixture.policy.versions.lock().unwrap(), ["", "", "", "v1", "v1"]);
}

#[tokio::test]
async fn the_newer_filter_asks_the_same_in_another_order() {
    let fixture = fixture(true, &["impersonate"]);
    let text = "Impersonate-User: carol\nImpersonate-Group: a\nImpersonate-Uid: 7";
    fixture.impersonate(&named("eve"), text).await.unwrap();
    assert_eq!(
        fixture.asked()[1..],
        ["impersonate users. /carol", "impersonate uids.authentication.k8s.io /7", "impersonate groups. /a"]
    );
    assert_eq!(fixture.policy.versions.lock().unwrap()[1..], ["v1", "v1", "v1"]);
}

#[tokio::test]
async fn an_error_of_the_authorizer_is_reported_by_the_constrained_filter_only() {
    let refused = async |constrained| {
        let mut fixture = fixture(constrained, &[]);
        let policy = Arc::new(Policy { fails: true, ..Policy::default() });
        (fixture.filter.authorizer, fixture.policy) = (policy.clone(), policy);
        let message = fixture.impersonate(&named("eve"), "Impersonate-User: carol").await.unwrap_err();
        let metrics = String::from_utf8(fixture.filter.metrics.registry().render().unwrap()).unwrap();
        (message, metrics.contains("apiserver_impersonation_"))
    };
    let (message, counted) = refused(false).await;
    assert!(message.ends_with("at the cluster scope: for a reason"), "{message}");
    assert!(!counted);
    let (message, counted) = refused(true).await;
    assert!(message.ends_with("in the namespace \"n\": it failed: for a reason"), "{message}");
    assert!(counted);
}

#[tokio::test]
async fn the_unconstrained_filter_takes_a_failure_for_a_no() {
    for (constrained, expect) in [(false, false), (true, true)] {
        let mut fixture = fixture(constrained, &[]);
        let allowed = BTreeSet::from(["impersonate"]);
        let policy = Arc::new(Policy { allowed, fails: true, ..Policy::default() });
        (fixture.filter.authorizer, fixture.policy) = (policy.clone(), policy);
        assert_eq!(fixture.impersonate(&named("eve"), "Impersonate-User: carol").await.is_ok(), expect);
    }
}

#[tokio::test]
async fn one_part_that_is_not_allowed_is_enough() {
    let fixture = fixture(false, &["impersonate users. /carol"]);
    let refused = fixture
        .impersonate(&named("eve"), "Impersonate-User: carol\nImpersonate-Group: system:masters")
        .await;
    assert_eq!(
        refused.unwrap_err(),
        "groups \"system:masters\" is forbidden: User \"eve\" cannot impersonate resource \"groups\" in API group \"\" \
         at the cluster scope"
    );
}

#[tokio::test]
async fn groups_follow_from_the_kind_of_user() {
    let fixture = fixture(false, &["impersonate"]);
    let groups = async |text: &str| fixture.impersonate(&named("eve"), text).await.unwrap().groups;
    assert_eq!(groups("Impersonate-User: carol").await, ["system:authenticated"]);
    assert_eq!(groups("Impersonate-User: system:anonymous").await, ["system:unauthenticated"]);
    let unauthenticated = "Impersonate-User: carol\nImpersonate-Group: system:unauthenticated";
    assert_eq!(groups(unauthenticated).await, ["system:unauthenticated"]);
    fixture.asked();
    assert_eq!(
        groups("Impersonate-User: system:serviceaccount:n:robot").await,
        ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"]
    );
    assert_eq!(fixture.asked(), ["impersonate serviceaccounts. n/robot"]);
    let chosen = "Impersonate-User: system:serviceaccount:n:robot\nImpersonate-Group: g";
    assert_eq!(groups(chosen).await, ["g", "system:authenticated"]);
}

#[test]
fn more_than_a_user_needs_a_user() {
    let refused = |text: &str, constrained| {
        headers::take(&mut headers(text), constrained).map_err(|status| (status.code, status.message))
    };
    assert_eq!(
        refused("Impersonate-Group: g\nImpersonate-Extra-Scope: x\nImpersonate-Uid: 7", false),
        Err((
            400,
            "requested [{Group  g    } {UserExtra  x  authentication.k8s.io/v1  scope} \
             {UID  7  authentication.k8s.io/v1  }] without impersonating a user"
                .into()
        ))
    );
    assert_eq!(
        refused("Impersonate-Group: g", true),
        Err((
            400,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, \
             Extra:map[string][]string(nil)} without impersonating a user name"
                .into()
        ))
    );
    assert_eq!(
        refused("Impersonate-User: \nX-Other: y", true),
        Ok(None),
        "an empty name is no impersonation"
    );
}

#[tokio::test]
async fn the_mode_that_allowed_a_user_last_is_tried_first() {
    let fixture = fixture(true, &["impersonate users. /carol"]);
    let eve = named("eve");
    // No mode has allowed the user yet: the refusal is that of the first mode.
    assert_eq!(
        fixture.impersonate(&eve, "Impersonate-User: dave").await.unwrap_err(),
        "pods is forbidden: User \"eve\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" in the \
         namespace \"n\""
    );
    assert_eq!(fixture.asked(), ["impersonate-on:user-info:list pods. n/", "impersonate users. /dave"]);
    assert!(fixture.impersonate(&eve, "Impersonate-User: carol").await.is_ok());
    assert_eq!(fixture.asked().len(), 2);
    assert!(fixture.impersonate(&eve, "Impersonate-User: carol").await.is_ok());
    assert_eq!(fixture.asked(), ["impersonate users. /carol"]);
    assert_eq!(
        fixture.impersonate(&eve, "Impersonate-User: dave").await.unwrap_err(),
        "users \"dave\" is forbidden: User \"eve\" cannot impersonate resource \"users\" in API group \"\" at the cluster \
         scope"
    );
}

#[tokio::test]
async fn an_action_and_an_identity_are_two_permissions() {
    let action = "impersonate-on:user-info:list pods. n/";
    let identity = "impersonate:user-info users.authentication.k8s.io /carol";
    for (allowed, expect) in [(vec![action, identity], true), (vec![action], false), (vec![identity], false)]
    {
        let fixture = fixture(true, &allowed);
        let found = fixture.impersonate(&named("eve"), "Impersonate-User: carol").await;
        assert_eq!(found.is_ok(), expect, "{allowed:?}");
    }
}

#[tokio::test]
async fn constrained_modes_never_lead_to_everything() {
    let all = ["impersonate-on:user-info:list", "impersonate:user-info"];
    let fixture = fixture(true, &all);
    let why = async |text: &str| fixture.impersonate(&named("eve"), text).await.unwrap_err();
    let masters = why("Impersonate-User: carol\nImpersonate-Group: system:masters").await;
    assert!(masters.ends_with("impersonating the system:masters group is not allowed"), "{masters}");
    let extra = why("Impersonate-User: carol\nImpersonate-Extra-Scope: x").await;
    assert!(extra.contains("impersonating an invalid key in extra is not allowed"), "{extra}");
    assert!(
        fixture.impersonate(&named("eve"), "Impersonate-User: system:node:n1").await.is_err(),
        "of other modes"
    );
    assert!(fixture.impersonate(&named("eve"), "Impersonate-User: system:serviceaccount:n:r").await.is_err());
}

#[tokio::test]
async fn a_pod_may_act_as_its_own_node_whatever_node_that_is() {
    let allowed = [
        "impersonate-on:associated-node:list pods. n/",
        "impersonate:associated-node nodes.authentication.k8s.io /*",
    ];
    let fixture = fixture(true, &allowed);
    let mut agent = named("system:serviceaccount:n:agent");
    agent.extra.insert("authentication.kubernetes.io/node-name".into(), vec!["n1".into()]);
    let node = fixture.impersonate(&agent, "Impersonate-User: system:node:n1").await.unwrap();
    assert_eq!(node.groups, ["system:nodes", "system:authenticated"]);
    assert!(node.extra.is_empty());
    assert!(fixture.impersonate(&agent, "Impersonate-User: system:node:n2").await.is_err());
    assert!(fixture.impersonate(&named("eve"), "Impersonate-User: system:node:n1").await.is_err());
}

#[tokio::test]
async fn many_values_are_asked_about_at_once_first() {
    let allowed = [
        "impersonate-on:user-info:list pods. n/",
        "impersonate:user-info users.authentication.k8s.io /carol",
        "impersonate:user-info groups.authentication.k8s.io /*",
    ];
    let fixture = fixture(true, &allowed);
    let groups: String = (0..5).map(|number| format!("Impersonate-Group: g{number}\n")).collect();
    assert!(fixture.impersonate(&named("eve"), &format!("Impersonate-User: carol\n{groups}")).await.is_ok());
    assert_eq!(fixture.asked().len(), 3);
}
