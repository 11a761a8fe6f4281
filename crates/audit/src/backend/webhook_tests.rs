//! A webhook that answers, is down, slow, and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pintle_outbound::testing::{HttpsServer, Reply};
use pintle_outbound::{ClientOptions, Kubeconfig};

use super::testing::{World, event, number};
use super::*;

async fn webhook(server: &HttpsServer, world: &World) -> WebhookBackend {
    let config = server.kubeconfig("/audit?x=y");
    let kubeconfig = Kubeconfig::parse(config.as_bytes(), std::path::Path::new("/")).unwrap();
    let metrics = world.surroundings.metrics.clone();
    WebhookBackend::new(&kubeconfig, Duration::from_millis(5), ClientOptions::default(), metrics).unwrap()
}

fn ids(body: &serde_json::Value) -> Vec<usize> {
    assert_eq!((&body["kind"], &body["apiVersion"]), (&"EventList".into(), &"audit.k8s.io/v1".into()));
    let items = body["items"].as_array().unwrap();
    items.iter().map(|item| item["auditID"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn events_are_posted_as_a_list_and_any_answer_of_success_will_do() {
    let world = World::new();
    for reply in [Reply::text(200, ""), Reply::text(200, "thanks"), Reply::text(204, "")] {
        let status = reply.status;
        let body = reply.body.clone();
        let server =
            HttpsServer::start(move |_| Reply { body: body.clone(), ..Reply::text(status, "") }).await;
        let webhook = webhook(&server, &world).await;
        assert!(webhook.process(&[event(1), event(2)]).await);
        let seen = server.seen();
        assert_eq!((seen.len(), seen[0].method.as_str(), ids(&seen[0].json())), (1, "POST", vec![1, 2]));
        assert!(seen[0].path.contains("timeout=30s"), "{}", seen[0].path);
    }
}

#[tokio::test]
async fn every_failure_is_tried_again_and_the_last_one_counts() {
    let world = World::new();
    let server = HttpsServer::start(|_| Reply::text(403, "no")).await;
    let webhook = webhook(&server, &world).await;
    assert!(!webhook.process(&[event(1), event(2)]).await);
    assert_eq!((server.seen().len(), world.lost("webhook")), (5, 2));
}

#[tokio::test]
async fn a_webhook_that_comes_back_gets_what_was_kept() {
    let world = World::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let server = HttpsServer::start({
        let calls = calls.clone();
        // Down, then slow, then well.
        move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            0..3 => Reply::text(500, "down"),
            3 => Reply::text(200, "").after(Duration::from_millis(50)),
            _ => Reply::text(200, ""),
        }
    })
    .await;
    let delegate = Arc::new(webhook(&server, &world).await);
    let config = BatchConfig {
        buffer_size: 100,
        max_size: 10,
        max_wait: Duration::from_millis(10),
        throttle: None,
        side_by_side: true,
    };
    let delivery = Delivery { mode: Mode::Batch(config), truncate: None };
    let backend = delivering(delegate, &delivery, &world.surroundings);
    for number in 0..35 {
        assert!(backend.process(&[event(number)]).await);
    }
    backend.shut_down().await;
    let mut delivered: Vec<usize> = server
        .seen()
        .iter()
        .filter(|seen| !seen.body.is_empty())
        .flat_map(|seen| ids(&seen.json()))
        .collect();
    delivered.sort_unstable();
    delivered.dedup();
    assert_eq!(delivered, (0..35).collect::<Vec<_>>());
    assert_eq!((world.lost("webhook"), world.lost("buffered")), (0, 0));
    assert_eq!(number(&event(3)), 3);
}
