//! Options in the query, decoded and validated.

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::object_meta;
use pintle_meta::{Object, Status, Value};

use super::Result;
use crate::Request;

/// The `fieldValidation` of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options of a create, update or patch.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    /// The fields of `CreateOptions` and `UpdateOptions` as they were sent, for admission.
    pub(crate) fields: Object,
}

impl WriteOptions {
    /// Reads the options of a request; `kind` is their name in messages, such as `CreateOptions`.
    pub(crate) fn read(request: &Request, kind: &str) -> Result<WriteOptions> {
        WriteOptions::read_after(request, kind, Vec::new())
    }

    /// Reads the options; `errors` are those of the request so far.
    pub(crate) fn read_after(request: &Request, kind: &str, mut errors: Vec<Error>) -> Result<WriteOptions> {
        let field_manager = request.query("fieldManager").next().unwrap_or_default();
        errors.extend(object_meta::field_manager(&Path::new("fieldManager"), &field_manager));
        let dry_run = dry_run(request, &mut errors);
        let given = request.query("fieldValidation").next().unwrap_or_default();
        let field_validation = match given.as_str() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(Error::not_supported(&Path::new("fieldValidation"), other, &supported));
                FieldValidation::Warn
            }
        };
        refuse(kind, errors)?;
        let mut fields = Object::new();
        let dry_runs: Vec<Value> = request.query("dryRun").map(Value::from).collect();
        if !dry_runs.is_empty() {
            fields.insert("dryRun", dry_runs);
        }
        for (name, value) in [("fieldManager", &field_manager), ("fieldValidation", &given)] {
            if !value.is_empty() {
                fields.insert(name, value.as_str());
            }
        }
        Ok(WriteOptions { dry_run, field_manager, field_validation, fields })
    }
}

/// Returns whether the request is a dry run.
pub(crate) fn dry_run(request: &Request, errors: &mut Vec<Error>) -> bool {
    let given: Vec<String> = request.query("dryRun").collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    pintle_registry::dry_run(&given, errors)
}

/// Refuses options with errors.
pub(crate) fn refuse(kind: &str, errors: Vec<Error>) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Box::new(Status::invalid("meta.k8s.io", kind, "", &errors)))
}

/// The `resourceVersionMatch` of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Unset,
    NotOlderThan,
    Exact,
}

/// Options of a list or watch.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) resource_version: String,
    pub(crate) version_match: Match,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) allow_bookmarks: bool,
}

impl ListOptions {
    pub(crate) fn read(request: &Request, is_watch: bool, watch_list: bool) -> Result<ListOptions> {
        let text = |name: &str| request.query(name).next().unwrap_or_default();
        let limit = integer(&text("limit"))?;
        let timeout = text("timeoutSeconds");
        let timeout_seconds = if timeout.is_empty() { None } else { Some(integer(&timeout)?) };
        let send_initial_events = boolean(request, "sendInitialEvents");
        let given = text("resourceVersionMatch");
        let mut options = ListOptions {
            resource_version: text("resourceVersion"),
            version_match: match given.as_str() {
                "NotOlderThan" => Match::NotOlderThan,
                "Exact" => Match::Exact,
                _ => Match::Unset,
            },
            limit: usize::try_from(limit).unwrap_or(0),
            continue_token: text("continue"),
            timeout_seconds,
            send_initial_events,
            allow_bookmarks: boolean(request, "allowWatchBookmarks").unwrap_or(false),
        };
        refuse("ListOptions", options.check(&given, is_watch, watch_list))?;
        // A request for no version in particular gets the objects that exist, with a bookmark at their end. Paths of their own for
        // watches are from before.
        let begins_anew = matches!(options.resource_version.as_str(), "" | "0");
        if watch_list && begins_anew && given.is_empty() && boolean(request, "watch").unwrap_or(false) {
            options.send_initial_events.get_or_insert(true);
        }
        Ok(options)
    }

    fn check(&self, given: &str, is_watch: bool, watch_list: bool) -> Vec<Error> {
        let path = Path::new("resourceVersionMatch");
        let mut errors = Vec::new();
        let forbidden = |why: &str| Error::forbidden(&path, why);
        if is_watch {
            if self.send_initial_events.is_some() && self.version_match != Match::NotOlderThan {
                errors.push(forbidden(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
            if self.send_initial_events.is_some() && !watch_list {
                errors.push(Error::forbidden(
                    &Path::new("sendInitialEvents"),
                    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
                ));
            }
            if !given.is_empty() {
                if self.send_initial_events.is_none() {
                    errors.push(forbidden(
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    ));
                }
                if self.version_match != Match::NotOlderThan {
                    errors.push(Error::not_supported(&path, given, &["NotOlderThan"]));
                }
                if !self.continue_token.is_empty() {
                    let why = "resourceVersionMatch is forbidden when continue is provided";
                    errors.push(Error::forbidden(&path, why));
                }
            }
            return errors;
        }
        if !given.is_empty() {
            if self.resource_version.is_empty() {
                errors
                    .push(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            match self.version_match {
                Match::Exact if self.resource_version == "0" => {
                    errors.push(forbidden(
                        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                    ));
                }
                Match::Unset => {
                    errors.push(Error::not_supported(&path, given, &["Exact", "NotOlderThan", ""]));
                }
                _ => {}
            }
        }
        if self.send_initial_events.is_some() {
            let path = Path::new("sendInitialEvents");
            errors.push(Error::forbidden(&path, "sendInitialEvents is forbidden for list"));
        }
        errors
    }
}

/// Parses an integer as Go does; empty is 0.
pub(crate) fn integer(text: &str) -> Result<i64> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        let text = pintle_meta::quote(text);
        Box::new(Status::bad_request(format!("strconv.ParseInt: parsing {text}: {why}")))
    })
}

/// Returns a boolean parameter: anything but `false` and `0` is true, also an empty value.
pub(crate) fn boolean(request: &Request, name: &str) -> Option<bool> {
    let value = request.query(name).next()?;
    Some(!matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
}
