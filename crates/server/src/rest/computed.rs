//! Reading what is not stored: the objects are made for each request.

use http::StatusCode;
use pintle_codec::frame::{self, ListMeta};
use pintle_codec::negotiate::Encoding;
use pintle_codec::{json, partial};
use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::selector::{field, label};
use pintle_registry::Computed;

use super::answer::{Negotiated, Shape, indented};
use super::call::Call;
use super::endpoint::Endpoint;
use super::options::ListOptions;
use super::verbs::list;
use super::{Result, bad_request, internal, shown};
use crate::{Request, Response};

pub(crate) async fn get(endpoint: &Endpoint, behind: &dyn Computed, call: &Call<'_>) -> Result<Response> {
    let context = endpoint.context(call.request);
    let object = behind.get(&context, &call.request.info.name).await?;
    call.negotiated.object(endpoint, object, StatusCode::OK)
}

pub(crate) async fn list(endpoint: &Endpoint, behind: &dyn Computed, call: &Call<'_>) -> Result<Response> {
    // There are no pages and no revisions, but what is asked for must make sense.
    ListOptions::read(call.request, false, call.shared.features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, endpoint)?;
    let mut objects = behind.list(&endpoint.context(call.request)).await?;
    objects.retain(|object| selection.matches(object));
    answer(endpoint, call.negotiated, objects)
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

fn answer(endpoint: &Endpoint, negotiated: Negotiated, objects: Vec<Value>) -> Result<Response> {
    let body = match negotiated.shape {
        Shape::Own if negotiated.encoding == Encoding::Protobuf => {
            let mut messages = Vec::with_capacity(objects.len());
            for object in objects {
                let mut message = Vec::new();
                let object = endpoint.served.to_served(object)?;
                endpoint.served.write_protobuf(&object, &mut message).map_err(internal)?;
                messages.push(message);
            }
            let mut out = Vec::new();
            let items = messages.iter().map(Vec::as_slice);
            frame::protobuf_list(endpoint.list_type_meta(), &ListMeta::default(), items, &mut out);
            out
        }
        Shape::Own if negotiated.encoding == Encoding::Json => {
            let mut items = Vec::with_capacity(objects.len());
            for object in objects {
                let mut item = Vec::new();
                json::encode(&list::item(endpoint, object)?, &mut item);
                items.push(item);
            }
            let mut out = Vec::new();
            let items = items.iter().map(Vec::as_slice);
            frame::json_list(endpoint.list_type_meta(), &ListMeta::default(), items, &mut out);
            if negotiated.pretty { indented(&out) } else { out }
        }
        Shape::Own => {
            let objects = objects.into_iter().map(Ok);
            negotiated.tree(&list::tree(endpoint, &ListMeta::default(), objects)?)?
        }
        Shape::Table(version, include) => {
            let meta = partial::ListMeta::default();
            negotiated.tree(&shown::objects_table(
                endpoint,
                objects,
                meta,
                version,
                include,
                negotiated.now,
            )?)?
        }
        Shape::PartialList(version) => {
            let list = partial::list(version, &partial::ListMeta::default(), &objects);
            negotiated.view("PartialObjectMetadataList", version, &list)?
        }
        Shape::Partial(_) => return Err(shown::refuse_list(endpoint)),
    };
    Ok(negotiated.respond(StatusCode::OK, body))
}
