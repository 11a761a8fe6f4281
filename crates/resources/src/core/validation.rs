//! What must hold of an object beside its metadata, where that is little. Kinds with more to say have files of their own.

use pintle_codec::json;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{config_map_key, dns1123_subdomain, qualified_name};
use pintle_meta::{Node, Object, Value};

/// What a config map or secret may hold together.
const MAX_SIZE: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(crate) fn config_map(map: &Value) -> Vec<Error> {
    let (data, binary) = (Path::new("data"), Path::new("binaryData"));
    let mut errors = Vec::new();
    for (key, _) in entries(map, "data") {
        errors.extend(check_key(&data, key));
        if map.at(&["binaryData", key]).is_some() {
            errors.push(Error::invalid(&data.key(key), key, "duplicate of key present in binaryData"));
        }
    }
    for (key, _) in entries(map, "binaryData") {
        errors.extend(check_key(&binary, key));
    }
    if size(map, "data") + size(map, "binaryData") > MAX_SIZE {
        // It is about all of it.
        errors.push(Error::too_long(&Path::new(""), Some(MAX_SIZE)));
    }
    errors
}

pub(crate) fn config_map_update(new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = immutable(new, old, &["data", "binaryData"]);
    errors.extend(config_map(new));
    errors
}

pub(crate) fn secret(secret: &Value) -> Vec<Error> {
    let data = Path::new("data");
    let mut errors: Vec<Error> = entries(secret, "data").flat_map(|(key, _)| check_key(&data, key)).collect();
    if size(secret, "data") > MAX_SIZE {
        errors.push(Error::too_long(&data, Some(MAX_SIZE)));
    }
    let value = |key: &str| secret.at(&["data", key]);
    let missing = |key: &str| value(key).is_none().then(|| Error::required(&data.key(key), ""));
    match secret.text_at(&["type"]) {
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            if secret.annotation(NAME).unwrap_or_default().is_empty() {
                errors.push(Error::required(&Path::new("metadata.annotations").key(NAME), ""));
            }
        }
        "kubernetes.io/dockercfg" => errors.extend(check_json(&data, secret, ".dockercfg")),
        "kubernetes.io/dockerconfigjson" => errors.extend(check_json(&data, secret, ".dockerconfigjson")),
        "kubernetes.io/basic-auth" => {
            // One of them is enough.
            let missing = [missing("username"), missing("password")];
            if missing.iter().all(Option::is_some) {
                errors.extend(missing.into_iter().flatten());
            }
        }
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(|key| length(key) == 0) => {
            errors.push(Error::required(&data.key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => errors.extend([missing("tls.crt"), missing("tls.key")].into_iter().flatten()),
        _ => {}
    }
    errors
}

pub(crate) fn secret_update(new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    let kind = new.text_at(&["type"]);
    if kind != old.text_at(&["type"]) {
        let shown = pintle_meta::field_path::Value::json(kind);
        errors.push(Error::invalid(&Path::new("type"), shown, "field is immutable"));
    }
    errors.extend(immutable(new, old, &["data"]));
    errors.extend(secret(new));
    errors
}

/// What an event must say in any version. `reporter` is what the version calls the field of who reports it.
pub(crate) fn event(event: &Value, reporter: &str) -> Vec<Error> {
    let mut errors = Vec::new();
    let (namespace, concerned) = (event.namespace(), event.text_at(&["involvedObject", "namespace"]));
    let elsewhere = || {
        Error::invalid(&Path::new("involvedObject.namespace"), concerned, "does not match event.namespace")
    };
    // Only newer clients say when it was.
    if event.get("eventTime").is_none_or(Value::is_null) {
        let matches = match concerned {
            "" => matches!(namespace, "" | "default"),
            concerned => namespace == concerned,
        };
        if !matches {
            errors.push(elsewhere());
        }
    } else {
        if concerned.is_empty() && !matches!(namespace, "default" | "kube-system") {
            errors.push(elsewhere());
        }
        let controller = event.text_at(&["reportingComponent"]);
        let path = Path::new(reporter);
        if controller.is_empty() {
            errors.push(Error::required(&path, ""));
        }
        let wrong = qualified_name(controller).into_iter();
        errors.extend(wrong.map(|wrong| Error::invalid(&path, controller, wrong)));
        for (field, most, needed) in [
            ("reportingInstance", 128, true),
            ("action", 128, true),
            ("reason", 128, true),
            ("message", 1024, false),
        ] {
            let text = event.text_at(&[field]);
            if needed && text.is_empty() {
                errors.push(Error::required(&Path::new(field), ""));
            }
            if text.len() > most {
                let wrong = format!("can have at most {most} characters");
                errors.push(Error::invalid(&Path::new(field), "", wrong));
            }
        }
    }
    let wrong = dns1123_subdomain(namespace).into_iter();
    errors.extend(wrong.map(|wrong| Error::invalid(&Path::new("namespace"), namespace, wrong)));
    errors
}

fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    object.get(field).and_then(Value::as_object).into_iter().flat_map(Object::iter)
}

fn length(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.as_bytes().map_or(0, <[u8]>::len), str::len)
}

fn size(object: &Value, field: &str) -> usize {
    entries(object, field).map(|(_, value)| length(value)).sum()
}

