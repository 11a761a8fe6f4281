//! Pages of lists at an old revision: the same whether memory or the store has them, and no larger than the page.

use http::Method;
use serde_json::{Value, json};

use crate::support::etcd::{Etcd, Version};
use crate::support::{Client, Launch, Server};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn write(admin: &Client, method: Method, path: &str, body: &Value, code: u16) {
    admin.request(method, path, JSON, body.to_string()).await.gives(code);
}

fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Pages of every list that is asked for in some way, each followed to its end.
async fn pages(server: &Server, revision: &str) -> Vec<Value> {
    const SELECTORS: [&str; 5] = [
        "",
        "&labelSelector=odd%3Dyes",
        "&labelSelector=none",
        "&fieldSelector=metadata.name%3Dm4",
        "&fieldSelector=metadata.namespace!%3Dp2",
    ];
    let admin = server.admin();
    let exact = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
    let mut found = Vec::new();
    for path in ["/api/v1/configmaps".to_owned(), maps("p1"), maps("p2"), maps("p3"), maps("nowhere")] {
        for selector in SELECTORS {
            found.push(admin.get(&format!("{path}?{exact}{selector}")).await.gives(200));
            for limit in [1, 3, 500] {
                let mut query = format!("{path}?{exact}&limit={limit}{selector}");
                loop {
                    let page = admin.get(&query).await.gives(200);
                    assert_eq!(page["metadata"]["resourceVersion"], revision, "{query}");
                    let token = page["metadata"]["continue"].as_str().map(str::to_owned);
                    found.push(page);
                    let Some(token) = token else { break };
                    query = format!("{path}?continue={token}&limit={limit}{selector}");
                }
            }
        }
    }
    found
}

async fn pages_are_the_same_wherever_they_come_from(launch: impl Fn() -> Launch) {
    let mut server = launch().start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    for namespace in ["p1", "p2", "p3"] {
        let body = json!({"metadata": {"name": namespace}});
        write(&admin, Method::POST, "/api/v1/namespaces", &body, 201).await;
        for number in 0..7 {
            let odd = if number % 2 == 1 { "yes" } else { "no" };
            let body = json!({"metadata": {"name": format!("m{number}"), "labels": {"odd": odd}}});
            write(&admin, Method::POST, &maps(namespace), &body, 201).await;
        }
    }
    let list = admin.get("/api/v1/configmaps").await.gives(200);
    let revision = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let now = pages(&server, &revision).await;
    assert_eq!(now[0]["items"], list["items"]);
    for namespace in ["p1", "p3"] {
        let path = maps(namespace);
        write(&admin, Method::DELETE, &format!("{path}/m1"), &json!({}), 200).await;
        write(&admin, Method::POST, &path, &json!({"metadata": {"name": "m9"}}), 201).await;
        let changed = json!({"metadata": {"name": "m3"}, "data": {"a": "b"}});
        write(&admin, Method::PUT, &format!("{path}/m3"), &changed, 200).await;
    }
    assert_eq!(pages(&server, &revision).await, now, "from the changes that are kept");
    server.stop().await;

    let gate = "--feature-gates=ListFromCacheSnapshot=false";
    for args in [&[][..], &[gate], &["--watch-cache=false"]] {
        let mut server = launch().args(args).start().await;
        server.until_it_has_namespaces().await;
        // The objects are in memory as they are now.
        server.admin().get("/api/v1/configmaps").await.gives(200);
        for (found, expected) in pages(&server, &revision).await.iter().zip(&now) {
            assert_eq!(found, expected, "from the store, with {args:?}");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn old_pages_are_the_same_from_memory_and_from_the_embedded_store() {
    let home = Launch::new();
    let data = home.path("shared");
    pages_are_the_same_wherever_they_come_from(|| Launch::new().data_dir(data.clone())).await;
}

#[tokio::test]
async fn old_pages_are_the_same_from_memory_and_from_etcd() {
    let etcd = Etcd::start(Version::New);
    pages_are_the_same_wherever_they_come_from(|| Launch::on_etcd(&etcd)).await;
}

/// A server that has 400 ConfigMaps of 100 KB and not, in memory, what they were at a revision before: a page that reads all of
/// them takes 40 MB.
async fn server_with_an_old_revision(launch: Launch) -> (Server, String) {
    const COUNT: usize = 400;
    let mut server = launch.start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let fill = async |admin: &Client, letter: &str, method: Method, code: u16| {
        let data = letter.repeat(100 * 1024);
        for number in 0..COUNT {
            let name = format!("m{number:03}");
            let body = json!({"metadata": {"name": name}, "data": {"a": data}});
            let path = maps("default") + &if code == 200 { format!("/{name}") } else { String::new() };
            write(admin, method.clone(), &path, &body, code).await;
        }
    };
    fill(&admin, "x", Method::POST, 201).await;
    let list = admin.get("/api/v1/configmaps?limit=1").await.gives(200);
    let revision = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    fill(&admin, "y", Method::PUT, 200).await;
    server.stop().await;

    // The changes are not kept by another process.
    let server = launch.start().await;
    server.until_it_has_namespaces().await;
    server.admin().get("/api/v1/configmaps?limit=1").await.gives(200);
    (server, revision)
}

/// Bytes by which the server's memory grows while 30 clients read the same page, and the number of objects in it.
async fn growth(server: &Server, revision: &str, query: &str) -> (u64, usize) {
    const CLIENTS: usize = 30;
    let (admin, before) = (server.admin(), server.peak());
    let path = format!("{}?{query}&resourceVersion={revision}&resourceVersionMatch=Exact", maps("default"));
    let pages = (0..CLIENTS).map(|_| async { admin.get(&path).await.gives(200) });
    let pages = futures_util::future::join_all(pages).await;
    let counts: Vec<usize> = pages.iter().filter_map(|page| page["items"].as_array().map(Vec::len)).collect();
    assert_eq!(counts, [counts[0]; CLIENTS]);
    (server.peak() - before, counts[0])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_at_an_old_revision_takes_the_memory_of_a_page() {
    let (server, revision) = server_with_an_old_revision(Launch::new()).await;
    let (more, count) = growth(&server, &revision, "limit=5").await;
    assert_eq!(count, 5);
    assert!(more < 300 << 20, "{} MB more", more >> 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_that_match_nothing_at_an_old_revision_take_the_memory_of_a_few_parts() {
    let (server, revision) = server_with_an_old_revision(Launch::new()).await;
    for query in [
        "limit=5&labelSelector=none",
        "labelSelector=none",
        "fieldSelector=metadata.name!%3Da,metadata.name%3Db",
    ] {
        let (more, count) = growth(&server, &revision, query).await;
        assert_eq!(count, 0, "{query}");
        assert!(more < 160 << 20, "{query}: {} MB more", more >> 20);
    }
}
