//! Cases of jobs: generated labels and selectors, warnings.

use pintle_registry::{DeleteOptions, GarbageCollection, Propagation};

use crate::framework::strategy::testing::{of, text, warnings};

pub(super) const JOB: &str = r#"{"metadata":{"name":"j","namespace":"n","uid":"u","labels":{"l":"m"}},"spec":{
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#;
pub(super) const INDEXED: &str = r#"{"metadata":{"name":"j","namespace":"n","uid":"u","labels":{"l":"m"}},"spec":{
    "completionMode":"Indexed","completions":5,"parallelism":2,
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#;
/// The selector that a create generates.
pub(super) const GENERATED: &str = r#"{"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}}"#;

fn job(spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"j","namespace":"n","uid":"u"}},"spec":{{{spec}}}}}"#)
}

#[test]
fn a_job_selects_its_pods_by_its_identity() {
    let created = of("batch", "jobs").created(&job(r#""manualSelector":false,"template":{}"#));
    assert_eq!(
        text(created.at(&["spec", "template", "metadata"]).unwrap()),
        r#"{"labels":{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}}"#
    );
    assert_eq!(text(created.at(&["spec", "selector"]).unwrap()), GENERATED);
    assert_eq!(created.generation(), 1);
    // Labels that are set stay, and validation rejects wrong ones.
    let given = r#""manualSelector":false,"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"job-name":"x"}}}"#;
    let created = of("batch", "jobs").created(&job(given));
    assert_eq!(created.text_at(&["spec", "template", "metadata", "labels", "job-name"]), "x");
    assert_eq!(
        text(created.at(&["spec", "selector", "matchLabels"]).unwrap()),
        r#"{"a":"b","batch.kubernetes.io/controller-uid":"u"}"#
    );
    let by_hand = of("batch", "jobs").created(&job(r#""manualSelector":true"#));
    assert!(!text(&by_hand).contains("controller-uid"));
}

#[test]
fn labels_that_a_job_has_from_its_template_are_the_templates() {
    let of_job = pintle_schema::find("batch/v1.Job").unwrap();
    let created = |labels: &str| {
        let json = format!(
            r#"{{"metadata":{{"name":"j","namespace":"n","uid":"u"{labels}}},"spec":{{"template":{{"metadata":{{"labels":{{"a":"b"}}}}}}}}}}"#
        );
        let mut object = pintle_codec::json::decode(of_job, json.as_bytes()).unwrap().value;
        crate::framework::defaults::apply(of_job, &mut object, &Default::default());
        let mut object = crate::framework::conversion::convert_from(of_job, of_job, object).unwrap();
        super::generate_selector(&mut object);
        text(object.at(&["metadata", "labels"]).unwrap())
    };
    assert_eq!(
        created(""),
        r#"{"a":"b","batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}"#
    );
    // Equal labels of its own are its own.
    assert_eq!(created(r#","labels":{"a":"b"}"#), r#"{"a":"b"}"#);
}

#[test]
fn a_job_leaves_its_pods_behind_and_says_so() {
    let jobs = of("batch", "jobs").strategy;
    assert_eq!(jobs.garbage_collection(), GarbageCollection::Orphan);
    assert_eq!(jobs.warnings_on_delete(&DeleteOptions::default()).len(), 1);
    let said = DeleteOptions { propagation: Some(Propagation::Orphan), ..DeleteOptions::default() };
    assert!(jobs.warnings_on_delete(&said).is_empty());
}

#[test]
fn templates_and_too_many_indexes_are_warned_of() {
    let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
    let found = warnings(&of("batch", "jobs"), &job(template), None);
    assert!(found.len() == 1 && found[0].starts_with("spec.template.spec.hostAliases[0].ip: "), "{found:?}");
    let many = job(r#""completionMode":"Indexed","completions":100001,"parallelism":10001"#);
    assert_eq!(warnings(&of("batch", "jobs"), &many, None).len(), 1);
    assert!(warnings(&of("batch", "jobs"), &many, Some(&many)).is_empty());
}
