use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::find;

use super::*;
use crate::fieldset::{Element, Filter, Set};
use crate::typed::TypeRef;

const NOW: &str = "2026-01-02T03:04:05Z";
const LATER: &str = "2026-01-02T03:05:00Z";

fn config_map(rest: &str) -> Value {
    object("core/v1.ConfigMap", &format!(r#"{{"kind":"ConfigMap","apiVersion":"v1",{rest}}}"#))
}

fn object(of: &str, text: &str) -> Value {
    json::decode(find(of).unwrap(), text.as_bytes()).unwrap().value
}

/// Write of config maps, with two versions for the tests.
struct By<'a> {
    manager: &'a str,
    subresource: &'a str,
    api_version: &'a str,
    now: &'a str,
    resets: Resets,
}

const BY: By<'static> =
    By { manager: "me", subresource: "", api_version: "v1", now: NOW, resets: Resets::none() };

impl By<'_> {
    fn write(&self, live: Option<&Value>, mut new: Value) -> Value {
        let of: TypeRef<'_> = find("core/v1.ConfigMap").unwrap().into();
        let converter = SameShape { of, api_versions: &["v1", "v2"] };
        let By { manager, subresource, api_version, now, ref resets } = *self;
        let write = Write { of, manager, subresource, api_version, now, resets, converter: &converter };
        update(&write, live, &mut new).unwrap();
        new
    }
}

