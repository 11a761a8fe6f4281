//! The names that `--controllers` takes.

use super::with_controllers;
use crate::support::shared::ready;

#[tokio::test]
async fn a_controller_that_is_not_here_is_refused_in_words() {
    let error = with_controllers("deployment").fails().await;
    assert!(
        error.contains(
            "deployment-controller is the work of kube-controller-manager and is not in this process"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn entries_without_effect_are_warned_of() {
    let server = with_controllers("*,-deployment,-serviceaccount").start().await;
    ready(&server).await;
    let log = server.stderr();
    assert!(log.contains("deployment-controller need not be left out: it is not in this process"), "{log}");
    assert!(
        log.contains("serviceaccount-controller cannot be left out: this server always does its work"),
        "{log}"
    );
}
