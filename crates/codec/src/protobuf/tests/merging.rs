//! Decoding of messages that are not canonical, as Go does it.

use pintle_meta::{Node, Value};

use super::super::envelope;
use super::{Bytes, error, of, read, write};

fn meta(name: &str) -> Bytes {
    Bytes::new().bytes(1, name)
}

#[test]
fn fields_may_come_in_any_order_and_the_last_scalar_wins() {
    let spec = Bytes::new().bytes(10, "node").bytes(3, "Never").bytes(10, "other");
    let pod = read("core/v1.Pod", &Bytes::new().message(2, spec).message(1, meta("a"))).unwrap();
    assert_eq!(pod.name(), "a");
    assert_eq!(pod.text_at(&["spec", "nodeName"]), "other");
    assert_eq!(pod.text_at(&["spec", "restartPolicy"]), "Never");
}

#[test]
fn repeated_messages_are_merged() {
    let first =
        meta("a").bytes(3, "space").bytes(14, "f1").message(11, Bytes::new().bytes(1, "k").bytes(2, "v"));
    let second =
        Bytes::new().bytes(3, "").bytes(14, "f2").message(11, Bytes::new().bytes(1, "b").bytes(2, "w"));
    let pod =
        read("core/v1.Pod", &Bytes::new().message(1, first).message(2, Bytes::new()).message(1, second));
    let pod = pod.unwrap();
    assert_eq!((pod.name(), pod.namespace()), ("a", ""));
    assert_eq!(pod.finalizers().collect::<Vec<_>>(), ["f1", "f2"]);
    assert_eq!(pod.labels().collect::<Vec<_>>(), [("b", "w"), ("k", "v")]);
}

#[test]
fn inline_messages_are_merged_into_their_struct() {
    // A Volume's source is a nested message: hostPath is field 1 of it, emptyDir field 2.
    let path = Bytes::new().message(1, Bytes::new().bytes(1, "/a"));
    let kind = Bytes::new().message(1, Bytes::new().bytes(2, "Socket"));
    let volume = Bytes::new().bytes(1, "v").message(2, path).message(2, kind);
    let volume = read("core/v1.Volume", &volume).unwrap();
    assert_eq!(volume.text_at(&["hostPath", "path"]), "/a");
    assert_eq!(volume.text_at(&["hostPath", "type"]), "Socket");
}

#[test]
fn map_entries_may_lack_key_or_value_and_the_last_of_a_key_wins() {
    let entry = |key: &str, value: &str| Bytes::new().bytes(1, key).bytes(2, value);
    let map = Bytes::new()
        .message(2, entry("a", "1"))
        .message(2, Bytes::new().bytes(2, "no key"))
        .message(2, Bytes::new().bytes(1, "no value"))
        .message(2, entry("a", "2"))
        .message(3, Bytes::new().bytes(1, "bin"));
    let map = read("core/v1.ConfigMap", &map).unwrap();
    let data = map.get("data").and_then(Value::as_object).unwrap();
    let data: Vec<_> = data.iter().map(|(key, value)| (key, value.as_str().unwrap())).collect();
    assert_eq!(data, [("", "no key"), ("a", "2"), ("no value", "")]);
    assert_eq!(map.at(&["binaryData", "bin"]).unwrap().node(), Node::Bytes(&[]));
}

#[test]
fn repeated_numbers_may_be_packed() {
    let packed = Bytes::new().bytes(4, [1, 0x80, 1]).varint(4, 7);
    let context = read("core/v1.PodSecurityContext", &packed).unwrap();
    let groups: Vec<_> =
        context.items_at(&["supplementalGroups"]).iter().map(|n| n.as_i64().unwrap()).collect();
    assert_eq!(groups, [1, 128, 7]);
    let one_by_one = Bytes::new().varint(4, 1).varint(4, 128).varint(4, 7);
    assert_eq!(write("core/v1.PodSecurityContext", &context), one_by_one.0);
}

#[test]
fn unknown_fields_are_skipped_with_groups_in_them() {
    let group = [0x9b, 0x06, 0x08, 0x01, 0x9b, 0x06, 0x9c, 0x06, 0x9c, 0x06]; // field 99: { 1: 1, 99: {} }
    let message = Bytes::new().raw(&group).varint(90, u64::MAX).bytes(91, "x").bytes(1, "a");
    assert_eq!(read("meta/v1.ObjectMeta", &message).unwrap().text_at(&["name"]), "a");
}

#[test]
fn a_repeated_time_is_replaced() {
    let time = |seconds, nanos| Bytes::new().varint(1, seconds).varint(2, nanos);
    let twice = Bytes::new().message(8, time(1_000_000_000, 5)).message(8, Bytes::new().varint(2, 7));
    let read_time = |message: &Bytes| read("meta/v1.ObjectMeta", message).unwrap();
    assert_eq!(read_time(&twice).text_at(&["creationTimestamp"]), "1970-01-01T00:00:00Z");
    let cleared = Bytes::new().message(8, time(1_000_000_000, 5)).message(8, Bytes::new());
    assert!(read_time(&cleared).get("creationTimestamp").is_none());
    // Only MicroTime has a fraction, truncated and never rounded.
    let lease = Bytes::new().message(3, time(1_000_000_000, 123_456_999));
    let lease = read("coordination/v1.LeaseSpec", &lease).unwrap();
    assert_eq!(lease.text_at(&["acquireTime"]), "2001-09-09T01:46:40.000000Z".replace("000000", "123456"));
}

