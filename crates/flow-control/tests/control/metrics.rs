//! The metrics, under the reference's names and with its labels and buckets.

use std::time::Duration;

use crate::bootstrap;
use crate::support::*;

/// Every family with what a line of it begins with, after its name.
#[test]
fn families_are_those_of_the_reference() {
    let fixture = bootstrap::configured(40);
    let someone = user("someone", &[]);
    let watch = fixture.executes(&pods(&someone, "watch"));
    let write = fixture.executes(&pods(&someone, "create"));
    let full = fixture.fill(&pods(&someone, "get"));
    fixture.clock.advance(Duration::from_millis(30));
    drop((watch, write, full));
    let refused = fixture.fill(&pods(&user("admin", &["system:masters"]), "get"));
    drop(refused);
    let text = fixture.text();
    let Some(folder) = pintle_published::upstream("metrics of flow control") else { return };
    let published = std::fs::read_to_string(folder.join("metrics.tsv")).unwrap();
    let mut checked = 0;
    for line in published.lines().filter(|line| line.starts_with("apiserver_flowcontrol_")) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (name, kind, labels, buckets) = (cells[0], cells[1], cells[2], cells[3]);
        assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name} is not there");
        let begins = if kind == "histogram" { format!("{name}_bucket{{") } else { format!("{name}{{") };
        if labels.is_empty() {
            assert!(text.contains(&format!("\n{name} ")), "{name}");
            continue;
        }
        let own = text.lines().filter(|line| line.starts_with(&begins));
        let mut found_buckets: Vec<String> = Vec::new();
        let mut seen = false;
        let mut first_labels = String::new();
        for line in own {
            seen = true;
            let inside = line.split_once('{').unwrap().1.rsplit_once('}').unwrap().0;
            let pairs: Vec<(&str, &str)> = inside
                .split(',')
                .map(|pair| pair.split_once('=').unwrap())
                .map(|(label, value)| (label, value.trim_matches('"')))
                .collect();
            let names: Vec<&str> =
                pairs.iter().map(|(label, _)| *label).filter(|label| *label != "le").collect();
            assert_eq!(names.join(","), labels, "{name}");
            let others: String =
                pairs.iter().filter(|(label, _)| *label != "le").map(|(_, value)| *value).collect();
            if first_labels.is_empty() {
                first_labels.clone_from(&others);
            }
            if others == first_labels {
                let bound =
                    pairs.iter().find(|(label, _)| *label == "le").map(|(_, value)| (*value).to_owned());
                found_buckets.extend(bound);
            }
        }
        assert!(seen, "no {name} with labels");
        assert_eq!(found_buckets.join(","), buckets, "{name}");
        checked += 1;
    }
    assert!(checked > 25, "{checked}");
}

#[test]
fn demand_is_measured_by_its_time() {
    let fixture = bootstrap::configured(600);
    let someone = user("someone", &[]);
    let tickets: Vec<_> = (0..20).map(|_| fixture.executes(&pods(&someone, "get"))).collect();
    fixture.clock.advance(Duration::from_secs(2));
    let current = fixture.figure("current_limit_seats{priority_level=\"global-default\"}");
    let label = "{phase=\"executing\",priority_level=\"global-default\"}";
    let sum = fixture.figure(&format!("priority_level_seat_utilization_sum{label}"));
    assert!((sum - 20.0 / current * 2e9).abs() < 1e3, "{sum}");
    assert_eq!(fixture.figure(&format!("priority_level_seat_utilization_count{label}")), 2e9);
    let kind = "{phase=\"executing\",request_kind=\"readOnly\"}";
    let sum = fixture.figure(&format!("read_vs_write_current_requests_sum{kind}"));
    let nominal: f64 = [0.0, 13.0, 74.0, 98.0, 25.0, 98.0, 245.0, 49.0].iter().sum();
    assert!((sum - 20.0 / nominal * 2e9).abs() < 1e3, "{sum}");
    drop(tickets);
    assert_eq!(fixture.figure("request_execution_seconds_sum{flow_schema=\"global-default\",priority_level=\"global-default\",type=\"regular\"}"), 40.0);
}
