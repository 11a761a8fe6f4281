//! Warnings about large pods: the same as if every pair were compared, without comparing every pair.

use std::time::{Duration, Instant};

use pintle_codec::json;
use pintle_meta::{Value, Warnings};

use super::of_pod;

fn pod(spec: &str) -> Value {
    let text = format!(r#"{{"metadata":{{"name":"a"}},"spec":{{{spec}}}}}"#);
    json::decode_untyped(text.as_bytes()).unwrap().value
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

/// Numbers below a limit that look random and are the same in every run.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

/// The warnings that every pair of ports is worth, from the rule for two of them.
fn of_every_pair(ports: &[(usize, usize, &str)]) -> Vec<String> {
    let mut warnings = Warnings::new();
    for (index, (port, host_port, address)) in ports.iter().enumerate() {
        for (other_index, (other_port, other_host_port, other_address)) in ports[..index].iter().enumerate() {
            let what = if port != other_port {
                continue;
            } else if (host_port, address) == (other_host_port, other_address) {
                "duplicate"
            } else if *host_port == 0 || *other_host_port == 0 {
                "overlapping"
            } else if host_port == other_host_port && address.is_empty() != other_address.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            let (place, other) = (
                format!("spec.containers[0].ports[{index}]"),
                format!("spec.containers[0].ports[{other_index}]"),
            );
            warnings.push(format!("{place}: {what} port definition with {other}"));
        }
    }
    warnings.into_texts()
}

#[test]
fn ports_are_warned_of_as_if_every_pair_were_compared() {
    let mut number = numbers(7);
    for round in 0..300 {
        let count = 2 + round % 12;
        let addresses = ["", "1.1.1.1", "2.2.2.2"];
        let ports: Vec<(usize, usize, &str)> = (0..count)
            .map(|_| {
                let host_port = number(4);
                (1 + number(3), host_port, if host_port == 0 { "" } else { addresses[number(3)] })
            })
            .collect();
        let given = list(count, |index| {
            let (port, host_port, address) = ports[index];
            format!(r#"{{"containerPort":{port},"hostPort":{host_port},"hostIP":"{address}"}}"#)
        });
        let found = of_pod(&pod(&format!(r#""containers":[{{"ports":[{given}]}}]"#)));
        assert_eq!(found, of_every_pair(&ports), "{given}");
    }
}

#[test]
fn files_are_warned_of_as_if_every_pair_were_compared() {
    let mut number = numbers(8);
    for round in 0..300 {
        let count = 2 + round % 9;
        let names = ["a", "b", "a-", "ab"];
        let paths: Vec<String> = (0..count)
            .map(|_| (0..1 + number(3)).map(|_| names[number(4)]).collect::<Vec<_>>().join("/"))
            .collect();
        let mut expected = Warnings::new();
        for (index, path) in paths.iter().enumerate() {
            for other in &paths[..index] {
                let (one, two) = (format!("{path}/"), format!("{other}/"));
                if one.starts_with(&two) || two.starts_with(&one) {
                    expected.push(format!(
                        r#"volume "v" (ConfigMap "c"): overlapping paths: "{path}" with "{other}""#
                    ));
                }
            }
        }
        let items = list(count, |index| format!(r#"{{"path":"{}"}}"#, paths[index]));
        let found = of_pod(&pod(&format!(
            r#""volumes":[{{"name":"v","configMap":{{"name":"c","items":[{items}]}}}}]"#
        )));
        assert_eq!(found, expected.into_texts(), "{items}");
    }
}

/// Comparing every pair would take hours.
#[test]
fn warnings_of_large_pods_take_time_in_proportion_to_the_pod() {
    const COUNT: usize = 100_000;
    let ports =
        |item: &dyn Fn(usize) -> String| format!(r#""containers":[{{"ports":[{}]}}]"#, list(COUNT, item));
    let items = |of: &str, item: &dyn Fn(usize) -> String| {
        format!(r#""volumes":[{{"name":"v","{of}":{{"items":[{}]}}}}]"#, list(COUNT, item))
    };
    let deep = "a/".repeat(COUNT);
    let cases = [
        ports(&|_| r#"{"containerPort":80,"name":"x"}"#.into()),
        ports(&|index| format!(r#"{{"containerPort":80,"hostPort":{}}}"#, index + 1)),
        ports(&|index| format!(r#"{{"containerPort":80,"hostPort":1,"hostIP":"{index}"}}"#)),
        ports(&|index| format!(r#"{{"containerPort":{index},"name":"x{index}"}}"#)),
        format!(r#""containers":[{{"env":[{}]}}]"#, list(COUNT, |_| r#"{"name":"x","value":"1"}"#.into())),
        format!(r#""containers":[{{"env":[{}]}}]"#, list(COUNT, |index| format!(r#"{{"name":"x{index}"}}"#))),
        // Variables that build on earlier ones are worth no warning.
        format!(
            r#""containers":[{{"env":[{}]}}]"#,
            list(COUNT, |_| r#"{"name":"x","value":"$(x)1"}"#.into())
        ),
        items("configMap", &|_| r#"{"path":"a"}"#.into()),
        items("secret", &|index| format!(r#"{{"path":"a/{index}"}}"#)),
        items("downwardAPI", &|index| format!(r#"{{"path":"{}"}}"#, if index == 0 { &deep } else { "a/b" })),
        format!(
            r#""volumes":[{{"projected":{{"sources":[{{"configMap":{{"name":"{}","items":[{}]}}}}]}}}}]"#,
            "n".repeat(COUNT),
            list(COUNT, |index| format!(r#"{{"path":"{index}"}}"#))
        ),
        format!(r#""hostAliases":[{}]"#, list(COUNT, |_| r#"{"ip":"01.1.1.1"}"#.into())),
        format!(r#""imagePullSecrets":[{}]"#, list(COUNT, |_| "{}".into())),
        format!(r#""topologySpreadConstraints":[{}]"#, list(COUNT, |_| "{}".into())),
    ];
    let started = Instant::now();
    for case in cases {
        let found = of_pod(&pod(&case));
        let length: usize = found.iter().map(String::len).sum();
        assert!(found.len() <= 300 && length < 4 << 20, "{} of {length} bytes", found.len());
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Comparing every old item with every new one would take hours.
#[test]
fn changes_of_large_pods_and_services_take_time_in_proportion_to_them() {
    use crate::core::service::fields;
    use crate::framework::strategy::testing::of;
    let pods = of("", "pods");
    let changes = |new: &Value, old: &Value| -> Vec<String> {
        let errors = pods.strategy.validate_update(&pintle_registry::Context::default(), new, old);
        errors.iter().map(ToString::to_string).collect()
    };
    const COUNT: usize = 100_000;
    let started = Instant::now();
    let tolerations = |last: &str| {
        let all = list(COUNT, |index| {
            format!(r#"{{"key":"k{index}","effect":"NoExecute","tolerationSeconds":1}}"#)
        });
        let gates = list(COUNT, |index| format!(r#"{{"name":"g{index}"}}"#));
        pod(&format!(r#""tolerations":[{all},{last}],"schedulingGates":[{gates}]"#))
    };
    let (one, other) = (tolerations(r#"{"key":"a"}"#), tolerations(r#"{"key":"b"}"#));
    let is_refused = |errors: &[String]| {
        errors.iter().any(|error| error.contains("existing toleration can not be modified"))
    };
    assert!(!is_refused(&changes(&one, &one)));
    assert!(is_refused(&changes(&other, &one)));

    let service = |port: &dyn Fn(usize) -> String| {
        pod(&format!(r#""type":"NodePort","ports":[{}]"#, list(COUNT, port)))
    };
    let old = service(&|index| format!(r#"{{"name":"p{index}","nodePort":{}}}"#, index + 1));
    let mut new = service(&|index| format!(r#"{{"name":"p{index}"}}"#));
    fields::keep_allocated(&mut new, &old);
    assert_eq!(fields::node_ports(&new).len(), COUNT);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}
