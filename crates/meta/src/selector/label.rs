//! Label selectors of a request's `labelSelector=`.

use std::fmt;

use super::label_parser;
use crate::field_path::{Error, Path, Value};
use crate::validation::{label_value, qualified_name};

/// Relation between a label and the values of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
    Exists,
    DoesNotExist,
}

impl Operator {
    /// The operator's name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Operator::In => "in",
            Operator::NotIn => "notin",
            Operator::Equals => "=",
            Operator::DoubleEquals => "==",
            Operator::NotEquals => "!=",
            Operator::GreaterThan => "gt",
            Operator::LessThan => "lt",
            Operator::Exists => "exists",
            Operator::DoesNotExist => "!",
        }
    }
}

/// Condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted for lookups in long lists.
    values: Vec<String>,
}

impl Requirement {
    /// Validates and builds a requirement. The errors' fields are `key` and `values` under the path, as in the
    /// reference.
    pub fn new(
        key: impl Into<String>,
        operator: Operator,
        values: Vec<String>,
        path: &Path<'_>,
    ) -> Result<Requirement, Vec<Error>> {
        let key = key.into();
        let mut errors: Vec<Error> = key_error(&key, &path.child("key")).into_iter().collect();
        let values_path = path.child("values");
        let wrong_count = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                Some("exact-match compatibility requires one single value")
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(wrong) = wrong_count {
            // Go prints a nil slice as null.
            let printed = if values.is_empty() { Value::null() } else { Value::json(&values) };
            errors.push(Error::invalid(&values_path, printed, wrong));
        }
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            let wrong = "for 'Gt', 'Lt' operators, the value must be an integer";
            for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err())
            {
                errors.push(Error::invalid(&values_path.index(index), value, wrong));
            }
        }
        for (index, value) in values.iter().enumerate() {
            let wrong = label_value(value);
            if !wrong.is_empty() {
                errors.push(Error::invalid(&values_path.index(index).key(&key), value, wrong.join("; ")));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut values = values;
        values.sort_unstable();
        Ok(Requirement { key, operator, values })
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Returns whether a label's value (`None` if absent) satisfies the requirement.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let has = |value: &str| self.values.binary_search_by(|own| own.as_str().cmp(value)).is_ok();
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(has),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(has),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compare(value).is_some_and(|(label, limit)| label > limit),
            Operator::LessThan => self.compare(value).is_some_and(|(label, limit)| label < limit),
        }
    }

    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::In | Operator::NotIn => write!(f, "{key} {} ({values})", self.operator.as_str()),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
                write!(f, "{key}{}{values}", self.operator.as_str())
            }
        }
    }
}

/// Conjunction of requirements. An empty one selects everything; [`Selector::nothing`] selects nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Sorted by key; `None` selects nothing.
    requirements: Option<Vec<Requirement>>,
}

impl Selector {
    pub fn everything() -> Selector {
        Selector { requirements: Some(Vec::new()) }
    }

    pub fn nothing() -> Selector {
        Selector { requirements: None }
    }

    pub fn new(mut requirements: Vec<Requirement>) -> Selector {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Selector { requirements: Some(requirements) }
    }

    /// Returns a selector of these labels, which are assumed to be valid.
    pub fn from_labels<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Selector {
        let equals = |(key, value): (&str, &str)| Requirement {
            key: key.into(),
            operator: Operator::Equals,
            values: vec![value.into()],
        };
        Selector::new(labels.into_iter().map(equals).collect())
    }

    /// Parses `a=b,c in (d,e),!f`.
    pub fn parse(text: &str) -> Result<Selector, String> {
        Selector::parse_at(text, &Path::NOWHERE)
    }

    /// Like [`Selector::parse`], with the path of the field for errors.
    pub fn parse_at(text: &str, path: &Path<'_>) -> Result<Selector, String> {
        Ok(Selector::new(label_parser::parse(text, path)?))
    }

    /// Adds requirements; a selector of nothing stays one.
    #[must_use]
    pub fn and(self, requirements: impl IntoIterator<Item = Requirement>) -> Selector {
        match self.requirements {
            None => Selector::nothing(),
            Some(mut own) => {
                own.extend(requirements);
                Selector::new(own)
            }
        }
    }

    /// Returns whether an object matches; `label` looks up its labels.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements
            .as_ref()
            .is_some_and(|all| all.iter().all(|requirement| requirement.matches(label(&requirement.key))))
    }

    /// Returns whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    pub fn matches_nothing(&self) -> bool {
        self.requirements.is_none()
    }

    /// Sorted by key; `None` if it selects nothing.
    pub fn requirements(&self) -> Option<&[Requirement]> {
        self.requirements.as_deref()
    }

    /// Returns the only value that the label can have, if the first requirement on it determines one.
    pub fn requires_exact_match(&self, label: &str) -> Option<&str> {
        use Operator::{DoubleEquals, Equals, In};
        let requirement = self.requirements.as_ref()?.iter().find(|requirement| requirement.key == label)?;
        match (requirement.operator, requirement.values.as_slice()) {
            (Equals | DoubleEquals | In, [value]) => Some(value),
            _ => None,
        }
    }
}

