//! Optional parts of a version: the status and scale subresources, selectable fields, deprecation warnings, columns.

use http::Method;
use serde_json::{Value, json};

use super::{Session, definition, event, name, object, plain_schema, version};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! { of EXTENDED:
    a_status_has_a_path_of_its_own,
    a_scale_is_where_the_definition_says,
    a_scale_is_asked_for_like_its_parent,
    a_write_of_one_version_takes_the_status_from_managers_of_others,
    lists_and_watches_select_by_fields,
    users_of_deprecated_versions_are_warned,
    versions_show_the_same_objects,
    tables_have_the_columns_of_the_definition,
}

async fn a_status_has_a_path_of_its_own(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut with_status = version("v1", &plain_schema());
    with_status["subresources"] = json!({"status": {}});
    session.install(&definition("status.test", "Thing", "Cluster", vec![with_status])).await;
    let things = "/apis/status.test/v1/things";
    let (path, status) = (format!("{things}/a"), format!("{things}/a/status"));
    let mut thing = object("status.test/v1", "Thing", "a", json!({"color": "red"}));
    thing["status"] = json!({"phase": "Made up"});
    let created = session.post(things, &thing).await.gives(201);
    assert!(created["status"].is_null(), "{created}");

    let mut change = created.clone();
    change["status"] = json!({"phase": "Ready"});
    change["spec"] = json!({"color": "blue"});
    change["metadata"]["labels"] = json!({"l": "x"});
    let written = session.put(&status, &change).await.gives(200);
    assert_eq!(written["status"], json!({"phase": "Ready"}));
    assert_eq!(written["spec"], json!({"color": "red"}), "not through this path");
    assert_eq!(written["metadata"]["generation"], 1);
    assert!(written["metadata"]["labels"].is_null(), "{written}");

    let mut change = written.clone();
    change["spec"]["color"] = "blue".into();
    change["status"]["phase"] = "Made up".into();
    let written = session.put(&path, &change).await.gives(200);
    assert_eq!((&written["spec"]["color"], &written["status"]["phase"]), (&"blue".into(), &"Ready".into()));
    assert_eq!(written["metadata"]["generation"], 2);

    let patched = session.merge(&status, &json!({"status": {"replicas": 1}})).await.gives(200);
    assert_eq!(patched["status"], json!({"phase": "Ready", "replicas": 1}));
    let mine = object("status.test/v1", "Thing", "a", Value::Null);
    let mut mine = mine.as_object().expect("an object").clone();
    mine.remove("spec");
    mine.insert("status".into(), json!({"selector": "a=b"}));
    let applied = session.apply(&status, "controller", &mine.into()).await.gives(200);
    assert_eq!(applied["status"], json!({"phase": "Ready", "replicas": 1, "selector": "a=b"}));
    let managers = applied["metadata"]["managedFields"].as_array().expect("managers");
    let controller = managers.iter().find(|manager| manager["manager"] == "controller").expect("it");
    assert_eq!(controller["subresource"], "status");
    assert_eq!(session.get(&status).await.gives(200), applied);
    assert_eq!(session.delete(&status).await.code, 405);
    session.uninstall("things.status.test").await;
}

