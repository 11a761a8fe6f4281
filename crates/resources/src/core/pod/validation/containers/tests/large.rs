use std::time::{Duration, Instant};

use super::base;

const COUNT: usize = 20_000;

fn list(item: impl Fn(usize) -> String) -> String {
    format!("[{}]", (0..COUNT).map(item).collect::<Vec<_>>().join(","))
}

/// Comparing every item with every other would take minutes.
#[test]
fn large_pods_take_time_in_proportion_to_them() {
    let containers = list(|index| format!(r#"{{"name":"c{index}","image":"i"}}"#));
    let init = list(|index| format!(r#"{{"name":"i{index}","image":"i"}}"#));
    let ports =
        list(|index| format!(r#"{{"name":"p{index}","containerPort":80,"hostPort":80,"hostIP":"{index}"}}"#));
    let sysctls = list(|index| format!(r#"{{"name":"a.b{index}","value":"1"}}"#));
    let claims = list(|index| format!(r#"{{"name":"c{index}","resourceClaimName":"x"}}"#));
    let requests = list(|index| format!(r#"{{"name":"c{}","request":"r{index}"}}"#, index / 2));
    let amounts: Vec<String> = (0..COUNT).map(|index| format!(r#""kubernetes.io/r{index}":"1""#)).collect();
    let amounts = format!("{{{}}}", amounts.join(","));
    let started = Instant::now();
    base().accepts(&[
        &[("/spec/containers", &containers), ("/spec/initContainers", &init)],
        &[("/spec/containers/0/ports", &ports)],
        &[("/spec/initContainers/0/ports", &ports)],
        &[("/spec/securityContext/sysctls", &sysctls)],
        &[("/spec/resourceClaims", &claims), ("/spec/containers/0/resources/claims", &requests)],
        &[("/spec/containers/0/resources/requests", &amounts)],
    ]);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// The list of claims that an error shows is long, and there is one for each container.
#[test]
fn many_unknown_claims_take_bounded_time_and_memory() {
    let claims = list(|index| format!(r#"{{"name":"c{index}","resourceClaimName":"x"}}"#));
    let containers = list(|index| {
        format!(r#"{{"name":"c{index}","image":"i","resources":{{"claims":[{{"name":"x"}}]}}}}"#)
    });
    let started = Instant::now();
    let found = base().create_errors(&[("/spec/resourceClaims", &claims), ("/spec/containers", &containers)]);
    assert!(found.len() < 1000, "{}", found.len());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}
