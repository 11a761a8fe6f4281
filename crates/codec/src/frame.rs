//! Frames around encoded bodies: single objects, lists and watch events. A body is an object with its resource
//! version and without kind and apiVersion, encoded once for all readers.
//!
//! ```text
//! body                 {"metadata":{"name":"a"}}                                   message of a Pod
//! object               {"kind":"Pod","apiVersion":"v1","metadata":{...}}\n         k8s\0 Unknown { body }
//! list                 {"kind":"PodList",...,"items":[body,body]}\n                k8s\0 Unknown { PodList { meta, body, body } }
//! watch event          {"type":"ADDED","object":{object}}\n                        length WatchEvent { type, object }
//! ```

use crate::json::write;
use crate::protobuf::envelope;
pub use crate::protobuf::transcode::TypeMeta;
use crate::protobuf::wire::{push_bytes, push_varint, varint_length};

/// A list's own metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListMeta<'a> {
    pub resource_version: &'a str,
    /// Empty on the last page.
    pub continue_token: &'a str,
    pub remaining: Option<i64>,
    /// Shard selector of the list; empty for all objects.
    pub shard: &'a str,
}

/// A single object as a JSON document.
pub fn json_object(of: TypeMeta<'_>, body: &[u8], out: &mut Vec<u8>) {
    json_typed(of, body, out);
    out.push(b'\n');
}

fn json_typed(of: TypeMeta<'_>, body: &[u8], out: &mut Vec<u8>) {
    out.reserve(body.len() + of.kind.len() + of.api_version.len() + 32);
    out.extend_from_slice(b"{\"kind\":");
    write::string(of.kind, out);
    out.extend_from_slice(b",\"apiVersion\":");
    write::string(of.api_version, out);
    match body {
        [] | [b'{', b'}'] => out.push(b'}'),
        [_, fields @ ..] => {
            out.push(b',');
            out.extend_from_slice(fields);
        }
    }
}

/// Writes the start of a list of built-in objects. Items follow with commas between them, then [`JSON_LIST_END`].
pub fn json_list_begin(of: TypeMeta<'_>, meta: &ListMeta<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":");
    write::string(of.kind, out);
    out.extend_from_slice(b",\"apiVersion\":");
    write::string(of.api_version, out);
    out.extend_from_slice(b",\"metadata\":");
    let start = out.len();
    if !meta.resource_version.is_empty() {
        out.extend_from_slice(b",\"resourceVersion\":");
        write::string(meta.resource_version, out);
    }
    if !meta.continue_token.is_empty() {
        out.extend_from_slice(b",\"continue\":");
        write::string(meta.continue_token, out);
    }
    if let Some(remaining) = meta.remaining {
        out.extend_from_slice(b",\"remainingItemCount\":");
        write::int(remaining, out);
    }
    if !meta.shard.is_empty() {
        out.extend_from_slice(b",\"shardInfo\":{\"selector\":");
        write::string(meta.shard, out);
        out.push(b'}');
    }
    // The first comma becomes the brace.
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.extend_from_slice(b"},\"items\":[");
}

pub const JSON_LIST_END: &[u8] = b"]}\n";

/// A list of built-in objects.
pub fn json_list<'i>(
    of: TypeMeta<'_>,
    meta: &ListMeta<'_>,
    items: impl IntoIterator<Item = &'i [u8]>,
    out: &mut Vec<u8>,
) {
    json_list_begin(of, meta, out);
    json_items(items, out);
    out.extend_from_slice(JSON_LIST_END);
}

fn json_items<'i>(items: impl IntoIterator<Item = &'i [u8]>, out: &mut Vec<u8>) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item);
    }
}

/// A list of custom resources, whose fields are sorted by name and whose items have kind and apiVersion.
pub fn json_unstructured_list<'i>(
    of: TypeMeta<'_>,
    meta: &ListMeta<'_>,
    items: impl IntoIterator<Item = &'i [u8]>,
    out: &mut Vec<u8>,
) {
    json_unstructured_list_begin(of, out);
    json_items(items, out);
    json_unstructured_list_end(of, meta, out);
}

/// Writes the start of a list of custom resources. Items follow with commas between them.
pub fn json_unstructured_list_begin(of: TypeMeta<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"apiVersion\":");
    write::string(of.api_version, out);
    out.extend_from_slice(b",\"items\":[");
}

/// Writes the end of a list of custom resources.
pub fn json_unstructured_list_end(of: TypeMeta<'_>, meta: &ListMeta<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"],\"kind\":");
    write::string(of.kind, out);
    // Present even if empty.
    out.extend_from_slice(b",\"metadata\":{\"continue\":");
    write::string(meta.continue_token, out);
    if let Some(remaining) = meta.remaining {
        out.extend_from_slice(b",\"remainingItemCount\":");
        write::int(remaining, out);
    }
    out.extend_from_slice(b",\"resourceVersion\":");
    write::string(meta.resource_version, out);
    out.extend_from_slice(b"}}\n");
}

