//! Deleting one object, or a collection of them.

use http::StatusCode;
use pintle_auth::Attributes;
use pintle_codec::kind;
use pintle_codec::negotiate::Encoding;
use pintle_features::Feature;
use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Details, Status};
use pintle_registry::{Context, DeleteOptions, Deleted, Listed, Preconditions, Propagation};

use crate::request_info::Selectors;
use crate::rest::call::Call;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::options::{self, ListOptions};
use crate::rest::select::Selection;
use crate::rest::verbs::list::{self, Page};
use crate::rest::{Result, bad_request, body, revision};
use crate::{Request, Response, audit};

const IGNORE_READ_ERRORS: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
/// Objects of a collection that are deleted at the same time for controllers of this process, at least: a namespace goes in the time
/// that the store takes for its objects together.
const IN_PROCESS_WORKERS: usize = 32;
/// The verb that a user must be allowed besides `delete`.
const UNSAFE_DELETE: &str = "unsafe-delete-ignore-read-errors";

pub(crate) async fn delete(serving: &StoredEndpoint, call: &mut Call<'_>) -> Result<Response> {
    let options = read_options(serving, call).await?;
    let context = serving.context(call.request);
    if options.ignore_read_errors {
        return delete_unreadable(serving, call, &context).await;
    }
    let admission = call.admission(serving, &context, options.dry_run, Some(options.fields()));
    let name = call.request.info.name.clone();
    let waits = options.orphan_dependents == Some(false);
    call.warnings.extend(serving.store.config().strategy.warnings_on_delete(&options));
    let deleted = serving.store.delete(&context, &name, &admission, options).await?;
    let code = if waits && !deleted.is_gone() { StatusCode::ACCEPTED } else { StatusCode::OK };
    match deleted {
        Deleted::Object { object, .. } => call.representation.object(serving, object, code),
        Deleted::Status { status, .. } => Ok(call.representation.status(&status, code)),
    }
}

pub(crate) async fn delete_collection(serving: &StoredEndpoint, call: &mut Call<'_>) -> Result<Response> {
    let list_options =
        ListOptions::read(call.request, false, call.shared.features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, serving, call.shared.parse_shards)?;
    let options = read_options(serving, call).await?;
    if options.ignore_read_errors {
        let why = "is not allowed with DELETECOLLECTION, try again after removing the option";
        let error = Error::invalid(&Path::new(IGNORE_READ_ERRORS), field_path::Value::json(&true), why);
        options::refuse("DeleteOptions", vec![error])?;
    }
    let context = serving.context(call.request);
    let admission = call.admission(serving, &context, options.dry_run, Some(options.fields()));
    revision::wait_until_reached(serving, call.request.slot.as_ref(), &list_options).await?;
    let page: Page = list::page(serving, &list_options, &selection, call.shared.features).await?;
    call.warnings.extend(serving.store.config().strategy.warnings_on_delete(&options));
    let workers = match call.request.is_in_process {
        true => call.shared.delete_workers.max(IN_PROCESS_WORKERS),
        false => call.shared.delete_workers,
    };
    // Before anything is deleted: the pool may refuse the request, and then the client tries again.
    pintle_work::aside(page.weight(call.representation)).await;
    serving.store.delete_each(&context, &page.entries, Listed::Named, &admission, &options, workers).await?;
    call.representation.page(serving, page)
}

/// Deletes an object that cannot be read, for a user that may use the verb for that as well.
async fn delete_unreadable(serving: &StoredEndpoint, call: &Call<'_>, context: &Context) -> Result<Response> {
    let (info, user) = (&call.request.info, call.request.user.clone().unwrap_or_default());
    if let Some(audit) = &call.request.audit {
        audit.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "");
    }
    let refuse =
        |why: &str| Err(Box::new(Status::forbidden(&serving.group, &serving.resource, &info.name, why)));
    if serving.subresource.is_some() {
        return refuse(
            "ignoreStoreReadErrorWithClusterBreakingPotential delete option is not allowed on a subresource or non-resource \
             request",
        );
    }
    let selectors = Selectors::default();
    let attributes = Attributes { verb: UNSAFE_DELETE, ..info.attributes(&user, &selectors) };
    let verdict = call.shared.authorizer.authorize(&attributes).await;
    if !verdict.is_allowed() {
        return refuse(&format!("not permitted to do \"{UNSAFE_DELETE}\", reason: {}", verdict.reason));
    }
    serving.store.delete_unreadable(context, &info.name).await?;
    // The object cannot be shown.
    let kind = serving.served.kind().kind.to_string();
    let details = Details { name: info.name.clone(), kind, ..Details::default() };
    let mut status = Status::success(details);
    status.code = 200;
    Ok(call.representation.status(&status, StatusCode::OK))
}

/// Reads the options from the body, or without one from the query.
async fn read_options(serving: &StoredEndpoint, call: &mut Call<'_>) -> Result<DeleteOptions> {
    let bytes = body::read(call.request).await?;
    let mut errors = Vec::new();
    let mut options = if bytes.is_empty() {
        from_query(call.request, &mut errors)?
    } else {
        let encoding = body::encoding(call.request, call.shared.encodings)?;
        from_body(call.request, encoding, &bytes, &mut errors)?
    };
    options.ignore_read_errors &= serving.store.allows_unsafe_deletion();
    options.check_ignoring(&mut errors);
    options::refuse("DeleteOptions", errors)?;
    Ok(options)
}

fn from_body(
    request: &Request,
    encoding: Encoding,
    bytes: &[u8],
    errors: &mut Vec<Error>,
) -> Result<DeleteOptions> {
    let default = GroupVersionKind::new("", "v1", "DeleteOptions");
    let typed = kind::decode(encoding, bytes, Some(&default))
        .map_err(|error| Box::new(error.status("DeleteOptions", bytes)))?;
    if typed.of.name != "meta/v1.DeleteOptions" {
        return Err(bad_request("decoded object cannot be converted to DeleteOptions"));
    }
    if let Some(audit) = &request.audit {
        audit::record_options(audit, &typed.decoded.value);
    }
    Ok(DeleteOptions::read(&typed.decoded.value, errors))
}

fn from_query(request: &Request, errors: &mut Vec<Error>) -> Result<DeleteOptions> {
    let given = |name| request.query(name).next().filter(|text| !text.is_empty());
    let grace = given("gracePeriodSeconds");
    let propagation = request.query("propagationPolicy").next();
    let orphan_dependents = options::boolean(request, "orphanDependents");
    Ok(DeleteOptions {
        grace_period_seconds: grace.map(|text| options::integer(&text)).transpose()?,
        preconditions: Preconditions { uid: given("uid"), resource_version: given("resourceVersion") },
        orphan_dependents,
        propagation: propagation
            .and_then(|given| Propagation::parse(&given, orphan_dependents.is_some(), errors)),
        dry_run: options::dry_run(request, errors),
        ignore_read_errors: options::boolean(request, IGNORE_READ_ERRORS).unwrap_or(false),
    })
}