fn check_key(path: &Path<'_>, key: &str) -> Vec<Error> {
    let wrong = config_map_key(key).into_iter();
    wrong.map(|wrong| Error::invalid(&path.key(key), key, wrong)).collect()
}

/// What may not change any more once somebody said so, which cannot be taken back.
fn immutable(new: &Value, old: &Value, fields: &[&str]) -> Vec<Error> {
    let is = |object: &Value| object.get("immutable").and_then(Value::as_bool) == Some(true);
    if !is(old) {
        return Vec::new();
    }
    let kept = (!is(new)).then_some("immutable");
    let changed = fields.iter().copied().filter(|field| new.get(field) != old.get(field));
    kept.into_iter().chain(changed).map(|field| Error::forbidden(&Path::new(field), IMMUTABLE)).collect()
}

/// Content that is a JSON object.
fn check_json(path: &Path<'_>, secret: &Value, key: &str) -> Option<Error> {
    let path = path.key(key);
    let Some(content) = secret.at(&["data", key]) else { return Some(Error::required(&path, "")) };
    let wrong = match json::decode_any(content.as_bytes().unwrap_or_default()) {
        Err(error) => error.to_string(),
        Ok(decoded) => {
            let found = match decoded.value.node() {
                Node::Object(_) | Node::Null => return None,
                Node::List(_) => "array",
                Node::String(_) => "string",
                Node::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
        }
    };
    Some(Error::invalid(&path, "<secret contents redacted>", wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::strategy::testing::{Subject, invalid, of};
    use pintle_registry::Context;

    fn changed(subject: &Subject, new: &str, old: &str) -> Vec<String> {
        let (new, old) = (subject.tree(new), subject.tree(old));
        let errors = subject.strategy.validate_update(&Context::default(), &new, &old);
        errors.iter().map(ToString::to_string).collect()
    }

    fn named(rest: &str) -> String {
        format!(r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"1"}},{rest}}}"#)
    }

    #[test]
    fn keys_are_file_names_and_stand_once() {
        let maps = of("", "configmaps");
        let wrong = invalid(&maps, &named(r#""data":{"a b":"","c":""},"binaryData":{"c":""}"#));
        assert!(
            wrong[0].starts_with("data[a b]: Invalid value: \"a b\": a valid config key must consist of"),
            "{wrong:?}"
        );
        assert_eq!(wrong[1], "data[c]: Invalid value: \"c\": duplicate of key present in binaryData");
        let large = named(&format!(r#""data":{{"a":"{}","b":"x"}}"#, "y".repeat(MAX_SIZE)));
        assert_eq!(invalid(&maps, &large), ["[]: Too long: may not be more than 1048576 bytes"]);
    }

    #[test]
    fn what_is_immutable_stays() {
        let maps = of("", "configmaps");
        let old = named(r#""data":{"a":"b"},"immutable":true"#);
        assert!(changed(&maps, &old, &old).is_empty());
        let why = "Forbidden: field is immutable when `immutable` is set";
        assert_eq!(
            changed(&maps, &named(r#""data":{"a":"c"},"immutable":true"#), &old),
            [format!("data: {why}")]
        );
        assert_eq!(changed(&maps, &named(r#""data":{"a":"b"}"#), &old), [format!("immutable: {why}")]);
        let secrets = of("", "secrets");
        assert_eq!(
            changed(&secrets, &named(r#""type":"a""#), &named(r#""type":"b""#)),
            [r#"type: Invalid value: "a": field is immutable"#]
        );
    }

    #[test]
    fn secrets_have_what_their_type_needs() {
        let secrets = of("", "secrets");
        let wrong = |rest: &str| invalid(&secrets, &named(rest));
        assert_eq!(
            wrong(r#""type":"kubernetes.io/tls","data":{"tls.crt":""}"#),
            ["data[tls.key]: Required value"]
        );
        assert_eq!(
            wrong(r#""type":"kubernetes.io/basic-auth""#),
            ["data[username]: Required value", "data[password]: Required value"]
        );
        assert!(wrong(r#""type":"kubernetes.io/basic-auth","data":{"password":""}"#).is_empty());
        assert_eq!(
            wrong(r#""type":"kubernetes.io/service-account-token""#),
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]
        );
        // {"a" and [] in base64.
        let docker = |content: &str| {
            wrong(&format!(r#""type":"kubernetes.io/dockercfg","data":{{".dockercfg":"{content}"}}"#))
        };
        assert_eq!(
            docker("eyJhIg=="),
            [
                r#"data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input"#
            ]
        );
        assert_eq!(
            docker("W10="),
            [
                r#"data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}"#
            ]
        );
        assert!(docker("e30=").is_empty());
    }

    #[test]
    fn events_are_about_something_in_their_namespace() {
        let events = of("", "events");
        let why = "does not match event.namespace";
        assert_eq!(
            invalid(&events, &named(r#""involvedObject":{"namespace":"m"}"#)),
            [format!("involvedObject.namespace: Invalid value: \"m\": {why}")]
        );
        assert!(invalid(&events, &named(r#""involvedObject":{"namespace":"n"}"#)).is_empty());
        let newer = named(
            r#""involvedObject":{"namespace":"n"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"a","reportingInstance":"b","action":"c""#,
        );
        assert_eq!(invalid(&events, &newer), ["reason: Required value"]);
    }
}
