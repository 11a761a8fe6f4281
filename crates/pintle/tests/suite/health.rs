//! /healthz, /livez and /readyz in the reference's words.

use crate::support::etcd::{Etcd, Version};
use crate::support::{Launch, Server, eventually, free_port};

/// The checks of the boot sequence, all passed.
pub(crate) const HOOKS: &str = "[+]poststarthook/start-apiserver-admission-initializer ok\n\
     [+]poststarthook/generic-apiserver-start-informers ok\n\
     [+]poststarthook/priority-and-fairness-config-consumer ok\n\
     [+]poststarthook/priority-and-fairness-filter ok\n\
     [+]poststarthook/storage-object-count-tracker-hook ok\n\
     [+]poststarthook/start-apiextensions-informers ok\n\
     [+]poststarthook/start-apiextensions-controllers ok\n\
     [+]poststarthook/crd-informer-synced ok\n\
     [+]poststarthook/start-system-namespaces-controller ok\n\
     [+]poststarthook/start-cluster-authentication-info-controller ok\n\
     [+]poststarthook/start-kube-apiserver-identity-lease-controller ok\n\
     [+]poststarthook/start-kube-apiserver-identity-lease-garbage-collector ok\n\
     [+]poststarthook/storage-readiness ok\n\
     [+]poststarthook/start-legacy-token-tracking-controller ok\n\
     [+]poststarthook/start-service-ip-repair-controllers ok\n\
     [+]poststarthook/rbac/bootstrap-roles ok\n\
     [+]poststarthook/scheduling/bootstrap-system-priority-classes ok\n\
     [+]poststarthook/priority-and-fairness-config-producer ok\n\
     [+]poststarthook/bootstrap-controller ok\n\
     [+]poststarthook/start-kubernetes-service-cidr-controller ok\n\
     [+]poststarthook/start-kube-aggregator-informers ok\n\
     [+]poststarthook/apiservice-status-local-available-controller ok\n\
     [+]poststarthook/apiservice-status-remote-available-controller ok\n\
     [+]poststarthook/apiservice-registration-controller ok\n\
     [+]poststarthook/apiservice-discovery-controller ok\n\
     [+]poststarthook/kube-apiserver-autoregistration ok\n\
     [+]autoregister-completion ok\n\
     [+]poststarthook/apiservice-openapi-controller ok\n\
     [+]poststarthook/apiservice-openapiv3-controller ok\n";

async fn ready(server: &Server) {
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
}

#[tokio::test]
async fn verbose_lists_every_check_in_order() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let hook = HOOKS;
    let answer = server.client().get("/readyz?verbose").await;
    answer.is(
        200,
        &format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n{hook}[+]shutdown ok\nreadyz check passed\n"),
    );
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    for name in ["livez", "healthz"] {
        let expect = format!(
            "[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd ok\n{hook}{name} check passed\n"
        );
        server.client().get(&format!("/{name}?verbose=true")).await.is(200, &expect);
        server.client().get(&format!("/{name}")).await.is(200, "ok");
    }
}

/// Checks of the reference that this server does not have yet: those of other servers' versions.
const NOT_YET: [&str; 1] = ["poststarthook/peer-endpoint-reconciler-controller"];

/// Paths of the index that only this server has, and its checks that are not of the reference.
const OWN: [&str; 2] = ["/snapshot", "poststarthook/start-in-process-controllers"];

#[tokio::test]
async fn checks_and_paths_are_those_of_the_reference() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let Some(folder) = pintle_published::upstream("health checks and the index of paths") else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("published data");
    let is_here = |line: &&str| !NOT_YET.iter().any(|name| line.contains(name));
    for name in ["readyz", "livez"] {
        let found = server.client().get(&format!("/{name}?verbose")).await;
        let text = read(&format!("{name}.txt"));
        let expect: Vec<&str> = text.lines().filter(is_here).collect();
        assert_eq!(found.body.lines().collect::<Vec<_>>(), expect, "{name}");
    }
    let index: serde_json::Value = serde_json::from_str(&read("index.json")).expect("JSON");
    let paths = |index: &serde_json::Value| -> Vec<String> {
        let paths = index["paths"].as_array().expect("paths").iter();
        paths.map(|path| path.as_str().expect("a path").to_owned()).collect()
    };
    let expect: Vec<String> = paths(&index).into_iter().filter(|path| is_here(&path.as_str())).collect();
    let found = paths(&server.admin().get("/").await.gives(200));
    let found: Vec<String> =
        found.into_iter().filter(|path| !OWN.iter().any(|own| path.contains(own))).collect();
    assert_eq!(found, expect);
}

