//! Names of webhooks that have another address at each lookup.

use pintle_outbound::hosts::Hosts;
use pintle_outbound::testing::{HttpsOptions, Names};

use super::*;

/// Starts `https://hook.example.com`, which denies every request in its own words and closes each connection if `closes`.
async fn denying(words: &'static str, closes: bool) -> HttpsServer {
    let options = HttpsOptions { names: vec!["hook.example.com"], ..HttpsOptions::default() };
    HttpsServer::start_with(options, move |seen| {
        let reply = reply(seen, json!({"allowed": false, "status": {"message": words}}));
        if closes { reply.with("connection", "close") } else { reply }
    })
    .await
}

#[tokio::test]
async fn the_name_of_a_webhook_is_looked_up_once_for_each_connection() {
    for closes in [false, true] {
        let (first, second) = (denying("first", closes).await, denying("second", closes).await);
        let names = Names::new([vec![first.address], vec![second.address]]);
        let mut fixture = Fixture::new().await;
        fixture.cluster.cluster.hosts = Hosts::new(names.clone());
        let authorities = STANDARD.encode(format!("{}{}", first.authority.pem, second.authority.pem));
        let there = json!({"url": "https://hook.example.com/", "caBundle": authorities});
        let hook = with(hook("a.io", &first, "/"), json!({"clientConfig": there}));
        fixture.configure(Resource::ValidatingWebhookConfiguration, "c", &[hook]).await;
        let plugin = fixture.validating();
        let rejected = async |by: &str| {
            let expected = format!("admission webhook \"a.io\" denied the request: {by}");
            assert_eq!(fixture.rejection(&plugin).await, Some(expected), "{closes}");
        };
        assert_eq!(names.lookups().len(), 0);
        rejected("first").await;
        assert_eq!(names.lookups(), ["hook.example.com:443"]);
        // The address changes for new connections alone.
        rejected(if closes { "second" } else { "first" }).await;
        let connections = (first.connections(), second.connections());
        let (lookups, expected) = if closes { (2, (1, 1)) } else { (1, (1, 0)) };
        assert_eq!((names.lookups().len(), connections), (lookups, expected));
    }
}
