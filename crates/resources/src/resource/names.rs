//! Names of drivers, pools, devices, attributes and shares.

use pintle_meta::field_path::{Path, Value as Printed};
use pintle_meta::validation::{
    DNS1123_SUBDOMAIN_MAX_LENGTH, c_identifier, dns1123_label, dns1123_subdomain, object_meta,
};
use pintle_meta::{Value, quote};

use crate::core::volume_sources::driver_name;
use crate::framework::strategy::rules::standard_finalizer;
use crate::framework::validation::Cursor;

/// Longest domain and longest identifier of an attribute's name.
const LONGEST_DOMAIN: usize = 63;
const LONGEST_ID: usize = 32;

/// Longest key of attributes and capacities that paths show in full.
pub(super) const LONGEST_QUALIFIED: usize = LONGEST_DOMAIN + 1 + LONGEST_ID;

/// Checks the name of a pool: subdomains separated by slashes.
pub(super) fn pool(name: &Cursor<'_, '_>) {
    if name.is_empty() {
        return name.required("");
    }
    if name.text().len() > DNS1123_SUBDOMAIN_MAX_LENGTH {
        name.too_long(DNS1123_SUBDOMAIN_MAX_LENGTH);
    }
    for part in name.text().split('/') {
        for why in dns1123_subdomain(part) {
            name.invalid(part, why);
        }
    }
}

/// Checks the name of a driver, a pool and a device, by which a device is known.
pub(super) fn device(of: &Cursor<'_, '_>) {
    driver_name(&of.field("driver"));
    pool(&of.field("pool"));
    of.field("device").text_format(dns1123_label);
}

/// Checks the id of a share of a device, if it is one: a UUID in its usual form.
pub(super) fn share(of: &Cursor<'_, '_>) {
    let uid = of.field("shareID");
    if !uid.is_set() {
        return;
    }
    let text = uid.text();
    if let Err(why) = uuid(text) {
        uid.invalid(text, format!("error validating uid: {why}"));
    } else if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        uid.invalid(
            text,
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal \
             characters",
        );
    }
}

/// Checks a UUID in any of the forms that the reference's library reads.
fn uuid(text: &str) -> Result<(), String> {
    const FORMAT: &str = "invalid UUID format";
    const PREFIX: &[u8] = b"urn:uuid:";
    let bytes = text.as_bytes();
    let bytes = match bytes.len() {
        36 => bytes,
        45 if !bytes[..9].eq_ignore_ascii_case(PREFIX) => {
            return Err(format!("invalid urn prefix: {}", quote(&String::from_utf8_lossy(&bytes[..9]))));
        }
        45 => &bytes[9..],
        38 if bytes[0] != b'{' || bytes[37] != b'}' => return Err("invalid bracketed UUID format".into()),
        38 => &bytes[1..37],
        32 if bytes.iter().all(u8::is_ascii_hexdigit) => return Ok(()),
        32 => return Err(FORMAT.into()),
        length => return Err(format!("invalid UUID length: {length}")),
    };
    let is_right = |(index, byte): (usize, &u8)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    if bytes.iter().enumerate().all(is_right) { Ok(()) } else { Err(FORMAT.into()) }
}

/// Checks the name of an attribute or capacity: an identifier, which a domain and a slash can precede.
pub(super) fn qualified(at: &Cursor<'_, '_>, name: &str) {
    let mut parts = name.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(id), None, _) => identifier(at, id),
        (Some(domain), Some(id), None) => {
            if domain.is_empty() {
                at.invalid("", "the domain must not be empty");
            } else {
                driver_name(&at.with_value(&Value::string(domain)));
            }
            if id.is_empty() {
                at.invalid("", "the name must not be empty");
            } else {
                identifier(at, id);
            }
        }
        // The reference overlooks names with more slashes.
        _ => {}
    }
}

/// Checks the name of an attribute with its domain.
pub(super) fn fully_qualified(name: &Cursor<'_, '_>) {
    qualified(name, name.text());
    if !name.text().contains('/') {
        let why = "a fully qualified name must be a domain and a name separated by a slash";
        name.invalid(Printed::json(name.text()), why);
    }
}

fn identifier(at: &Cursor<'_, '_>, id: &str) {
    if id.len() > LONGEST_ID {
        at.too_long(LONGEST_ID);
    }
    for why in c_identifier(id) {
        at.invalid(id, why);
    }
}

/// Checks that immutable metadata did not change, where the reference does so after all other checks of metadata.
pub(super) fn metadata_update(object: &Cursor<'_, '_>) {
    let path = Path::new("metadata");
    object.report(object_meta::validate_update(object.value(), object.before().value(), &path));
    let path = path.child("finalizers");
    for (index, name) in object.value().finalizers().enumerate() {
        object.report(standard_finalizer(&path.index(index), name));
    }
}