impl Default for Selector {
    fn default() -> Selector {
        Selector::everything()
    }
}

/// Formats the syntax of [`Selector::parse`]; empty for both everything and nothing.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().flatten().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

pub(super) fn key_error(key: &str, path: &Path<'_>) -> Option<Error> {
    let wrong = qualified_name(key);
    (!wrong.is_empty()).then(|| Error::invalid(path, key, wrong.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_path::aggregate;

    fn matches(selector: &str, labels: &[(&str, &'static str)]) -> bool {
        let selector = Selector::parse(selector).unwrap();
        selector.matches(|key| labels.iter().find(|(own, _)| *own == key).map(|(_, value)| *value))
    }

    #[test]
    fn every_operator_matches_as_in_the_reference() {
        let labels = [("app", "web"), ("tier", ""), ("rank", "7"), ("word", "x1")];
        let yes = [
            "",
            "app",
            "app=web",
            "app==web",
            "app!=db",
            "none!=x",
            "!none",
            "tier",
            "tier=",
            "tier in ()",
            "app in (db,web)",
            "app notin (db)",
            "none notin (a)",
            "rank>6",
            "rank<8",
            "app=web,rank>0",
        ];
        for selector in yes {
            assert!(matches(selector, &labels), "{selector}");
        }
        let no = [
            "none",
            "app=db",
            "none=",
            "app!=web",
            "!app",
            "app in (db)",
            "none in (a)",
            "app notin (web)",
            "rank>7",
            "rank<7",
            "none>1",
            "none<1",
            "word>0",
            "word<9",
            "app=web,!rank",
        ];
        for selector in no {
            assert!(!matches(selector, &labels), "{selector}");
        }
    }

    #[test]
    fn everything_and_nothing_print_alike() {
        let (everything, nothing) = (Selector::everything(), Selector::nothing());
        assert!(everything.matches(|_| None) && everything.is_empty() && !everything.matches_nothing());
        assert!(!nothing.matches(|_| None) && !nothing.is_empty() && nothing.matches_nothing());
        assert_eq!((everything.to_string(), nothing.to_string()), (String::new(), String::new()));
        let one = Requirement::new("a", Operator::Exists, vec![], &Path::NOWHERE).unwrap();
        assert_eq!(nothing.and([one.clone()]), Selector::nothing());
        assert_eq!(everything.and([one]).to_string(), "a");
    }

    #[test]
    fn an_exact_match_requires_a_single_value() {
        let exact =
            |selector: &str| Selector::parse(selector).unwrap().requires_exact_match("a").map(str::to_owned);
        for selector in ["a=b", "a==b", "a in (b)", "a in (b,b)", "x,a=b"] {
            assert_eq!(exact(selector).as_deref(), Some("b"), "{selector}");
        }
        for selector in ["", "a", "!a", "a!=b", "a in (b,c)", "a notin (b)", "a>1", "a,a=b", "b=b"] {
            assert_eq!(exact(selector), None, "{selector}");
        }
    }

    #[test]
    fn requirements_are_validated() {
        let new = |key: &str, operator, values: &[&str]| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            Requirement::new(key, operator, values, &Path::NOWHERE)
                .map(|requirement| requirement.to_string())
                .map_err(|errors| aggregate(&errors))
        };
        let err = |text: &str| Err(text.to_owned());
        assert_eq!(new("a", Operator::In, &["c", "b"]), Ok("a in (b,c)".to_owned()));
        assert_eq!(
            new("a", Operator::In, &[]),
            err("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
        );
        assert_eq!(
            new("a", Operator::Equals, &["b", "c"]),
            err(r#"values: Invalid value: ["b","c"]: exact-match compatibility requires one single value"#)
        );
        assert_eq!(
            new("a", Operator::Exists, &["b"]),
            err(r#"values: Invalid value: ["b"]: values set must be empty for exists and does not exist"#)
        );
        assert_eq!(
            new("a", Operator::GreaterThan, &["x"]),
            err(r#"values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer"#)
        );
        assert_eq!(
            new("a", Operator::LessThan, &[]),
            err("values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required")
        );
        let text = new("b c", Operator::In, &["ok", "d!"]).unwrap_err();
        assert!(text.starts_with(r#"[key: Invalid value: "b c": name part must"#), "{text}");
        assert!(text.contains(r#", values[1][b c]: Invalid value: "d!": a valid label must"#), "{text}");
    }
}
