//! Predicates on requests that webhooks and admission policies share: rules, selectors, equivalent resources and match
//! conditions.
//!
//! A predicate is decoded once per object. It is applied in an order that costs least: rules compare names, the object selector
//! reads labels, the namespace selector looks a namespace up. Errors count only where everything else matches, so the order does
//! not show.

mod candidates;
pub(crate) mod conditions;
mod namespaces;
mod rules;
#[cfg(test)]
mod tests;

use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::selector::LabelSelector;
use pintle_meta::selector::label::Selector;
use pintle_meta::{Status, Value};

pub(crate) use candidates::Candidates;
pub(crate) use namespaces::NamespaceLabels;

use self::rules::Rules;
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};

/// The resource and kind as which a webhook or policy sees a request. They differ from those of the request where another
/// resource with the same objects was matched (`matchPolicy: Equivalent`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) resource: GroupVersionResource,
    pub(crate) kind: GroupVersionKind,
}

impl Match {
    fn of(target: &Target) -> Match {
        Match { resource: target.resource.clone(), kind: target.kind.clone() }
    }
}

/// The conditions on requests that need no expression.
#[derive(Debug)]
pub(crate) struct Predicate {
    rules: Rules,
    /// Whether there are no rules and every resource matches, as in bindings of policies.
    matches_every_resource: bool,
    /// Rules of requests that do not match.
    excluded: Rules,
    is_equivalent: bool,
    /// An invalid selector is an error of the requests that the rules match.
    namespace_selector: Result<Selector, String>,
    object_selector: Result<Selector, String>,
}

impl Predicate {
    /// Reads the fields `matchPolicy`, `namespaceSelector` and `objectSelector` of a webhook or of the constraints of a policy,
    /// which name their rules differently.
    pub(crate) fn read(constraints: &Value, rules: &[Value]) -> Predicate {
        let selector = |field: &str| match constraints.get(field).filter(|selector| !selector.is_null()) {
            Some(selector) => {
                let selector: LabelSelector = selector.view().map_err(|error| error.to_string())?;
                selector.selector()
            }
            None => Ok(Selector::everything()),
        };
        Predicate {
            rules: Rules::read(rules),
            matches_every_resource: false,
            excluded: Rules::default(),
            is_equivalent: constraints.text_at(&["matchPolicy"]) == "Equivalent",
            namespace_selector: selector("namespaceSelector"),
            object_selector: selector("objectSelector"),
        }
    }

    /// Reads the `MatchResources` of a policy or binding.
    pub(crate) fn of_match_resources(constraints: &Value) -> Predicate {
        let rules = constraints.items_at(&["resourceRules"]);
        Predicate {
            matches_every_resource: rules.is_empty(),
            excluded: Rules::read(constraints.items_at(&["excludeResourceRules"])),
            ..Predicate::read(constraints, rules)
        }
    }

    /// Reports whether requests of this kind can match; cheap and without their objects.
    pub(crate) fn may_match(&self, operation: Operation, target: &Target) -> bool {
        self.matches_every_resource || self.rules.may_match(operation, target, self.is_equivalent)
    }

    /// Applies the predicate. Errors: the namespace of the request does not exist, or a selector is invalid.
    pub(crate) async fn find(
        &self,
        attributes: &Attributes<'_>,
        namespaces: &NamespaceLabels,
    ) -> Result<Option<Match>> {
        let Some(found) = self.resource(attributes) else { return Ok(None) };
        let objects = self.selects_object(attributes);
        if matches!(objects, Ok(false)) {
            return Ok(None);
        }
        if !namespaces.matches(&self.namespace_selector, attributes).await? {
            return Ok(None);
        }
        objects?;
        Ok(Some(found))
    }

    fn resource(&self, attributes: &Attributes<'_>) -> Option<Match> {
        if self.matched(&self.excluded, attributes).is_some() {
            return None;
        }
        if self.matches_every_resource {
            return Some(Match::of(attributes.target()));
        }
        self.matched(&self.rules, attributes)
    }

    /// Returns the resource that one of the rules matches: that of the request, or an equivalent one.
    fn matched(&self, rules: &Rules, attributes: &Attributes<'_>) -> Option<Match> {
        if rules.matches(attributes) {
            return Some(Match::of(attributes.target()));
        }
        let found = self.is_equivalent.then(|| rules.equivalent(attributes)).flatten()?;
        Some(Match { resource: found.resource.clone(), kind: found.kind.clone() })
    }

    /// Reports whether the new or the old object is selected.
    fn selects_object(&self, attributes: &Attributes<'_>) -> Result<bool> {
        let selector = self.object_selector.as_ref().map_err(|why| Box::new(Status::internal(why)))?;
        let selects =
            |object: Option<&Value>| object.is_some_and(|object| selector.matches(|key| object.label(key)));
        Ok(selector.is_empty() || selects(attributes.object()) || selects(attributes.old_object()))
    }
}
