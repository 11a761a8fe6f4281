//! CertificateSigningRequests. A request is written in three ways, each of which changes its own part: its creator says what is
//! asked for, and the server who asks; `approval` says yes or no; `status` brings the certificate.

mod conditions;
#[cfg(test)]
mod tests;
mod validation;

use pintle_meta::Value;
use pintle_registry::{Context, ResetFields};

use self::conditions::Write;
use crate::framework::strategy::{MetadataRecheck, Rules, tree};
use crate::framework::validation::Cursor;

/// The rules of all three ways. Checks of metadata come first and last, around the others.
const COMMON: Rules = Rules {
    name: |_, _| Vec::new(),
    recheck: MetadataRecheck::None,
    unconditional_update: true,
    validate: |_, request| validation::validate(request),
    ..Rules::CLUSTER
};

pub(super) const REQUESTS: Rules = Rules {
    cleared_on_create: &[&["status"]],
    kept_on_update: &[&["spec"], &["status"]],
    reset_fields: ResetFields::These(&[&["spec"], &["status"]]),
    on_create: |_, context, request| note_user(request, context),
    validate_update: |_, request| validate_update(request, Write::Request),
    ..COMMON
};

pub(super) const APPROVAL: Rules = Rules {
    kept_on_update: &[&["spec"], &["status", "certificate"]],
    reset_fields: ResetFields::These(&[&["spec"], &["status", "certificate"]]),
    on_update: |settings, _, request, old| conditions::note_times(request, old, &settings.time()),
    validate_update: |_, request| validate_update(request, Write::Approval),
    ..COMMON
};

pub(super) const STATUS: Rules = Rules {
    kept_on_update: &[&["spec"]],
    reset_fields: ResetFields::These(&[&["spec"], &["status", "conditions"]]),
    on_update: |settings, _, request, old| {
        conditions::keep_decision(request, old);
        conditions::note_times(request, old, &settings.time());
    },
    validate_update: |_, request| validate_update(request, Write::Status),
    ..COMMON
};

/// Validates the whole request on every write, since approvers decide about the whole.
fn validate_update(request: &Cursor<'_, '_>, write: Write) {
    COMMON.check_metadata(request);
    validation::validate(request);
    conditions::validate_update(request, write);
    COMMON.check_metadata_update(request);
}

/// Sets the requesting user from the request's identity, whatever the object says.
fn note_user(request: &mut Value, context: &Context) {
    let texts = |texts: &[String]| texts.iter().map(Value::string).collect::<Vec<_>>();
    let extra = context.extra.iter().map(|(key, values)| (key.as_str(), Value::list(texts(values))));
    let extra = extra.collect::<pintle_meta::Object>();
    let known: [(tree::Path, Option<Value>); 4] = [
        (&["spec", "username"], text(&context.user)),
        (&["spec", "uid"], text(&context.user_uid)),
        (&["spec", "groups"], (!context.groups.is_empty()).then(|| Value::list(texts(&context.groups)))),
        (&["spec", "extra"], (!extra.is_empty()).then(|| extra.into())),
    ];
    for (path, value) in known {
        match value {
            Some(value) => tree::set(request, path, value),
            None => tree::remove(request, path),
        }
    }
}

fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| Value::string(text))
}
