//! The default priority levels and flow schemas of the reference's release.

use super::Wanted;

/// A priority level.
pub(super) struct Level {
    name: &'static str,
    kind: Kind,
}

enum Kind {
    /// No limit.
    Exempt,
    /// Shares of what there is, and how much of them others may have; what is too much is refused.
    Reject { shares: u16, lendable: u16 },
    /// Requests beyond the limit wait in queues, of which each flow is dealt a hand.
    Queue { shares: u16, lendable: u16, queues: u16, hand: u16 },
}

pub(super) const LEVELS: [Level; 8] = [
    Level { name: "exempt", kind: Kind::Exempt },
    Level { name: "catch-all", kind: Kind::Reject { shares: 5, lendable: 0 } },
    Level { name: "system", kind: Kind::Queue { shares: 30, lendable: 33, queues: 64, hand: 6 } },
    Level { name: "node-high", kind: Kind::Queue { shares: 40, lendable: 25, queues: 64, hand: 6 } },
    Level { name: "leader-election", kind: Kind::Queue { shares: 10, lendable: 0, queues: 16, hand: 4 } },
    Level { name: "workload-high", kind: Kind::Queue { shares: 40, lendable: 50, queues: 128, hand: 6 } },
    Level { name: "workload-low", kind: Kind::Queue { shares: 100, lendable: 90, queues: 128, hand: 6 } },
    Level { name: "global-default", kind: Kind::Queue { shares: 20, lendable: 50, queues: 128, hand: 6 } },
];

/// A flow schema: which requests are of which level.
pub(super) struct Schema {
    name: &'static str,
    level: &'static str,
    precedence: u16,
    /// The distinguisher method that divides requests into flows, if any.
    by: &'static str,
    subjects: &'static [Subject],
    resources: &'static [Resources],
    paths: &'static [Paths],
}

enum Subject {
    Group(&'static str),
    User(&'static str),
    /// All service accounts of a namespace.
    Accounts(&'static str),
}

/// In all namespaces.
struct Resources {
    verbs: &'static [&'static str],
    group: &'static str,
    resources: &'static [&'static str],
    cluster_scope: bool,
}

struct Paths {
    verbs: &'static [&'static str],
    paths: &'static [&'static str],
}

const ALL: &[&str] = &["*"];
const EVERYTHING: &[Resources] = &[Resources { verbs: ALL, group: "*", resources: ALL, cluster_scope: true }];
const EVERY_PATH: &[Paths] = &[Paths { verbs: ALL, paths: ALL }];
const EVERYONE: &[Subject] =
    &[Subject::Group("system:unauthenticated"), Subject::Group("system:authenticated")];
const LEASES: &str = "coordination.k8s.io";