async fn a_scale_is_where_the_definition_says(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut scaled = version("v1", &plain_schema());
    scaled["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }});
    session.install(&definition("scale.test", "Thing", "Namespaced", vec![scaled])).await;
    let things = "/apis/scale.test/v1/namespaces/default/things";
    let (path, scale) = (format!("{things}/a"), format!("{things}/a/scale"));
    session.post(things, &object("scale.test/v1", "Thing", "a", json!({"replicas": 3}))).await.gives(201);
    let status = json!({"status": {"replicas": 2, "selector": "app=a"}});
    session.merge(&format!("{path}/status"), &status).await.gives(200);

    let mut found = session.get(&scale).await.gives(200);
    assert_eq!((&found["kind"], &found["apiVersion"]), (&"Scale".into(), &"autoscaling/v1".into()));
    assert_eq!(found["spec"], json!({"replicas": 3}));
    assert_eq!(found["status"], json!({"replicas": 2, "selector": "app=a"}));
    assert_eq!(found["metadata"]["name"], "a");
    found["spec"]["replicas"] = 5.into();
    assert_eq!(session.put(&scale, &found).await.gives(200)["spec"]["replicas"], 5);
    let thing = session.get(&path).await.gives(200);
    assert_eq!((&thing["spec"]["replicas"], &thing["metadata"]["generation"]), (&5.into(), &2.into()));
    // The version that was read is old now.
    found["spec"]["replicas"] = 6.into();
    assert_eq!(session.put(&scale, &found).await.code, 409);
    let patched = session.merge(&scale, &json!({"spec": {"replicas": 0}})).await.gives(200);
    // No replicas are none to be mentioned.
    assert_eq!(patched["spec"], json!({}));
    assert_eq!(session.get(&path).await.gives(200)["spec"]["replicas"], 0);
    let negative = session.merge(&scale, &json!({"spec": {"replicas": -1}})).await;
    assert_eq!(negative.code, 422, "{negative:?}");

    session.post(things, &object("scale.test/v1", "Thing", "b", json!({}))).await.gives(201);
    let missing = session.get(&format!("{things}/b/scale")).await;
    let why = "the spec replicas field \".spec.replicas\" does not exist";
    assert!(missing.gives(500)["message"].as_str().is_some_and(|text| text.contains(why)), "{missing:?}");
    let negative = object("scale.test/v1", "Thing", "c", json!({"replicas": -1}));
    let negative = session.post(things, &negative).await.gives(422);
    let message = negative["message"].as_str().expect("a message");
    assert!(message.contains("should be a non-negative integer"), "{message}");
    session.uninstall("things.scale.test").await;
}

/// There is no router before custom resources, nor before what they have that is built in.
async fn a_scale_is_asked_for_like_its_parent(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut scaled = version("v1", &plain_schema());
    let paths = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    scaled["subresources"] = json!({"status": {}, "scale": paths});
    scaled["deprecated"] = true.into();
    session.install(&definition("asked.test", "Thing", "Namespaced", vec![scaled])).await;
    let things = "/apis/asked.test/v1/namespaces/default/things";
    session.post(things, &object("asked.test/v1", "Thing", "a", json!({"replicas": 3}))).await.gives(201);
    let strategic = "application/strategic-merge-patch+json";
    for path in [format!("{things}/a"), format!("{things}/a/status"), format!("{things}/a/scale")] {
        for media_type in [strategic, "application/json", ""] {
            let answer = session.ask(Method::PATCH, &path, media_type, r#"{"spec":{"replicas":1}}"#).await;
            answer.is_status(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            );
        }
        let client = shared.server.admin();
        let answer = client.request(Method::GET, &path, &[("accept", "image/png")], "").await;
        answer.is_status(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, \
             application/vnd.kubernetes.protobuf",
        );
        let warning = session.get(&path).await.header("warning").to_owned();
        assert!(warning.contains("asked.test/v1 Thing is deprecated"), "{path}: {warning}");
    }
    let thing = session.get(&format!("{things}/a")).await.gives(200);
    assert_eq!(thing["spec"]["replicas"], 3, "nothing was patched");
    session.uninstall("things.asked.test").await;
}

/// The status itself stays: it has a path of its own. But only the version that is written knows that.
async fn a_write_of_one_version_takes_the_status_from_managers_of_others(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let versions = ["v1", "v2"].map(|name| {
        let mut version = version(name, &plain_schema());
        version["subresources"] = json!({"status": {}});
        version
    });
    session.install(&definition("resets.test", "Thing", "Cluster", versions.to_vec())).await;
    let path = |version: &str| format!("/apis/resets.test/{version}/things");
    for (version, keeps) in [("v1", true), ("v2", false)] {
        let name = format!("of-{version}");
        let thing = object("resets.test/v1", "Thing", &name, json!({"color": "red"}));
        session.post(&path("v1"), &thing).await.gives(201);
        let mut status = object("resets.test/v1", "Thing", &name, Value::Null);
        status.as_object_mut().expect("an object").remove("spec");
        status["status"] = json!({"phase": "Ready"});
        let one = format!("{}/{name}", path("v1"));
        session.apply(&format!("{one}/status"), "controller", &status).await.gives(200);
        // Others know nothing of the status, and send none.
        let thing = object(&format!("resets.test/{version}"), "Thing", &name, json!({"color": "blue"}));
        let mut thing = thing;
        let live = session.get(&one).await.gives(200);
        thing["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        let put = session.put(&format!("{}/{name}", path(version)), &thing).await.gives(200);
        assert_eq!(put["status"], json!({"phase": "Ready"}));
        let managers = put["metadata"]["managedFields"].as_array().expect("managers");
        assert_eq!(managers.iter().any(|manager| manager["manager"] == "controller"), keeps, "{put}");
    }
    session.uninstall("things.resets.test").await;
}

async fn lists_and_watches_select_by_fields(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut selectable = version("v1", &plain_schema());
    selectable["selectableFields"] = json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}]);
    // The stored definition hoists what all versions share; these differ, so that each keeps its own.
    let mut other = plain_schema();
    other["properties"]["spec"]["properties"]["other"] = json!({"type": "string"});
    let other = version("v2", &other);
    session.install(&definition("fields.test", "Thing", "Namespaced", vec![selectable, other])).await;
    let path = "/apis/fields.test/v1/namespaces/default/things";
    let spec = |color: &str, size: usize| json!({"color": color, "size": size});
    for (name, color, size) in [("a", "red", 1), ("b", "blue", 1), ("c", "red", 2)] {
        session.post(path, &object("fields.test/v1", "Thing", name, spec(color, size))).await.gives(201);
    }
    session.post(path, &object("fields.test/v1", "Thing", "none", json!({}))).await.gives(201);
    for (selector, expect) in [
        ("spec.color%3Dred", &["a", "c"][..]),
        ("spec.color!%3Dred", &["b", "none"]),
        ("spec.color%3Dred,spec.size%3D2", &["c"]),
        ("spec.size%3D1", &["a", "b"]),
        ("spec.color%3D", &["none"]),
        ("spec.color%3Dred,metadata.name%3Da", &["a"]),
        ("spec.color%3Dgreen", &[]),
    ] {
        for path in [path, "/apis/fields.test/v1/things"] {
            let list = session.get(&format!("{path}?fieldSelector={selector}")).await.gives(200);
            let found: Vec<&str> = list["items"].as_array().expect("items").iter().map(name).collect();
            assert_eq!(found, expect, "{selector}");
        }
    }
    for (path, label) in
        [(path, "spec.replicas"), ("/apis/fields.test/v2/namespaces/default/things", "spec.color")]
    {
        let refused = session.get(&format!("{path}?fieldSelector={label}%3D1")).await;
        refused.is_status(400, "BadRequest", &format!("field label not supported: {label}"));
    }

    let mut watch = session.watch(path, "&fieldSelector=spec.color%3Dred").await;
    session.merge(&format!("{path}/b"), &json!({"spec": {"color": "red"}})).await.gives(200);
    session.merge(&format!("{path}/a"), &json!({"spec": {"color": "blue"}})).await.gives(200);
    session.merge(&format!("{path}/none"), &json!({"spec": {"size": 4}})).await.gives(200);
    session.merge(&format!("{path}/c"), &json!({"spec": {"size": 4}})).await.gives(200);
    for (kind, about) in [("ADDED", "b"), ("DELETED", "a"), ("MODIFIED", "c")] {
        assert_eq!(event(&mut watch).await, (kind.to_owned(), about.to_owned()));
    }
    let gone = session.delete(&format!("{path}?fieldSelector=spec.color%3Dred")).await.gives(200);
    assert_eq!(gone["items"].as_array().map(Vec::len), Some(2), "{gone}");
    assert_eq!(session.get(path).await.gives(200)["items"].as_array().map(Vec::len), Some(2));
    session.uninstall("things.fields.test").await;
}

