//! Discovery and OpenAPI documents under the flags that change them.

use crate::support::Launch;

const NOT_FOUND: &str = "the server could not find the requested resource";

#[tokio::test]
async fn disabled_group_versions_are_not_in_documents() {
    let flags = ["--runtime-config=apps/v1=false,batch/v1/jobs=false,networking.k8s.io/v1beta1=true"];
    let server = Launch::new().args(&flags).start().await;
    let admin = server.admin();
    for path in ["/apis/apps", "/apis/apps/v1", "/apis/apps/v1/deployments"] {
        admin.get(path).await.is(404, "404 page not found\n");
    }
    let batch = admin.get("/apis/batch/v1").await.json();
    let names: Vec<&str> = batch["resources"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|resource| resource["name"].as_str())
        .collect();
    assert_eq!(names, ["cronjobs", "cronjobs/status"]);
    admin.get("/apis/batch/v1/jobs").await.is_status(404, "NotFound", NOT_FOUND);
    assert_eq!(admin.get("/apis/networking.k8s.io/v1beta1").await.code, 200);
    let index = admin.get("/openapi/v3").await.json();
    assert!(index["paths"]["apis/apps/v1"].is_null() && index["paths"]["apis/batch/v1"].is_object());
}

#[tokio::test]
async fn a_version_that_there_is_not_stops_the_start() {
    let sentence = Launch::new().args(&["--runtime-config=apps/v9=true"]).fails().await;
    assert!(
        sentence.contains("--runtime-config: group version apps/v9 that has not been registered"),
        "{sentence}"
    );
}

#[tokio::test]
async fn clients_are_told_where_the_server_is() {
    let server = Launch::new().args(&["--external-hostname=api.example.com"]).start().await;
    let api = server.admin().get("/api").await.json();
    let address =
        api["serverAddressByClientCIDRs"][0]["serverAddress"].as_str().expect("an address").to_owned();
    assert!(address.starts_with("api.example.com:") && !address.ends_with(":0"), "{address}");
}

#[tokio::test]
async fn types_are_explained() {
    let server = Launch::new().start().await;
    let document = server.admin().get("/openapi/v3/apis/apps/v1").await.json();
    assert_eq!(document["info"]["version"], "1.36");
    let deployment = &document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    assert!(deployment["description"].as_str().is_some_and(|text| text.starts_with("Deployment ")));
}
