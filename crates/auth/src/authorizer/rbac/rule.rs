//! One rule of a role: what it says, and whether it allows a request.

use std::fmt::Write as _;

use pintle_codec::json;
use pintle_meta::{Value, quote_all};
use smol_str::SmolStr;

use crate::Attributes;

/// Everything, in any of a rule's lists but the names.
pub const ALL: &str = "*";

/// A list of a rule. There are many, and they never change.
pub type List = Box<[SmolStr]>;

/// A rule of a role. An empty list of names means any name; any other empty list means nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    pub verbs: List,
    pub groups: List,
    pub resources: List,
    pub names: List,
    pub paths: List,
}

/// A rule as requests are compared with it.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// Which of the usual verbs it is about, so that most rules that do not matter cost one comparison.
    verbs: u16,
    pub(crate) rule: Rule,
}

/// A request as rules are compared with it.
pub(crate) struct Wanted<'a> {
    verb: u16,
    attributes: &'a Attributes<'a>,
}

/// Verbs that are not among the usual ones are compared as texts.
const OTHER: u16 = 1 << 15;

fn bit(verb: &str) -> u16 {
    const USUAL: [&str; 8] =
        ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    USUAL.iter().position(|usual| *usual == verb).map_or(OTHER, |place| 1 << place)
}

impl Rule {
    /// Reads a `PolicyRule`.
    pub fn read(rule: &Value) -> Rule {
        let list =
            |field| rule.items_at(&[field]).iter().map(|item| item.as_str().unwrap_or_default().into());
        Rule {
            verbs: list("verbs").collect(),
            groups: list("apiGroups").collect(),
            resources: list("resources").collect(),
            names: list("resourceNames").collect(),
            paths: list("nonResourceURLs").collect(),
        }
    }

    /// As JSON of a `PolicyRule`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let lists = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.paths),
        ];
        let before = out.len();
        for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            out.push(if out.len() == before { b'{' } else { b',' });
            json::write::string(name, out);
            out.extend_from_slice(b":[");
            for (place, item) in list.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                json::write::string(item, out);
            }
            out.push(b']');
        }
        out.extend_from_slice(if out.len() == before { b"{}" } else { b"}" });
    }

    /// As refusals show it.
    pub fn compact(&self) -> String {
        let lists = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.paths),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let mut out = String::from("{");
        for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            let comma = if out.len() > 1 { ", " } else { "" };
            let _ = write!(out, "{comma}{name}:{}", quote_all(list));
        }
        out + "}"
    }

    /// Reads all rules of a `Role` or `ClusterRole`.
    pub fn read_all(role: &Value) -> Vec<Rule> {
        role.items_at(&["rules"]).iter().map(Rule::read).collect()
    }
}

impl Compiled {
    pub(crate) fn new(rule: Rule) -> Compiled {
        let verbs = if rule.verbs.iter().any(|verb| verb == ALL) {
            u16::MAX
        } else {
            rule.verbs.iter().fold(0, |verbs, verb| verbs | bit(verb))
        };
        Compiled { verbs, rule }
    }

    pub(crate) fn allows(&self, wanted: &Wanted<'_>) -> bool {
        let (rule, attributes) = (&self.rule, wanted.attributes);
        if self.verbs & wanted.verb == 0 {
            return false;
        }
        if self.verbs != u16::MAX
            && wanted.verb == OTHER
            && !rule.verbs.iter().any(|verb| verb == attributes.verb)
        {
            return false;
        }
        if !attributes.is_resource {
            return rule.paths.iter().any(|path| path_matches(path, attributes.path));
        }
        let Attributes { group, resource, subresource, name, .. } = attributes;
        rule.groups.iter().any(|own| own == ALL || own == group)
            && rule.resources.iter().any(|own| resource_matches(own, resource, subresource))
            && (rule.names.is_empty() || rule.names.iter().any(|own| own == name))
    }
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(attributes: &'a Attributes<'a>) -> Wanted<'a> {
        Wanted { verb: bit(attributes.verb), attributes }
    }
}

/// `pods`, `pods/log`, `*/log` or `*`.
fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == ALL {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    let Some(before) = rule.strip_suffix(subresource).and_then(|rest| rest.strip_suffix('/')) else {
        return false;
    };
    before == ALL || before == resource
}

