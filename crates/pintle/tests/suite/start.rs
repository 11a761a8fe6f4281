//! The first five minutes: a bare server, its files, and kubectl.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::kubectl::Kubectl;
use crate::support::{Launch, Server, eventually};

fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    metadata.permissions().mode() & 0o777
}

/// No flags but a port, with the user's directories below the temporary one.
async fn at_home() -> (Launch, Server) {
    let launch = Launch::bare();
    let data = launch.path("home/.local/share/pintle");
    let launch = launch.cert_dir_is(data.join("pki"));
    let server = launch.start().await;
    (launch, server)
}

#[tokio::test]
async fn a_bare_server_keeps_its_data_at_home_and_its_secrets_private() {
    let (_, server) = at_home().await;
    let pki = server.pki();
    assert!(pki.parent().is_some_and(|data| data.join("store").is_dir()), "a durable store");
    for secret in ["pintle-ca.key", "apiserver.key", "admin.key", "admin.kubeconfig"] {
        assert_eq!(mode(&pki.join(secret)), 0o600, "{secret}");
    }
    assert_eq!(mode(pki), 0o700);
    assert_eq!(
        mode(&pki.parent().expect("a data directory").join("store")) & 0o077,
        0,
        "the store is private"
    );
    server.client().get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn xdg_data_home_says_where_data_goes() {
    let launch = Launch::bare();
    let data = launch.path("xdg/pintle");
    let server = launch.env("XDG_DATA_HOME", data.parent().expect("a parent")).start().await;
    assert!(data.join("store").is_dir() && data.join("pki/admin.kubeconfig").is_file());
    assert!(server.stdout().contains(&format!("Data is in {}", data.display())), "{}", server.stdout());
}

#[tokio::test]
async fn the_banner_says_how_to_use_the_server() {
    let (_, server) = at_home().await;
    let banner = server.stdout();
    assert!(banner.contains(&format!("is serving on https://127.0.0.1:{}\n", server.port)), "{banner}");
    assert!(banner.contains(&format!("export KUBECONFIG={}\n", server.kubeconfig().display())), "{banner}");
    assert!(banner.contains("kubectl version") && banner.contains("Kubernetes v1.36"), "{banner}");
    assert!(banner.contains("Stop with Ctrl-C."), "{banner}");
}

#[tokio::test]
async fn without_any_flag_it_listens_on_loopback_port_6443() {
    let launch = Launch::bare();
    let mut server = launch.spawn(None);
    match server.until_it_serves().await {
        Ok(()) => assert!(server.stdout().contains("is serving on https://127.0.0.1:6443\n")),
        // Another process holds the port, and the error names it.
        Err(text) => assert!(text.contains("Error: cannot listen on 127.0.0.1:6443"), "{text}"),
    }
}

#[tokio::test]
async fn only_loopback_can_reach_a_bare_server() {
    let (_, server) = at_home().await;
    let port = format!("{:04X}", server.port);
    let listening: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // 0A: listening.
            (fields.get(3) == Some(&"0A")).then(|| fields[1].to_owned())
        })
        .filter(|address| address.ends_with(&format!(":{port}")))
        .collect();
    assert_eq!(listening, [format!("0100007F:{port}")]);
}

#[tokio::test]
async fn kubectl_works_with_the_generated_kubeconfig() {
    let (_, server) = at_home().await;
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
    let kubectl = Kubectl::of(&server);
    assert_eq!(kubectl.json("version").await["serverVersion"]["minor"], "36");
    assert!(kubectl.ok("get --raw /readyz?verbose").await.ends_with("readyz check passed\n"));
    let index: serde_json::Value = serde_json::from_str(&kubectl.ok("get --raw /").await).expect("JSON");
    assert!(index["paths"].as_array().is_some_and(|paths| paths.iter().any(|path| path == "/readyz")));
}

#[tokio::test]
async fn a_second_start_keeps_what_was_handed_out() {
    let (launch, mut first) = at_home().await;
    let read = |server: &Server, name: &str| std::fs::read(server.pki().join(name)).expect("a file");
    let (authority, copy) = (read(&first, "pintle-ca.crt"), first.admin());
    let serving = read(&first, "apiserver.crt");
    first.stop().await;
    let second = launch.start().await;
    assert_eq!(read(&second, "pintle-ca.crt"), authority, "the authority stays");
    assert_eq!(read(&second, "apiserver.crt"), serving, "nothing changed, so neither does the certificate");
    assert_eq!(copy.on_port(second.port).get("/metrics").await.code, 200, "an old client still gets in");
    Kubectl::of(&second).ok("version").await;
}

#[tokio::test]
async fn the_certificate_is_good_for_every_name_a_client_may_use() {
    let server = Launch::new().args(&["--service-cluster-ip-range=10.96.0.0/12"]).start().await;
    for name in [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "127.0.0.1",
        "::1",
        "10.96.0.1",
    ] {
        server.client().named(name).get("/healthz").await.is(200, "ok");
    }
    assert!(server.client().named("example.com").try_get("/healthz").await.is_err());
}

#[tokio::test]
async fn a_server_in_memory_leaves_nothing_behind() {
    let launch = Launch::bare().args(&["--data-dir=:memory:"]);
    let mut server = launch.start().await;
    assert!(server.stdout().contains("in memory, gone when it stops"), "{}", server.stdout());
    server.stop().await;
    let left: Vec<_> = std::fs::read_dir(launch.dir())
        .expect("the directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("run-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn help_and_version_print_and_end() {
    for (args, expect) in [(["--help"], "--etcd-servers"), (["--version"], "Kubernetes v1.36")] {
        let finished = Launch::bare().args(&args).run().await;
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(finished.stdout.contains(expect), "{}", finished.stdout);
    }
}

#[tokio::test]
async fn two_servers_may_share_a_port_when_both_agree() {
    let share = |launch: Launch| launch.args(&["--permit-port-sharing=true"]);
    let first = share(Launch::new()).start().await;
    let mut second = share(Launch::new()).spawn(Some(first.port));
    second.until_it_serves().await.expect("a second server on the port");
}

#[tokio::test]
async fn commands_of_the_banner_can_be_pasted() {
    let launch = Launch::bare().args(&["--data-dir=my data"]);
    let server = launch.start().await;
    let path = launch.path("my data/pki/admin.kubeconfig");
    assert!(
        server.stdout().contains(&format!("export KUBECONFIG='{}'\n", path.display())),
        "{}",
        server.stdout()
    );
}
