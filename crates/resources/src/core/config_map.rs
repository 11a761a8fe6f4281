//! ConfigMaps.

use pintle_meta::validation::object_meta;

use super::strategy::NAMESPACED;
use crate::core::data;
use crate::framework::strategy::{Rules, rules};
use crate::framework::validation::Cursor;

pub(super) const CONFIG_MAPS: Rules = Rules {
    validate: |_, map| validate(map),
    validate_update: |_, map| {
        data::immutable(map, &["data", "binaryData"]);
        rules::metadata(map, true, object_meta::subdomain_name);
        validate(map);
    },
    ..NAMESPACED
};

fn validate(map: &Cursor<'_, '_>) {
    let (data, binary) = (map.field("data"), map.field("binaryData"));
    for (key, entry) in data.entries() {
        data::check_key(key, &entry);
        if binary.key(key).is_set() {
            entry.invalid(key, "duplicate of key present in binaryData");
        }
    }
    for (key, entry) in binary.entries() {
        data::check_key(key, &entry);
    }
    if data::size(&data) + data::size(&binary) > data::MAX_SIZE {
        // The error is about the object: its path shows as `[]`.
        map.field("").too_long(data::MAX_SIZE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::strategy::testing::{invalid, invalid_update, of};

    fn named(rest: &str) -> String {
        format!(r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"1"}},{rest}}}"#)
    }

    #[test]
    fn keys_are_file_names_and_unique() {
        let maps = of("", "configmaps");
        let wrong = invalid(&maps, &named(r#""data":{"a b":"","c":""},"binaryData":{"c":""}"#));
        assert!(
            wrong[0].starts_with("data[a b]: Invalid value: \"a b\": a valid config key must consist of"),
            "{wrong:?}"
        );
        assert_eq!(wrong[1], "data[c]: Invalid value: \"c\": duplicate of key present in binaryData");
        let large = named(&format!(r#""data":{{"a":"{}","b":"x"}}"#, "y".repeat(data::MAX_SIZE)));
        assert_eq!(invalid(&maps, &large), ["[]: Too long: may not be more than 1048576 bytes"]);
    }

    #[test]
    fn data_of_an_immutable_config_map_does_not_change() {
        let maps = of("", "configmaps");
        let old = named(r#""data":{"a":"b"},"immutable":true"#);
        assert!(invalid_update(&maps, &old, &old).is_empty());
        let why = "Forbidden: field is immutable when `immutable` is set";
        assert_eq!(
            invalid_update(&maps, &named(r#""data":{"a":"c"},"immutable":true"#), &old),
            [format!("data: {why}")]
        );
        assert_eq!(invalid_update(&maps, &named(r#""data":{"a":"b"}"#), &old), [format!("immutable: {why}")]);
    }
}
