//! Secrets, whose type decides which keys they need.

use pintle_codec::json;
use pintle_meta::Node;
use pintle_meta::validation::object_meta;

use super::strategy::{NAMESPACED, warnings};
use crate::core::data;
use crate::framework::strategy::{Rules, rules};
use crate::framework::validation::Cursor;

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

pub(super) const SECRETS: Rules = Rules {
    validate: |_, secret| validate(secret),
    validate_update: |_, secret| {
        secret.field("type").immutable("core.SecretType");
        data::immutable(secret, &["data"]);
        rules::metadata(secret, true, object_meta::subdomain_name);
        validate(secret);
    },
    warnings: |_, secret, _| warnings::of_secret(secret),
    ..NAMESPACED
};

fn validate(secret: &Cursor<'_, '_>) {
    let data = secret.field("data");
    for (key, entry) in data.entries() {
        data::check_key(key, &entry);
    }
    if data::size(&data) > data::MAX_SIZE {
        data.too_long(data::MAX_SIZE);
    }
    let need = |key: &str| {
        if !data.key(key).is_set() {
            data.key(key).required("");
        }
    };
    match secret.field("type").text() {
        "kubernetes.io/service-account-token" => {
            let name = secret.at(&["metadata", "annotations"]);
            if name.key(ACCOUNT_NAME).text().is_empty() {
                name.key(ACCOUNT_NAME).required("");
            }
        }
        "kubernetes.io/dockercfg" => check_json(&data.key(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => check_json(&data.key(".dockerconfigjson")),
        // One of them is enough.
        "kubernetes.io/basic-auth" if !["username", "password"].iter().any(|key| data.key(key).is_set()) => {
            need("username");
            need("password");
        }
        "kubernetes.io/ssh-auth" if data::length(data.key("ssh-privatekey").value()) == 0 => {
            data.key("ssh-privatekey").required("");
        }
        "kubernetes.io/tls" => {
            need("tls.crt");
            need("tls.key");
        }
        _ => {}
    }
}

/// Requires content that is a JSON object.
fn check_json(content: &Cursor<'_, '_>) {
    if !content.is_set() {
        return content.required("");
    }
    let why = match json::decode_any(content.value().as_bytes().unwrap_or_default()) {
        Err(error) => error.to_string(),
        Ok(decoded) => {
            let found = match decoded.value.node() {
                Node::Object(_) | Node::Null => return,
                Node::List(_) => "array",
                Node::String(_) => "string",
                Node::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
        }
    };
    content.invalid("<secret contents redacted>", why);
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{invalid, invalid_update, of};
    use crate::framework::validation::testing::Base;

    fn named(rest: &str) -> String {
        format!(r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"1"}},{rest}}}"#)
    }

    #[test]
    fn the_type_of_a_secret_is_immutable() {
        let secrets = of("", "secrets");
        assert_eq!(
            invalid_update(&secrets, &named(r#""type":"a""#), &named(r#""type":"b""#)),
            [r#"type: Invalid value: "a": field is immutable"#]
        );
    }

    #[test]
    fn an_update_checks_metadata_after_what_is_immutable() {
        let base = Base::new("", "secrets", &named(r#""type":"a""#));
        let long = "a".repeat(64);
        let labels = format!(r#"{{"a":"{long}"}}"#);
        let wrong = format!(r#"metadata.labels: Invalid value: "{long}": must be no more than 63 bytes"#);
        base.refuses_update(&[(
            &[("/type", r#""b""#), ("/metadata/labels", &labels)],
            &[&wrong, r#"type: Invalid value: "b": field is immutable"#, &wrong],
        )]);
    }

    #[test]
    fn content_is_limited_and_keys_need_some() {
        let base = Base::new("", "secrets", &named(r#""data":{}"#));
        let large = format!(r#"{{"a":"{}"}}"#, "AAAA".repeat(1024 * 1024 / 3 + 1));
        base.refuses(&[
            (&[("/data", &large)], &["data: Too long: may not be more than 1048576 bytes"]),
            (
                &[("/type", r#""kubernetes.io/ssh-auth""#), ("/data", r#"{"ssh-privatekey":""}"#)],
                &["data[ssh-privatekey]: Required value"],
            ),
            (
                &[("/type", r#""kubernetes.io/dockerconfigjson""#)],
                &["data[.dockerconfigjson]: Required value"],
            ),
        ]);
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
}
