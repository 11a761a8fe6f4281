//! Objects are stored again in another storage version of their definition.

use serde_json::{Value, json};

use super::{is_gone, merge, post, with_controllers};
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Server, eventually};

const MIGRATIONS: &str = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com";
const GADGETS: &str = "/apis/example.com/v1/namespaces/default/gadgets";

fn versions(stored: &str) -> Value {
    let version = |name: &str| {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        json!({"name": name, "served": true, "storage": name == stored, "schema": schema})
    };
    json!([version("v1"), version("v2")])
}

async fn started() -> Server {
    let gate = "--feature-gates=StorageVersionMigrator=true";
    let served = "--runtime-config=storagemigration.k8s.io/v1beta1=true";
    let server = with_controllers("svm").args(&[gate, served]).start().await;
    ready(&server).await;
    let names =
        json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"});
    let definition = json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions("v1")},
    });
    post(&server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    eventually("the resource", async || server.admin().get(GADGETS).await.code == 200).await;
    server
}

async fn make_migration(server: &Server, name: &str, group: &str, resource: &str) {
    let spec = json!({"resource": {"group": group, "resource": resource}});
    post(server, MIGRATIONS, &json!({"metadata": {"name": name}, "spec": spec})).await;
}

async fn condition(server: &Server, path: &str, name: &str) -> Value {
    let found = server.admin().get(path).await.gives(200);
    let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|found| found["type"] == name).unwrap_or_default()
}

#[tokio::test]
async fn a_migration_leaves_one_stored_version() {
    let server = started().await;
    let mut before = Vec::new();
    for number in 0..3 {
        let name = format!("g{number}");
        let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}});
        let made = post(&server, GADGETS, &gadget).await;
        before.push(made["metadata"]["resourceVersion"].clone());
    }
    merge(&server, DEFINITION, &json!({"spec": {"versions": versions("v2")}})).await;
    eventually("both versions are stored", async || {
        let definition = server.admin().get(DEFINITION).await.gives(200);
        definition["status"]["storedVersions"] == json!(["v1", "v2"])
    })
    .await;
    make_migration(&server, "m", "example.com", "gadgets").await;
    let migration = format!("{MIGRATIONS}/m");
    eventually("it succeeds", async || {
        condition(&server, &migration, "Succeeded").await["status"] == "True"
            && condition(&server, &migration, "Running").await["status"] == "False"
    })
    .await;
    let definition = server.admin().get(DEFINITION).await.gives(200);
    assert_eq!(definition["status"]["storedVersions"], json!(["v2"]));
    let migrating = condition(&server, DEFINITION, "StorageMigrating").await;
    assert_eq!(migrating["status"], "False");
    let message = "The migration has succeeded and the stored versions have been updated";
    assert_eq!(migrating["message"], message);
    for (number, before) in before.iter().enumerate() {
        let gadget = server.admin().get(&format!("{GADGETS}/g{number}")).await.gives(200);
        assert_ne!(&gadget["metadata"]["resourceVersion"], before, "it was written again");
        assert_eq!(gadget["metadata"]["generation"], 1, "and not changed");
    }
    // kubectl waits for such a migration as for any object.
    let kubectl = Kubectl::of(&server);
    make_migration(&server, "n", "", "configmaps").await;
    kubectl.ok("wait --for=condition=Succeeded storageversionmigration/n --timeout=20s").await;
    assert!(!is_gone(&server, &migration).await);
}
