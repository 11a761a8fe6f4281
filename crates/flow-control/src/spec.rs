//! The specs of priority levels and flow schemas, read from their objects.

use pintle_meta::Value;

use crate::dealer::Dealer;

pub(crate) const EXEMPT: &str = "exempt";
pub(crate) const CATCH_ALL: &str = "catch-all";

/// Stands for everything, where it is the only entry of a list.
const ALL: &str = "*";

/// A priority level: its share of the server's seats, and what happens to requests that find none.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelSpec {
    pub name: String,
    pub uid: String,
    pub shares: u32,
    /// How much of its seats other levels may use, in percent.
    pub lendable_percent: u32,
    /// How much it may use of others, in percent of its own seats; `None` for no limit.
    pub borrowing_limit_percent: Option<u32>,
    pub response: Response,
}

/// The treatment of requests beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// There is no limit.
    Exempt,
    Reject,
    Queue {
        queues: usize,
        hand_size: usize,
        queue_length_limit: usize,
    },
}

/// A flow schema: the requests that it matches, and how they are divided into flows.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaSpec {
    pub name: String,
    pub uid: String,
    /// The name of its priority level.
    pub level: String,
    pub precedence: i64,
    pub(crate) distinguisher: Option<Distinguisher>,
    pub(crate) rules: Vec<Rule>,
}

/// The attribute that divides the requests of a flow schema into flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distinguisher {
    ByUser,
    ByNamespace,
}

/// Requests of subjects for resources or paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) subjects: Vec<Subject>,
    pub(crate) resources: Vec<ResourceRule>,
    pub(crate) paths: Vec<PathRule>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    Everyone,
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
    ServiceAccounts { namespace: String },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResourceRule {
    pub(crate) verbs: Names,
    pub(crate) groups: Names,
    pub(crate) resources: Names,
    pub(crate) cluster_scope: bool,
    pub(crate) namespaces: Names,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathRule {
    pub(crate) verbs: Names,
    pub(crate) paths: Vec<Path>,
}

/// A list of names, or all names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Names {
    All,
    Only(Vec<String>),
}

/// Paths of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Path {
    All,
    /// The path itself and everything below `below`, which ends with a slash.
    Under {
        path: String,
        below: String,
    },
}

impl LevelSpec {
    /// Reads a PriorityLevelConfiguration; none if it is one that validation would refuse.
    pub fn read(object: &Value) -> Option<LevelSpec> {
        let spec = object.get("spec")?;
        let name = object.name();
        let exempt = spec.get("exempt").filter(|value| !value.is_null());
        let limited = spec.get("limited").filter(|value| !value.is_null());
        let (of, response) = match (spec.text_at(&["type"]), exempt, limited) {
            ("Exempt", Some(exempt), None) if name == EXEMPT => (exempt, Response::Exempt),
            ("Limited", None, Some(limited)) if name != EXEMPT => (limited, response(limited)?),
            _ => return None,
        };
        let number =
            |field: &str| of.get(field).and_then(Value::as_i64).and_then(|number| u32::try_from(number).ok());
        Some(LevelSpec {
            name: name.to_owned(),
            uid: object.uid().to_owned(),
            shares: number("nominalConcurrencyShares").unwrap_or_default(),
            lendable_percent: number("lendablePercent").unwrap_or_default().min(100),
            borrowing_limit_percent: number("borrowingLimitPercent").filter(|_| response != Response::Exempt),
            response,
        })
    }

    /// Returns the level that is there without an object, too.
    pub(crate) fn mandatory_exempt() -> LevelSpec {
        LevelSpec {
            name: EXEMPT.into(),
            shares: 0,
            response: Response::Exempt,
            ..LevelSpec::mandatory_catch_all()
        }
    }

    /// Returns the level that is there without an object, too.
    pub(crate) fn mandatory_catch_all() -> LevelSpec {
        LevelSpec {
            name: CATCH_ALL.into(),
            uid: String::new(),
            shares: 5,
            lendable_percent: 0,
            borrowing_limit_percent: None,
            response: Response::Reject,
        }
    }
}

fn response(limited: &Value) -> Option<Response> {
    let queuing = limited.at(&["limitResponse", "queuing"]).filter(|value| !value.is_null());
    match (limited.text_at(&["limitResponse", "type"]), queuing) {
        ("Reject", None) => Some(Response::Reject),
        ("Queue", Some(queuing)) => {
            let number = |field: &str| {
                queuing.get(field).and_then(Value::as_i64).and_then(|number| usize::try_from(number).ok())
            };
            let (queues, hand_size) = (number("queues")?, number("handSize")?);
            Dealer::new(queues, hand_size)?;
            Some(Response::Queue { queues, hand_size, queue_length_limit: number("queueLengthLimit")? })
        }
        _ => None,
    }
}

