//! Managers that the reference was seen to name.

use std::collections::{BTreeMap, BTreeSet};

use pintle_codec::{json, yaml};
use pintle_meta::{Status, Value};
use pintle_patch::fieldset::{Filter, Set};
use pintle_patch::json_patch::Patch;
use pintle_patch::managed::{Converter, Resets, Write, apply, keep_last_applied, update};
use pintle_patch::merge_patch;
use pintle_patch::typed::TypeRef;
use pintle_resources::{conversion, defaults};
use pintle_schema::{Resource, Resources, find_kind};
use serde_json::{Value as Json, json};

/// All times of the record are one.
const TIME: &str = "2026-01-02T03:04:05Z";

struct Versions;

impl Converter for Versions {
    fn convert(
        &self,
        _: TypeRef<'_>,
        object: &Value,
        api_version: &str,
    ) -> Result<Option<(TypeRef<'_>, Value)>, String> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let Some(of) = find_kind(group, version, object.kind()) else { return Ok(None) };
        let converted = conversion::convert(of, object.clone()).map_err(|error| error.to_string())?;
        Ok(Some((of.into(), converted)))
    }
}

fn read(text: &str) -> Json {
    serde_json::from_str(&text.replace("${ns}", "<ns>").replace("<time>", TIME)).unwrap()
}

/// The resource of a path, the path of its object if it names one, and the subresource.
fn resource<'a>(resources: &'a Resources, path: &str) -> Option<(&'a Resource, Option<String>, String)> {
    let path = path.split('?').next()?.trim_start_matches('/');
    let mut parts = path.split('/').peekable();
    let (group, version) = match parts.next()? {
        "api" => ("", parts.next()?),
        "apis" => (parts.next()?, parts.next()?),
        _ => return None,
    };
    let mut collection = parts.next()?;
    if collection == "namespaces" && parts.peek().is_some() {
        parts.next()?;
        collection = parts.next()?;
    }
    let resource = resources.find(group, version, collection)?;
    let name = parts.next();
    let subresource = parts.next().unwrap_or_default().to_string();
    let object = name.map(|_| path.trim_end_matches(&format!("/{subresource}")).to_string());
    Some((resource, object, subresource))
}

/// Strategies reset the status of what has one, unless nobody else would set it; and the rest where the status is written.
fn resets(resource: &Resource, subresource: &str) -> Resets {
    let fields: &[&[&str]] = match subresource {
        _ if resource.name.ends_with("reviews") => return Resets::none(),
        "status" => match resource.name {
            "pods" => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
            "volumeattachments" => &[&["spec"], &["metadata"]],
            "namespaces" | "nodes" | "daemonsets" | "persistentvolumes" | "cronjobs" => &[&["spec"]],
            _ => &[&["spec"], &["metadata", "labels"]],
        },
        _ => &[&["status"]],
    };
    Resets::everywhere(Filter::Exclude(Set::of_fields(fields)))
}

/// What the reference's handler gives to field management.
fn decoded(resource: &Resource, body: &Json) -> Option<Value> {
    let mut value = json::decode(resource.kind, body.to_string().as_bytes()).ok()?.value;
    defaults::apply(resource.kind, &mut value, &Default::default());
    conversion::round_trip(resource.kind, &mut value).ok()?;
    Some(value)
}

fn as_json(value: &Value) -> Json {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    serde_json::from_slice(&text).unwrap()
}

/// The record has no times, so it does not say why entries stand in their order.
fn sorted(mut entries: Json) -> Json {
    let key = |entry: &Json| {
        ["operation", "manager", "subresource", "apiVersion"].map(|name| entry[name].to_string())
    };
    entries.as_array_mut().into_iter().for_each(|entries| entries.sort_by_key(key));
    entries
}

/// An object after a patch, if that is of a kind that we can apply.
fn patched(object: &Json, step: &Json) -> Option<Json> {
    let document = json::decode_untyped(object.to_string().as_bytes()).unwrap().value;
    let patch = step["b"].to_string();
    let patched = match step["ct"].as_str()? {
        "application/merge-patch+json" => merge_patch::apply(document, patch.as_bytes()).unwrap(),
        "application/json-patch+json" => {
            // It may test for something that the record does not tell.
            Patch::decode(patch.as_bytes()).unwrap().apply(document).ok()?
        }
        _ => return None,
    };
    Some(as_json(&patched))
}

/// Writes of a case, one after the other.
struct Replay<'a> {
    resources: &'a Resources,
    /// Objects as the reference last answered with them, by path.
    live: BTreeMap<String, Json>,
    same: Vec<&'static str>,
    /// How many applies went as they should.
    applied: usize,
    wrong: Vec<String>,
}