async fn users_of_deprecated_versions_are_warned(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut versions: Vec<Value> =
        ["v1", "v1beta1", "v1alpha1"].map(|name| version(name, &plain_schema())).into();
    versions[1]["deprecated"] = true.into();
    versions[2]["deprecated"] = true.into();
    versions[2]["deprecationWarning"] = "do not use this one".into();
    session.install(&definition("old.test", "Thing", "Cluster", versions)).await;
    for (version, expect) in [
        ("v1", ""),
        ("v1beta1", r#"299 - "old.test/v1beta1 Thing is deprecated; use old.test/v1 Thing""#),
        ("v1alpha1", r#"299 - "do not use this one""#),
    ] {
        let path = format!("/apis/old.test/{version}/things");
        let thing = object(&format!("old.test/{version}"), "Thing", version, json!({}));
        let created = session.post(&path, &thing).await;
        assert_eq!((created.code, created.header("warning")), (201, expect));
        assert_eq!(session.get(&path).await.header("warning"), expect);
        assert_eq!(session.get(&format!("{path}/{version}")).await.header("warning"), expect);
        assert_eq!(session.delete(&format!("{path}/{version}")).await.header("warning"), expect);
    }
    session.uninstall("things.old.test").await;
}

async fn versions_show_the_same_objects(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut wider = plain_schema();
    wider["properties"]["spec"]["properties"]["extra"] = json!({"type": "string", "default": "filled"});
    let versions = vec![
        version("v1beta1", &plain_schema()),
        version("v1", &wider),
        version("v2alpha1", &plain_schema()),
    ];
    session.install(&definition("versions.test", "Thing", "Namespaced", versions)).await;
    let path = |version: &str| format!("/apis/versions.test/{version}/namespaces/default/things");
    let mut watches = Vec::new();
    for version in ["v1", "v1beta1"] {
        watches.push((version, session.watch(&path(version), "").await));
    }
    let thing = object("versions.test/v1beta1", "Thing", "a", json!({"color": "red"}));
    session.post(&path("v1beta1"), &thing).await.gives(201);
    let shown = session.get(&format!("{}/a", path("v1"))).await.gives(200);
    assert_eq!(shown["apiVersion"], "versions.test/v1");
    // Defaults are those of the version that was written; of what is read, those of the one that is stored.
    assert_eq!(shown["spec"], json!({"color": "red"}));
    let other = object("versions.test/v1", "Thing", "other", json!({}));
    let other = session.post(&format!("{}?dryRun=All", path("v1")), &other).await.gives(201);
    // Fields that the stored version does not know are pruned, also in a dry run.
    assert_eq!(other["spec"], json!({}));
    let list = session.get(&path("v1")).await.gives(200);
    assert_eq!(
        (&list["apiVersion"], &list["items"][0]["apiVersion"]),
        (&"versions.test/v1".into(), &"versions.test/v1".into())
    );
    let shown = session.get(&format!("{}/a", path("v1beta1"))).await.gives(200);
    assert_eq!(shown["spec"], json!({"color": "red"}));
    // Written through one, seen through the others; each field is managed in the version that wrote it.
    let changed =
        session.merge(&format!("{}/a", path("v2alpha1")), &json!({"spec": {"size": 7}})).await.gives(200);
    assert_eq!(changed["apiVersion"], "versions.test/v2alpha1");
    let versions: Vec<&Value> = changed["metadata"]["managedFields"]
        .as_array()
        .expect("managers")
        .iter()
        .map(|manager| &manager["apiVersion"])
        .collect();
    assert!(versions.contains(&&"versions.test/v2alpha1".into()), "{versions:?}");
    assert_eq!(session.get(&format!("{}/a", path("v1"))).await.gives(200)["spec"]["size"], 7);
    for (version, watch) in &mut watches {
        for kind in ["ADDED", "MODIFIED"] {
            let event = watch.line().await.expect("an event");
            assert_eq!(event["type"], kind, "{version}");
            assert_eq!(event["object"]["apiVersion"], format!("versions.test/{version}"));
        }
    }
    // The order of versions is that of their names, not that of the definition.
    let found = session.get("/apis/versions.test").await.gives(200);
    let order: Vec<&Value> =
        found["versions"].as_array().expect("versions").iter().map(|one| &one["version"]).collect();
    assert_eq!(order, ["v1", "v1beta1", "v2alpha1"]);
    assert_eq!(found["preferredVersion"]["version"], "v1");
    session.uninstall("things.versions.test").await;
}

async fn tables_have_the_columns_of_the_definition(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut columns = version("v1", &plain_schema());
    columns["additionalPrinterColumns"] = json!([
        {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "how big"},
        {"name": "Tag", "type": "string", "jsonPath": ".spec.tags[0]"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    session
        .install(&definition(
            "columns.test",
            "Thing",
            "Cluster",
            vec![columns, version("v2", &plain_schema())],
        ))
        .await;
    let path = "/apis/columns.test/v1/things";
    let spec = json!({"color": "red", "size": 4, "tags": ["x", "y"]});
    session.post(path, &object("columns.test/v1", "Thing", "a", spec)).await.gives(201);
    session.post(path, &object("columns.test/v1", "Thing", "b", json!({}))).await.gives(201);
    let mut connection = shared.server.admin().connect().await.expect("connect");
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = connection.send(Method::GET, path, &accept, "").await.expect("an answer").gives(200);
    let texts = |field: &str| -> Vec<&str> {
        let columns = table["columnDefinitions"].as_array().expect("columns").iter();
        columns.filter_map(|column| column[field].as_str()).collect()
    };
    assert_eq!(texts("name"), ["Name", "Color", "Size", "Tag", "Age"]);
    assert_eq!(texts("type"), ["string", "string", "integer", "string", "date"]);
    assert_eq!(table["columnDefinitions"][2]["priority"], 1);
    let rows: Vec<&Value> = table["rows"].as_array().expect("rows").iter().map(|row| &row["cells"]).collect();
    assert_eq!(
        rows[0].as_array().map(|cells| &cells[..4]),
        json!(["a", "red", 4, "x"]).as_array().map(|cells| &cells[..])
    );
    assert_eq!(
        rows[1].as_array().map(|cells| &cells[1..4]),
        json!([null, null, null]).as_array().map(|cells| &cells[..])
    );
    let plain =
        connection.send(Method::GET, "/apis/columns.test/v2/things", &accept, "").await.expect("an answer");
    let plain = plain.gives(200);
    assert_eq!(plain["columnDefinitions"].as_array().map(Vec::len), Some(2), "name and age: {plain}");
    session.uninstall("things.columns.test").await;
}
