//! Addresses of endpoints, which must not lead the proxy of a node, or the API server, to services that listen on that machine
//! only (CVE-2021-25737).

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::{Shared, on_both_stores};
use crate::support::{Answer, Client};

on_both_stores! {
    endpoints_on_local_addresses_are_refused,
    endpoint_slices_on_local_addresses_are_refused,
}

const NAMESPACE: &str = "endpoint-addresses";
const LOCAL: &[(&str, &str)] = &[
    ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
    ("::", "may not be unspecified (::)"),
    ("127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("127.255.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("169.254.169.254", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ("fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ("224.0.0.1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ("ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
];
/// The same in spellings of old. Another error goes before that of the range, and they are refused all the same.
const SPELLINGS: &[&str] = &["127.0.0.01", "::ffff:127.0.0.1", "::ffff:169.254.169.254"];

async fn send(client: &Client, method: Method, path: &str, media_type: &str, body: &Value) -> Answer {
    client.request(method, path, &[("content-type", media_type)], body.to_string()).await
}

/// Writes an object by every verb with each address. `object` makes it of an address, `field` is where the error is.
async fn refuses(shared: &Shared, path: &str, name: &str, object: impl Fn(&str) -> Value, field: &str) {
    let client = shared.server.admin();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    send(&client, Method::POST, "/api/v1/namespaces", "application/json", &namespace).await;
    let one = format!("{path}/{name}");
    let texts = LOCAL.iter().map(|(address, why)| (*address, Some(*why)));
    for (address, why) in texts.chain(SPELLINGS.iter().map(|address| (*address, None))) {
        let good = object(if address.contains(':') { "fd00::1" } else { "10.0.0.1" });
        let wrong = object(address);
        let check = |answer: &Answer| {
            assert_eq!(answer.code, 422, "{address}: {answer:?}");
            if let Some(why) = why {
                let message = format!("Invalid value: {address:?}: {why}");
                let causes = answer.json()["details"]["causes"].clone();
                assert_eq!(causes[0]["message"], message, "{causes}");
                assert_eq!(causes[0]["field"], field);
            }
        };
        check(&send(&client, Method::POST, path, "application/json", &wrong).await);
        assert_eq!(client.get(&one).await.code, 404);
        let created = send(&client, Method::POST, path, "application/json", &good).await;
        assert_eq!(created.code, 201, "{created:?}");
        check(&send(&client, Method::PUT, &one, "application/json", &wrong).await);
        check(&send(&client, Method::PATCH, &one, "application/merge-patch+json", &wrong).await);
        let applied = format!("{one}?fieldManager=m&force=true");
        check(&send(&client, Method::PATCH, &applied, "application/apply-patch+yaml", &wrong).await);
        let stored = client.get(&one).await;
        assert!(!stored.body.contains(&format!("{address:?}")), "{}", stored.body);
        assert_eq!(client.request(Method::DELETE, &one, &[], "").await.code, 200);
    }
}

async fn endpoints_on_local_addresses_are_refused(shared: &Shared) {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/endpoints");
    for (list, name) in [("addresses", "ready"), ("notReadyAddresses", "others")] {
        let object = |address: &str| {
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name},
                "subsets": [{list: [{"ip": address}], "ports": [{"port": 80}]}]})
        };
        refuses(shared, &path, name, object, &format!("subsets[0].{list}[0].ip")).await;
    }
}

async fn endpoint_slices_on_local_addresses_are_refused(shared: &Shared) {
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
    let object = |address: &str| {
        let kind = if address.contains(':') { "IPv6" } else { "IPv4" };
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "s"},
            "addressType": kind, "ports": [{"port": 80}], "endpoints": [{"addresses": [address]}]})
    };
    refuses(shared, &path, "s", object, "endpoints[0].addresses[0]").await;
}
