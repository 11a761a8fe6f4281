//! Request headers that name a user: trusted from front proxies, ignored from other clients.

use std::path::Path;
use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::support::{ALICE, Answer, Authority, Client, Launch, MASTER, Server, eventually};

const GUARDED: &str = "/metrics";
const SMUGGLED: [(&str, &str); 2] = [("x-remote-user", "admin"), ("x-remote-group", "system:masters")];

struct Fixture {
    server: Server,
    proxies: Authority,
}

async fn fixture(flags: &[&str]) -> Fixture {
    let launch = Launch::new().tokens();
    let proxies = Authority::new("proxies");
    let file = proxies.write(launch.dir(), "proxies.crt");
    let server = launch
        .arg(format!("--requestheader-client-ca-file={}", file.display()))
        .arg("--requestheader-allowed-names=front")
        .args(flags)
        .start()
        .await;
    Fixture { server, proxies }
}

const USUAL: [&str; 4] = [
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-uid-headers=X-Remote-Uid",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
];

async fn ask(client: &Client, headers: &[(&str, &str)]) -> Answer {
    client.request(Method::GET, GUARDED, headers, "").await
}

#[tokio::test]
async fn a_proxy_passes_on_whoever_it_says() {
    let Fixture { server, proxies } = fixture(&USUAL).await;
    for client in [server.client(), server.client().http2()] {
        let client = client.identity(&proxies.client("front", &[]));
        assert_eq!(ask(&client, &SMUGGLED).await.code, 200);
        let message = "forbidden: User \"ann\" cannot get path \"/metrics\"";
        ask(&client, &[("x-remote-user", "ann")]).await.is_status(403, "Forbidden", message);
        // Its own certificate is of no authority that clients' are of.
        ask(&client, &[]).await.is_status(401, "Unauthorized", "Unauthorized");
    }
}

#[tokio::test]
async fn one_connection_of_a_proxy_carries_many_users() {
    let Fixture { server, proxies } = fixture(&USUAL).await;
    let mut connection =
        server.client().identity(&proxies.client("front", &[])).connect().await.expect("connect");
    for (group, code) in [("system:masters", 200), ("devs", 403), ("system:masters", 200)] {
        let headers = [("x-remote-user", "ann"), ("x-remote-group", group)];
        assert_eq!(connection.send(Method::GET, GUARDED, &headers, "").await.expect("an answer").code, code);
    }
}

#[tokio::test]
async fn headers_of_other_clients_are_ignored() {
    let Fixture { server, proxies } = fixture(&USUAL).await;
    let anonymous = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    ask(&server.client(), &SMUGGLED).await.is_status(403, "Forbidden", anonymous);
    let alice = "forbidden: User \"alice\" cannot get path \"/metrics\"";
    ask(&server.client().token(ALICE), &SMUGGLED).await.is_status(403, "Forbidden", alice);
    let unlisted = server.client().identity(&proxies.client("back", &[]));
    ask(&unlisted, &SMUGGLED).await.is_status(401, "Unauthorized", "Unauthorized");
    let stranger = server.client().identity(&Authority::new("proxies").client("front", &[]));
    ask(&stranger, &SMUGGLED).await.is_status(401, "Unauthorized", "Unauthorized");
    let expired = server.client().identity(&proxies.expired_client("front", &[]));
    ask(&expired, &SMUGGLED).await.is_status(401, "Unauthorized", "Unauthorized");
    // With a valid client certificate, the user is that of the certificate.
    let smuggled = [("x-remote-user", "nobody")];
    assert_eq!(ask(&server.admin(), &smuggled).await.code, 200, "the administrator is no proxy");
}

#[tokio::test]
async fn without_a_proxy_s_authority_the_headers_mean_nothing_at_all() {
    let server = Launch::new().args(&USUAL).start().await;
    let message = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    ask(&server.client(), &SMUGGLED).await.is_status(403, "Forbidden", message);
}

#[tokio::test]
async fn other_names_of_headers_can_be_chosen() {
    let flags = [
        "--requestheader-username-headers=X-First,X-Second",
        "--requestheader-group-headers=X-Team",
        "--requestheader-extra-headers-prefix=X-More-",
    ];
    let Fixture { server, proxies } = fixture(&flags).await;
    let client = server.client().identity(&proxies.client("front", &[]));
    let named = [("x-first", ""), ("x-second", "ann"), ("x-team", "devs"), ("x-team", "system:masters")];
    assert_eq!(ask(&client, &named).await.code, 200);
    assert_eq!(ask(&client, &SMUGGLED).await.code, 401, "these are not what it listens to");
}

#[tokio::test]
async fn a_new_authority_of_proxies_is_taken_up_while_running() {
    let Fixture { server, proxies } = fixture(&USUAL).await;
    let next = Authority::new("next");
    let client = server.client().identity(&next.client("front", &[]));
    assert_eq!(ask(&client, &SMUGGLED).await.code, 401);
    let file = server.dir().join("proxies.crt");
    std::fs::write(&file, "broken").expect("write");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let old = server.client().identity(&proxies.client("front", &[]));
    assert_eq!(ask(&old, &SMUGGLED).await.code, 200, "a broken file changes nothing");
    std::fs::write(&file, &next.pem).expect("write");
    eventually("the new authority counts", async || ask(&client, &SMUGGLED).await.code == 200).await;
    assert_eq!(ask(&old, &SMUGGLED).await.code, 401, "and the old one does not");
}

#[tokio::test]
async fn other_servers_of_the_cluster_are_told_whom_to_believe() {
    const MAP: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let launch = Launch::new().tokens();
    let (clients, proxies) = (Authority::new("clients"), Authority::new("proxies"));
    let (clients_file, proxies_file) =
        (clients.write(launch.dir(), "clients.crt"), proxies.write(launch.dir(), "proxies.crt"));
    let server = launch
        .arg(format!("--client-ca-file={}", clients_file.display()))
        .arg(format!("--requestheader-client-ca-file={}", proxies_file.display()))
        .arg("--requestheader-allowed-names=front,back")
        .args(&USUAL)
        .start()
        .await;
    let master = server.client().token(MASTER);
    let data = async || master.get(MAP).await.json()["data"].clone();
    eventually("the config map is there", async || master.get(MAP).await.code == 200).await;
    let pem = |file: &Path| std::fs::read_to_string(file).expect("read").replace("\r\n", "\n");
    let first = pem(&clients_file);
    assert_eq!(
        data().await,
        json!({
            "client-ca-file": first,
            "requestheader-allowed-names": "[\"front\",\"back\"]",
            "requestheader-client-ca-file": pem(&proxies_file),
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-uid-headers": "[\"X-Remote-Uid\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]",
        })
    );
    assert_eq!(master.request(Method::DELETE, MAP, &[], "").await.code, 200);
    eventually("it comes again", async || master.get(MAP).await.code == 200).await;
    let other = Authority::new("other clients");
    other.write(server.dir(), "clients.crt");
    let both = format!("{first}{}", pem(&clients_file));
    eventually("a new authority is told of", async || data().await["client-ca-file"] == *both).await;

    // Connections and the config map follow the file each by itself.
    let ann = other.client("ann", &[]);
    let is_known = async || server.client().identity(&ann).get("/version").await.code == 200;
    eventually("its clients are known", is_known).await;
    let metrics = master.get(GUARDED).await.body;
    let lasting = "apiserver_client_certificate_expiration_seconds_bucket{le=\"0\"} 0\n";
    assert!(metrics.contains(lasting), "{metrics}");
    assert!(!metrics.contains("apiserver_client_certificate_expiration_seconds_count 0\n"), "{metrics}");
}
