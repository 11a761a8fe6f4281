//! Where an answer is not the recorded one.

use std::collections::BTreeMap;

use crate::json::Json;

/// How much of a value is shown, in characters.
const SHOWN: usize = 160;

/// The first difference, with its path; `None` if there is none. The order of an object's fields does not count.
pub fn first_difference(wanted: &Json, got: &Json) -> Option<String> {
    at("", wanted, got)
}

fn at(path: &str, wanted: &Json, got: &Json) -> Option<String> {
    match (wanted, got) {
        (Json::Object(wanted), Json::Object(got)) => {
            let wanted = sorted(wanted);
            let got = sorted(got);
            let names: BTreeMap<&str, ()> = wanted.keys().chain(got.keys()).map(|name| (*name, ())).collect();
            names.into_keys().find_map(|name| match (wanted.get(name), got.get(name)) {
                (Some(wanted), Some(got)) => at(&format!("{path}.{name}"), wanted, got),
                (Some(wanted), None) => Some(format!("{path}.{name}: missing, want {}", shortened(wanted))),
                (None, got) => Some(format!("{path}.{name}: unexpected {}", shortened(got?))),
            })
        }
        (Json::List(wanted), Json::List(got)) => {
            let pairs = wanted.iter().zip(got).enumerate();
            let mut different =
                pairs.filter_map(|(place, (wanted, got))| at(&format!("{path}[{place}]"), wanted, got));
            let count = || format!("{path}: want {} items got {}", wanted.len(), got.len());
            different.next().or_else(|| (wanted.len() != got.len()).then(count))
        }
        _ if wanted == got => None,
        _ => Some(format!("{path}: want {} got {}", shortened(wanted), shortened(got))),
    }
}

fn sorted(fields: &[(String, Json)]) -> BTreeMap<&str, &Json> {
    fields.iter().map(|(name, value)| (name.as_str(), value)).collect()
}

fn shortened(value: &Json) -> String {
    value.to_string().chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, got: &str, difference: Option<&str>) {
        let read = |text: &str| -> Json { serde_json::from_str(text).expect("JSON") };
        assert_eq!(first_difference(&read(wanted), &read(got)).as_deref(), difference);
    }

    #[test]
    fn the_first_difference_is_told_with_its_path() {
        check(r#"{"a":1,"b":[1,2]}"#, r#"{"b":[1,2],"a":1}"#, None);
        check(
            r#"[{"body":{"a":{"x":1}}}]"#,
            r#"[{"body":{"a":{"x":2}}}]"#,
            Some("[0].body.a.x: want 1 got 2"),
        );
        check(r#"{"a":1}"#, r#"{"a":1.0}"#, Some(".a: want 1 got 1.0"));
        check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, Some(".b: unexpected 2"));
        check(r#"{"a":1,"b":"x"}"#, r#"{"a":1}"#, Some(r#".b: missing, want "x""#));
        check("[1,2]", "[1]", Some(": want 2 items got 1"));
        check("[1,2]", "[2]", Some("[0]: want 1 got 2"));
    }
}
