//! Deleting one object, or a collection of them.

use http::StatusCode;
use pintle_codec::kind;
use pintle_codec::negotiate::Encoding;
use pintle_meta::field_path::Error;
use pintle_meta::gvk::GroupVersionKind;
use pintle_registry::{DeleteOptions, Deleted, Preconditions, Propagation};

use super::call::Call;
use super::endpoint::Serving;
use super::list::{self, Page};
use super::options::{self, ListOptions};
use super::select::Selection;
use super::{Result, bad_request, body};
use crate::{Request, Response};

pub(crate) async fn delete(serving: &Serving, call: &mut Call<'_>) -> Result<Response> {
    let options = read_options(call).await?;
    let context = serving.context(call.request);
    let gate = call.gate(serving, &context, options.dry_run);
    let name = call.request.info.name.clone();
    let waits = options.orphan_dependents == Some(false);
    call.warnings.extend(serving.store.config().strategy.warnings_on_delete(&options));
    let deleted = serving.store.delete(&context, &name, &gate, options).await?;
    let code = if waits && !deleted.is_gone() { StatusCode::ACCEPTED } else { StatusCode::OK };
    match deleted {
        Deleted::Object { object, .. } => call.negotiated.object(serving, object, code),
        Deleted::Status { status, .. } => Ok(call.negotiated.status(&status, code)),
    }
}

pub(crate) async fn delete_collection(serving: &Serving, call: &mut Call<'_>) -> Result<Response> {
    let list_options = ListOptions::read(call.request, false, call.shared.features.watch_list)?;
    let selection = Selection::read(call.request, serving, call.shared.features)?;
    let options = read_options(call).await?;
    let context = serving.context(call.request);
    let gate = call.gate(serving, &context, options.dry_run);
    let page: Page = list::page(serving, &list_options, &selection, call.shared.features).await?;
    call.warnings.extend(serving.store.config().strategy.warnings_on_delete(&options));
    let workers = call.shared.delete_workers;
    serving.store.delete_each(&context, &page.entries, &gate, &options, workers).await?;
    list::answer(serving, call.negotiated, page)
}

/// From the body, or without one from the query.
async fn read_options(call: &mut Call<'_>) -> Result<DeleteOptions> {
    let bytes = body::read(&mut call.request.body).await?;
    let mut errors = Vec::new();
    let options = if bytes.is_empty() {
        from_query(call.request, &mut errors)?
    } else {
        let encoding = body::encoding(call.request, call.shared.encodings)?;
        from_body(encoding, &bytes, &mut errors)?
    };
    options::refuse("DeleteOptions", errors)?;
    Ok(options)
}

fn from_body(encoding: Encoding, bytes: &[u8], errors: &mut Vec<Error>) -> Result<DeleteOptions> {
    let default = GroupVersionKind::new("", "v1", "DeleteOptions");
    let typed = kind::decode(encoding, bytes, Some(&default))
        .map_err(|error| Box::new(error.status("DeleteOptions", bytes)))?;
    if typed.of.name != "meta/v1.DeleteOptions" {
        return Err(bad_request("decoded object cannot be converted to DeleteOptions"));
    }
    Ok(DeleteOptions::read(&typed.decoded.value, errors))
}

fn from_query(request: &Request, errors: &mut Vec<Error>) -> Result<DeleteOptions> {
    let grace = request.query("gracePeriodSeconds").next().filter(|text| !text.is_empty());
    let propagation = request.query("propagationPolicy").next();
    Ok(DeleteOptions {
        grace_period_seconds: grace.map(|text| options::integer(&text)).transpose()?,
        preconditions: Preconditions::default(),
        orphan_dependents: options::boolean(request, "orphanDependents"),
        propagation: propagation.and_then(|given| Propagation::parse(&given, errors)),
        dry_run: options::dry_run(request, errors),
    })
}
