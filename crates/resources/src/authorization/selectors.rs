//! Selectors as access reviews carry them: as text, or as requirements. Newer clients may know operators that this server
//! does not; those are passed over, which only widens what is asked about.

use pintle_auth::authorizer::Selector;
use pintle_meta::field_path::{Path, aggregate};
use pintle_meta::quote;
use pintle_meta::selector::{LabelSelectorRequirement, field, label};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FieldSelector {
    raw_selector: String,
    /// The same form as those of labels.
    requirements: Vec<LabelSelectorRequirement>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LabelSelector {
    raw_selector: String,
    requirements: Vec<LabelSelectorRequirement>,
}

/// The requirements that this server knows, and the errors of the others.
pub(super) struct Parsed<R> {
    requirements: Vec<R>,
    error: Option<String>,
}

impl<R> Parsed<R> {
    fn of(requirements: Vec<R>, errors: &[String]) -> Parsed<R> {
        Parsed { requirements, error: (!errors.is_empty()).then(|| aggregate(errors)) }
    }
}

/// Returns a selector in the form that authorizers take.
pub(super) fn for_authorizer<R>(parsed: Option<&Parsed<R>>) -> Selector<'_, R> {
    match parsed {
        None => Selector::Absent,
        Some(Parsed { requirements, error: None }) => Selector::Requirements(requirements),
        Some(Parsed { requirements, error: Some(error) }) => {
            Selector::Invalid { understood: requirements, error }
        }
    }
}

impl FieldSelector {
    pub(super) fn parsed(&self) -> Parsed<field::Requirement> {
        if self.requirements.is_empty() {
            return match field::Selector::parse(&self.raw_selector) {
                Ok(selector) => Parsed::of(selector.requirements().to_vec(), &[]),
                Err(error) => Parsed::of(Vec::new(), &[error]),
            };
        }
        let (mut requirements, mut errors) = (Vec::new(), Vec::new());
        for LabelSelectorRequirement { key, operator, values } in &self.requirements {
            let known = match operator.as_str() {
                _ if values.len() > 1 => Err("fieldSelectors do not yet support multiple values".into()),
                "In" => Ok((field::Operator::Equals, "in")),
                "NotIn" => Ok((field::Operator::NotEquals, "not in")),
                "Exists" | "DoesNotExist" => Err(format!("fieldSelectors do not yet support {operator}")),
                _ => Err(format!("{} is not a valid field selector operator", quote(operator))),
            };
            match (known, values.first()) {
                (Ok((operator, _)), Some(value)) => requirements.push(field::Requirement {
                    field: key.clone(),
                    operator,
                    value: value.clone(),
                }),
                (Ok((_, name)), None) => errors.push(format!("fieldSelectors {name} must have one value")),
                (Err(error), _) => errors.push(error),
            }
        }
        Parsed::of(requirements, &errors)
    }
}

impl LabelSelector {
    pub(super) fn parsed(&self) -> Parsed<label::Requirement> {
        if self.requirements.is_empty() {
            return match label::Selector::parse(&self.raw_selector) {
                Ok(selector) => Parsed::of(selector.requirements().unwrap_or_default().to_vec(), &[]),
                Err(error) => Parsed::of(Vec::new(), &[error]),
            };
        }
        let (mut requirements, mut errors) = (Vec::new(), Vec::new());
        for requirement in &self.requirements {
            let Some(operator) = requirement.known_operator() else {
                errors
                    .push(format!("{} is not a valid label selector operator", quote(&requirement.operator)));
                continue;
            };
            let values = requirement.values.clone();
            match label::Requirement::new(&*requirement.key, operator, values, &Path::NOWHERE) {
                Ok(requirement) => requirements.push(requirement),
                Err(wrong) => errors.push(aggregate(&wrong)),
            }
        }
        Parsed::of(requirements, &errors)
    }
}
