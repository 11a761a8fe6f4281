//! Hostile input.

use pintle_meta::Value;
use pintle_schema::Type;
use proptest::prelude::*;

use super::super::transcode::{Options, is_normal, to_json};
use super::super::{decode, encode, envelope};
use super::upstream::documents;
use super::{Bytes, error, of, read, write};
use crate::{MAX_DEPTH, json};

/// Returns a pod with fields of most wire representations.
fn pod() -> Vec<u8> {
    let label = Bytes::new().bytes(1, "app").bytes(2, "web");
    let time = Bytes::new().varint(1, 1_800_000_000).varint(2, 0);
    let managed =
        Bytes::new().bytes(1, "me").message(4, time.clone()).message(7, Bytes::new().bytes(1, "{}"));
    let meta =
        Bytes::new().bytes(1, "a").varint(7, 3).message(8, time).message(11, label).message(17, managed);
    let limit = Bytes::new().bytes(1, "cpu").message(2, Bytes::new().bytes(1, "250m"));
    let port = Bytes::new().varint(1, 1).varint(2, 0).bytes(3, "http");
    let probe = Bytes::new().message(1, Bytes::new().message(3, Bytes::new().message(1, port)));
    let container = Bytes::new()
        .bytes(1, "c")
        .bytes(4, "sh")
        .message(8, Bytes::new().message(1, limit))
        .message(10, probe);
    let volume = Bytes::new().bytes(1, "v").message(2, Bytes::new().message(2, Bytes::new().bytes(1, "")));
    let context = Bytes::new().varint(4, 1).varint(4, 2);
    let spec = Bytes::new().message(1, volume).message(2, container).message(14, context);
    Bytes::new().message(1, meta).message(2, spec).message(3, Bytes::new()).0
}

/// Checks that the input decodes to an encodable tree or is rejected.
fn survives(message: &[u8]) {
    for name in
        ["core/v1.Pod", "core/v1.Secret", "apiextensions/v1.CustomResourceDefinition", "meta/v1.APIResource"]
    {
        if let Ok(tree) = decode(of(name), message) {
            let _ = encode(of(name), &tree, &mut Vec::new());
        }
    }
}

#[test]
fn a_truncated_message_is_decoded_or_rejected() {
    let whole = pod();
    let tree = decode(of("core/v1.Pod"), &whole).unwrap();
    assert_eq!(tree.text_at(&["metadata", "name"]), "a");
    for end in 0..whole.len() {
        survives(&whole[..end]);
    }
    for (_, document) in documents().iter().step_by(40).take(30) {
        for end in (0..document.len()).step_by(3) {
            survives(document.get(20..end).unwrap_or_default());
        }
    }
}

#[test]
fn depth_is_bounded_and_the_deepest_message_fits_a_small_stack() {
    // `not` nests a schema in a schema.
    let nested = |depth: usize| (0..depth).fold(Bytes::new(), |inner, _| Bytes::new().message(28, inner));
    let name = "apiextensions/v1.JSONSchemaProps";
    let deep = read(name, &nested(MAX_DEPTH - 1)).unwrap();
    assert_eq!(read(name, &Bytes::new().raw(&write(name, &deep))).unwrap(), deep);
    assert_eq!(error(name, &nested(MAX_DEPTH)), "proto: exceeded max depth");
    assert_eq!(error(name, &nested(20_000)), "proto: exceeded max depth");
    let arrays =
        (0..5_000).fold(Bytes::new(), |inner, _| Bytes::new().message(24, Bytes::new().message(2, inner)));
    assert_eq!(error(name, &arrays), "proto: exceeded max depth");
    let groups = Bytes::new().raw(&[0x9b, 0x06].repeat(1_000_000));
    assert_eq!(error(name, &groups), "unexpected EOF");
}

#[test]
fn a_tree_that_is_too_deep_is_not_encoded() {
    let mut deep = Value::NULL;
    for _ in 0..MAX_DEPTH + 1 {
        deep = Value::object([("not", deep)].into_iter().collect());
    }
    let written = encode(of("apiextensions/v1.JSONSchemaProps"), &deep, &mut Vec::new());
    assert_eq!(written.unwrap_err().to_string(), "proto: exceeded max depth");
}

#[test]
fn repetition_costs_linear_time() {
    // All occurrences are merged in one pass.
    let label = |i: u32| Bytes::new().message(11, Bytes::new().bytes(1, (1_000_000 - i).to_string()));
    let metas = (0..50_000).fold(Bytes::new(), |pod, i| pod.message(1, label(i)));
    let pod = read("core/v1.Pod", &metas).unwrap();
    assert_eq!(pod.labels().count(), 50_000);
}

/// Checks that the fast paths agree with the tree.
fn agrees(of: &'static Type, message: &[u8]) {
    let mut want = Vec::new();
    let tree = decode(of, message).inspect(|tree| json::encode(tree, &mut want));
    let mut have = Vec::new();
    let result = to_json(of, message, &Options::default(), &mut have);
    assert_eq!(result.err(), tree.as_ref().err().cloned());
    assert_eq!(
        have.escape_ascii().to_string(),
        want.escape_ascii().to_string(),
        "{}",
        message.escape_ascii()
    );
    let mut written = Vec::new();
    let same = tree.and_then(|tree| encode(of, &tree, &mut written)).is_ok() && written == message;
    assert!(same || !is_normal(of, message), "{} is not normal", message.escape_ascii());
}

#[test]
fn the_fast_paths_agree_with_the_tree_on_truncated_and_mutated_messages() {
    let pod = pod();
    for end in 0..pod.len() {
        agrees(of("core/v1.Pod"), &pod[..end]);
    }
    let mut random = 88_172_645_463_325_252u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    for (_, document) in documents() {
        let envelope = envelope::open(&document).unwrap();
        let of = super::upstream::kind(envelope.api_version, envelope.kind).unwrap();
        if envelope.raw.is_empty() {
            continue;
        }
        for _ in 0..8 {
            let mut changed = envelope.raw.to_vec();
            let index = next() % changed.len();
            match next() % 4 {
                0 => changed[index] = next() as u8,
                1 => changed[index] ^= 1 << (next() % 8),
                2 => {
                    changed.remove(index);
                }
                _ => changed.insert(index, [0, 1, 0x80, 0xff][next() % 4]),
            }
            agrees(of, &changed);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_rejected(message in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&message);
    }

    #[test]
    fn mutations_are_decoded_or_rejected(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6)) {
        let mut message = pod();
        for (index, byte) in changes {
            let index = index % message.len();
            message[index] = byte;
        }
        survives(&message);
        agrees(of("core/v1.Pod"), &message);
    }

    #[test]
    fn encoded_messages_round_trip(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        let mut message = pod();
        for (index, byte) in changes {
            let index = index % message.len();
            message[index] = byte;
        }
        // Times of years with five digits can be decoded and not encoded.
        if let Ok(tree) = decode(of("core/v1.Pod"), &message) {
            let mut written = Vec::new();
            if encode(of("core/v1.Pod"), &tree, &mut written).is_ok() {
                let again = decode(of("core/v1.Pod"), &written).unwrap();
                prop_assert_eq!(&again, &tree);
                let mut twice = Vec::new();
                encode(of("core/v1.Pod"), &again, &mut twice).unwrap();
                prop_assert_eq!(twice, written);
            }
        }
    }
}
