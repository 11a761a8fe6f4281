//! Controller revisions: templates that a workload had.

use pintle_codec::json;
use pintle_meta::Node;

use super::workload::NAMESPACED;
use crate::framework::strategy::{MetadataRecheck, Rules};
use crate::framework::validation::Cursor;

pub(super) const CONTROLLER_REVISIONS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    validate: |_, revision| {
        revision.field("revision").non_negative();
        data(&revision.field("data"));
    },
    validate_update: |_, revision| {
        revision.field("revision").non_negative();
        revision.field("data").immutable("runtime.RawExtension");
    },
    ..NAMESPACED
};

/// Requires a JSON object. Only a protobuf request can have data that is no JSON.
fn data(data: &Cursor<'_, '_>) {
    let Some(raw) = data.value().as_raw() else { return data.required("data is mandatory") };
    match json::decode_any(raw) {
        Err(error) => data.invalid("<value omitted>", format!("error parsing data: {error}")),
        Ok(decoded) => match decoded.value.node() {
            Node::Object(_) => {}
            Node::Null => data.required("data is mandatory"),
            _ => data.required("data must be a valid JSON object"),
        },
    }
}

#[cfg(test)]
mod tests;
