//! Host names and host aliases.

use pintle_meta::validation::{dns1123_subdomain, ip_for_legacy_field};

use super::Options;
use crate::framework::validation::Cursor;

/// The longest host name that Linux takes.
const LONGEST: usize = 64;

/// Checks at the spec the override of the host name.
pub(super) fn hostname_override(spec: &Cursor<'_, '_>) {
    let name = spec.field("hostnameOverride");
    if !name.is_set() {
        return;
    }
    if spec.field("setHostnameAsFQDN").flag() {
        name.forbidden("may not be specified when setHostnameAsFQDN is true");
    }
    if spec.field("hostNetwork").flag() {
        name.forbidden("may not be specified when hostNetwork is true");
    }
    if name.text().len() > LONGEST {
        name.too_long(LONGEST);
    }
    name.text_format(dns1123_subdomain);
}

/// Checks the host aliases.
pub(super) fn aliases(aliases: &Cursor<'_, '_>, options: &Options) {
    for alias in aliases.items() {
        let ip = alias.field("ip");
        ip.report(ip_for_legacy_field(ip.path(), ip.text(), options.strict_ips, &[]));
        alias.field("hostnames").each(|name| name.text_format(dns1123_subdomain));
    }
}

#[cfg(test)]
mod tests;
