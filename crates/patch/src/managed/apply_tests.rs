use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::{Type, find};

use super::*;
use crate::fieldset::{Filter, Set};
use crate::typed::TypeRef;

const TIMES: [&str; 10] = [
    "2026-01-02T03:04:00Z",
    "2026-01-02T03:04:01Z",
    "2026-01-02T03:04:02Z",
    "2026-01-02T03:04:03Z",
    "2026-01-02T03:04:04Z",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:06Z",
    "2026-01-02T03:04:07Z",
    "2026-01-02T03:04:08Z",
    "2026-01-02T03:04:09Z",
];

/// One object and its writers. Every write is a second later than the one before.
struct Object {
    of: &'static Type,
    api_versions: Vec<&'static str>,
    live: Value,
    writes: usize,
    resets: Resets,
    subresource: &'static str,
}

impl Object {
    /// An object that does not exist yet.
    fn new(of: &str) -> Object {
        let of = find(of).unwrap();
        let zero = json::decode(
            of,
            format!(r#"{{"kind":"{}","apiVersion":"{}"}}"#, of.kind_name(), of.api_version()).as_bytes(),
        );
        Object {
            of,
            api_versions: vec![],
            live: zero.unwrap().value,
            writes: 0,
            resets: Resets::none(),
            subresource: "",
        }
    }

    fn config_map() -> Object {
        Object { api_versions: vec!["v1", "v2"], ..Object::new("core/v1.ConfigMap") }
    }

    fn deployment() -> Object {
        Object { api_versions: vec!["apps/v1"], ..Object::new("apps/v1.Deployment") }
    }

    fn config(&self, rest: &str) -> Value {
        let (kind, version) = (self.of.kind_name(), self.of.api_version());
        let comma = if rest.is_empty() { "" } else { "," };
        let text = format!(r#"{{"kind":"{kind}","apiVersion":"{version}"{comma}{rest}}}"#);
        json::decode_untyped(text.as_bytes()).unwrap().value
    }

    fn write(
        &mut self,
        manager: &str,
        version: &str,
        write: impl FnOnce(&Write<'_>, &Value) -> Result<Option<Value>, String>,
    ) -> Result<(), String> {
        let of: TypeRef<'_> = self.of.into();
        let converter = SameShape { of, api_versions: &self.api_versions };
        let by = Write {
            of,
            manager,
            subresource: self.subresource,
            api_version: version,
            now: TIMES[self.writes],
            resets: &self.resets,
            converter: &converter,
        };
        let new = write(&by, &self.live)?;
        self.writes += 1;
        if let Some(mut new) = new {
            keep_timestamps(&self.live, &mut new);
            let metadata = new.metadata_mut().unwrap();
            metadata.insert("uid", "u");
            self.live = new;
        }
        Ok(())
    }

    /// Applies the rest of a configuration.
    fn try_apply(&mut self, manager: &str, rest: &str, force: bool) -> Result<(), String> {
        let version = self.of.api_version();
        self.apply_in(manager, &version, rest, force)
    }

    /// Applies a configuration whose version may differ from the request's, of the same shape.
    fn apply_in(&mut self, manager: &str, version: &str, rest: &str, force: bool) -> Result<(), String> {
        let config = self.config(rest);
        self.write(manager, version, |by, live| {
            let applied = apply(by, live, &config, force).map_err(|refusal| refusal.to_string())?;
            let mut new = applied.object.unwrap_or_else(|| live.clone());
            keep_last_applied(&mut new, manager, &config);
            applied.managed.set(&mut new);
            Ok(Some(new))
        })
    }

    #[track_caller]
    fn apply(&mut self, manager: &str, rest: &str) {
        self.try_apply(manager, rest, false).unwrap();
    }

    #[track_caller]
    fn force(&mut self, manager: &str, rest: &str) {
        self.try_apply(manager, rest, true).unwrap();
    }

    #[track_caller]
    fn refused(&mut self, manager: &str, rest: &str, expected: &str) {
        let before = self.live.clone();
        assert_eq!(self.try_apply(manager, rest, false).unwrap_err(), expected);
        assert_eq!(self.live, before);
    }

    /// Replaces the object by another.
    #[track_caller]
    fn put(&mut self, manager: &str, rest: &str) {
        let new = self.config(rest);
        let of = self.of;
        let version = of.api_version();
        let new = pintle_codec::unstructured::to_typed(of, &new).unwrap().value;
        self.write(manager, &version, |by, live| {
            let mut new = new.clone();
            new.metadata_mut().unwrap().insert("uid", "u");
            update(by, Some(live), &mut new)?;
            Ok(Some(new))
        })
        .unwrap();
    }

    /// Returns the object without its metadata, or the value at a path.
    fn at(&self, path: &[&str]) -> String {
        let mut text = Vec::new();
        json::encode(self.live.at(path).unwrap_or(&Value::NULL), &mut text);
        String::from_utf8(text).unwrap()
    }

    /// Formats managers as `manager operation version second subresource fields`, one per line.
    #[track_caller]
    fn managers(&self, expected: &[&str]) {
        let line = |entry: &Value| {
            let mut fields = Vec::new();
            json::encode(entry.get("fieldsV1").unwrap(), &mut fields);
            let text = |name: &str| entry.text_at(&[name]).to_owned();
            let second = text("time").get(17..19).unwrap_or("-").to_owned();
            let words = [text("manager"), text("operation"), text("apiVersion"), second, text("subresource")];
            let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            format!("{} {}", words.join(" "), String::from_utf8_lossy(&fields))
        };
        let found: Vec<String> =
            self.live.items_at(&["metadata", "managedFields"]).iter().map(line).collect();
        assert_eq!(found, expected);
    }
}

const NAME: &str = r#""metadata":{"name":"a"}"#;

fn data(data: &str) -> String {
    format!(r#"{NAME},"data":{{{data}}}"#)
}

#[test]
fn an_apply_creates_the_object_and_owns_its_fields() {
    let mut object = Object::config_map();
    object.apply("m", r#""metadata":{"name":"a","namespace":"n","labels":{"l":"x"}},"data":{"k":"v"}"#);
    object.managers(&[r#"m Apply v1 00 {"f:data":{"f:k":{}},"f:metadata":{"f:labels":{"f:l":{}}}}"#]);
    assert_eq!(object.at(&["data"]), r#"{"k":"v"}"#);
}

#[test]
fn unapplied_fields_are_removed_unless_another_manager_owns_them() {
    let mut object = Object::config_map();
    object.apply("a", &data(r#""x":"1","y":"2""#));
    object.apply("b", &data(r#""y":"2","z":"3""#));
    object.apply("a", NAME);
    assert_eq!(object.at(&["data"]), r#"{"y":"2","z":"3"}"#);
    object.managers(&[r#"b Apply v1 01 {"f:data":{"f:y":{},"f:z":{}}}"#]);
    object.apply("b", &data(r#""z":"3""#));
    assert_eq!(object.at(&["data"]), r#"{"z":"3"}"#);
    object.apply("b", NAME);
    assert_eq!(object.at(&["data"]), "null");
    object.managers(&[]);
}

#[test]
fn fields_of_an_update_stay_when_an_apply_releases_them() {
    let mut object = Object::config_map();
    object.put("u", &data(r#""x":"1""#));
    object.apply("a", &data(r#""x":"1","y":"2""#));
    object.apply("a", NAME);
    assert_eq!(object.at(&["data"]), r#"{"x":"1"}"#);
    object.managers(&[r#"u Update v1 00 {"f:data":{".":{},"f:x":{}}}"#]);
}

#[test]
fn a_conflict_names_the_fields_and_their_managers() {
    let mut object = Object::config_map();
    object.put("u", &data(r#""x":"1""#));
    object.apply("a", &data(r#""y":"2","z":"3""#));
    object.refused(
        "b",
        &data(r#""x":"2""#),
        r#"Apply failed with 1 conflict: conflict with "u" using v1: .data.x"#,
    );
    object.refused(
        "b",
        &data(r#""x":"2","y":"3","z":"4""#),
        "Apply failed with 3 conflicts: conflicts with \"a\":\n- .data.y\n- .data.z\nconflicts with \"u\" using v1:\n- .data.x",
    );
    // The same value is no conflict, and is shared from then on.
    object.apply("b", &data(r#""y":"2""#));
    object.managers(&[
        r#"b Apply v1 - {"f:data":{"f:y":{}}}"#,
        r#"a Apply v1 01 {"f:data":{"f:y":{},"f:z":{}}}"#,
        r#"u Update v1 00 {"f:data":{".":{},"f:x":{}}}"#,
    ]);
    object.refused("b", &data(r#""y":"3""#), r#"Apply failed with 1 conflict: conflict with "a": .data.y"#);
}

#[test]
fn force_transfers_ownership() {
    let mut object = Object::config_map();
    object.put("u", &data(r#""x":"1""#));
    object.apply("a", &data(r#""y":"2""#));
    object.force("b", &data(r#""x":"5","y":"6""#));
    assert_eq!(object.at(&["data"]), r#"{"x":"5","y":"6"}"#);
    object.managers(&[r#"b Apply v1 02 {"f:data":{"f:x":{},"f:y":{}}}"#, r#"u Update v1 00 {"f:data":{}}"#]);
}

#[test]
fn there_is_one_cause_per_field() {
    let mut object = Object::config_map();
    object.apply("a", r#""metadata":{"name":"a","labels":{"l":"1"}},"data":{"x":"1"},"immutable":true"#);
    let config =
        object.config(r#""metadata":{"name":"a","labels":{"l":"2"}},"data":{"x":"2"},"immutable":false"#);
    let of: TypeRef<'_> = object.of.into();
    let converter = SameShape { of, api_versions: &["v1"] };
    let write = Write {
        of,
        manager: "b",
        subresource: "",
        api_version: "v1",
        now: "",
        resets: &Resets::none(),
        converter: &converter,
    };
    let Err(Refusal::Conflicts(conflicts)) = apply(&write, &object.live, &config, false) else { panic!() };
    let status = pintle_meta::Status::from(Refusal::Conflicts(conflicts));
    assert_eq!(
        String::from_utf8(status.to_json()).unwrap().trim_end(),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Apply failed with 3 conflicts: conflicts with \"a\":\n- .immutable\n- .data.x\n- .metadata.labels.l","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"a\"","field":".immutable"},{"reason":"FieldManagerConflict","message":"conflict with \"a\"","field":".data.x"},{"reason":"FieldManagerConflict","message":"conflict with \"a\"","field":".metadata.labels.l"}]},"code":409}"#
    );
}

#[test]
fn applying_the_current_values_changes_nothing() {
    let mut object = Object::deployment();
    let config = r#""metadata":{"name":"a"},"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]}}}"#;
    object.apply("a", config);
    let before = object.live.clone();
    object.apply("a", config);
    assert_eq!(object.live, before);
    // Another notation of the same value is a change until it is normalized: the time is restored.
    object.apply("a", &config.replace(r#""cpu":"1""#, r#""cpu":"1000m""#));
    assert_eq!(object.live, before);
    let written = object.config(config);
    let of: TypeRef<'_> = object.of.into();
    let converter = SameShape { of, api_versions: &["apps/v1"] };
    let write = Write {
        of,
        manager: "a",
        subresource: "",
        api_version: "apps/v1",
        now: "",
        resets: &Resets::none(),
        converter: &converter,
    };
    assert!(apply(&write, &object.live, &written, false).unwrap().object.is_none());
}

#[test]
fn list_items_are_owned_by_their_applier() {
    let mut object = Object::deployment();
    let containers =
        |items: &str| format!(r#"{NAME},"spec":{{"template":{{"spec":{{"containers":[{items}]}}}}}}"#);
    object.apply("a", &containers(r#"{"name":"web","image":"1"}"#));
    object.apply("b", &containers(r#"{"name":"sidecar","image":"2"},{"name":"web","tty":true}"#));
    object.refused(
        "b",
        &containers(r#"{"name":"web","image":"2"}"#),
        r#"Apply failed with 1 conflict: conflict with "a": .spec.template.spec.containers[name="web"].image"#,
    );
    let names = |object: &Object| {
        let items = object.live.items_at(&["spec", "template", "spec", "containers"]);
        items.iter().map(|item| item.text_at(&["name"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&object), ["sidecar", "web"]);
    object.apply("a", NAME);
    assert_eq!(names(&object), ["sidecar", "web"], "the other has it too");
    assert_eq!(object.live.items_at(&["spec", "template", "spec", "containers"])[1].text_at(&["image"]), "");
    object.apply("b", &containers(r#"{"name":"web","tty":true}"#));
    assert_eq!(names(&object), ["web"]);
    object.managers(&[
        r#"b Apply apps/v1 03 {"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:tty":{}}}}}}}"#,
    ]);
}

#[test]
fn untracked_fields_belong_to_before_first_apply() {
    let mut object = Object::config_map();
    object.put("u", &data(r#""x":"1""#));
    object.live.metadata_mut().unwrap().remove("managedFields");
    object.refused(
        "a",
        &data(r#""x":"2""#),
        r#"Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.x"#,
    );
    object.apply("a", &data(r#""y":"2""#));
    object.managers(&[
        r#"a Apply v1 01 {"f:data":{"f:y":{}}}"#,
        r#"before-first-apply Update v1 01 {"f:data":{".":{},"f:x":{}}}"#,
    ]);
}

#[test]
fn reset_fields_have_no_manager_and_no_conflict() {
    let mut object = Object::deployment();
    object.apply("a", &format!(r#"{NAME},"spec":{{"replicas":1}},"status":{{"replicas":5}}"#));
    object.resets = Resets::everywhere(Filter::Exclude(Set::of_fields(&[&["status"]])));
    object.apply("b", &format!(r#"{NAME},"spec":{{"paused":true}},"status":{{"replicas":6}}"#));
    object.managers(&[
        r#"a Apply apps/v1 00 {"f:spec":{"f:replicas":{}},"f:status":{"f:replicas":{}}}"#,
        r#"b Apply apps/v1 01 {"f:spec":{"f:paused":{}}}"#,
    ]);
    object.subresource = "status";
    object.resets = Resets::everywhere(Filter::Exclude(Set::of_fields(&[&["spec"]])));
    object.refused(
        "b",
        &format!(r#"{NAME},"status":{{"replicas":7}}"#),
        r#"Apply failed with 1 conflict: conflict with "a": .status.replicas"#,
    );
    object.force("b", &format!(r#"{NAME},"status":{{"replicas":7}}"#));
    object.subresource = "";
    object.resets = Resets::none();
    object.refused(
        "c",
        &format!(r#"{NAME},"status":{{"replicas":8}}"#),
        r#"Apply failed with 1 conflict: conflict with "b" with subresource "status": .status.replicas"#,
    );
}

#[test]
fn managers_of_other_versions_keep_their_fields() {
    let mut object = Object::config_map();
    object.apply_in("a", "v2", &data(r#""x":"1","y":"1""#), false).unwrap();
    object.apply("b", &data(r#""y":"1""#));
    object.managers(&[
        r#"b Apply v1 - {"f:data":{"f:y":{}}}"#,
        r#"a Apply v2 00 {"f:data":{"f:x":{},"f:y":{}}}"#,
    ]);
    // The same manager in another version releases its fields of the first.
    object.apply("a", &data(r#""z":"1""#));
    assert_eq!(object.at(&["data"]), r#"{"y":"1","z":"1"}"#);
    object.managers(&[r#"b Apply v1 - {"f:data":{"f:y":{}}}"#, r#"a Apply v1 02 {"f:data":{"f:z":{}}}"#]);
    assert_eq!(
        object.apply_in("c", "v2", &data(r#""y":"2""#), false).unwrap_err(),
        r#"Apply failed with 1 conflict: conflict with "b": .data.y"#
    );
    // A removed version takes its managers with it.
    object.api_versions = vec!["v2"];
    object.apply_in("c", "v2", &data(r#""y":"2""#), false).unwrap();
    object.managers(&[r#"c Apply v2 03 {"f:data":{"f:y":{}}}"#]);
}

#[test]
fn kubectl_takes_over_client_side_applied_fields() {
    let last = r#"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\",\"y\":\"1\"}}"#;
    let annotated = |rest: &str| {
        format!(r#""metadata":{{"name":"a","annotations":{{"{LAST_APPLIED}":"{last}"}}}},"data":{{{rest}}}"#)
    };
    let mut object = Object::config_map();
    object.put("kubectl-client-side-apply", &annotated(r#""x":"1","y":"2","z":"3""#));
    object.refused(
        "other",
        &data(r#""x":"5""#),
        r#"Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.x"#,
    );
    // Only fields that still have their applied values.
    object.refused(
        "kubectl",
        &data(r#""x":"5","y":"5","z":"5""#),
        "Apply failed with 2 conflicts: conflicts with \"kubectl-client-side-apply\" using v1:\n- .data.y\n- .data.z",
    );
    object.apply("kubectl", &data(r#""x":"5""#));
    assert_eq!(object.at(&["data"]), r#"{"x":"5","y":"2","z":"3"}"#);
    assert_eq!(
        object.live.at(&["metadata", "annotations"]).unwrap().text_at(&[LAST_APPLIED]),
        "{\"apiVersion\":\"v1\",\"data\":{\"x\":\"5\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n"
    );
}

#[test]
fn an_oversized_last_applied_annotation_is_removed() {
    let mut object = Object::config_map();
    object.put("u", &format!(r#""metadata":{{"name":"a","annotations":{{"{LAST_APPLIED}":"x"}}}}"#));
    let large = "v".repeat(300 * 1024);
    object.apply("kubectl", &data(&format!(r#""k":"{large}""#)));
    assert_eq!(object.live.at(&["metadata", "annotations"]), None);
}

#[test]
fn an_apply_must_not_set_managed_fields() {
    let mut object = Object::config_map();
    for entries in ["[]", r#"[{"manager":"x"}]"#] {
        let config = format!(r#""metadata":{{"name":"a","managedFields":{entries}}}"#);
        object.refused("a", &config, "metadata.managedFields must be nil");
    }
    object.apply("a", r#""metadata":{"name":"a","managedFields":null},"data":{"x":"1"}"#);
    object.managers(&[r#"a Apply v1 00 {"f:data":{"f:x":{}}}"#]);
}

#[test]
fn invalid_configurations_are_rejected_with_their_path() {
    let mut object = Object::deployment();
    object.refused(
        "a",
        r#""metadata":{"name":"a","namespace":"n"},"spec":{"replicas":"x"}"#,
        "failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or \
         float), got string",
    );
    object.refused(
        "a",
        r#""metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"x"}}}]}}}"#,
        "failed to convert new object (/a; apps/v1, Kind=Deployment) to proper version: unable to convert unstructured \
         object to apps/v1, Kind=Deployment: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
}

#[test]
fn nulls_and_empty_parts_are_applied() {
    let mut object = Object::config_map();
    object.apply("a", &data(r#""k":null,"l":"x""#));
    assert_eq!(object.at(&["data"]), r#"{"k":"","l":"x"}"#);
    object.managers(&[r#"a Apply v1 00 {"f:data":{"f:k":{},"f:l":{}}}"#]);
    object.apply("a", r#""metadata":{"name":"a","labels":null}"#);
    object.managers(&[r#"a Apply v1 01 {"f:metadata":{"f:labels":{}}}"#]);
    object.apply("a", &format!(r#"{NAME},"data":{{}}"#));
    object.managers(&[r#"a Apply v1 02 {"f:data":{}}"#]);
}

#[test]
fn thousands_of_managers_and_fields_are_fast() {
    let mut object = Object::config_map();
    let entry = |n: usize| {
        format!(
            r#"{{"manager":"m{n}","operation":"Apply","apiVersion":"v{}","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k{n}":{{}}}}}}}}"#,
            n % 2 + 1
        )
    };
    let (entries, fields): (Vec<String>, Vec<String>) =
        (0..5_000).map(|n| (entry(n), format!(r#""k{n}":"1""#))).unzip();
    let (entries, fields) = (entries.join(","), fields.join(","));
    let text = format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"a","uid":"u","managedFields":[{entries}]}},"data":{{{fields}}}}}"#
    );
    object.live = json::decode(object.of, text.as_bytes()).unwrap().value;
    let changed = fields.replace(r#":"1""#, r#":"2""#);
    let refused = object.try_apply("all", &data(&changed), false).unwrap_err();
    assert!(refused.starts_with("Apply failed with 5000 conflicts: conflicts with \"m0\":\n- .data.k0\n"));
    object.force("all", &data(&changed));
    object.apply("all", NAME);
    assert_eq!(object.at(&["data"]), "null");
    object.managers(&[]);
}