#[tokio::test]
async fn excluded_checks_are_left_out_and_unknown_ones_are_named() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let rest = HOOKS;
    server
        .client()
        .get("/livez?verbose&exclude=etcd")
        .await
        .is(200, &format!("[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd excluded: ok\n{rest}livez check passed\n"));
    server.client().get("/livez?verbose&exclude=etcd&exclude=log").await.is(
        200,
        &format!("[+]ping ok\n[+]log excluded: ok\n[+]loopback-serving-certificate ok\n[+]etcd excluded: ok\n{rest}livez check passed\n"),
    );
    server.client().get("/livez?verbose&exclude=zoo&exclude=a%22b&exclude=etcd").await.is(
        200,
        &format!(
            "[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd excluded: ok\n{rest}\
             warn: some health checks cannot be excluded: no matches for \"a\\\"b\",\"zoo\"\nlivez check passed\n"
        ),
    );
    server.client().get("/livez?exclude=zoo").await.is(200, "ok");
}

#[tokio::test]
async fn a_single_check_has_a_path_for_those_who_may() {
    let server = Launch::new().start().await;
    ready(&server).await;
    for path in [
        "/readyz/ping",
        "/readyz/etcd",
        "/readyz/etcd-readiness",
        "/readyz/shutdown",
        "/livez/poststarthook/storage-readiness",
        "/healthz/log",
    ] {
        server.admin().get(path).await.is(200, "ok");
        assert_eq!(server.client().get(path).await.code, 403, "{path}");
    }
    for path in ["/readyz/nope", "/livez/shutdown", "/healthz/"] {
        server.admin().get(path).await.is(404, "404 page not found\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_etcd_shows_and_its_return_too() {
    let mut etcd = Etcd::start(Version::New);
    let launch = Launch::bare();
    let pki = launch.path("pki");
    let launch = launch.cert_dir(pki).args(&[
        format!("--etcd-servers={}", etcd.endpoint()),
        "--bind-address=127.0.0.1".into(),
        "--authorization-mode=Node,RBAC".into(),
        "--etcd-healthcheck-timeout=300ms".into(),
        "--etcd-readycheck-timeout=300ms".into(),
    ]);
    let server = launch.start().await;
    ready(&server).await;
    etcd.stop();
    eventually("the loss", async || server.client().get("/readyz").await.code == 500).await;
    let hook = HOOKS;
    let failed = server.client().get("/readyz").await;
    failed.is(
        500,
        &format!(
            "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n\
             [+]informer-sync ok\n{hook}[+]shutdown ok\nreadyz check failed\n"
        ),
    );
    assert_eq!(failed.header("content-type"), "text/plain; charset=utf-8");
    for name in ["livez", "healthz"] {
        let expect = format!(
            "[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[-]etcd failed: reason withheld\n\
             {hook}{name} check failed\n"
        );
        server.client().get(&format!("/{name}")).await.is(500, &expect);
        server.client().get(&format!("/{name}?exclude=etcd")).await.is(200, "ok");
    }
    let reason = server.admin().get("/readyz/etcd").await;
    assert_eq!(reason.code, 500);
    assert!(reason.body.starts_with("internal server error: "), "{reason:?}");
    let metrics = server.admin().get("/metrics/slis").await.body;
    assert!(metrics.contains("kubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 0"), "{metrics}");
    assert!(etcd.run(), "etcd starts again");
    eventually("the return", async || server.client().get("/readyz").await.code == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_comes_late_is_waited_for() {
    let etcd = Etcd::start(Version::New);
    etcd.signal("STOP");
    let launch = Launch::bare();
    let pki = launch.path("pki");
    let launch = launch
        .cert_dir(pki)
        .args(&[format!("--etcd-servers={}", etcd.endpoint()), "--bind-address=127.0.0.1".into()])
        .arg("--authorization-mode=Node,RBAC");
    let mut server = launch.spawn(Some(free_port()));
    eventually("a word about it", async || server.stderr().contains("etcd does not answer yet")).await;
    etcd.signal("CONT");
    server.until_it_serves().await.expect("a start");
    ready(&server).await;
}
