//! Scopes: conditions on the objects that a quota counts.

use std::fmt;

use pintle_meta::field_path::{Path, aggregate};
use pintle_meta::selector::label::{Operator, Requirement};
use pintle_meta::{Value, quote};

/// A `ScopedResourceSelectorRequirement`: a scope, and for `PriorityClass` and `VolumeAttributesClass` which classes.
#[derive(Clone, Debug)]
pub struct ScopeRequirement {
    pub scope: String,
    operator: String,
    values: Vec<String>,
    /// The operator on the class, or why it is none.
    class: Result<Requirement, String>,
}

impl ScopeRequirement {
    pub fn new(scope: &str, operator: &str, values: Vec<String>) -> ScopeRequirement {
        let class = match operator {
            "In" => Ok(Operator::In),
            "NotIn" => Ok(Operator::NotIn),
            "Exists" => Ok(Operator::Exists),
            "DoesNotExist" => Ok(Operator::DoesNotExist),
            other => Err(format!("{} is not a valid scope selector operator", quote(other))),
        };
        let class = class.and_then(|operator| {
            Requirement::new(scope, operator, values.clone(), &Path::NOWHERE)
                .map_err(|errors| aggregate(&errors))
        });
        ScopeRequirement { scope: scope.into(), operator: operator.into(), values, class }
    }

    /// Returns the scopes of a quota's spec.
    pub(crate) fn read_all(spec: &Value) -> Vec<ScopeRequirement> {
        let plain = spec.items_at(&["scopes"]).iter().filter_map(Value::as_str);
        let plain = plain.map(|scope| ScopeRequirement::new(scope, "Exists", Vec::new()));
        let selected = spec.items_at(&["scopeSelector", "matchExpressions"]).iter().map(|requirement| {
            let values = requirement.items_at(&["values"]).iter();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            ScopeRequirement::new(
                requirement.text_at(&["scopeName"]),
                requirement.text_at(&["operator"]),
                values,
            )
        });
        plain.chain(selected).collect()
    }

    /// Returns whether one of an object's classes is required; for an object without a class whether that is.
    pub(crate) fn matches_class<'c>(
        &self,
        classes: impl IntoIterator<Item = &'c str>,
    ) -> Result<bool, String> {
        let mut classes = classes.into_iter().peekable();
        if self.operator == "Exists" {
            return Ok(classes.peek().is_some());
        }
        let class = self.class.as_ref().map_err(|why| format!("failed to parse and convert selector: {why}"));
        let class = class?;
        match classes.peek() {
            None => Ok(class.matches(None)),
            Some(_) => Ok(classes.any(|name| class.matches(Some(name)))),
        }
    }
}

/// As Go prints the struct: `{PriorityClass In [low high]}`.
impl fmt::Display for ScopeRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{} {} [{}]}}", self.scope, self.operator, self.values.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(operator: &str, values: &[&str]) -> ScopeRequirement {
        ScopeRequirement::new("PriorityClass", operator, values.iter().map(|&value| value.into()).collect())
    }

    #[test]
    fn classes_are_selected_as_labels_are() {
        for (operator, values, none, low, several) in [
            ("Exists", &[][..], false, true, true),
            ("DoesNotExist", &[], true, false, false),
            ("In", &["low", "mid"], false, true, true),
            ("In", &["high"], false, false, true),
            ("NotIn", &["low"], true, false, true),
            ("NotIn", &["low", "high"], true, false, false),
        ] {
            let required = requirement(operator, values);
            assert_eq!(required.matches_class([]), Ok(none), "{required}");
            assert_eq!(required.matches_class(["low"]), Ok(low), "{required}");
            assert_eq!(required.matches_class(["low", "high"]), Ok(several), "{required}");
        }
    }

    #[test]
    fn a_wrong_requirement_says_why() {
        assert_eq!(
            requirement("Is", &["low"]).matches_class(["low"]).unwrap_err(),
            r#"failed to parse and convert selector: "Is" is not a valid scope selector operator"#
        );
        assert_eq!(
            requirement("In", &[]).matches_class(["low"]).unwrap_err(),
            "failed to parse and convert selector: values: Invalid value: null: for 'in', 'notin' operators, values set \
             can't be empty"
        );
        assert_eq!(requirement("In", &["low", "high"]).to_string(), "{PriorityClass In [low high]}");
    }
}