impl SchemaSpec {
    /// Reads a FlowSchema.
    pub fn read(object: &Value) -> Option<SchemaSpec> {
        let spec = object.get("spec")?;
        let distinguisher = match spec.text_at(&["distinguisherMethod", "type"]) {
            "ByUser" => Some(Distinguisher::ByUser),
            "ByNamespace" => Some(Distinguisher::ByNamespace),
            _ => None,
        };
        Some(SchemaSpec {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            level: spec.text_at(&["priorityLevelConfiguration", "name"]).to_owned(),
            precedence: spec.get("matchingPrecedence").and_then(Value::as_i64).unwrap_or_default(),
            distinguisher,
            rules: spec.items_at(&["rules"]).iter().map(Rule::read).collect(),
        })
    }

    /// Returns the schema that is there without an object, too.
    pub(crate) fn mandatory_exempt() -> SchemaSpec {
        SchemaSpec::of_groups(EXEMPT, 1, None, &["system:masters"])
    }

    /// Returns the schema that is there without an object, too.
    pub(crate) fn mandatory_catch_all() -> SchemaSpec {
        let everyone = ["system:unauthenticated", "system:authenticated"];
        SchemaSpec::of_groups(CATCH_ALL, 10_000, Some(Distinguisher::ByUser), &everyone)
    }

    /// Returns a schema of all requests of some groups, for the level of the same name.
    fn of_groups(
        name: &str,
        precedence: i64,
        distinguisher: Option<Distinguisher>,
        groups: &[&str],
    ) -> SchemaSpec {
        let rule = Rule {
            subjects: groups.iter().map(|group| Subject::Group((*group).to_owned())).collect(),
            resources: vec![ResourceRule {
                verbs: Names::All,
                groups: Names::All,
                resources: Names::All,
                cluster_scope: true,
                namespaces: Names::All,
            }],
            paths: vec![PathRule { verbs: Names::All, paths: vec![Path::All] }],
        };
        SchemaSpec {
            name: name.into(),
            uid: String::new(),
            level: name.into(),
            precedence,
            distinguisher,
            rules: vec![rule],
        }
    }
}

impl Rule {
    fn read(rule: &Value) -> Rule {
        Rule {
            subjects: rule.items_at(&["subjects"]).iter().filter_map(Subject::read).collect(),
            resources: rule.items_at(&["resourceRules"]).iter().map(ResourceRule::read).collect(),
            paths: rule.items_at(&["nonResourceRules"]).iter().map(PathRule::read).collect(),
        }
    }
}

impl Subject {
    fn read(subject: &Value) -> Option<Subject> {
        let text = |path: [&str; 2]| subject.at(&path).and_then(Value::as_str);
        Some(match subject.text_at(&["kind"]) {
            "User" => match text(["user", "name"])? {
                ALL => Subject::Everyone,
                name => Subject::User(name.to_owned()),
            },
            "Group" => match text(["group", "name"])? {
                ALL => Subject::Everyone,
                name => Subject::Group(name.to_owned()),
            },
            "ServiceAccount" => {
                let namespace = text(["serviceAccount", "namespace"])?.to_owned();
                match text(["serviceAccount", "name"])? {
                    ALL => Subject::ServiceAccounts { namespace },
                    name => Subject::ServiceAccount { namespace, name: name.to_owned() },
                }
            }
            _ => return None,
        })
    }
}

impl ResourceRule {
    fn read(rule: &Value) -> ResourceRule {
        ResourceRule {
            verbs: Names::read(rule, "verbs"),
            groups: Names::read(rule, "apiGroups"),
            resources: Names::read(rule, "resources"),
            cluster_scope: rule.get("clusterScope").and_then(Value::as_bool).unwrap_or_default(),
            namespaces: Names::read(rule, "namespaces"),
        }
    }
}

impl PathRule {
    fn read(rule: &Value) -> PathRule {
        let paths = rule.items_at(&["nonResourceURLs"]).iter().filter_map(Value::as_str).map(|path| {
            if path == ALL {
                return Path::All;
            }
            let mut below = path.strip_suffix('*').unwrap_or(path).to_owned();
            if !below.ends_with('/') {
                below.push('/');
            }
            Path::Under { path: path.to_owned(), below }
        });
        PathRule { verbs: Names::read(rule, "verbs"), paths: paths.collect() }
    }
}

impl Names {
    fn read(rule: &Value, field: &str) -> Names {
        match rule.items_at(&[field]) {
            [only] if only.as_str() == Some(ALL) => Names::All,
            names => Names::Only(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        }
    }

    pub(crate) fn contain(&self, name: &str) -> bool {
        match self {
            Names::All => true,
            Names::Only(names) => names.iter().any(|known| known == name),
        }
    }

    /// Returns whether a resource or subresource (`pods/log`) is among the names.
    pub(crate) fn contain_resource(&self, resource: &str, subresource: &str) -> bool {
        match self {
            Names::All => true,
            Names::Only(names) if subresource.is_empty() => names.iter().any(|known| known == resource),
            Names::Only(names) => names.iter().any(|known| {
                let rest = known.strip_prefix(resource).and_then(|rest| rest.strip_prefix('/'));
                rest == Some(subresource)
            }),
        }
    }
}
