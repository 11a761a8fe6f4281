//! CBOR of objects that a reference server wrote as JSON. Reads `PINTLE_UPSTREAM` or the folder beside the
//! repository; without it, these tests print that and pass, and the unit tests' vectors remain.

use std::fs;

use pintle_codec::{cbor, json, unstructured};
use pintle_meta::Value;
use pintle_published::upstream;
use pintle_schema::find_kind;

fn encoded(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::encode(value, &mut out);
    out
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_kind_round_trips_typed_and_untyped() {
    let Some(folder) = upstream("full objects") else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder.join("wire")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let [kind, version, group] = name.rsplitn(3, '.').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let of = find_kind(if group == "core" { "" } else { group }, version, kind).unwrap();
        let json = fs::read(&path).unwrap();
        let typed = json::decode(of, &json).unwrap().value;
        let data = encoded(&typed);

        let again = cbor::decode(of, &data).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            text(&again.value),
            text(&unstructured::to_typed(of, &again.value).unwrap().value),
            "{name}"
        );
        assert_eq!(unstructured::from_typed(&again.value), unstructured::from_typed(&typed), "{name}");
        assert_eq!(again.strict, [""; 0], "{name}");
        assert_eq!(encoded(&again.value), data, "{name}");

        let untyped = cbor::decode_untyped(&data).unwrap().value;
        assert_eq!(untyped, unstructured::from_typed(&typed), "{name}");
        let from_untyped = cbor::decode(of, &encoded(&untyped)).unwrap().value;
        assert_eq!(text(&from_untyped), text(&again.value), "{name}");
        count += 1;
    }
    assert!(count > 100);
}
