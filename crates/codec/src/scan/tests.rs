use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_schema::find;
use proptest::prelude::*;

use super::{Found, Paths, Scalar};
use crate::protobuf::{decode, encode, envelope};
use crate::{Error, cbor, json};

const DOCUMENT: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generateName":"a-","namespace":"n","uid":"u-1",
    "resourceVersion":"7","generation":3,"creationTimestamp":"2026-11-15T19:48:18Z","deletionTimestamp":"2026-11-15T19:48:19Z",
    "labels":{"app":"web","tier":"front \"end\""},"annotations":{"x":"y"},
    "ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"o-1"},{"apiVersion":"v1","kind":"A","name":"b","uid":"o-2"}]},
    "spec":{"containers":[{"name":"c"}],"nodeName":"node-1","hostNetwork":true,"priority":-5,"terminationGracePeriodSeconds":30},
    "status":{"phase":"Running"}}"#;

const PATHS: [&str; 7] = [
    "spec.nodeName",
    "status.phase",
    "spec.hostNetwork",
    "spec.priority",
    "spec.terminationGracePeriodSeconds",
    "spec.schedulerName",
    "metadata.name",
];

fn pod() -> (Paths, Vec<u8>) {
    let of = find("core/v1.Pod").unwrap();
    let (mut raw, mut stored) = (Vec::new(), Vec::new());
    encode(of, &json::decode(of, DOCUMENT.as_bytes()).unwrap().value, &mut raw).unwrap();
    envelope::write("v1", "Pod", &raw, &mut stored);
    (Paths::new(of, &PATHS).unwrap(), stored)
}

fn check(found: &Found<'_>) {
    let texts = [&found.name, &found.generate_name, &found.namespace, &found.uid, &found.resource_version];
    assert_eq!(texts.map(|text| text.as_ref()), ["a", "a-", "n", "u-1", "7"]);
    assert_eq!(found.deletion_timestamp, Some(Time::parse("2026-11-15T19:48:19Z").unwrap()));
    assert_eq!(
        (found.label("app"), found.label("tier"), found.label("x")),
        (Some("web"), Some("front \"end\""), None)
    );
    assert_eq!(found.owners, ["o-1", "o-2"]);
    let text = |index: usize| found.fields[index].as_ref().map(|scalar| scalar.to_text().into_owned());
    assert_eq!(text(0).as_deref(), Some("node-1"));
    assert_eq!(text(1).as_deref(), Some("Running"));
    assert_eq!(found.fields[2], Some(Scalar::Bool(true)));
    assert_eq!(found.fields[3], Some(Scalar::Int(-5)));
    assert_eq!(text(4).as_deref(), Some("30"));
    // JSON omits empty fields; protobuf does not.
    assert_eq!(text(5).unwrap_or_default(), "");
    assert_eq!(text(6).as_deref(), Some("a"));
}

#[test]
fn all_encodings_scan_alike() {
    let (paths, stored) = pod();
    check(&paths.scan(&stored).unwrap());
    check(&paths.scan(&in_cbor()).unwrap());
    check(&Paths::untyped(&PATHS).scan(&in_cbor()).unwrap());
    check(&paths.scan(DOCUMENT.as_bytes()).unwrap());
    check(&Paths::untyped(&PATHS).scan(DOCUMENT.as_bytes()).unwrap());
    assert!(Paths::untyped(&PATHS).scan(&stored).is_err());
}

fn in_cbor() -> Vec<u8> {
    let mut data = Vec::new();
    cbor::encode(&json::decode_untyped(DOCUMENT.as_bytes()).unwrap().value, &mut data);
    data
}

#[test]
fn text_of_protobuf_and_cbor_is_borrowed() {
    let (paths, stored) = pod();
    for stored in [stored, in_cbor()] {
        let found = paths.scan(&stored).unwrap();
        let inside = |text: &str| stored.as_ptr_range().contains(&text.as_ptr());
        assert!(inside(&found.name) && inside(&found.labels[1].1));
        assert!(matches!(&found.fields[0], Some(Scalar::String(text)) if inside(text)));
    }
}

#[test]
fn cbor_of_other_writers_is_scanned() {
    let paths = Paths::untyped(&["spec.a", "spec.b", "metadata"]);
    // Indefinite lengths, chunked text, bytes with conversion to base64, a tagged map, and a float.
    let data = [
        &b"\xd9\xd9\xf7\xbf\x68metadata\xd8\x64\xbf\x64name\x7f\x61n\x61m\xff\x63uid\x5f\x41u\xff"[..],
        b"\x6fownerReferences\x9f\xa1\x63uid\x61o\x01\xff\xff\x64spec\xa2\x61a\xd6\x43abc\x61b\xf9\x3c\x00\xff",
    ]
    .concat();
    let found = paths.scan(&data).unwrap();
    assert_eq!((&*found.name, &*found.uid), ("nm", "u"));
    assert_eq!(found.owners, ["o", ""]);
    assert_eq!(found.fields, [Some(Scalar::String("YWJj".into())), None, None]);
    assert_eq!(Paths::uid(&data).unwrap(), "u");
    assert!(paths.scan(&data[..data.len() - 1]).is_err());
    assert!(paths.scan(&[&data[..], b"\x00"].concat()).is_err());
    assert_eq!(paths.scan(b"\xd9\xd9\xf7\x80").unwrap(), Found::expecting(3));
}