#[test]
fn numbers_out_of_range_are_truncated() {
    let spec = Bytes::new().varint(1, 0x1_0000_0005);
    assert_eq!(read("apps/v1.DeploymentSpec", &spec).unwrap().get("replicas").unwrap().as_i64(), Some(5));
}

#[test]
fn every_byte_of_invalid_utf8_is_replaced() {
    let meta = Bytes::new().bytes(1, b"a\xe2\x82b\xff");
    assert_eq!(read("meta/v1.ObjectMeta", &meta).unwrap().text_at(&["name"]), "a\u{fffd}\u{fffd}b\u{fffd}");
}

#[test]
fn quantities_become_canonical() {
    let quantity = |text: &str| {
        let entry = Bytes::new().bytes(1, "cpu").message(2, Bytes::new().bytes(1, text));
        read("core/v1.ResourceRequirements", &Bytes::new().message(1, entry))
            .map(|requirements| requirements.text_at(&["limits", "cpu"]).to_owned())
    };
    assert_eq!(quantity("1000m").unwrap(), "1");
    assert_eq!(quantity("0.5").unwrap(), "500m");
    assert_eq!(quantity("1024Mi").unwrap(), "1Gi");
    assert_eq!(quantity("250m").unwrap(), "250m");
    assert!(quantity("much").unwrap_err().to_string().starts_with("quantities must match"));
}

#[test]
fn errors_have_gos_messages() {
    let meta = |message: Bytes| error("meta/v1.ObjectMeta", &message);
    assert_eq!(meta(Bytes::new().varint(1, 5)), "proto: wrong wireType = 0 for field Name");
    assert_eq!(meta(Bytes::new().varint(5, 5)), "proto: wrong wireType = 0 for field UID");
    assert_eq!(meta(Bytes::new().bytes(7, "x")), "proto: wrong wireType = 2 for field Generation");
    assert_eq!(meta(Bytes::new().varint(8, 5)), "proto: wrong wireType = 0 for field CreationTimestamp");
    assert_eq!(
        error("core/v1.Pod", &Bytes::new().varint(1, 1)),
        "proto: wrong wireType = 0 for field ObjectMeta"
    );
    assert_eq!(meta(Bytes::new().raw(&[0x0a])), "unexpected EOF");
    assert_eq!(meta(Bytes::new().raw(&[0x0a, 5, b'a'])), "unexpected EOF");
    assert_eq!(meta(Bytes::new().raw(&[0x0a, 0x80])), "unexpected EOF");
    assert_eq!(meta(Bytes::new().raw(&[0xff; 11])), "proto: integer overflow");
    let negative = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert_eq!(meta(Bytes::new().raw(&negative)), "proto: negative length found during unmarshaling");
    assert_eq!(meta(Bytes::new().raw(&[0x00])), "proto: ObjectMeta: illegal tag 0 (wire type 0)");
    assert_eq!(meta(Bytes::new().raw(&[0x0c])), "proto: ObjectMeta: wiretype end group for non-group");
    assert_eq!(meta(Bytes::new().raw(&[0x9f, 0x06])), "proto: illegal wireType 7");
    assert_eq!(meta(Bytes::new().raw(&[0x9b, 0x06, 0x08])), "unexpected EOF");
}

#[test]
fn invalid_envelopes_have_the_references_messages() {
    let open = |data: &[u8]| envelope::open(data).unwrap_err().to_string();
    assert_eq!(open(b""), "empty data");
    assert_eq!(
        open(b"{}"),
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    );
    assert_eq!(open(b"k8s\0"), "empty body");
    assert_eq!(open(b"k8s\0\x0a\x05"), "unexpected EOF");
    assert_eq!(open(b"k8s\0\x08\x05"), "proto: wrong wireType = 0 for field TypeMeta");
}

#[test]
fn encoding_a_tree_of_another_type_is_an_error() {
    let encode =
        |name: &str, value: Value| super::encode(of(name), &value, &mut Vec::new()).unwrap_err().to_string();
    let with = |key: &str, value: Value| Value::object([(key, value)].into_iter().collect());
    assert_eq!(encode("core/v1.Pod", "a".into()), "a string where v1.Pod is wanted");
    assert_eq!(encode("core/v1.Pod", with("spek", Value::NULL)), "v1.Pod has no field spek");
    assert_eq!(encode("core/v1.Pod", with("spec", Value::list(vec![]))), "a list where v1.PodSpec is wanted");
    assert_eq!(encode("meta/v1.ObjectMeta", with("name", 1i64.into())), "an integer where string is wanted");
    assert_eq!(encode("meta/v1.ObjectMeta", with("labels", "a".into())), "a string where a map is wanted");
    assert_eq!(
        encode("apps/v1.DeploymentSpec", with("replicas", (1i64 << 40).into())),
        "1099511627776 does not fit into int32"
    );
    assert!(encode("meta/v1.ObjectMeta", with("creationTimestamp", "soon".into())).contains("parsing time"));
}
