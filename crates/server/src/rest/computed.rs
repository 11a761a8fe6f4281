//! Reading what is not stored: the objects are made for each request.

use http::StatusCode;
use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::selector::{field, label};
use pintle_registry::Computed;

use super::call::Call;
use super::endpoint::Endpoint;
use super::options::ListOptions;
use super::{Result, bad_request};
use crate::{Request, Response};

pub(crate) async fn get(endpoint: &Endpoint, computed: &dyn Computed, call: &Call<'_>) -> Result<Response> {
    let context = endpoint.context(call.request);
    let object = computed.get(&context, &call.request.info.name).await?;
    call.representation.object(endpoint, object, StatusCode::OK)
}

pub(crate) async fn list(endpoint: &Endpoint, computed: &dyn Computed, call: &Call<'_>) -> Result<Response> {
    // There are no pages and no revisions, but what is asked for must make sense.
    ListOptions::read(call.request, false, call.shared.features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, endpoint)?;
    let mut objects = computed.list(&endpoint.context(call.request)).await?;
    objects.retain(|object| selection.matches(object));
    call.representation.objects(endpoint, objects)
}

struct Selection {
    labels: label::Selector,
    fields: field::Selector,
}

impl Selection {
    fn read(request: &Request, endpoint: &Endpoint) -> Result<Selection> {
        let text = |name: &str| request.query(name).next().unwrap_or_default();
        let labels = label::Selector::parse(&text("labelSelector")).map_err(bad_request)?;
        let fields = field::Selector::parse(&text("fieldSelector")).map_err(bad_request)?;
        let fields = fields.transform(|field, value| endpoint.served.field_label(field, value));
        Ok(Selection { labels, fields: fields.map_err(bad_request)? })
    }

    fn matches(&self, object: &Value) -> bool {
        let field = |name: &str| match name {
            "metadata.name" => object.name(),
            "metadata.namespace" => object.namespace(),
            _ => "",
        };
        self.labels.matches(|key| object.label(key)) && self.fields.matches(field)
    }
}
