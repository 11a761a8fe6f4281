//! Rules about resources and operations (`RuleWithOperations`), decoded once per object that has them.

use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionResource;

use crate::attributes::{Attributes, Operation, Target};
use crate::conversion::Equivalent;

/// The rules of a webhook or policy. One that matches is enough.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    operations: Operations,
    scope: Scope,
    groups: Names,
    versions: Names,
    /// Resources and subresources.
    resources: Vec<(Name, Name)>,
    /// Names of objects; all of them if empty. Only policies have them.
    object_names: Vec<Box<str>>,
}

/// A set of operations, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Operations(u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Namespaced,
    Cluster,
    Unknown,
}

/// A name, or `*` for any.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Any,
    Is(Box<str>),
}

#[derive(Debug)]
struct Names(Vec<Name>);

impl Name {
    fn read(text: &str) -> Name {
        if text == "*" { Name::Any } else { Name::Is(text.into()) }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Name::Any => true,
            Name::Is(own) => **own == *name,
        }
    }
}

impl Names {
    fn read(texts: &[Value]) -> Names {
        Names(texts.iter().filter_map(Value::as_str).map(Name::read).collect())
    }

    fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|own| own.matches(name))
    }
}

impl Operations {
    fn read(texts: &[Value]) -> Operations {
        let bits = texts.iter().filter_map(Value::as_str).map(|text| match text {
            "*" => u8::MAX,
            "CREATE" => bit(Operation::Create),
            "UPDATE" => bit(Operation::Update),
            "DELETE" => bit(Operation::Delete),
            "CONNECT" => bit(Operation::Connect),
            _ => 0,
        });
        Operations(bits.fold(0, |all, bit| all | bit))
    }

    fn contains(self, operation: Operation) -> bool {
        self.0 & bit(operation) != 0
    }
}

fn bit(operation: Operation) -> u8 {
    match operation {
        Operation::Create => 1,
        Operation::Update => 2,
        Operation::Delete => 4,
        Operation::Connect => 8,
    }
}

impl Rule {
    fn read(rule: &Value) -> Rule {
        let split = |text: &str| match text.split_once('/') {
            Some((resource, subresource)) => (Name::read(resource), Name::read(subresource)),
            None => (Name::read(text), Name::Is("".into())),
        };
        let scope = match rule.text_at(&["scope"]) {
            "" | "*" => Scope::All,
            "Namespaced" => Scope::Namespaced,
            "Cluster" => Scope::Cluster,
            _ => Scope::Unknown,
        };
        let names = rule.items_at(&["resourceNames"]).iter().filter_map(Value::as_str);
        Rule {
            operations: Operations::read(rule.items_at(&["operations"])),
            scope,
            groups: Names::read(rule.items_at(&["apiGroups"])),
            versions: Names::read(rule.items_at(&["apiVersions"])),
            resources: rule.items_at(&["resources"]).iter().filter_map(Value::as_str).map(split).collect(),
            object_names: names.map(Into::into).collect(),
        }
    }

    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|(own, sub)| own.matches(resource) && sub.matches(subresource))
    }

    fn has(&self, resource: &GroupVersionResource, subresource: &str) -> bool {
        self.groups.matches(&resource.group)
            && self.versions.matches(&resource.version)
            && self.has_resource(&resource.resource, subresource)
    }

    fn matches(&self, attributes: &Attributes<'_>, resource: &GroupVersionResource) -> bool {
        let is_in_namespace = || {
            let is_namespace =
                resource.group.is_empty() && resource.version == "v1" && resource.resource == "namespaces";
            !is_namespace && !attributes.namespace().is_empty()
        };
        let has_scope = match self.scope {
            Scope::All => true,
            Scope::Namespaced => is_in_namespace(),
            Scope::Cluster => !is_in_namespace(),
            Scope::Unknown => false,
        };
        has_scope
            && self.operations.contains(attributes.operation)
            && self.has(resource, &attributes.target().subresource)
            && (self.object_names.is_empty()
                || self.object_names.iter().any(|name| **name == *attributes.name()))
    }
}

impl Rules {
    pub(crate) fn read(rules: &[Value]) -> Rules {
        Rules(rules.iter().map(Rule::read).collect())
    }

    /// Reports whether requests of this kind can match, by what does not differ between them. With `is_equivalent`, the resource
    /// may be matched under another group or version.
    pub(crate) fn may_match(&self, operation: Operation, target: &Target, is_equivalent: bool) -> bool {
        let others = target.equivalents.iter().filter(|_| is_equivalent);
        let resources = std::iter::once(&target.resource).chain(others.map(|other| &other.resource));
        let mut rules = self.0.iter().filter(|rule| rule.operations.contains(operation));
        rules.any(|rule| resources.clone().any(|resource| rule.has(resource, &target.subresource)))
    }

    /// Reports whether a rule matches the resource of the request.
    pub(crate) fn matches(&self, attributes: &Attributes<'_>) -> bool {
        self.0.iter().any(|rule| rule.matches(attributes, &attributes.target().resource))
    }

    /// Returns the first of the other resources with the same objects that a rule matches. Earlier rules come first.
    pub(crate) fn equivalent<'a>(&self, attributes: &'a Attributes<'_>) -> Option<&'a Equivalent> {
        let own = &attributes.target().resource;
        self.0.iter().find_map(|rule| {
            let mut others = attributes.target().equivalents.iter().filter(|found| found.resource != *own);
            others.find(|found| rule.matches(attributes, &found.resource))
        })
    }
}