#[test]
fn only_paths_of_scalars_compile() {
    let of = find("core/v1.Pod").unwrap();
    let refused = |path: &str| Paths::new(of, &[path]).err().map(|error: Error| error.to_string());
    for path in ["spec", "spec.containers", "spec.containers.name", "nothing", "spec.nodeName.x", ""] {
        assert_eq!(refused(path), Some(format!("core/v1.Pod has no string, bool or integer {path}")));
    }
    assert_eq!(refused("metadata.name"), None);
    // A message in protobuf that JSON inlines.
    let secret = Paths::new(find("core/v1.EnvFromSource").unwrap(), &["secretRef.name"]).unwrap();
    let message = [0x1a, 5, 0x0a, 3, 0x0a, 1, b's'];
    assert_eq!(secret.scan_protobuf(&message).unwrap().fields, [Some(Scalar::String("s".into()))]);
}

#[test]
fn field_numbers_of_metadata_match_the_type_graph() {
    let number =
        |of: &str, name: &str| find(of).unwrap().structure().unwrap().field(name).unwrap().number.unwrap();
    let meta = |name: &str| number("meta/v1.ObjectMeta", name);
    let names = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "deletionTimestamp",
        "labels",
        "ownerReferences",
    ];
    assert_eq!(names.map(meta), [1, 2, 3, 5, 6, 9, 11, 13]);
    assert_eq!(number("meta/v1.OwnerReference", "uid"), 4);
}

#[test]
fn labels_are_sorted_and_the_last_of_equal_keys_wins() {
    let text = br#"{"metadata":{"labels":{"b":"1","a":"2","b":"3","c":null}}}"#;
    let found = Paths::untyped(&[]).scan(text).unwrap();
    let labels: Vec<(&str, &str)> =
        found.labels.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
    assert_eq!(labels, [("a", "2"), ("b", "3"), ("c", "")]);
    let entry = |key: u8, value: u8| [0x5a, 6, 0x0a, 1, key, 0x12, 1, value];
    let meta = [entry(b'b', b'1'), entry(b'a', b'2'), entry(b'b', b'3')].concat();
    let message = [&[0x0a, meta.len() as u8], &*meta].concat();
    let found = Paths::new(find("core/v1.Pod").unwrap(), &[])
        .unwrap()
        .scan_protobuf(&message)
        .map(|found| found.labels);
    assert_eq!(found.unwrap(), [("a".into(), "2".into()), ("b".into(), "3".into())]);
}

#[test]
fn unexpected_types_are_skipped_and_invalid_input_is_rejected() {
    let paths = Paths::untyped(&["spec.a", "spec.b.c"]);
    let found = paths
        .scan(br#"{"metadata":{"name":1,"labels":[],"ownerReferences":{}},"spec":{"a":{},"b":"x"}}"#)
        .unwrap();
    assert_eq!((found.name.as_ref(), found.labels.len(), found.fields), ("", 0, vec![None, None]));
    let found = paths.scan(br#"{"metadata":null,"spec":{"a":1.5,"b":{"c":false}}}"#).unwrap();
    assert_eq!(found.fields, [None, Some(Scalar::Bool(false))]);
    for broken in [&b""[..], b"{", b"{}x", br#"{"metadata":{"name":"a"#, b"k8s\0", b"k8s\0\x12\x05"] {
        assert!(paths.scan(broken).is_err(), "{}", broken.escape_ascii());
    }
}

proptest! {
    #[test]
    fn scans_of_mutated_messages_agree_with_the_tree(
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4),
    ) {
        let (paths, stored) = pod();
        let mut message = envelope::open(&stored).unwrap().raw.to_vec();
        for (index, byte) in changes {
            let index = index % message.len();
            message[index] = byte;
        }
        let of = find("core/v1.Pod").unwrap();
        let found = paths.scan_protobuf(&message);
        if let Ok(tree) = decode(of, &message) {
            let found = found.unwrap();
            prop_assert_eq!(&*found.name, tree.name());
            prop_assert_eq!(&*found.uid, tree.uid());
            prop_assert_eq!(found.owners.len(), tree.owner_references().len());
            let labels: Vec<(&str, &str)> = found.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
            prop_assert_eq!(labels, tree.labels().collect::<Vec<_>>());
            prop_assert_eq!(found.deletion_timestamp.is_some(), tree.deletion_timestamp().is_some());
            let node = found.fields[0].as_ref().map(|scalar| scalar.to_text().into_owned()).unwrap_or_default();
            prop_assert_eq!(node.as_str(), tree.text_at(&["spec", "nodeName"]));
            let priority = tree.at(&["spec", "priority"]).and_then(Value::as_i64);
            prop_assert_eq!(found.fields[3].clone(), priority.map(Scalar::Int));
        }
    }
}
