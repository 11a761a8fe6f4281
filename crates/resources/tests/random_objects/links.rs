//! References within an object: what is mounted, used or claimed by a container exists in its pod.

use serde_json::{Map, Value as Json, json};

/// Names of volumes that are added for what needs one of their kind.
const DEVICE: &str = "device";
const FILES: &str = "files";

/// Points all references of pods, wherever they are in an object, to names that exist there.
pub(crate) fn link(object: &mut Json) {
    match object {
        Json::Object(fields) => {
            if fields
                .get("containers")
                .is_some_and(|list| list.as_array().is_some_and(|list| list.iter().all(Json::is_object)))
            {
                pod(fields);
            }
            fields.values_mut().for_each(link);
        }
        Json::Array(items) => items.iter_mut().for_each(link),
        _ => {}
    }
}

fn pod(spec: &mut Map<String, Json>) {
    let names = |list: Option<&Json>| -> Vec<String> {
        let items = list.and_then(Json::as_array).into_iter().flatten();
        items.filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
    };
    let (volumes, claims) = (names(spec.get("volumes")), names(spec.get("resourceClaims")));
    let mut needed: Vec<&str> = Vec::new();
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten() {
            for (index, mount) in items(container, "volumeMounts").enumerate() {
                mount["name"] =
                    volumes.get(index % volumes.len().max(1)).map_or(FILES, String::as_str).into();
                mount["mountPath"] = format!("/m{index}").into();
                if volumes.is_empty() {
                    needed.push(FILES);
                }
            }
            if items(container, "volumeDevices").next().is_some() {
                container["volumeDevices"] = json!([{"name": DEVICE, "devicePath": "/d"}]);
                needed.push(DEVICE);
            }
            for variable in items(container, "env") {
                if let Some(key) = variable.pointer_mut("/valueFrom/fileKeyRef").filter(|key| key.is_object())
                {
                    key["volumeName"] = FILES.into();
                    key["path"] = "a".into();
                    needed.push(FILES);
                }
            }
            if let Some(used) = container.pointer_mut("/resources/claims") {
                *used = claims.first().map_or(Json::Null, |name| json!([{ "name": name }]));
            }
        }
    }
    for (name, source) in [
        (FILES, json!({"name": FILES, "emptyDir": {}})),
        (DEVICE, json!({"name": DEVICE, "persistentVolumeClaim": {"claimName": "a"}})),
    ] {
        if needed.contains(&name) && !volumes.iter().any(|known| known == name) {
            let list = spec.entry("volumes").or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(source);
            }
        }
    }
}

fn items<'j>(container: &'j mut Json, field: &str) -> impl Iterator<Item = &'j mut Json> {
    let items = container.get_mut(field).and_then(Json::as_array_mut);
    items.into_iter().flatten().filter(|item| item.is_object())
}
