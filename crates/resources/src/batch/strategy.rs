//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::DNS1035_LABEL_MAX_LENGTH;
use pintle_meta::value::Key;
use pintle_meta::{Object, Value};
use pintle_registry::{DeleteOptions, GarbageCollection, Strategy};
use pintle_schema::normal;

use crate::apps::strategy::{is_counted, name_of_pods};
use crate::core::pod;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry { name: "cronjobs", kind: "batch/v1.CronJob", rules: CRON_JOBS },
    Entry {
        name: "cronjobs/status",
        kind: "batch/v1.CronJob",
        rules: Rules { recheck: MetadataRecheck::None, ..CRON_JOBS.of_status() },
    },
    Entry { name: "jobs", kind: "batch/v1.Job", rules: JOBS },
    Entry { name: "jobs/status", kind: "batch/v1.Job", rules: JOBS.of_status() },
];

const WORKLOADS: Rules =
    Rules { unconditional_update: true, ..Rules::NAMESPACED.with_status().counting_spec() };

const CRON_JOBS: Rules = Rules {
    on_create: |settings, _, job| {
        pod::drop_disabled_template(&settings.features, job, None, CRON_TEMPLATE);
    },
    on_update: |settings, _, job, old| {
        pod::drop_disabled_template(&settings.features, job, Some(old), CRON_TEMPLATE);
    },
    validate: |_, job| job.report(long_name(job.value())),
    warnings: cron_job_warnings,
    ..WORKLOADS
};

const TEMPLATE: tree::Path = &["spec", "template"];
const CRON_TEMPLATE: tree::Path = &["spec", "jobTemplate", "spec", "template"];

const JOBS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    // Its pods stay, as those who created it first expected.
    garbage_collection: GarbageCollection::Orphan,
    on_create: |settings, _, job| {
        generate_selector(job);
        pod::drop_disabled_template(&settings.features, job, None, TEMPLATE);
    },
    on_update: |settings, _, job, old| {
        pod::drop_disabled_template(&settings.features, job, Some(old), TEMPLATE);
    },
    warnings: job_warnings,
    delete_warnings,
    ..WORKLOADS
};

