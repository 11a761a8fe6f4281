//! MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

use std::collections::HashSet;

use pintle_definitions::definition::webhook;
use pintle_meta::Value;
use pintle_meta::field_path::{Path, Value as Printed};
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::{dns1035_label, fully_qualified_name};

use super::expressions::match_conditions;
use super::rules::{MATCH_POLICIES, rule};
use super::strategy::{RULES, check_static_name};
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

/// Versions of AdmissionReview that this server can send.
const REVIEW_VERSIONS: &[&str] = &["v1", "v1beta1"];
pub(super) const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
pub(super) const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
/// Classes that allow a dry run.
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];

const WEBHOOKS: Rules =
    Rules { generation_fields: &[&["webhooks"]], generation_counts_empties: true, ..RULES };

pub(super) const VALIDATING: Rules = Rules {
    validate: |settings, configuration| {
        webhooks(configuration, false);
        check_static_name(settings, configuration);
    },
    validate_update: |_, configuration| webhooks(configuration, false),
    ..WEBHOOKS
};

pub(super) const MUTATING: Rules = Rules {
    validate: |settings, configuration| {
        webhooks(configuration, true);
        check_static_name(settings, configuration);
    },
    validate_update: |_, configuration| webhooks(configuration, true),
    ..WEBHOOKS
};

/// Rules that an update may still break where the stored object breaks them.
struct Options {
    is_mutating: bool,
    ignore_match_conditions: bool,
    side_effects: &'static [&'static str],
    require_known_review_version: bool,
    require_unique_names: bool,
    selectors: ValidationOptions,
}

impl Options {
    fn new(webhooks: &Cursor<'_, '_>, is_mutating: bool) -> Options {
        let old = webhooks.before();
        let old = old.values();
        let is_update = webhooks.is_update();
        let mut names = HashSet::new();
        Options {
            is_mutating,
            ignore_match_conditions: is_update && has_same_conditions(webhooks.values(), old),
            side_effects: if old.iter().all(has_no_side_effects) { NO_SIDE_EFFECTS } else { SIDE_EFFECTS },
            require_known_review_version: old.iter().all(has_known_review_version),
            require_unique_names: old.iter().all(|hook| names.insert(hook.text_at(&["name"]))),
            selectors: ValidationOptions {
                allow_invalid_values: old.iter().any(has_invalid_selector),
                ..ValidationOptions::default()
            },
        }
    }
}

fn has_same_conditions(new: &[Value], old: &[Value]) -> bool {
    let conditions = |hook: &Value| hook.get("matchConditions").cloned();
    new.len() == old.len() && new.iter().zip(old).all(|(new, old)| conditions(new) == conditions(old))
}

fn has_no_side_effects(hook: &Value) -> bool {
    NO_SIDE_EFFECTS.contains(&hook.text_at(&["sideEffects"]))
}

fn has_known_review_version(hook: &Value) -> bool {
    let versions = hook.items_at(&["admissionReviewVersions"]);
    let is_known = |version: &Value| version.as_str().is_some_and(|text| REVIEW_VERSIONS.contains(&text));
    versions.is_empty() || versions.iter().any(is_known)
}

fn has_invalid_selector(hook: &Value) -> bool {
    ["namespaceSelector", "objectSelector"].iter().any(|name| {
        let selector = hook.get(name).and_then(|selector| selector.view::<LabelSelector>().ok());
        selector.is_some_and(|selector| {
            !selector.validate(ValidationOptions::default(), &Path::NOWHERE).is_empty()
        })
    })
}

fn webhooks(configuration: &Cursor<'_, '_>, is_mutating: bool) {
    let webhooks = configuration.field("webhooks");
    let options = Options::new(&webhooks, is_mutating);
    let mut names = HashSet::new();
    for hook in webhooks.items() {
        webhook(&hook, &options);
        review_versions(&hook.field("admissionReviewVersions"), &options);
        let name = hook.field("name");
        if options.require_unique_names && !name.is_empty() && !names.insert(name.text()) {
            name.duplicate(name.text());
        }
    }
}

fn webhook(hook: &Cursor<'_, '_>, options: &Options) {
    hook.field("name").text_check(fully_qualified_name);
    hook.field("rules").each(rule);
    optional_one_of(&hook.field("failurePolicy"), FAILURE_POLICIES);
    optional_one_of(&hook.field("matchPolicy"), MATCH_POLICIES);
    let side_effects = hook.field("sideEffects");
    if !side_effects.is_set() {
        side_effects.required(format!("must specify one of {}", options.side_effects.join(", ")));
    }
    optional_one_of(&side_effects, options.side_effects);
    let timeout = hook.field("timeoutSeconds");
    if timeout.is_set() && !(1..=30).contains(&timeout.integer()) {
        timeout.invalid(timeout.integer(), "the timeout value must be between 1 and 30 seconds");
    }
    for name in ["namespaceSelector", "objectSelector"] {
        let selector = hook.field(name);
        if selector.is_set() {
            selector.label_selector(options.selectors);
        }
    }
    if options.is_mutating {
        optional_one_of(&hook.field("reinvocationPolicy"), REINVOCATION_POLICIES);
    }
    client(&hook.field("clientConfig"));
    if !options.ignore_match_conditions {
        match_conditions(&hook.field("matchConditions"), false);
    }
}

/// Checks an enumeration that need not be set.
fn optional_one_of(field: &Cursor<'_, '_>, supported: &[&str]) {
    if field.is_set() && !supported.contains(&field.text()) {
        field.not_supported(Printed::json(field.text()), supported);
    }
}

fn client(client: &Cursor<'_, '_>) {
    let (url, service) = (client.field("url"), client.field("service"));
    if url.is_set() == service.is_set() {
        client.required("exactly one of url or service is required");
    } else if url.is_set() {
        url.report(webhook::url(url.text(), url.path()));
    } else {
        service.report(webhook::service(service.value(), service.path()));
    }
}

fn review_versions(versions: &Cursor<'_, '_>, options: &Options) {
    let known = || REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        versions.required(format!("must specify one of {}", known()));
        return;
    }
    let mut seen = HashSet::new();
    for version in versions.items() {
        if !seen.insert(version.text()) {
            version.invalid(version.text(), "duplicate version");
            continue;
        }
        version.text_format(dns1035_label);
    }
    if options.require_known_review_version && !REVIEW_VERSIONS.iter().any(|known| seen.contains(known)) {
        let why = format!("must include at least one of {}", known());
        versions.invalid(versions.printed_as("[]string"), why);
    }
}
