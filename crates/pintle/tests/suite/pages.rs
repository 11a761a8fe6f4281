//! `/flagz` and `/statusz`: what a server tells about itself, as a text and as an object.

use http::Method;

use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Launch, MASTER, Server, eventually};

fn accept(version: &str, kind: &str) -> String {
    format!("application/json;g=config.k8s.io;v={version};as={kind}")
}

async fn get(server: &Server, path: &str, accept: &str) -> Answer {
    server.admin().request(Method::GET, path, &[("accept", accept)], "").await
}

#[tokio::test]
async fn pages_are_a_text_to_people_and_an_object_to_those_who_ask_for_it() {
    let server = Launch::new().args(&["--request-timeout=90s"]).start().await;
    for (path, name, kind) in [("/flagz", "flagz", "Flagz"), ("/statusz", "statusz", "Statusz")] {
        for asked in ["", "*/*", "text/plain", "application/json, */*"] {
            let text = get(&server, path, asked).await;
            assert_eq!(
                (text.code, text.header("content-type")),
                (200, "text/plain; charset=utf-8"),
                "{asked}"
            );
            let heading = format!(
                "\napiserver {name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting \
                 compatibility guarantees and is for debugging purposes only.\n"
            );
            assert!(text.body.starts_with(&heading), "{}", text.body);
        }
        let object = get(&server, path, &accept("v1beta1", kind)).await;
        let content_type = format!("application/json;g=config.k8s.io;v=v1beta1;as={kind}");
        assert_eq!((object.code, object.header("content-type")), (200, content_type.as_str()));
        assert_eq!(object.header("warning"), "");
        let start = format!(
            "{{\"kind\":\"{kind}\",\"apiVersion\":\"config.k8s.io/v1beta1\",\"metadata\":{{\"name\":\"apiserver\"}},"
        );
        assert!(object.body.starts_with(&start) && object.body.ends_with("}\n"), "{}", object.body);
        let older = get(&server, path, &accept("v1alpha1", kind)).await;
        assert_eq!(older.json()["apiVersion"], "config.k8s.io/v1alpha1");
        assert_eq!(
            older.header("warning"),
            format!(
                "299 - \"This version of the {name} endpoint is deprecated. Please use a newer version.\""
            )
        );
        let yaml = get(&server, path, &accept("v1beta1", kind).replace("json", "yaml")).await;
        assert!(yaml.body.starts_with("apiVersion: config.k8s.io/v1beta1\n"), "{}", yaml.body);
        for asked in ["application/json".to_owned(), accept("v1", kind), "text/html".to_owned()] {
            get(&server, path, &asked).await.is_status(
                406,
                "NotAcceptable",
                "only the following media types are accepted: application/json, application/yaml, text/plain",
            );
        }
    }
    let flags = get(&server, "/flagz", &accept("v1beta1", "Flagz")).await.json();
    assert_eq!(flags["flags"]["request-timeout"], "1m30s");
    assert_eq!(flags["flags"]["etcd-prefix"], "/registry");
    let status = get(&server, "/statusz", &accept("v1beta1", "Statusz")).await.json();
    assert_eq!((&status["binaryVersion"], &status["emulationVersion"]), (&"1.36.4".into(), &"1.36".into()));
    assert!(status["uptimeSeconds"].is_i64() && status["goVersion"].is_string(), "{status}");
    assert!(status["startTime"].as_str().is_some_and(|time| time.ends_with('Z')), "{status}");
    let paths: Vec<&str> =
        status["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    for path in ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/version"] {
        assert!(paths.contains(&path), "{paths:?}");
    }
    assert!(!paths.contains(&"/api") && !paths.contains(&"/statusz"), "{paths:?}");
    let counted = "resource=\"flagz\",scope=\"\",subresource=\"\",verb=\"GET\",version=\"v1alpha1\"} 1";
    eventually("figures", async || server.admin().get("/metrics").await.body.contains(counted)).await;
    let metrics = server.admin().get("/metrics").await.body;
    let deprecated = "apiserver_requested_deprecated_apis{group=\"config.k8s.io\",removed_release=\"\",resource=\"statusz\",\
                      subresource=\"\",version=\"v1alpha1\"} 1";
    assert!(metrics.contains(deprecated), "{metrics}");
}

#[tokio::test]
async fn pages_are_for_those_who_may_and_can_be_switched_off() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    for path in ["/flagz", "/statusz"] {
        assert_eq!(server.client().token(MASTER).get(path).await.code, 200, "{path}");
        assert_eq!(server.client().token(ALICE).get(path).await.code, 403, "{path}");
        assert_eq!(server.client().get(path).await.code, 403, "{path}");
    }
    let listed = server.client().token(MASTER).get("/").await.json()["paths"].to_string();
    assert!(listed.contains("\"/flagz\"") && listed.contains("\"/statusz\""), "{listed}");
    let off =
        Launch::new().args(&["--feature-gates=ComponentFlagz=false,ComponentStatusz=false"]).start().await;
    for path in ["/flagz", "/statusz"] {
        assert_eq!(off.admin().get(path).await.code, 404, "{path}");
    }
}
