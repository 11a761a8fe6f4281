//! Flow control with a manual clock, and requests for it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use pintle_auth::User;
use pintle_flow_control::{
    Admission, Config, Describe, Digest, FlowControl, LevelSpec, ListOptions, ObjectStats, RequestDetails,
    SchemaSpec, Stats, Ticket,
};
use pintle_metrics::Registry;
use pintle_runtime::{Clock, ManualClock};

pub(crate) struct Fixture {
    pub(crate) control: Arc<FlowControl>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) registry: Registry,
    pub(crate) pods: Arc<Pods>,
}

/// The objects of every resource.
pub(crate) struct Pods(pub(crate) Mutex<Stats>);

impl ObjectStats for Pods {
    fn stats(&self, _: &str, _: &str) -> Stats {
        *self.0.lock().unwrap()
    }

    fn reads_recent_from_cache(&self) -> bool {
        true
    }
}

pub(crate) struct Details(pub(crate) RequestDetails);

impl Describe for Details {
    fn details(&self) -> RequestDetails {
        self.0.clone()
    }
}

pub(crate) fn fixture(seats: usize) -> Fixture {
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    with_clock(seats, clock.clone(), clock.clock())
}

pub(crate) fn with_clock(seats: usize, manual: Arc<ManualClock>, clock: Clock) -> Fixture {
    let (registry, pods) = (Registry::default(), Arc::new(Pods(Mutex::new(Stats::Unknown))));
    let control = FlowControl::new(Config {
        seats,
        clock,
        registry: registry.clone(),
        size_based_lists: true,
        watch_list: true,
        objects: pods.clone(),
        note: Arc::new(|_, _, _| {}),
    });
    Fixture { control: control.unwrap(), clock: manual, registry, pods }
}

pub(crate) fn level(name: &str, spec: &str) -> LevelSpec {
    let json = format!(r#"{{"metadata":{{"name":"{name}","uid":"uid-of-{name}"}},"spec":{spec}}}"#);
    LevelSpec::read(&pintle_codec::json::decode_untyped(json.as_bytes()).unwrap().value).unwrap()
}

/// A level with queues.
pub(crate) fn queues(name: &str, shares: u32, lendable: u32, queues: u32, hand: u32) -> LevelSpec {
    let queuing = format!(r#"{{"queues":{queues},"handSize":{hand},"queueLengthLimit":50}}"#);
    let response = format!(r#"{{"type":"Queue","queuing":{queuing}}}"#);
    limited(name, shares, lendable, &response)
}

pub(crate) fn limited(name: &str, shares: u32, lendable: u32, response: &str) -> LevelSpec {
    let limited = format!(
        r#"{{"nominalConcurrencyShares":{shares},"lendablePercent":{lendable},"limitResponse":{response}}}"#
    );
    level(name, &format!(r#"{{"type":"Limited","limited":{limited}}}"#))
}

pub(crate) fn rejecting(name: &str, shares: u32) -> LevelSpec {
    limited(name, shares, 0, r#"{"type":"Reject"}"#)
}

pub(crate) fn schema(name: &str, level: &str, precedence: u32, by: &str, rule: &str) -> SchemaSpec {
    let spec = format!(
        r#"{{"priorityLevelConfiguration":{{"name":"{level}"}},"matchingPrecedence":{precedence},{by}"rules":[{rule}]}}"#
    );
    let json = format!(r#"{{"metadata":{{"name":"{name}","uid":"uid-of-{name}"}},"spec":{spec}}}"#);
    SchemaSpec::read(&pintle_codec::json::decode_untyped(json.as_bytes()).unwrap().value).unwrap()
}

pub(crate) const BY_USER: &str = r#""distinguisherMethod":{"type":"ByUser"},"#;
pub(crate) const BY_NAMESPACE: &str = r#""distinguisherMethod":{"type":"ByNamespace"},"#;

/// All requests of some subjects.
pub(crate) fn everything(subjects: &str) -> String {
    format!(
        r#"{{"subjects":[{subjects}],"resourceRules":[{{"verbs":["*"],"apiGroups":["*"],"resources":["*"],
            "clusterScope":true,"namespaces":["*"]}}],"nonResourceRules":[{{"verbs":["*"],"nonResourceURLs":["*"]}}]}}"#
    )
}

pub(crate) fn group(name: &str) -> String {
    format!(r#"{{"kind":"Group","group":{{"name":"{name}"}}}}"#)
}

pub(crate) fn user_subject(name: &str) -> String {
    format!(r#"{{"kind":"User","user":{{"name":"{name}"}}}}"#)
}

pub(crate) fn user(name: &str, groups: &[&str]) -> User {
    let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
    groups.push("system:authenticated".into());
    User { name: name.into(), groups, ..User::default() }
}

/// A request for pods.
pub(crate) fn pods<'a>(user: &'a User, verb: &'a str) -> Digest<'a> {
    Digest {
        user,
        verb,
        is_resource: true,
        group: "",
        resource: "pods",
        subresource: "",
        namespace: "default",
        name: "",
        path: "/api/v1/namespaces/default/pods",
    }
}

impl Fixture {
    pub(crate) fn admit(&self, digest: &Digest<'_>) -> Admission {
        let details = RequestDetails {
            user: digest.user.name.clone(),
            verb: digest.verb.to_owned(),
            path: digest.path.to_owned(),
            namespace: digest.namespace.to_owned(),
            name: digest.name.to_owned(),
            group: digest.group.to_owned(),
            version: "v1".to_owned(),
            resource: digest.resource.to_owned(),
            subresource: digest.subresource.to_owned(),
        };
        self.control.admit(digest, || Some(ListOptions::default()), Box::new(Details(details))).unwrap()
    }

    /// The seats of a request that must execute at once.
    #[track_caller]
    pub(crate) fn executes(&self, digest: &Digest<'_>) -> Ticket {
        let ticket = self.admit(digest).ticket.unwrap();
        assert!(!ticket.is_waiting());
        ticket
    }

    #[track_caller]
    pub(crate) fn waits(&self, digest: &Digest<'_>) -> Ticket {
        let ticket = self.admit(digest).ticket.unwrap();
        assert!(ticket.is_waiting());
        ticket
    }

    /// Starts requests of a kind until one does not execute at once.
    pub(crate) fn fill(&self, digest: &Digest<'_>) -> Vec<Ticket> {
        let admitted = std::iter::repeat_with(|| self.admit(digest).ticket);
        admitted.map_while(|ticket| ticket.ok().filter(|ticket| !ticket.is_waiting())).take(1000).collect()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.registry.render().unwrap()).unwrap()
    }

    /// The value of a figure by its name and labels.
    #[track_caller]
    pub(crate) fn figure(&self, figure: &str) -> f64 {
        let (text, name) = (self.text(), format!("apiserver_flowcontrol_{figure} "));
        let line = text.lines().find_map(|line| line.strip_prefix(name.as_str()));
        line.unwrap_or_else(|| panic!("no {figure} in {text}")).parse().unwrap()
    }
}