/// A path, or what it begins with and a star.
pub(crate) fn path_matches(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    fn list(items: &[&str]) -> List {
        items.iter().map(|item| SmolStr::from(*item)).collect()
    }

    fn allows(rule: &Rule, attributes: Attributes<'_>) -> bool {
        Compiled::new(rule.clone()).allows(&Wanted::new(&attributes))
    }

    #[test]
    fn verbs_and_groups_match_themselves_or_a_star() {
        let user = User::default();
        let rule = |verbs: &[&str], groups: &[&str]| Rule {
            verbs: list(verbs),
            groups: list(groups),
            resources: list(&["pods"]),
            ..Rule::default()
        };
        let ask =
            |rule: &Rule, verb, group| allows(rule, Attributes::of_resource(&user, verb, group, "pods"));
        assert!(ask(&rule(&["get"], &[""]), "get", ""));
        assert!(!ask(&rule(&["get"], &[""]), "list", ""));
        assert!(!ask(&rule(&["get"], &[""]), "get", "apps"));
        assert!(ask(&rule(&["*"], &["*"]), "impersonate", "apps"));
        assert!(ask(&rule(&["bind", "get"], &[""]), "bind", ""));
        assert!(!ask(&rule(&["bind", "get"], &[""]), "escalate", ""));
        assert!(!ask(&rule(&["bind"], &[""]), "get", ""));
        assert!(!ask(&rule(&[], &[""]), "get", ""));
        assert!(!ask(&rule(&["get"], &[]), "get", ""));
        assert!(!ask(&rule(&["get*"], &[""]), "get", ""), "only a lone star is one");
    }

    #[test]
    fn subresources_are_named_with_their_resource() {
        for (rule, resource, subresource, expected) in [
            ("pods", "pods", "", true),
            ("pods", "pods", "log", false),
            ("pods/log", "pods", "log", true),
            ("pods/log", "pods", "", false),
            ("pods/log", "nodes", "log", false),
            ("*/log", "pods", "log", true),
            ("*/log", "pods", "", false),
            ("*/log", "pods", "catalog", false),
            ("*/catalog", "pods", "log", false),
            ("xpods/log", "pods", "log", false),
            ("*", "pods", "log", true),
            ("pods/*", "pods", "log", false),
            ("", "pods", "", false),
        ] {
            assert_eq!(
                resource_matches(rule, resource, subresource),
                expected,
                "{rule} {resource} {subresource}"
            );
        }
    }

    #[test]
    fn names_narrow_a_rule_down() {
        let user = User::default();
        let rule = Rule {
            verbs: list(&["get", "list"]),
            groups: list(&[""]),
            resources: list(&["pods"]),
            names: list(&["a", "b"]),
            ..Rule::default()
        };
        let named = |name| Attributes { name, ..Attributes::of_resource(&user, "get", "", "pods") };
        assert!(allows(&rule, named("a")) && allows(&rule, named("b")));
        assert!(!allows(&rule, named("c")) && !allows(&rule, named("")));
    }

    #[test]
    fn paths_match_themselves_or_a_prefix() {
        for (rule, path, expected) in [
            ("/healthz", "/healthz", true),
            ("/healthz", "/healthz/ping", false),
            ("/healthz/*", "/healthz/ping", true),
            ("/healthz/*", "/healthz", false),
            ("*", "/anything", true),
            ("/api*", "/apis/apps", true),
            ("/a*b", "/axb", false),
            ("/a**", "/abc", true),
        ] {
            assert_eq!(path_matches(rule, path), expected, "{rule} {path}");
        }
        let user = User::default();
        let rule = Rule { verbs: list(&["get"]), paths: list(&["/version"]), ..Rule::default() };
        assert!(allows(&rule, Attributes::of_path(&user, "get", "/version")));
        assert!(!allows(&rule, Attributes::of_path(&user, "post", "/version")));
        assert!(!allows(&rule, Attributes::of_resource(&user, "get", "", "pods")));
    }

    #[test]
    fn a_rule_is_shown_without_empty_fields() {
        let rule = Rule {
            verbs: list(&["get", "list"]),
            groups: list(&[""]),
            resources: list(&["pods"]),
            ..Rule::default()
        };
        assert_eq!(rule.compact(), r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#);
        let rule = Rule { verbs: list(&["*"]), paths: list(&["*"]), ..Rule::default() };
        assert_eq!(rule.compact(), r#"{NonResourceURLs:["*"], Verbs:["*"]}"#);
        assert_eq!(Rule::default().compact(), "{}");
    }

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        let texts = [
            r#"{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a\"b"]}"#,
            r#"{"verbs":["*"],"nonResourceURLs":["*"]}"#,
            "{}",
        ];
        for text in texts {
            let mut written = Vec::new();
            Rule::read(&json::decode_untyped(text.as_bytes()).unwrap().value).write_json(&mut written);
            assert_eq!(String::from_utf8(written).unwrap(), text);
        }
    }
}