/// A watch event as a line of JSON. `of` is `None` for bodies that have kind and apiVersion already (custom
/// resources, `Status`).
pub fn json_watch(event: &str, of: Option<TypeMeta<'_>>, body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":");
    write::string(event, out);
    out.extend_from_slice(b",\"object\":");
    match of {
        Some(of) => json_typed(of, body, out),
        None => out.extend_from_slice(body),
    }
    out.extend_from_slice(b"}\n");
}

/// A single object as a protobuf document.
pub fn protobuf_object(of: TypeMeta<'_>, body: &[u8], out: &mut Vec<u8>) {
    envelope::write(of.api_version, of.kind, body, out);
}

const SELF_LINK: u8 = 0x0a;
const RESOURCE_VERSION: u32 = 2;
const CONTINUE: u32 = 3;
const REMAINING: u8 = 0x20;
const SHARD_INFO: u32 = 5;
const SHARD_SELECTOR: u32 = 1;

fn protobuf_list_meta(meta: &ListMeta<'_>) -> Vec<u8> {
    let mut message = vec![SELF_LINK, 0];
    push_bytes(RESOURCE_VERSION, meta.resource_version.as_bytes(), &mut message);
    push_bytes(CONTINUE, meta.continue_token.as_bytes(), &mut message);
    if let Some(remaining) = meta.remaining {
        message.push(REMAINING);
        push_varint(remaining as u64, &mut message);
    }
    if !meta.shard.is_empty() {
        let mut shard = Vec::new();
        push_bytes(SHARD_SELECTOR, meta.shard.as_bytes(), &mut shard);
        push_bytes(SHARD_INFO, &shard, &mut message);
    }
    message
}

/// Returns the length of an item in a list.
pub fn protobuf_item_length(body: usize) -> usize {
    1 + varint_length(body as u64) + body
}

/// Writes the start of a list whose items have this total length. The items follow, then [`envelope::close`].
pub fn protobuf_list_begin(of: TypeMeta<'_>, meta: &ListMeta<'_>, items: usize, out: &mut Vec<u8>) {
    let meta = protobuf_list_meta(meta);
    let length = 1 + varint_length(meta.len() as u64) + meta.len() + items;
    envelope::begin(of.api_version, of.kind, length, out);
    push_bytes(1, &meta, out);
}

/// Writes the tag and length of an item.
pub fn protobuf_item_begin(body: usize, out: &mut Vec<u8>) {
    out.push(0x12);
    push_varint(body as u64, out);
}

/// A list of built-in objects.
pub fn protobuf_list<'i>(
    of: TypeMeta<'_>,
    meta: &ListMeta<'_>,
    items: impl IntoIterator<Item = &'i [u8], IntoIter: Clone>,
    out: &mut Vec<u8>,
) {
    let items = items.into_iter();
    let length = items.clone().map(|item| protobuf_item_length(item.len())).sum();
    out.reserve(length + 128);
    protobuf_list_begin(of, meta, length, out);
    for item in items {
        protobuf_item_begin(item.len(), out);
        out.extend_from_slice(item);
    }
    envelope::close(out);
}

/// A watch event: a big-endian length of four bytes, and the event without an envelope. Its object has one.
pub fn protobuf_watch(event: &str, of: TypeMeta<'_>, body: &[u8], out: &mut Vec<u8>) {
    let object = envelope::length(of.api_version, of.kind, body.len());
    let extension = 1 + varint_length(object as u64) + object;
    let kind = 1 + varint_length(event.len() as u64) + event.len();
    let whole = kind + 1 + varint_length(extension as u64) + extension;
    out.reserve(whole + 4);
    // Go truncates the length to four bytes too; no object is that large.
    out.extend_from_slice(&(whole as u32).to_be_bytes());
    push_bytes(1, event.as_bytes(), out);
    out.push(0x12);
    push_varint(extension as u64, out);
    out.push(0x0a);
    push_varint(object as u64, out);
    envelope::write(of.api_version, of.kind, body, out);
}

#[cfg(test)]
mod tests {
    use pintle_meta::Value;
    use pintle_schema::find;

    use super::*;
    use crate::{json, protobuf};

    const POD: TypeMeta<'_> = TypeMeta { kind: "Pod", api_version: "v1" };
    const LIST: TypeMeta<'_> = TypeMeta { kind: "PodList", api_version: "v1" };
    const PAGE: ListMeta<'_> =
        ListMeta { resource_version: "5", continue_token: "abc", remaining: Some(3), shard: "" };
    const SHARD: ListMeta<'_> = ListMeta { shard: "shardRange(a, 'b', 'c')", ..PAGE };

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Returns the body that frames are compared with, encoded from JSON.
    fn message(name: &str, document: &str) -> Vec<u8> {
        let of = find(name).unwrap();
        let mut out = Vec::new();
        protobuf::encode(of, &json::decode(of, document.as_bytes()).unwrap().value, &mut out).unwrap();
        out
    }

