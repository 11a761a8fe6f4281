//! Requests that lead nowhere, and the server's messages about them.

use super::OBJECTS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    pods_without_a_kubelet_are_reported,
    strangers_are_refused,
}

async fn pods_without_a_kubelet_are_reported(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "nowhere").await;
    kubectl.feed("create -f -", OBJECTS).await;
    kubectl.ok("create serviceaccount robot").await;
    kubectl.ok("create deployment web --image=nginx").await;
    for (words, expect) in [
        ("logs web", "nodes \"worker\" not found"),
        ("exec web -- true", "nodes \"worker\" not found"),
        ("exec db -c main -- true", "pod db does not have a host assigned"),
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
