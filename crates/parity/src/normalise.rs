//! Answers without what differs from server to server and from run to run: identities, revisions, times, allocated addresses and
//! ports, tokens, generated suffixes, the namespace of the case. The recorded answers went through the same.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::json::Json;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

static JWT: LazyLock<Regex> = LazyLock::new(|| pattern(r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"));
static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"));
static TOKEN_VOLUME: LazyLock<Regex> = LazyLock::new(|| pattern("kube-api-access-[a-z0-9]{5}"));

/// Replaces what is volatile. `namespace` is that of the case.
pub fn normalise(value: Json, namespace: &str) -> Json {
    match value {
        Json::Object(fields) => Json::Object(object(fields, namespace)),
        Json::List(items) => Json::List(items.into_iter().map(|item| normalise(item, namespace)).collect()),
        Json::Text(text) => Json::Text(normalise_text(&text, namespace)),
        other => other,
    }
}

/// Replaces what is volatile in a text.
pub(crate) fn normalise_text(text: &str, namespace: &str) -> String {
    let text = text.replace(namespace, "<ns>");
    let text = JWT.replace_all(&text, "<jwt>");
    let text = UID.replace_all(&text, "<uid>");
    let text = TIME.replace_all(&text, "<time>");
    TOKEN_VOLUME.replace_all(&text, "kube-api-access-<suffix>").into_owned()
}

fn object(fields: Vec<(String, Json)>, namespace: &str) -> Vec<(String, Json)> {
    let prefix = fields.iter().find(|(name, _)| name == "generateName").and_then(|(_, value)| value.text());
    let prefix = prefix.map(str::to_owned);
    let field = |(name, value): (String, Json)| {
        let marked = volatile(&name, &value, prefix.as_deref());
        let value = marked.unwrap_or_else(|| normalise(value, namespace));
        (name, value)
    };
    fields.into_iter().map(field).collect()
}

/// The mark that stands for the value of a volatile field; `None` if it is not one.
fn volatile(name: &str, value: &Json, generate_name: Option<&str>) -> Option<Json> {
    let mark = match (name, value) {
        ("uid", Json::Text(uid)) if !uid.is_empty() => "<uid>".into(),
        ("resourceVersion", Json::Text(version)) if !matches!(version.as_str(), "" | "0") => "<rv>".into(),
        ("continue" | "token", Json::Text(token)) if !token.is_empty() => format!("<{name}>"),
        ("clusterIP", Json::Text(address)) if is_allocated(address) => "<ip>".into(),
        ("clusterIPs", Json::List(addresses)) => {
            let mark = |address: &Json| match address.text() {
                Some(text) if is_allocated(text) => Json::from("<ip>"),
                _ => address.clone(),
            };
            return Some(Json::List(addresses.iter().map(mark).collect()));
        }
        ("nodePort" | "healthCheckNodePort", Json::Number(port)) if port.as_i64() >= Some(30000) => {
            "<nodeport>".into()
        }
        ("resourceVersion", Json::Text(version)) => version.clone(),
        ("name", Json::Text(name)) => {
            let prefix = generate_name.filter(|prefix| name.starts_with(prefix))?;
            format!("{prefix}<suffix>")
        }
        _ => return None,
    };
    Some(Json::Text(mark))
}

/// In the range that recorded servers give services addresses of.
fn is_allocated(address: &str) -> bool {
    address.starts_with("10.")
}

/// Takes away what a dotted path leads to, in every item of the lists on the way.
pub(crate) fn remove(value: &mut Json, path: &str) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match value {
        Json::List(items) => items.iter_mut().for_each(|item| remove(item, path)),
        Json::Object(fields) => match rest {
            None => fields.retain(|(name, _)| name != first),
            Some(rest) => {
                let found = fields.iter_mut().find(|(name, _)| name == first);
                found.into_iter().for_each(|(_, value)| remove(value, rest));
            }
        },
        _ => {}
    }
}

/// Takes away the documentation of an OpenAPI document, which is not compared.
pub(crate) fn remove_descriptions(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            fields.retain(|(name, value)| name != "description" || value.text().is_none());
            fields.iter_mut().for_each(|(_, value)| remove_descriptions(value));
        }
        Json::List(items) => items.iter_mut().for_each(remove_descriptions),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str) {
        let read = |text: &str| -> Json { serde_json::from_str(text).expect("JSON") };
        assert_eq!(normalise(read(from), "ns-1"), read(to));
    }

    #[test]
    fn volatile_fields_are_marked() {
        check(
            r#"{"metadata":{"generateName":"ns-1-","name":"ns-1-x7","uid":"u","resourceVersion":"7"}}"#,
            r#"{"metadata":{"generateName":"<ns>-","name":"ns-1-<suffix>","uid":"<uid>","resourceVersion":"<rv>"}}"#,
        );
        check(
            r#"{"uid":"","resourceVersion":"0","continue":"","token":7,"nodePort":80}"#,
            r#"{"uid":"","resourceVersion":"0","continue":"","token":7,"nodePort":80}"#,
        );
        check(
            r#"{"clusterIP":"10.0.0.7","clusterIPs":["10.0.0.7","fd00::1"],"nodePort":30001}"#,
            r#"{"clusterIP":"<ip>","clusterIPs":["<ip>","fd00::1"],"nodePort":"<nodeport>"}"#,
        );
    }

    #[test]
    fn volatile_parts_of_texts_are_marked() {
        let uid = "0a1b2c3d-0000-1111-2222-333344445555";
        check(
            &format!(
                r#"["pods of ns-1","{uid}/{uid}","at 2026-01-02T03:04:05.678901Z","eyJh.b-_.c kube-api-access-ab12c"]"#
            ),
            r#"["pods of <ns>","<uid>/<uid>","at <time>","<jwt> kube-api-access-<suffix>"]"#,
        );
    }

    #[test]
    fn ignored_paths_go_through_lists() {
        let mut value: Json =
            serde_json::from_str(r#"{"items":[{"a":{"b":1,"c":2}},{"a":{"b":3}}],"b":4}"#).expect("JSON");
        remove(&mut value, "items.a.b");
        assert_eq!(value.to_string(), r#"{"items": [{"a": {"c": 2}}, {"a": {}}], "b": 4}"#);
    }
}