/// A job finds its pods by its own identity, unless it says that it knows better.
fn generate_selector(job: &mut Value) {
    if job.at(&["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true) {
        return;
    }
    // Labels that defaulting took from the template are the template's in the reference, one map in two places: what is
    // generated shows in both. Equal ones of a client's own are not.
    let own = job.at(&["metadata", "labels"]);
    let is_shared = own.zip(job.at(TEMPLATE_LABELS)).is_some_and(|(own, template)| own.is_same(template));
    let (name, uid) = (job.name().to_owned(), job.uid().to_owned());
    let labels = [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        (CONTROLLER, &uid),
    ];
    for (label, value) in labels {
        add_to(job, TEMPLATE_LABELS, label, value);
    }
    if let Some(labels) = job.at(TEMPLATE_LABELS).filter(|_| is_shared).cloned() {
        tree::set(job, &["metadata", "labels"], labels);
    }
    if job.at(&["spec", "selector"]).is_none() {
        let of = pintle_schema::find("meta/v1.LabelSelector").and_then(|found| found.structure());
        tree::set(job, &["spec", "selector"], of.map(normal::zero_struct).unwrap_or_default());
    }
    add_to(job, &["spec", "selector", "matchLabels"], CONTROLLER, &uid);
}

const TEMPLATE_LABELS: tree::Path = &["spec", "template", "metadata", "labels"];
const CONTROLLER: &str = "batch.kubernetes.io/controller-uid";

/// Puts something into a map that it has no entry for, whatever it is. What is wrong is found later.
fn add_to(job: &mut Value, path: tree::Path, key: &'static str, value: &str) {
    if job.at(path).is_none_or(Value::is_null) {
        tree::set(job, path, Object::new());
    }
    if let Some(map) = job.at_mut(path).and_then(Value::as_object_mut)
        && !map.contains(key)
    {
        map.insert(Key::new_static(key), value);
    }
}

fn job_warnings(_: &Settings, job: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = name_of_pods(job, old);
    if is_counted(job, old) {
        warnings.extend(spec_warnings("spec", job.get("spec")));
        warnings.extend(pod::warnings::of_template(job, TEMPLATE));
    }
    warnings
}

fn cron_job_warnings(_: &Settings, job: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = name_of_pods(job, old);
    if is_counted(job, old) {
        warnings.extend(spec_warnings("spec.jobTemplate.spec", job.at(&["spec", "jobTemplate", "spec"])));
        warnings.extend(pod::warnings::of_template(job, CRON_TEMPLATE));
    }
    if old.is_some() && job.text_at(&["spec", "schedule"]).contains("TZ") {
        let why = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                   https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
        warnings.push(why.into());
    }
    warnings
}

/// The names of its jobs have a time behind its own, and are labels of their pods.
fn long_name(job: &Value) -> Vec<Error> {
    const MAX: usize = DNS1035_LABEL_MAX_LENGTH - 11;
    if job.name().len() <= MAX {
        return Vec::new();
    }
    let path = Path::new("metadata");
    vec![Error::invalid(&path.child("name"), job.name(), format!("must be no more than {MAX} characters"))]
}

/// More indexes than their list can name.
fn spec_warnings(path: &str, spec: Option<&Value>) -> Vec<String> {
    let Some(spec) = spec else { return Vec::new() };
    let number = |field: &str| spec.get(field).and_then(Value::as_i64).unwrap_or_default();
    let indexed = spec.text_at(&["completionMode"]) == "Indexed";
    if !indexed || number("completions") <= 100_000 || number("parallelism") <= 10_000 {
        return Vec::new();
    }
    vec![format!(
        "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
         might not be able to track completedIndexes when a big number of indexes fail"
    )]
}

fn delete_warnings(options: &DeleteOptions) -> Vec<String> {
    if options.propagation.is_some() || options.orphan_dependents.is_some() {
        return Vec::new();
    }
    let why = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or \
               set propagationPolicy=Orphan to suppress this warning";
    vec![why.into()]
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use pintle_registry::{DeleteOptions, GarbageCollection, Propagation};

    use crate::framework::strategy::testing::{invalid, of, text, warnings};

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
        assert_eq!(
            text(created.at(&["spec", "selector"]).unwrap()),
            r#"{"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}}"#
        );
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
        let cron_jobs = of("batch", "cronjobs").strategy;
        assert_eq!(cron_jobs.garbage_collection(), GarbageCollection::Background);
        assert!(cron_jobs.warnings_on_delete(&DeleteOptions::default()).is_empty());
    }

    #[test]
    fn templates_are_warned_of_where_they_are() {
        let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
        let found = warnings(&of("batch", "jobs"), &job(template), None);
        assert!(
            found.len() == 1 && found[0].starts_with("spec.template.spec.hostAliases[0].ip: "),
            "{found:?}"
        );
        let nested = job(&format!(r#""jobTemplate":{{"spec":{{{template}}}}}"#));
        let found = warnings(&of("batch", "cronjobs"), &nested, None);
        let place = "spec.jobTemplate.spec.template.spec.hostAliases[0].ip: ";
        assert!(found.len() == 1 && found[0].starts_with(place), "{found:?}");
    }

    #[test]
    fn a_cron_job_leaves_room_in_its_name() {
        let named = |length: usize| job("").replace(r#""j""#, &format!("{:?}", "j".repeat(length)));
        assert!(invalid(&of("batch", "cronjobs"), &named(52)).is_empty());
        let wrong = invalid(&of("batch", "cronjobs"), &named(53));
        assert!(wrong.len() == 1 && wrong[0].ends_with("must be no more than 52 characters"), "{wrong:?}");
        assert!(invalid(&of("batch", "jobs"), &named(53)).is_empty());
    }

    #[test]
    fn too_many_indexes_and_zones_in_schedules_are_warned_of() {
        let many = job(r#""completionMode":"Indexed","completions":100001,"parallelism":10001"#);
        assert_eq!(warnings(&of("batch", "jobs"), &many, None).len(), 1);
        assert!(warnings(&of("batch", "jobs"), &many, Some(&many)).is_empty());
        let zoned = job(r#""schedule":"TZ=UTC * * * * *","jobTemplate":{}"#);
        assert!(warnings(&of("batch", "cronjobs"), &zoned, None).is_empty());
        assert_eq!(warnings(&of("batch", "cronjobs"), &zoned, Some(&zoned)).len(), 1);
    }
}
