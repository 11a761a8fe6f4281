//! VolumeAttachments.

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::validation::{inclusive_range_error, object_meta};

use super::parameters::size;
use super::strategy::RETURNED;
use crate::core::persistent_volume;
use crate::core::volume_sources::driver_name;
use crate::framework::strategy::{MetadataRecheck, Rules, tree};
use crate::framework::validation::Cursor;

pub(super) const ATTACHMENTS: Rules = Rules {
    recheck: MetadataRecheck::Full,
    validate: |_, attachment| validate(attachment),
    validate_update: |_, attachment| {
        validate(attachment);
        attachment.field("spec").immutable("storage.VolumeAttachmentSpec");
    },
    ..RETURNED.with_status()
};

pub(super) const ATTACHMENT_STATUS: Rules = Rules {
    recheck: MetadataRecheck::Full,
    on_update: |settings, _, new, old| drop_error_codes(&settings.features, new, old),
    validate_update: ATTACHMENTS.validate_update,
    ..ATTACHMENTS.of_status_alone()
};

/// The most bytes of `attachmentMetadata`.
const MAX_METADATA: usize = 256 * 1024;
const MAX_MESSAGE: usize = 1024;

fn validate(attachment: &Cursor<'_, '_>) {
    let spec = attachment.field("spec");
    driver_name(&spec.field("attacher"));
    let source = spec.field("source");
    check_source(&source);
    spec.field("nodeName").text_format(|name| object_meta::subdomain_name(name, false));
    let status = attachment.field("status");
    let metadata = status.field("attachmentMetadata");
    if size(&metadata) > MAX_METADATA {
        metadata.too_long(MAX_METADATA);
    }
    volume_error(&status.field("attachError"));
    volume_error(&status.field("detachError"));
    let volume = source.field("persistentVolumeName");
    if volume.is_set() {
        volume.text_format(|name| object_meta::subdomain_name(name, false));
    }
}

fn check_source(source: &Cursor<'_, '_>) {
    let (inline, volume) = (source.field("inlineVolumeSpec"), source.field("persistentVolumeName"));
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is_set(), volume.is_set()) {
        (false, false) => source.required(one),
        (true, true) => source.forbidden(one),
        (true, false) => persistent_volume::inline_spec(&inline),
        (false, true) if volume.is_empty() => volume.required("must specify non empty persistentVolumeName"),
        (false, true) => {}
    }
}

fn volume_error(error: &Cursor<'_, '_>) {
    let message = error.field("message");
    if message.text().len() > MAX_MESSAGE {
        // The reference names another limit.
        message.too_long(MAX_METADATA);
    }
    let code = error.field("errorCode");
    if code.integer() < 0 {
        code.invalid(code.integer(), inclusive_range_error(0, i64::from(i32::MAX)));
    }
}

/// Removes codes of errors while their feature is off, unless the old status has them already.
fn drop_error_codes(features: &Features, attachment: &mut Value, old: &Value) {
    const CODES: [tree::Path; 2] =
        [&["status", "attachError", "errorCode"], &["status", "detachError", "errorCode"]];
    if !features.enabled(Feature::MutableCSINodeAllocatableCount) {
        for path in CODES.into_iter().filter(|path| old.at(path).is_none()) {
            tree::remove(attachment, path);
        }
    }
}

#[cfg(test)]
mod tests;