    #[test]
    fn an_object_is_its_body_with_type_meta() {
        assert_eq!(
            text(|out| json_object(POD, br#"{"metadata":{}}"#, out)),
            "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{}}\n"
        );
        assert_eq!(text(|out| json_object(POD, b"{}", out)), "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n");
    }

    #[test]
    fn a_json_list_equals_its_encoded_tree() {
        let items = [&br#"{"metadata":{"name":"a"},"spec":{"containers":null},"status":{}}"#[..]; 2];
        let metas =
            [ListMeta::default(), ListMeta { resource_version: "5", ..ListMeta::default() }, PAGE, SHARD];
        for (meta, count) in metas.iter().zip([0, 1, 2, 1]) {
            let list = text(|out| json_list(LIST, meta, items[..count].iter().copied(), out));
            let of = find("core/v1.PodList").unwrap();
            let tree = json::decode(of, list.as_bytes()).unwrap();
            let again = text(|out| json::encode(&tree.value, out));
            assert_eq!(again + "\n", list);
        }
        assert_eq!(
            text(|out| json_list(LIST, &PAGE, [], out)),
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"abc","remainingItemCount":3},"items":[]}"#
                .to_owned()
                + "\n"
        );
    }

    #[test]
    fn a_list_of_custom_resources_is_sorted_by_name() {
        let of = TypeMeta { kind: "FooList", api_version: "a.b/v1" };
        let meta = ListMeta { resource_version: "5", ..ListMeta::default() };
        let items = [&br#"{"apiVersion":"a.b/v1"}"#[..], b"{}"];
        assert_eq!(
            text(|out| json_unstructured_list(of, &meta, items, out)),
            r#"{"apiVersion":"a.b/v1","items":[{"apiVersion":"a.b/v1"},{}],"kind":"FooList","metadata":{"continue":"","resourceVersion":"5"}}"#
                .to_owned()
                + "\n"
        );
        assert!(text(|out| json_unstructured_list(of, &PAGE, [], out)).ends_with(
            "\"metadata\":{\"continue\":\"abc\",\"remainingItemCount\":3,\"resourceVersion\":\"5\"}}\n"
        ));
    }

    #[test]
    fn a_protobuf_list_equals_its_encoded_tree() {
        let pod = message("core/v1.Pod", r#"{"metadata":{"name":"a"}}"#);
        let long = message("core/v1.Pod", &format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "b".repeat(300)));
        for (meta, items) in [(ListMeta::default(), vec![]), (PAGE, vec![pod.as_slice(), long.as_slice()])] {
            let mut list = Vec::new();
            protobuf_list(LIST, &meta, items.iter().copied(), &mut list);
            let envelope = envelope::open(&list).unwrap();
            assert_eq!((envelope.api_version, envelope.kind), ("v1", "PodList"));
            let of = find("core/v1.PodList").unwrap();
            let tree = protobuf::decode(of, envelope.raw).unwrap();
            let (mut raw, mut again) = (Vec::new(), Vec::new());
            protobuf::encode(of, &tree, &mut raw).unwrap();
            protobuf_object(LIST, &raw, &mut again);
            assert_eq!(list, again);
            assert_eq!(tree.items_at(&["items"]).len(), items.len());
            assert_eq!(tree.text_at(&["metadata", "continue"]), meta.continue_token);
        }
    }

    #[test]
    fn json_events_are_lines() {
        assert_eq!(
            text(|out| json_watch("ADDED", Some(POD), br#"{"metadata":{}}"#, out)),
            "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{}}}\n"
        );
        assert_eq!(
            text(|out| json_watch("ERROR", None, br#"{"kind":"Status"}"#, out)),
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\"}}\n"
        );
    }

    #[test]
    fn protobuf_events_are_length_prefixed_with_an_enveloped_object() {
        let pod = message("core/v1.Pod", r#"{"metadata":{"name":"a"}}"#);
        let mut frame = Vec::new();
        protobuf_watch("MODIFIED", POD, &pod, &mut frame);
        let (length, event) = frame.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
        let of = find("meta/v1.WatchEvent").unwrap();
        let tree = protobuf::decode(of, event).unwrap();
        assert_eq!(tree.text_at(&["type"]), "MODIFIED");
        let object = tree.get("object").and_then(Value::as_raw).unwrap();
        assert_eq!(envelope::open(object).unwrap().raw, pod);
        let mut again = Vec::new();
        protobuf::encode(of, &tree, &mut again).unwrap();
        assert_eq!(again, event);
    }
}
