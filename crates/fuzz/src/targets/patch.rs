//! What field management reads.

use pintle_patch::fieldset::Set;

use super::{refused, skeleton, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[Target {
    name: "fields-v1",
    seeds: || {
        let seeds = [
            r#"{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}"#,
            r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#,
            r#"{"v:\"a\"":{},"v:1.5":{},"v:null":{},"i:3":{},"x:?":[1,{"a":"]"}]}"#,
            r#"{"k:{}":{},"v:{\"a\":[1]}":{},"f:\u00e9\ud83d\ude00":null}"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"f:a\":{}",
        "\"k:{\\\"a\\\":1}\":{}",
        "\"v:1e9\":{}",
        "\"i:0\":{}",
        "\".\":{}",
        "{",
        "}",
        ",",
        ":",
        "null",
        "\\u003c",
        "\\\"",
        "{\"f:a\":",
    ],
    run: fields,
}];

/// What is read is written as something that reads as the same, and is its own union and intersection.
fn fields(input: &[u8]) -> u64 {
    match Set::from_json(input) {
        Err(error) => refused(error),
        Ok(set) => {
            let text = set.to_json();
            assert_eq!(Set::from_json(&text).as_ref(), Ok(&set));
            assert_eq!(set.clone().union(set.clone()), set);
            assert_eq!(set.intersection(&set), set);
            assert!(set.clone().difference(&set).is_empty());
            way((set.len().min(16), skeleton(&String::from_utf8_lossy(&text))))
        }
    }
}
