//! `LabelSelector`: a selector as a field of objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::label::{Operator, Requirement, Selector};
use crate::field_path::{Error, Path, Value, aggregate};
use crate::{quote, validation};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelSelectorRequirement {
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; any other text as the client sent it.
    pub operator: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Exceptions of the validation, for values that stored objects have already or that are checked elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValidationOptions {
    pub allow_invalid_values: bool,
    pub allow_unknown_operators: bool,
}

impl LabelSelector {
    /// Converts to a selector; an empty one selects everything. (An absent one selects nothing, which is up to the
    /// caller.)
    ///
    /// The reference visits the labels in random order, so which of several invalid ones it reports is undefined;
    /// here it is the first by key.
    pub fn selector(&self) -> Result<Selector, String> {
        let mut requirements = Vec::with_capacity(self.match_labels.len() + self.match_expressions.len());
        let mut add = |key: &str, operator, values: Vec<String>| {
            let requirement = Requirement::new(key, operator, values, &Path::NOWHERE);
            requirements.push(requirement.map_err(|errors| aggregate(&errors))?);
            Ok::<(), String>(())
        };
        for (key, value) in &self.match_labels {
            add(key, Operator::Equals, vec![value.clone()])?;
        }
        for expression in &self.match_expressions {
            let operator = expression.known_operator().ok_or_else(|| {
                format!("{} is not a valid label selector operator", quote(&expression.operator))
            })?;
            add(&expression.key, operator, expression.values.clone())?;
        }
        Ok(Selector::new(requirements))
    }

    /// Formats the selector for tables.
    pub fn format(&self) -> String {
        match self.selector().map(|selector| selector.to_string()) {
            Err(_) => "<error>".into(),
            Ok(text) if text.is_empty() => "<none>".into(),
            Ok(text) => text,
        }
    }

    /// Returns the selector as plain labels, as the oldest kinds have it.
    pub fn as_labels(&self) -> Result<BTreeMap<String, String>, String> {
        let mut labels = self.match_labels.clone();
        for expression in &self.match_expressions {
            let operator = quote(&expression.operator);
            match (expression.known_operator(), expression.values.as_slice()) {
                (Some(Operator::In), [value]) => labels.insert(expression.key.clone(), value.clone()),
                (Some(Operator::In), _) => {
                    return Err(format!(
                        "operator {operator} without a single value cannot be converted into the old label selector format"
                    ));
                }
                (Some(_), _) => {
                    return Err(format!(
                        "operator {operator} cannot be converted into the old label selector format"
                    ));
                }
                (None, _) => return Err(format!("{operator} is not a valid selector operator")),
            };
        }
        Ok(labels)
    }

    /// Parses the syntax of a request's `labelSelector`.
    pub fn parse(text: &str) -> Result<LabelSelector, String> {
        let selector = Selector::parse(text)
            .map_err(|error| format!("couldn't parse the selector string \"{text}\": {error}"))?;
        let mut out = LabelSelector::default();
        for requirement in selector.requirements().unwrap_or_default() {
            let operator = match requirement.operator() {
                Operator::Equals | Operator::DoubleEquals => {
                    let value = requirement.values().first().cloned().unwrap_or_default();
                    out.match_labels.insert(requirement.key().into(), value);
                    continue;
                }
                Operator::In => "In",
                Operator::NotIn => "NotIn",
                Operator::Exists => "Exists",
                Operator::DoesNotExist => "DoesNotExist",
                other @ (Operator::GreaterThan | Operator::LessThan) => {
                    return Err(format!("{} isn't supported in label selectors", quote(other.as_str())));
                }
                other @ Operator::NotEquals => {
                    return Err(format!("{} is not a valid label selector operator", quote(other.as_str())));
                }
            };
            out.match_expressions.push(LabelSelectorRequirement {
                key: requirement.key().into(),
                operator: operator.into(),
                values: requirement.values().to_vec(),
            });
        }
        Ok(out)
    }

    /// Returns whether an expression has a value that is no valid label value.
    pub fn has_invalid_value(&self) -> bool {
        let mut values = self.match_expressions.iter().flat_map(|expression| &expression.values);
        values.any(|value| !validation::label_value(value).is_empty())
    }

    pub fn validate(&self, options: ValidationOptions, path: &Path<'_>) -> Vec<Error> {
        let labels = self.match_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let mut errors = validation::labels(&path.child("matchLabels"), labels);
        let expressions = path.child("matchExpressions");
        for (index, expression) in self.match_expressions.iter().enumerate() {
            errors.extend(expression.validate(options, &expressions.index(index)));
        }
        errors
    }
}

impl LabelSelectorRequirement {
    /// Returns `None` for an unknown operator, perhaps of newer clients.
    pub fn known_operator(&self) -> Option<Operator> {
        match self.operator.as_str() {
            "In" => Some(Operator::In),
            "NotIn" => Some(Operator::NotIn),
            "Exists" => Some(Operator::Exists),
            "DoesNotExist" => Some(Operator::DoesNotExist),
            _ => None,
        }
    }

    pub fn validate(&self, options: ValidationOptions, path: &Path<'_>) -> Vec<Error> {
        let mut errors = Vec::new();
        let values = path.child("values");
        match self.known_operator() {
            Some(Operator::In | Operator::NotIn) if self.values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(Error::required(&values, why));
            }
            Some(Operator::Exists | Operator::DoesNotExist) if !self.values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(Error::forbidden(&values, why));
            }
            None if !options.allow_unknown_operators => {
                let (operator, why) = (Value::json(&self.operator), "not a valid selector operator");
                errors.push(Error::invalid(&path.child("operator"), operator, why));
            }
            _ => {}
        }
        errors.extend(validation::label_name(&path.child("key"), &self.key));
        if !options.allow_invalid_values {
            for (index, value) in self.values.iter().enumerate() {
                let wrong = validation::label_value(value).into_iter();
                errors.extend(wrong.map(|wrong| Error::invalid(&values.index(index), value, wrong)));
            }
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(json: &str) -> LabelSelector {
        serde_json::from_str(json).unwrap()
    }

    fn expression(operator: &str, values: &str) -> LabelSelector {
        selector(&format!(
            r#"{{"matchExpressions":[{{"key":"a","operator":"{operator}","values":{values}}}]}}"#
        ))
    }

    #[test]
    fn labels_and_expressions_convert_to_one_selector() {
        let both = selector(
            r#"{"matchLabels":{"z":"1","b":"2"},"matchExpressions":[{"key":"c","operator":"In","values":["y","x"]},{"key":"d","operator":"Exists"},{"key":"e","operator":"DoesNotExist"},{"key":"f","operator":"NotIn","values":["g"]}]}"#,
        );
        assert_eq!(both.selector().unwrap().to_string(), "b=2,c in (x,y),d,!e,f notin (g),z=1");
        assert_eq!(both.format(), "b=2,c in (x,y),d,!e,f notin (g),z=1");
        assert_eq!(LabelSelector::default().selector(), Ok(Selector::everything()));
        assert_eq!(LabelSelector::default().format(), "<none>");
    }

    #[test]
    fn invalid_selectors_are_reported() {
        assert_eq!(
            expression("Near", "[]").selector(),
            Err(r#""Near" is not a valid label selector operator"#.into())
        );
        assert_eq!(expression("Near", "[]").format(), "<error>");
        assert_eq!(
            expression("In", "[]").selector(),
            Err("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".into())
        );
        let error = selector(r#"{"matchLabels":{"a":"b c"}}"#).selector().unwrap_err();
        assert!(error.starts_with(r#"values[0][a]: Invalid value: "b c": a valid label must"#), "{error}");
    }

    #[test]
    fn only_equality_converts_to_plain_labels() {
        let labels = expression("In", r#"["b"]"#).as_labels().unwrap();
        assert_eq!(labels, BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        let errors = [
            (
                "In",
                r#"["b","c"]"#,
                r#"operator "In" without a single value cannot be converted into the old label selector format"#,
            ),
            ("Exists", "[]", r#"operator "Exists" cannot be converted into the old label selector format"#),
            ("x", "[]", r#""x" is not a valid selector operator"#),
        ];
        for (operator, values, want) in errors {
            assert_eq!(expression(operator, values).as_labels(), Err(want.to_owned()));
        }
    }

    #[test]
    fn text_parses_to_labels_and_expressions() {
        let parsed = LabelSelector::parse("a=b,c in (e,d),!f,g").unwrap();
        assert_eq!(
            serde_json::to_string(&parsed).unwrap(),
            r#"{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"In","values":["d","e"]},{"key":"f","operator":"DoesNotExist"},{"key":"g","operator":"Exists"}]}"#
        );
        let errors = [
            ("a>1", r#""gt" isn't supported in label selectors"#),
            ("a!=b", r#""!=" is not a valid label selector operator"#),
            ("a,", r#"couldn't parse the selector string "a,": found '', expected: identifier after ','"#),
        ];
        for (text, want) in errors {
            assert_eq!(LabelSelector::parse(text), Err(want.to_owned()));
        }
    }

    #[test]
    fn validation_reports_each_field() {
        let check = |selector: &LabelSelector, options| {
            let errors = selector.validate(options, &Path::new("spec.selector"));
            errors.iter().map(Error::to_string).collect::<Vec<_>>()
        };
        let strict = ValidationOptions::default();
        assert_eq!(
            check(&expression("In", "[]"), strict),
            [
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
            ]
        );
        assert_eq!(
            check(&expression("Exists", r#"["b"]"#), strict),
            [
                "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ]
        );
        assert_eq!(
            check(&expression("Near", "[]"), strict),
            [
                r#"spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator"#
            ]
        );
        let bad_value = expression("In", r#"["b c"]"#);
        assert!(bad_value.has_invalid_value());
        let errors = check(&bad_value, strict);
        assert!(
            errors[0].starts_with(r#"spec.selector.matchExpressions[0].values[0]: Invalid value: "b c": "#)
        );
        let lenient = ValidationOptions { allow_invalid_values: true, allow_unknown_operators: true };
        assert!(check(&bad_value, lenient).is_empty());
        assert!(check(&expression("Near", "[]"), lenient).is_empty());
        let errors = check(&selector(r#"{"matchLabels":{"a b":"c"}}"#), strict);
        assert!(errors[0].starts_with(r#"spec.selector.matchLabels: Invalid value: "a b": name part"#));
    }
}