impl Replay<'_> {
    /// What the managers should be after a step, if that can be told from what is known.
    fn step(&mut self, id: &str, step: &Json, answer: &Json) -> Option<()> {
        let body = &answer["body"];
        let path = step["p"].as_str()?;
        let (resource, object, subresource) = resource(self.resources, path)?;
        let object = object.or_else(|| {
            Some(format!(
                "{}/{}",
                path.split('?').next()?.trim_start_matches('/'),
                body["metadata"]["name"].as_str()?
            ))
        })?;
        let before = self.live.get(&object).cloned();
        if step["ct"] == json!("application/apply-patch+yaml") && subresource != "scale" {
            self.apply(id, step, answer, resource, &subresource, before.as_ref());
        }
        if subresource.is_empty() || subresource == "status" {
            // A view of the object would not do.
            if resource.kind.name.ends_with(&format!(".{}", body["kind"].as_str()?))
                && body["metadata"]["uid"].is_string()
            {
                self.live.insert(object, body.clone());
            }
        } else if step["m"] != json!("GET") {
            // What other subresources write of their object, they do not show.
            self.live.remove(&object);
        }
        let recorded = &body["metadata"]["managedFields"];
        let managers = recorded.as_array()?;
        let (live, new) = match step["m"].as_str()? {
            "POST" if subresource.is_empty() => (None, step["b"].clone()),
            "PUT" if matches!(&*subresource, "" | "status") => (Some(before?), step["b"].clone()),
            "PATCH" if matches!(&*subresource, "" | "status") => {
                let before = before?;
                let new = patched(&before, step)?;
                (Some(before), new)
            }
            _ => return None,
        };
        // Managers may differ from who wrote now, if what was written is nothing new.
        let agent = if managers.iter().any(|entry| entry["manager"] == json!("parity")) {
            "parity"
        } else {
            managers.first()?["manager"].as_str()?
        };
        let named = path.split("fieldManager=").nth(1).and_then(|rest| rest.split('&').next());
        let live = match live {
            Some(live) => Some(decoded(resource, &live)?),
            None => None,
        };
        let mut object = decoded(resource, &new)?;
        let api_version = object.api_version().to_string();
        let resets = resets(resource, &subresource);
        let write = Write {
            of: resource.kind.into(),
            manager: named.unwrap_or(agent),
            subresource: &subresource,
            api_version: &api_version,
            now: TIME,
            resets: &resets,
            converter: &Versions,
        };
        update(&write, live.as_ref(), &mut object).unwrap();
        let found = as_json(object.at(&["metadata", "managedFields"]).unwrap_or(&Value::NULL));
        match sorted(found.clone()) == sorted(recorded.clone()) {
            true => self.same.push(resource.name),
            false => self
                .wrong
                .push(format!("{id} {} {path}\n  found    {found}\n  recorded {recorded}", step["m"])),
        }
        Some(())
    }
}

impl Replay<'_> {
    /// What an apply should answer: an object's content and managers, or why not.
    fn apply(
        &mut self,
        id: &str,
        step: &Json,
        answer: &Json,
        resource: &Resource,
        subresource: &str,
        before: Option<&Json>,
    ) -> Option<()> {
        let body = &answer["body"];
        let created = answer["status"] == json!(201);
        let fails = answer["status"].as_u64()? >= 400;
        if before.is_none() && !created && !fails {
            return None;
        }
        let text = step["b"].as_str().map_or_else(|| step["b"].to_string(), str::to_owned);
        let config = yaml::decode_untyped(text.as_bytes()).ok()?.value;
        let kind = format!(
            r#"{{"kind":"{}","apiVersion":"{}"}}"#,
            resource.kind.kind_name(),
            resource.kind.api_version()
        );
        let live = match before.filter(|_| !created) {
            Some(before) => decoded(resource, before)?,
            None => json::decode(resource.kind, kind.as_bytes()).ok()?.value,
        };
        let path = step["p"].as_str()?;
        let manager = path.split("fieldManager=").nth(1).and_then(|rest| rest.split('&').next())?;
        let resets = resets(resource, subresource);
        let write = Write {
            of: resource.kind.into(),
            manager,
            subresource,
            api_version: &resource.kind.api_version(),
            now: TIME,
            resets: &resets,
            converter: &Versions,
        };
        let (found, recorded) = match apply(&write, &live, &config, path.contains("force=true")) {
            Err(refusal) => (json!(Status::from(refusal).message), &body["message"]),
            // Who asked made other mistakes, or what is there is not known.
            Ok(_) if fails => return None,
            Ok(applied) => {
                let mut object = applied.object.unwrap_or(live);
                keep_last_applied(&mut object, manager, &config);
                applied.managed.set(&mut object);
                let found = as_json(object.at(&["metadata", "managedFields"]).unwrap_or(&Value::NULL));
                let data = as_json(object.get("data").unwrap_or(&Value::NULL));
                let same_data = resource.name != "configmaps" || data == body["data"];
                let recorded = &body["metadata"]["managedFields"];
                let found = sorted(found);
                if same_data && found == sorted(recorded.clone()) {
                    self.applied += 1;
                    return Some(());
                }
                (json!([found, data]), recorded)
            }
        };
        match found == *recorded {
            true => self.applied += 1,
            false => self.wrong.push(format!("{id} apply {path}\n  found    {found}\n  recorded {recorded}")),
        }
        Some(())
    }
}

#[test]
fn writes_name_the_managers_that_the_reference_named() {
    let resources = Resources::builtin().unwrap();
    let mut replay = Replay {
        resources: &resources,
        live: BTreeMap::new(),
        same: Vec::new(),
        applied: 0,
        wrong: Vec::new(),
    };
    for (cases, golden) in pintle_published::recorded::exchanges() {
        let (cases, golden) = (read(&cases), read(&golden));
        for case in cases["cases"].as_array().unwrap() {
            let id = case["id"].as_str().unwrap();
            let mut answers = golden[id].as_array().into_iter().flatten();
            replay.live.clear();
            for step in case["steps"].as_array().unwrap() {
                // Some steps only wait, and of some nobody knows how they went.
                if step["quiet"] == json!(true) && step["m"] != json!("GET") {
                    replay.live.clear();
                } else if step["quiet"] != json!(true) && !step["m"].is_null() {
                    replay.step(id, step, answers.next().unwrap_or(&Json::Null));
                }
            }
        }
    }
    let Replay { same, applied, wrong, .. } = replay;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), same.len() + wrong.len(), wrong.join("\n"));
    assert!(applied >= 25, "{applied} applies");
    let kinds: BTreeSet<&str> = same.iter().copied().collect();
    assert!(
        same.len() > 150 && kinds.len() > 30,
        "only {} of {} kinds were compared",
        same.len(),
        kinds.len()
    );
}