pub(super) const SCHEMAS: [Schema; 11] = [
    Schema {
        name: "exempt",
        level: "exempt",
        precedence: 1,
        by: "",
        subjects: &[Subject::Group("system:masters")],
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "catch-all",
        level: "catch-all",
        precedence: 10_000,
        by: "ByUser",
        subjects: EVERYONE,
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "system-nodes",
        level: "system",
        precedence: 500,
        by: "ByUser",
        subjects: &[Subject::Group("system:nodes")],
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "system-node-high",
        level: "node-high",
        precedence: 400,
        by: "ByUser",
        subjects: &[Subject::Group("system:nodes")],
        resources: &[
            Resources { verbs: ALL, group: "", resources: &["nodes", "nodes/status"], cluster_scope: true },
            Resources { verbs: ALL, group: LEASES, resources: &["leases"], cluster_scope: false },
        ],
        paths: &[],
    },
    Schema {
        name: "probes",
        level: "exempt",
        precedence: 2,
        by: "",
        subjects: EVERYONE,
        resources: &[],
        paths: &[Paths { verbs: &["get"], paths: &["/healthz", "/readyz", "/livez"] }],
    },
    Schema {
        name: "system-leader-election",
        level: "leader-election",
        precedence: 100,
        by: "ByUser",
        subjects: &[
            Subject::User("system:kube-controller-manager"),
            Subject::User("system:kube-scheduler"),
            Subject::Accounts("kube-system"),
        ],
        resources: &[Resources {
            verbs: &["get", "create", "update"],
            group: LEASES,
            resources: &["leases"],
            cluster_scope: false,
        }],
        paths: &[],
    },
    Schema {
        name: "kube-controller-manager",
        level: "workload-high",
        precedence: 800,
        by: "ByNamespace",
        subjects: &[Subject::User("system:kube-controller-manager")],
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "kube-scheduler",
        level: "workload-high",
        precedence: 800,
        by: "ByNamespace",
        subjects: &[Subject::User("system:kube-scheduler")],
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "kube-system-service-accounts",
        level: "workload-high",
        precedence: 900,
        by: "ByNamespace",
        subjects: &[Subject::Accounts("kube-system")],
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "service-accounts",
        level: "workload-low",
        precedence: 9_000,
        by: "ByUser",
        subjects: &[Subject::Group("system:serviceaccounts")],
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
    Schema {
        name: "global-default",
        level: "global-default",
        precedence: 9_900,
        by: "ByUser",
        subjects: EVERYONE,
        resources: EVERYTHING,
        paths: EVERY_PATH,
    },
];

/// The same two names of both kinds are mandatory.
fn is_mandatory(name: &str) -> bool {
    matches!(name, "exempt" | "catch-all")
}

fn wanted(kind: &str, name: &'static str, spec: &str) -> Wanted {
    let json = format!(
        r#"{{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"{kind}","metadata":{{"name":"{name}","annotations":{{"{}":"true"}}}},"spec":{{{spec}}}}}"#,
        super::AUTO_UPDATE
    );
    Wanted { name, mandatory: is_mandatory(name), json }
}

impl Level {
    pub(super) fn wanted(&self) -> Wanted {
        let limited = |shares: u16, lendable: u16, response: &str| {
            format!(
                r#""type":"Limited","limited":{{"nominalConcurrencyShares":{shares},"lendablePercent":{lendable},"limitResponse":{{{response}}}}}"#
            )
        };
        let spec = match self.kind {
            Kind::Exempt => {
                r#""type":"Exempt","exempt":{"nominalConcurrencyShares":0,"lendablePercent":0}"#.into()
            }
            Kind::Reject { shares, lendable } => limited(shares, lendable, r#""type":"Reject""#),
            Kind::Queue { shares, lendable, queues, hand } => {
                let queuing = format!(r#"{{"queues":{queues},"handSize":{hand},"queueLengthLimit":50}}"#);
                limited(shares, lendable, &format!(r#""type":"Queue","queuing":{queuing}"#))
            }
        };
        wanted("PriorityLevelConfiguration", self.name, &spec)
    }
}

impl Schema {
    pub(super) fn wanted(&self) -> Wanted {
        let Schema { level, precedence, by, .. } = self;
        let method = match *by {
            "" => String::new(),
            by => format!(r#""distinguisherMethod":{{"type":"{by}"}},"#),
        };
        let subjects = self.subjects.iter().map(Subject::json).collect::<Vec<_>>().join(",");
        let mut rules = format!(r#""subjects":[{subjects}]"#);
        if !self.resources.is_empty() {
            let resources = self.resources.iter().map(Resources::json).collect::<Vec<_>>().join(",");
            rules += &format!(r#","resourceRules":[{resources}]"#);
        }
        if !self.paths.is_empty() {
            let paths = self.paths.iter().map(Paths::json).collect::<Vec<_>>().join(",");
            rules += &format!(r#","nonResourceRules":[{paths}]"#);
        }
        let spec = format!(
            r#""priorityLevelConfiguration":{{"name":"{level}"}},"matchingPrecedence":{precedence},{method}"rules":[{{{rules}}}]"#
        );
        wanted("FlowSchema", self.name, &spec)
    }
}

impl Subject {
    fn json(&self) -> String {
        match self {
            Subject::Group(name) => format!(r#"{{"kind":"Group","group":{{"name":"{name}"}}}}"#),
            Subject::User(name) => format!(r#"{{"kind":"User","user":{{"name":"{name}"}}}}"#),
            Subject::Accounts(namespace) => format!(
                r#"{{"kind":"ServiceAccount","serviceAccount":{{"namespace":"{namespace}","name":"*"}}}}"#
            ),
        }
    }
}

impl Resources {
    fn json(&self) -> String {
        let (verbs, group, resources) = (list(self.verbs), self.group, list(self.resources));
        let scope = if self.cluster_scope { r#""clusterScope":true,"# } else { "" };
        format!(
            r#"{{"verbs":{verbs},"apiGroups":["{group}"],"resources":{resources},{scope}"namespaces":["*"]}}"#
        )
    }
}

impl Paths {
    fn json(&self) -> String {
        format!(r#"{{"verbs":{},"nonResourceURLs":{}}}"#, list(self.verbs), list(self.paths))
    }
}

fn list(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    format!("[{}]", quoted.join(","))
}
