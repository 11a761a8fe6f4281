//! Events by their older name, where little is asked of them.

pub(in crate::core) mod columns;

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{dns1123_subdomain, object_meta, qualified_name};
use pintle_registry::GarbageCollection;

use crate::core::strategy::NAMESPACED;
use crate::framework::strategy::{MetadataCheck, MetadataRecheck, Rules};

pub(crate) const EVENTS: Rules = Rules {
    name: object_meta::path_segment_name,
    metadata_check: MetadataCheck::IfOtherwiseValid,
    recheck: MetadataRecheck::None,
    standard_finalizers: false,
    create_on_update: true,
    validate: |_, event| event.report(validate(event.value(), "reportingComponent")),
    validate_update: |_, event| event.report(validate(event.value(), "reportingComponent")),
    garbage_collection: GarbageCollection::Unsupported,
    time_to_live: |settings, _, _| Some(settings.event_ttl),
    ..NAMESPACED
};

/// Validates an event of any version. `reporter` is the version's name of the field `reportingComponent`.
pub(crate) fn validate(event: &Value, reporter: &str) -> Vec<Error> {
    let mut errors = Vec::new();
    let (namespace, concerned) = (event.namespace(), event.text_at(&["involvedObject", "namespace"]));
    let elsewhere = || {
        Error::invalid(&Path::new("involvedObject.namespace"), concerned, "does not match event.namespace")
    };
    // Only newer clients say when it was.
    if event.get("eventTime").is_none_or(Value::is_null) {
        let matches = match concerned {
            "" => matches!(namespace, "" | "default"),
            concerned => namespace == concerned,
        };
        if !matches {
            errors.push(elsewhere());
        }
    } else {
        if concerned.is_empty() && !matches!(namespace, "default" | "kube-system") {
            errors.push(elsewhere());
        }
        let controller = event.text_at(&["reportingComponent"]);
        let path = Path::new(reporter);
        if controller.is_empty() {
            errors.push(Error::required(&path, ""));
        }
        let wrong = qualified_name(controller).into_iter();
        errors.extend(wrong.map(|wrong| Error::invalid(&path, controller, wrong)));
        for (field, most, needed) in [
            ("reportingInstance", 128, true),
            ("action", 128, true),
            ("reason", 128, true),
            ("message", 1024, false),
        ] {
            let text = event.text_at(&[field]);
            if needed && text.is_empty() {
                errors.push(Error::required(&Path::new(field), ""));
            }
            if text.len() > most {
                let wrong = format!("can have at most {most} characters");
                errors.push(Error::invalid(&Path::new(field), "", wrong));
            }
        }
    }
    let wrong = dns1123_subdomain(namespace).into_iter();
    errors.extend(wrong.map(|wrong| Error::invalid(&Path::new("namespace"), namespace, wrong)));
    errors
}

#[cfg(test)]
mod tests;
