//! Metrics of requests for resources.

use http::Method;

use crate::support::{Launch, Server, eventually};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The value of a metric of config maps with these other labels.
async fn value(server: &Server, name: &str, labels: &[&str]) -> Option<f64> {
    let text = server.admin().get("/metrics").await.body;
    let found = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    let mut found = found.filter(|line| {
        line.contains("resource=\"configmaps\"") && labels.iter().all(|label| line.contains(label))
    });
    let line = found.next()?;
    assert_eq!(found.next(), None, "{name} {labels:?} is one");
    line.rsplit_once(' ')?.1.parse().ok()
}

#[tokio::test]
async fn requests_are_counted_as_the_reference_does() {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let headers = [("content-type", "application/json")];
    let object = r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#;
    for (method, path, body, code) in [
        (Method::POST, MAPS.to_owned(), object, 201),
        (Method::POST, MAPS.to_owned(), object, 409),
        (Method::POST, format!("{MAPS}?dryRun=All"), object, 409),
        (Method::POST, format!("{MAPS}?dryRun=some"), object, 422),
        (Method::GET, format!("{MAPS}/a"), "", 200),
        (Method::GET, format!("{MAPS}/a"), "", 200),
        (Method::GET, format!("{MAPS}/b"), "", 404),
        (Method::GET, MAPS.to_owned(), "", 200),
        (Method::GET, "/api/v1/configmaps".to_owned(), "", 200),
        (Method::PUT, format!("{MAPS}/a"), object, 200),
        (Method::DELETE, format!("{MAPS}/a"), "", 200),
        (Method::DELETE, MAPS.to_owned(), "", 200),
        // Not counted: no such subresource or method is served.
        (Method::POST, format!("{MAPS}/a/nothing"), "", 404),
        (Method::PATCH, MAPS.to_owned(), "", 405),
    ] {
        let answer = admin.request(method, &path, &headers, body).await;
        assert_eq!(answer.code, code, "{path}: {answer:?}");
    }
    // An answer is counted when it is sent, which its reader may see first.
    eventually("the last request", async || {
        let labels = ["verb=\"DELETE\"", "scope=\"namespace\""];
        value(&server, "apiserver_request_total", &labels).await.is_some()
    })
    .await;
    for (labels, expect) in [
        (&["verb=\"POST\"", "scope=\"resource\"", "code=\"201\"", "dry_run=\"\""][..], 1.0),
        (&["verb=\"POST\"", "code=\"409\"", "dry_run=\"\""], 1.0),
        (&["verb=\"POST\"", "code=\"409\"", "dry_run=\"All\""], 1.0),
        (&["verb=\"POST\"", "code=\"422\"", "dry_run=\"invalid\""], 1.0),
        (&["verb=\"GET\"", "scope=\"resource\"", "code=\"200\"", "component=\"apiserver\""], 2.0),
        (&["verb=\"GET\"", "code=\"404\"", "version=\"v1\"", "group=\"\"", "subresource=\"\""], 1.0),
        (&["verb=\"LIST\"", "scope=\"namespace\""], 1.0),
        (&["verb=\"LIST\"", "scope=\"cluster\""], 1.0),
        (&["verb=\"PUT\"", "scope=\"resource\""], 1.0),
        (&["verb=\"DELETE\"", "scope=\"resource\""], 1.0),
        (&["verb=\"DELETE\"", "scope=\"namespace\""], 1.0),
    ] {
        assert_eq!(value(&server, "apiserver_request_total", labels).await, Some(expect), "{labels:?}");
    }
    let gets = ["verb=\"GET\"", "scope=\"resource\""];
    assert_eq!(value(&server, "apiserver_request_duration_seconds_count", &gets).await, Some(3.0));
    assert_eq!(value(&server, "apiserver_request_sli_duration_seconds_count", &gets).await, Some(3.0));
    assert_eq!(value(&server, "apiserver_response_sizes_count", &gets).await, Some(3.0));
    assert!(value(&server, "apiserver_response_sizes_sum", &gets).await.is_some_and(|sum| sum > 300.0));
    assert_eq!(value(&server, "apiserver_response_sizes_count", &["verb=\"POST\""]).await, None);
    assert_eq!(value(&server, "apiserver_request_total", &["verb=\"PATCH\""]).await, None);
}

#[tokio::test]
async fn watches_are_counted_while_they_last() {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    let (admin, headers) = (server.admin(), [("content-type", "application/json")]);
    let labels = ["verb=\"WATCH\"", "scope=\"namespace\"", "component=\"apiserver\""];
    let watches = async || value(&server, "apiserver_longrunning_requests", &labels).await;
    let mut two = [0, 1].map(|_| None);
    for watch in &mut two {
        *watch = Some(admin.follow(&format!("{MAPS}?watch=1"), &[]).await);
    }
    assert_eq!(watches().await, Some(2.0));
    let object = r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#;
    assert_eq!(admin.request(Method::POST, MAPS, &headers, object).await.code, 201);
    for watch in two.iter_mut().flatten() {
        assert_eq!(watch.line().await.expect("an event")["type"], "ADDED");
    }
    assert_eq!(value(&server, "apiserver_watch_events_total", &["version=\"v1\""]).await, Some(2.0));
    assert_eq!(value(&server, "apiserver_watch_events_sizes_count", &["group=\"\""]).await, Some(2.0));
    assert_eq!(value(&server, "apiserver_request_total", &["verb=\"WATCH\""]).await, None, "they go on");
    drop(two);
    eventually("their end", async || watches().await == Some(0.0)).await;
    assert_eq!(
        value(&server, "apiserver_request_total", &["verb=\"WATCH\"", "code=\"200\""]).await,
        Some(2.0)
    );
}

#[tokio::test]
async fn a_watch_that_begins_with_everything_is_timed_until_it_has_told_that() {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    let timed = async |scope: &str| {
        let labels = [&*format!("scope=\"{scope}\""), "version=\"v1\"", "group=\"\""];
        value(&server, "apiserver_watch_list_duration_seconds_count", &labels).await
    };
    let initial = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    for (path, scope) in [
        (format!("{MAPS}?{initial}"), "namespace"),
        (format!("/api/v1/configmaps?{initial}"), "cluster"),
        (format!("{MAPS}?{initial}&fieldSelector=metadata.name%3Da"), "resource"),
    ] {
        let mut watch = server.admin().follow(&path, &[]).await;
        while watch.line().await.expect("an event")["type"] != "BOOKMARK" {}
        assert_eq!(timed(scope).await, Some(1.0), "{path}");
    }
    server.admin().follow(&format!("{MAPS}?watch=1"), &[]).await;
    assert_eq!(timed("namespace").await, Some(1.0), "others are not timed");
}

#[tokio::test]
async fn deprecated_apis_that_are_asked_for_are_told() {
    let server = Launch::new().start().await;
    let of = |resource: &str, removal: &str| {
        format!(
            "apiserver_requested_deprecated_apis{{group=\"\",removed_release=\"{removal}\",resource=\"{resource}\",\
             subresource=\"\",version=\"v1\"}} 1\n"
        )
    };
    assert_eq!(server.admin().get("/api/v1/namespaces/default/endpoints").await.code, 200);
    assert_eq!(server.admin().get("/api/v1/nodes").await.code, 200);
    eventually("the figure", async || {
        server.admin().get("/metrics").await.body.contains(&of("endpoints", ""))
    })
    .await;
    let metrics = server.admin().get("/metrics").await.body;
    assert!(
        !metrics
            .contains("apiserver_requested_deprecated_apis{group=\"\",removed_release=\"\",resource=\"nodes")
    );
}
