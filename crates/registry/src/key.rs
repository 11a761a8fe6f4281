//! Where an object lies in the store.

use bytes::Bytes;
use pintle_meta::Status;
use pintle_meta::validation::path_segment_name;

use crate::Result;

/// `namespace/name`, or `name` for what is in no namespace: the part of the key below the resource's prefix.
pub fn own(namespaced: bool, namespace: &str, name: &str) -> Result<String> {
    let refuse = |why: String| Err(Box::new(Status::bad_request(why)));
    if namespaced && namespace.is_empty() {
        return refuse("Namespace parameter required.".into());
    }
    if name.is_empty() {
        return refuse("Name parameter required.".into());
    }
    let wrong = path_segment_name(name);
    if !wrong.is_empty() {
        return refuse(format!("Name parameter invalid: {}: {}", pintle_meta::quote(name), wrong.join(";")));
    }
    Ok(if namespaced { format!("{namespace}/{name}") } else { name.to_owned() })
}

pub(crate) fn full(prefix: &[u8], own: &str) -> Bytes {
    [prefix, own.as_bytes()].concat().into()
}
