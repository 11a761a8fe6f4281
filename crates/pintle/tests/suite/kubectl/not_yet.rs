//! Requests that this server does not implement yet, and its messages about them.

use super::OBJECTS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    missing_features_are_reported,
    strangers_are_refused,
}

async fn missing_features_are_reported(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "not-yet").await;
    kubectl.feed("create -f -", OBJECTS).await;
    kubectl.ok("create serviceaccount robot").await;
    kubectl.ok("create deployment web --image=nginx").await;
    for (words, expect) in [
        ("logs web", "get of pods/log is not implemented by this server yet"),
        ("exec web -- true", "of pods/exec is not implemented by this server yet"),
    ] {
        let complaint = kubectl.fails(words).await;
        assert!(complaint.contains(expect), "{words}: {complaint}");
    }
}

async fn strangers_are_refused(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    let complaint = kubectl.fails("get pods --as=alice").await;
    assert!(complaint.contains("(Forbidden)"), "{complaint}");
}
