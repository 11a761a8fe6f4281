use std::cell::Cell;
use std::time::SystemTime;

use pintle_runtime::ManualClock;

use super::*;
use crate::plugins::pod_security::configuration::Configuration;
use crate::plugins::pod_security::labels::{Level, Version};
use crate::testing::decoded;

const BASELINE: LevelVersion = LevelVersion { level: Level::Baseline, version: Version::Latest };
const PRIVILEGED: &str = r#""containers":[{"name":"c","securityContext":{"privileged":true}}]"#;
const ON_HOST: &str = r#""hostNetwork":true"#;

fn pod(name: &str, controller: &str, spec: &str) -> Value {
    let owner = format!(r#"{{"uid":"owner"}},{{"uid":"{controller}","controller":true}}"#);
    let owners = if controller.is_empty() { String::new() } else { owner };
    let metadata = format!(r#"{{"name":"{name}","ownerReferences":[{owners}]}}"#);
    decoded("core/v1.Pod", &format!(r#"{{"metadata":{metadata},"spec":{{{spec}}}}}"#))
}

fn exemptions(runtime_class: &str) -> Exemptions {
    let text = format!(
        r#"{{"apiVersion":"pod-security.admission.config.k8s.io/v1","kind":"PodSecurityConfiguration",
            "exemptions":{{"runtimeClasses":[{runtime_class}]}}}}"#
    );
    Configuration::read(Some(text.as_bytes())).unwrap().exemptions
}

fn warnings(pods: &[Value], exemptions: &Exemptions) -> Vec<String> {
    let pods = Existing { entries: pods, decode: |pod: &Value| Some(pod.clone()) };
    pods.evaluate(BASELINE, exemptions, &Clock::system()).warnings("n", BASELINE)
}

#[test]
fn pods_with_the_same_violations_are_named_together() {
    assert_eq!(warnings(&[], &exemptions("")), [""; 0]);
    assert_eq!(warnings(&[pod("fine", "", "")], &exemptions("")), [""; 0]);
    let pods = [
        pod("z", "", PRIVILEGED),
        pod("b", "", ON_HOST),
        pod("fine", "", ""),
        pod("a", "", ON_HOST),
        pod("c", "", ON_HOST),
        pod("e", "", &format!("{ON_HOST},{PRIVILEGED}")),
        pod("d", "", &format!("{ON_HOST},{PRIVILEGED}")),
        pod("exempt", "", &format!(r#""runtimeClassName":"vm",{PRIVILEGED}"#)),
    ];
    assert_eq!(
        warnings(&pods, &exemptions(r#""vm""#)),
        [
            r#"existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest""#,
            "a (and 2 other pods): host namespaces",
            "d (and 1 other pod): host namespaces, privileged",
            "z: privileged",
        ]
    );
}

#[test]
fn of_too_many_pods_one_of_each_controller_is_evaluated_first() {
    let replica = |number: usize| pod(&format!("r{number:04}"), "u", PRIVILEGED);
    let mut pods: Vec<Value> = (0..MOST_PODS).map(replica).collect();
    pods.push(pod("single", "", ON_HOST));
    pods.push(pod("other", "v", ON_HOST));
    let violate =
        r#"existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest""#;
    let expect = [
        "new PodSecurity enforce level only checked against the first 3000 of 3002 existing pods",
        violate,
        "other (and 1 other pod): host namespaces",
        "r0000 (and 2997 other pods): privileged",
    ];
    assert_eq!(warnings(&pods, &exemptions("")), expect);

    // Pods after the last that is evaluated are decoded only if some of them may be exempt.
    let mut pods: Vec<Value> = (0..MOST_PODS).map(|_| pod("same", "", "")).collect();
    pods.push(pod("more", "", PRIVILEGED));
    pods.push(pod("exempt", "", r#""runtimeClassName":"vm""#));
    let checked = |total| {
        format!("new PodSecurity enforce level only checked against the first 3000 of {total} existing pods")
    };
    assert_eq!(warnings(&pods, &exemptions("")), [checked(3002)]);
    assert_eq!(warnings(&pods, &exemptions(r#""vm""#)), [checked(3001)]);
}

#[test]
fn the_evaluation_ends_when_its_time_is_over() {
    let pods: Vec<Value> = (0..10).map(|_| pod("same", "", ON_HOST)).collect();
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let decoded = Cell::new(0);
    let decode = |pod: &Value| {
        clock.advance(Duration::from_millis(300));
        decoded.set(decoded.get() + 1);
        Some(pod.clone())
    };
    let report =
        Existing { entries: &pods, decode }.evaluate(BASELINE, &Exemptions::default(), &clock.clock());
    assert_eq!(
        report.warnings("n", BASELINE),
        [
            "new PodSecurity enforce level only checked against the first 4 of 10 existing pods",
            r#"existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest""#,
            "same (and 3 other pods): host namespaces",
        ]
    );
    assert_eq!(decoded.get(), 4, "the rest is not decoded");
}