/// Formats managers as `manager operation version time subresource fields`, one per line.
fn formatted(object: &Value) -> String {
    let entries = object.items_at(&["metadata", "managedFields"]);
    let line = |entry: &Value| {
        let mut fields = Vec::new();
        json::encode(entry.get("fieldsV1").unwrap(), &mut fields);
        let text = |name: &str| entry.text_at(&[name]).to_string();
        let words = ["manager", "operation", "apiVersion", "time", "subresource"].map(text);
        let time = words[3].get(14..19).unwrap_or("-").to_string();
        let words = [&words[0], &words[1], &words[2], &time, &words[4]];
        let words: Vec<&str> =
            words.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        format!("{} {}", words.join(" "), String::from_utf8_lossy(&fields))
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn live(data: &str) -> Value {
    BY.write(None, config_map(&format!(r#""metadata":{{"name":"a","uid":"u"}},"data":{data}"#)))
}

fn next(data: &str) -> Value {
    config_map(&format!(r#""metadata":{{"name":"a","uid":"u"}},"data":{data}"#))
}

#[test]
fn a_create_owns_its_fields_and_not_those_of_the_server() {
    let new = config_map(
        r#""metadata":{"name":"a","namespace":"b","uid":"c","labels":{"x":"y"},"generation":3},"data":{"k":"v"}"#,
    );
    assert_eq!(
        formatted(&BY.write(None, new)),
        r#"me Update v1 04:05 {"f:data":{".":{},"f:k":{}},"f:metadata":{"f:labels":{".":{},"f:x":{}}}}"#
    );
    assert_eq!(
        formatted(&BY.write(None, config_map(r#""metadata":{"name":"a"}"#))),
        "",
        "nothing is nobody's"
    );
}

#[test]
fn entries_have_the_references_bytes() {
    let mut text = Vec::new();
    json::encode(live(r#"{"k":"v"}"#).at(&["metadata", "managedFields"]).unwrap(), &mut text);
    assert_eq!(
        String::from_utf8(text).unwrap(),
        r#"[{"manager":"me","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{}}}}]"#
    );
}

#[test]
fn changed_fields_change_their_manager() {
    let live = live(r#"{"a":"1","b":"1"}"#);
    let by = By { manager: "you", now: LATER, ..BY };
    assert_eq!(
        formatted(&by.write(Some(&live), next(r#"{"a":"1","b":"2","c":"3"}"#))),
        "me Update v1 04:05 {\"f:data\":{\".\":{},\"f:a\":{}}}\nyou Update v1 05:00 {\"f:data\":{\"f:b\":{},\"f:c\":{}}}"
    );
    // Removed fields have no manager, and a manager without fields is removed.
    assert_eq!(
        formatted(&by.write(Some(&live), next(r#"{"c":"3"}"#))),
        "me Update v1 04:05 {\"f:data\":{}}\nyou Update v1 05:00 {\"f:data\":{\"f:c\":{}}}"
    );
    assert_eq!(formatted(&by.write(Some(&live), next("{}"))), "");
}

#[test]
fn times_change_only_with_the_fields() {
    let live = live(r#"{"a":"1"}"#);
    let later = By { now: LATER, ..BY };
    assert_eq!(formatted(&later.write(Some(&live), next(r#"{"a":"1"}"#))), formatted(&live));
    assert_eq!(
        formatted(&later.write(Some(&live), next(r#"{"a":"1","b":"2"}"#))),
        r#"me Update v1 05:00 {"f:data":{".":{},"f:a":{},"f:b":{}}}"#
    );
}

#[test]
fn managers_are_distinct_by_version_and_subresource() {
    let live = live(r#"{"a":"1"}"#);
    let status = By { subresource: "status", ..BY };
    assert_eq!(
        formatted(&status.write(Some(&live), next(r#"{"a":"2"}"#))),
        "me Update v1 04:05 {\"f:data\":{}}\nme Update v1 04:05 status {\"f:data\":{\"f:a\":{}}}"
    );
    let second = By { api_version: "v2", ..BY };
    assert_eq!(
        formatted(&second.write(Some(&live), next(r#"{"a":"2","b":"1"}"#))),
        "me Update v1 04:05 {\"f:data\":{}}\nme Update v2 04:05 {\"f:data\":{\"f:a\":{},\"f:b\":{}}}"
    );
    let gone = BY
        .write(Some(&By { api_version: "v0", ..BY }.write(None, next(r#"{"a":"1"}"#))), next(r#"{"a":"1"}"#));
    assert_eq!(formatted(&gone), "", "a version that is no more takes its managers with it");
}

#[test]
fn reset_fields_are_not_owned() {
    let resets = Resets::everywhere(Filter::Exclude(Set::of_fields(&[&["metadata"], &["data", "b"]])));
    let by = By { manager: "you", resets, ..BY };
    let new = config_map(r#""metadata":{"labels":{"x":"y"}},"data":{"a":"1","b":"2"}"#);
    assert_eq!(formatted(&by.write(None, new)), r#"you Update v1 04:05 {"f:data":{".":{},"f:a":{}}}"#);
    let only_v2 = Resets::by_version([("v2".to_string(), Filter::Exclude(Set::of_fields(&[&["data"]])))]);
    let by = By { resets: only_v2, ..BY };
    assert_eq!(
        formatted(&by.write(None, next(r#"{"a":"1"}"#))),
        r#"me Update v1 04:05 {"f:data":{".":{},"f:a":{}}}"#
    );
}

#[test]
fn a_request_may_set_clear_or_omit_managers() {
    let live = live(r#"{"a":"1"}"#);
    let with = |entries: &str| {
        let metadata = format!(r#""metadata":{{"uid":"u","managedFields":{entries}}},"data":{{"a":"1"}}"#);
        config_map(&metadata)
    };
    let entry = r#"{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}"#;
    assert_eq!(
        formatted(&BY.write(Some(&live), with(&format!("[{entry}]")))),
        r#"x Apply v1 - {"f:data":{}}"#
    );
    assert_eq!(
        formatted(&BY.write(Some(&live), with("null"))),
        formatted(&live),
        "clients that know nothing of them"
    );
    assert_eq!(formatted(&BY.write(Some(&live), with("[{}]"))), "", "cleared");
    let bad = entry.replace("Apply", "Steal");
    assert_eq!(
        formatted(&BY.write(Some(&live), with(&format!("[{entry},{bad}]")))),
        formatted(&live),
        "invalid"
    );
    let status = By { subresource: "status", ..BY };
    assert_eq!(
        formatted(&status.write(Some(&live), with(&format!("[{entry}]")))),
        formatted(&live),
        "not through a subresource"
    );
    // Cleared managers stay untracked.
    let mut cleared = BY.write(Some(&live), with("[{}]"));
    assert_eq!(formatted(&BY.write(Some(&cleared), next(r#"{"b":"1"}"#))), "");
    cleared.metadata_mut().unwrap().insert("managedFields", Value::list(vec![]));
    assert_eq!(formatted(&BY.write(Some(&live), cleared)), "", "an empty list clears, too");
}

#[test]
fn invalid_managed_fields_have_the_references_messages() {
    let read = |entry: &str| {
        let entry = json::decode_any(entry.as_bytes()).unwrap().value;
        Managed::read(&[entry]).unwrap_err().to_string()
    };
    assert_eq!(read(r#"{"operation":"x"}"#), "operation must be `Apply` or `Update`");
    assert_eq!(read(r#"{"operation":"Update"}"#), "apiVersion must not be empty");
    assert_eq!(
        read(r#"{"operation":"Update","apiVersion":"v1"}"#),
        "missing fieldsType in managed fields entry 0"
    );
    assert_eq!(
        read(r#"{"operation":"Update","apiVersion":"v1","fieldsType":"V0"}"#),
        r#"invalid fieldsType "V0" in managed fields entry 0"#
    );
    assert!(
        read(r#"{"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"a":1}}"#)
            .starts_with("error decoding set: ")
    );
}

#[test]
fn entries_are_sorted_by_operation_time_manager_version_and_subresource() {
    let entry = |manager: &str, operation: &str, version: &str, time: &str, subresource: &str| {
        format!(
            r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"{version}","time":{time},"fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:a":{{}}}}}},"subresource":"{subresource}"}}"#
        )
    };
    let (early, late) = (r#""2026-01-01T00:00:00Z""#, r#""2026-01-01T00:00:01Z""#);
    let entries = [
        entry("a", "Update", "v1", late, ""),
        entry("a", "Update", "v1", early, "status"),
        entry("b", "Update", "v1", early, ""),
        entry("a", "Update", "v2", early, ""),
        entry("a", "Update", "v1", early, ""),
        entry("z", "Update", "v1", "null", ""),
        entry("z", "Apply", "v1", late, ""),
    ];
    let metadata =
        format!(r#""metadata":{{"uid":"u","managedFields":[{}]}},"data":{{"a":"1"}}"#, entries.join(","));
    let object = config_map(&metadata);
    let managed = Managed::of(&object).unwrap();
    let order: Vec<String> = managed
        .write(true)
        .iter()
        .map(|entry| {
            ["manager", "operation", "apiVersion", "subresource"].map(|name| entry.text_at(&[name])).join(" ")
        })
        .collect();
    // The update of `a` has one entry: the later one wins.
    assert_eq!(
        order,
        ["z Apply v1 ", "z Update v1 ", "a Update v1 ", "a Update v1 status", "a Update v2 ", "b Update v1 "]
    );
    assert_eq!(Managed::read(&managed.write(false)).unwrap(), managed);
}

#[test]
fn of_more_than_ten_updaters_the_oldest_are_merged() {
    let mut object = next(r#"{"k0":"v"}"#);
    for n in 0..10 {
        let data: Vec<String> = (0..=n).map(|k| format!(r#""k{k}":"v""#)).collect();
        let mut new = next(&format!("{{{}}}", data.join(",")));
        let now = format!("2026-01-02T03:04:{n:02}Z");
        let by = By { manager: &format!("m{n}"), now: &now, ..BY };
        let live = (n > 0).then_some(&object);
        new = by.write(live, new);
        object = new;
    }
    assert_eq!(object.items_at(&["metadata", "managedFields"]).len(), 10);
    let mut new = object.clone();
    new.as_object_mut().unwrap().insert("immutable", true);
    let capped = formatted(&By { manager: "last", now: LATER, ..BY }.write(Some(&object), new.clone()));
    let lines: Vec<&str> = capped.lines().collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[0], r#"ancient-changes Update v1 04:01 {"f:data":{".":{},"f:k0":{},"f:k1":{}}}"#);
    assert_eq!(lines[1], r#"m2 Update v1 04:02 {"f:data":{"f:k2":{}}}"#);
    assert_eq!(lines[9], r#"last Update v1 05:00 {"f:immutable":{}}"#);
    // The merged entry absorbs the next one.
    let full = By { manager: "last", now: LATER, ..BY }.write(Some(&object), new);
    let mut more = full.clone();
    more.at_mut(&["data"]).unwrap().as_object_mut().unwrap().insert("k", "v");
    let capped = formatted(&By { manager: "newest", now: LATER, ..BY }.write(Some(&full), more));
    assert_eq!(
        capped.lines().next().unwrap(),
        r#"ancient-changes Update v1 04:02 {"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{}}}"#
    );
    assert_eq!(capped.lines().count(), 10);
}

#[test]
fn thousands_of_managers_are_fast() {
    let entry = |n: usize| {
        format!(
            r#"{{"manager":"m{n}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k{n}":{{}}}}}}}}"#
        )
    };
    let (entries, data): (Vec<String>, Vec<String>) =
        (0..10_000).map(|n| (entry(n), format!(r#""k{n}":"""#))).unzip();
    let (entries, data) = (entries.join(","), data.join(","));
    let metadata =
        |uid: &str| format!(r#""metadata":{{"uid":"{uid}","managedFields":[{entries}]}},"data":{{{data}}}"#);
    let new = config_map(&metadata("u"));
    let managed = BY.write(Some(&new.clone()), new);
    let kept = Managed::of(&managed).unwrap();
    assert_eq!(kept.managers.len(), 10);
    assert_eq!(kept.managers.values().map(|manager| manager.fields.len()).sum::<usize>(), 10_000);
}

#[test]
fn a_custom_resource_has_untyped_entries() {
    let new = json::decode_untyped(
        br#"{"kind":"A","apiVersion":"x/v1","metadata":{"name":"a","labels":{"l":""}},"spec":{"l":[1]}}"#,
    );
    let mut new = new.unwrap().value;
    let of = TypeRef::Deduced;
    let converter = SameShape { of, api_versions: &["x/v1"] };
    let write = Write {
        of,
        manager: "",
        subresource: "",
        api_version: "x/v1",
        now: NOW,
        resets: &Resets::none(),
        converter: &converter,
    };
    update(&write, None, &mut new).unwrap();
    let mut text = Vec::new();
    json::encode(new.at(&["metadata", "managedFields"]).unwrap(), &mut text);
    assert_eq!(
        String::from_utf8(text).unwrap(),
        r#"[{"apiVersion":"x/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:l":{}}},"f:spec":{".":{},"f:l":{}}},"manager":"unknown","operation":"Update","time":"2026-01-02T03:04:05Z"}]"#
    );
    let live = new.clone();
    update(&write, Some(&live), &mut new).unwrap();
    assert_eq!(new, live);
}

#[test]
fn an_object_that_cannot_be_compared_has_no_managers() {
    let of: TypeRef<'_> = find("core/v1.ConfigMap").unwrap().into();
    let converter = SameShape { of, api_versions: &[] };
    let write = Write {
        of,
        manager: "m",
        subresource: "",
        api_version: "v1",
        now: NOW,
        resets: &Resets::none(),
        converter: &converter,
    };
    let mut new =
        json::decode_untyped(br#"{"metadata":{"managedFields":[{}],"finalizers":[null]}}"#).unwrap().value;
    let error = update(&write, None, &mut new).unwrap_err();
    assert!(error.starts_with("failed to compare objects: .metadata.finalizers: element 0:"), "{error}");
    assert_eq!(new.at(&["metadata", "managedFields"]), None);
}

#[test]
fn a_manager_is_named_by_the_request_or_its_user_agent() {
    assert_eq!(manager_name("me", "kubectl/v1"), "me");
    assert_eq!(manager_name("", "kubectl/v1.36.4 (linux/amd64)"), "kubectl");
    assert_eq!(manager_name("", "a b\u{7}é"), "a bé");
    assert_eq!(manager_name("", &"é".repeat(100)).len(), 128);
    assert_eq!(manager_name("", &format!("a{}", "é".repeat(100))).len(), 127);
    assert_eq!(manager_name("", ""), "");
    assert!(
        formatted(&By { manager: "", ..BY }.write(None, next(r#"{"a":"1"}"#))).starts_with("unknown Update")
    );
}

#[test]
fn times_are_restored_if_nothing_else_changed() {
    let live = live(r#"{"a":"1"}"#);
    let mut same = By { now: LATER, ..BY }.write(None, next(r#"{"a":"1"}"#));
    assert_ne!(same, live);
    keep_timestamps(&live, &mut same);
    assert_eq!(same, live);
    let changed = By { now: LATER, ..BY }.write(None, next(r#"{"a":"2"}"#));
    let mut kept = changed.clone();
    keep_timestamps(&live, &mut kept);
    assert_eq!(kept, changed, "something else did");
    let other = By { now: LATER, manager: "you", ..BY }.write(None, next(r#"{"a":"1"}"#));
    let mut kept = other.clone();
    keep_timestamps(&live, &mut kept);
    assert_eq!(kept, other, "the manager did");
}

#[test]
fn replicas_are_stolen_through_scale() {
    let path = |version: &str| match version {
        "apps/v1" => Some(vec![Element::field("spec"), Element::field("replicas")]),
        _ => None,
    };
    let read = |text: &str| {
        Managed::read(json::decode_any(text.as_bytes()).unwrap().value.as_list().unwrap()).unwrap()
    };
    let parent = read(
        r#"[{"manager":"a","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}},
            {"manager":"b","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:selector":{}}}},
            {"manager":"c","operation":"Update","apiVersion":"apps/v0","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]"#,
    );
    let scale = Managed::read(&to_scale(&parent, path).write(true)).unwrap();
    assert_eq!(scale.managers.len(), 1);
    let (id, manager) = scale.managers.first_key_value().unwrap();
    assert_eq!((id.manager.as_str(), manager.api_version.as_str()), ("a", "autoscaling/v1"));
    let after = read(
        r#"[{"manager":"hpa","operation":"Update","apiVersion":"autoscaling/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}]"#,
    );
    let mut object = json::decode_untyped(br#"{"metadata":{}}"#).unwrap().value;
    to_parent(&parent, after, "apps/v1", path).set(&mut object);
    assert_eq!(
        formatted(&object),
        "b Update apps/v1 - {\"f:spec\":{\"f:selector\":{}}}\nhpa Update apps/v1 - scale {\"f:spec\":{\"f:replicas\":{}}}\na Update apps/v1 00:00 {\"f:spec\":{\"f:paused\":{}}}"
    );
}
