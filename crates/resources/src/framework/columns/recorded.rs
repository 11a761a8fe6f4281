//! Tables that the reference was seen to answer with.

use pintle_codec::json;
use pintle_codec::partial::{ListMeta, Version};
use pintle_codec::table::{Head, Include, Row, row_tree, tree};
use pintle_meta::Value;
use pintle_published::recorded;
use pintle_schema::{Resource, Resources};
use serde_json::{Value as Json, json};

use super::testing::context;
use super::{Columns, of_resource};

/// The resource of a path, and what it names.
fn resource<'a>(resources: &'a Resources, path: &str) -> Option<(&'a Resource, Option<String>)> {
    let path = path.split('?').next()?.trim_start_matches('/');
    let mut parts = path.split('/').peekable();
    let (group, version) = match parts.next()? {
        "api" => ("", parts.next()?),
        _ => (parts.next()?, parts.next()?),
    };
    if parts.peek() == Some(&"namespaces") {
        parts.nth(1)?;
    }
    let (collection, name, subresource) = (parts.next()?, parts.next(), parts.next());
    let full =
        subresource.map_or(collection.to_string(), |subresource| format!("{collection}/{subresource}"));
    Some((resources.find(group, version, &full)?, name.map(str::to_string)))
}

/// The objects of a case as its requests made them.
#[derive(Default)]
struct Store(Vec<(&'static str, Json)>);

impl Store {
    fn request(&mut self, step: &Json, resource: &Resource, name: Option<String>) {
        let body = &step["b"];
        match step["m"].as_str().unwrap() {
            "POST" => {
                let mut object = body.clone();
                object["metadata"]["creationTimestamp"] = json!("2026-01-10T23:59:59Z");
                self.0.push((resource.name, object));
            }
            "PATCH" if resource.subresource == Some("status") => {
                let patched = self.0.iter_mut().find(|(kind, object)| {
                    *kind == resource.name && object["metadata"]["name"].as_str() == name.as_deref()
                });
                patched.unwrap().1["status"] = body["status"].clone();
            }
            _ => {}
        }
    }

    fn table(&self, resource: &Resource, columns: &Columns, include: Include) -> Json {
        let mut rows = Vec::new();
        for (_, object) in self.0.iter().filter(|(kind, _)| *kind == resource.name) {
            let object = json::decode(resource.kind, object.to_string().as_bytes()).unwrap().value;
            let mut cells = Vec::new();
            columns.cells(&object, &context(), &mut cells);
            let completed = columns.completed(&object);
            rows.push(row_tree(Version::V1, &Row { cells: &cells, completed, object: &object, include }));
        }
        let head = Head {
            version: Version::V1,
            meta: ListMeta::default(),
            columns: Some(columns.definitions),
            empty: columns.empty,
        };
        as_json(&tree(&head, rows))
    }
}

fn as_json(value: &Value) -> Json {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    serde_json::from_slice(&text).unwrap()
}

/// Compares what does not depend on when and by whom an object was made.
fn compare(name: &str, found: &Json, recorded: &Json) {
    for field in ["kind", "apiVersion", "columnDefinitions"] {
        assert_eq!(found[field], recorded[field], "{name}");
    }
    for (found, recorded) in
        found["rows"].as_array().unwrap().iter().zip(recorded["rows"].as_array().unwrap())
    {
        for field in ["kind", "apiVersion"] {
            assert_eq!(found["object"][field], recorded["object"][field], "{name}");
        }
        assert_eq!(found.get("conditions"), recorded.get("conditions"), "{name}");
        let Some(cells) = recorded.get("cells") else { continue };
        let timeless =
            |cells: &Json| -> Vec<Json> { cells.as_array().unwrap().iter().map(timeless).collect() };
        assert_eq!(timeless(&found["cells"]), timeless(cells), "{name}");
    }
}

/// A cell that does not say when its object was made.
fn timeless(cell: &Json) -> Json {
    match cell.as_str() {
        Some("0s" | "1s") => json!("<age>"),
        Some("2026-01-10T23:59:59Z") => json!("<time>"),
        _ => cell.clone(),
    }
}

#[test]
fn tables_are_those_of_the_reference() {
    let resources = Resources::builtin().unwrap();
    let mut compared = 0;
    for (cases, golden) in recorded::exchanges() {
        let golden: Json = serde_json::from_str(&golden).unwrap();
        let cases: Json = serde_json::from_str(&cases.replace("${ns}", "<ns>")).unwrap();
        for case in cases["cases"].as_array().unwrap() {
            let id = case["id"].as_str().unwrap();
            compared += replay(&resources, case, &golden[id]);
        }
    }
    assert!(compared > 10, "only {compared} were compared");
}

fn replay(resources: &Resources, case: &Json, golden: &Json) -> usize {
    if !golden.to_string().contains("columnDefinitions") {
        return 0;
    }
    let (mut store, mut answers, mut compared) = (Store::default(), 0, 0);
    for step in case["steps"].as_array().unwrap() {
        let answer = if step["quiet"] == json!(true) { &Json::Null } else { &golden[answers] };
        answers += usize::from(step["quiet"] != json!(true));
        // Steps without a path only wait.
        let path = step["p"].as_str().unwrap_or_default();
        let Some((resource, name)) = resource(resources, path) else { continue };
        // Of a watch, only the first event is looked at.
        let body = if answer["body"].is_array() { &answer["body"][0]["object"] } else { &answer["body"] };
        if step["m"] != json!("GET") {
            store.request(step, resource, name);
        } else if body["kind"] == json!("Table") {
            let include = path.split("includeObject=").nth(1).unwrap_or_default();
            let columns = of_resource(resource).unwrap();
            let table = store.table(resource, columns, Include::parse(include).unwrap());
            compare(case["id"].as_str().unwrap(), &table, body);
            compared += 1;
        }
    }
    compared
}
