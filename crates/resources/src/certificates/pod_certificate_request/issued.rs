//! An issued certificate: it is for the requested key, and its times are those that the status has.

use pintle_auth::certificate_request;
use pintle_auth::x509::{Certificate, PublicKey, pem};
use pintle_definitions::object::is_email;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::time::Time;

use super::spec::bytes;
use crate::framework::strategy::Settings;
use crate::framework::validation::Cursor;

const MAX_CHAIN: usize = 100 * 1024;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const NANOS: i64 = 1_000_000_000;

/// Checks the status of a request that becomes issued. The first fault ends it, but for those of names and missing times.
pub(super) fn validate(settings: &Settings, request: &Cursor<'_, '_>) {
    let status = request.field("status");
    let chain = status.field("certificateChain");
    if chain.text().len() > MAX_CHAIN {
        return chain.too_long(MAX_CHAIN);
    }
    let Some((block, rest)) = pem::decode(chain.text().as_bytes()) else {
        return chain.invalid(chain.text(), "issued certificate chain must contain at least one certificate");
    };
    if block.label != "CERTIFICATE" {
        let why = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
        return chain.invalid(chain.text(), why);
    }
    let Some(leaf) = Certificate::parse(&block.contents) else {
        return chain.invalid(chain.text(), "leaf certificate does not parse as valid X.509");
    };
    let before = request.error_count();
    validate_names(&chain, &leaf);
    if validate_key(request, &chain, &leaf)
        && validate_times(settings, request, &leaf, before)
        && validate_lifetime(request, &leaf)
    {
        validate_intermediates(&chain, rest);
    }
}

fn validate_names(chain: &Cursor<'_, '_>, leaf: &Certificate<'_>) {
    for name in leaf.dns_names() {
        if name.is_empty() {
            chain.invalid(name, "leaf certificate should not contain empty DNSName");
        }
        if name.contains("..") {
            chain.invalid(name, "leaf certificate's DNSName should not contain '..'");
        }
        if name.starts_with('.') || name.ends_with('.') {
            chain.invalid(name, "leaf certificate's DNSName should not start or end with '.'");
        }
    }
    for address in leaf.email_addresses().filter(|address| !is_email(address)) {
        chain.invalid(address, "leaf certificate should not contain invalid EmailAddress");
    }
}

/// Checks that a certificate is for the key that was requested.
fn validate_key(request: &Cursor<'_, '_>, chain: &Cursor<'_, '_>, leaf: &Certificate<'_>) -> bool {
    let spec = request.field("spec");
    let (stub, key) = (spec.field("stubPKCS10Request"), spec.field("pkixPublicKey"));
    let wanted = if bytes(&stub).is_empty() {
        let parsed = PublicKey::parse(bytes(&key));
        if parsed.is_none() {
            key.invalid(Printed::Omitted, "must be a valid PKIX-serialized public key");
        }
        parsed
    } else {
        let parsed = certificate_request::public_key(bytes(&stub));
        if parsed.is_none() {
            stub.invalid(Printed::Omitted, "must be a valid PKCS#10 CSR");
        }
        parsed
    };
    let Some(wanted) = wanted else { return false };
    let is_same = wanted == PublicKey::Other || leaf.public_key().is_some_and(|found| found == wanted);
    if !is_same {
        chain.invalid(chain.text(), "leaf certificate was not issued to the requested public key");
    }
    is_same
}

/// Checks that the status has the certificate's times, and that it is valid from now on. `before` is the number of errors before
/// those of the certificate's names.
fn validate_times(
    settings: &Settings,
    request: &Cursor<'_, '_>,
    leaf: &Certificate<'_>,
    before: usize,
) -> bool {
    let status = request.field("status");
    let (not_before, not_after) = (status.field("notBefore"), status.field("notAfter"));
    let refresh = status.field("beginRefreshAt");
    for (time, why) in [
        (&not_before, "must be present and consistent with the issued certificate"),
        (&not_after, "must be present and consistent with the issued certificate"),
        (&refresh, "must be present and in the range [notbefore+10min, notafter-10min]"),
    ] {
        if !time.is_set() {
            time.required(why);
        }
    }
    if request.error_count() > before {
        return false;
    }
    if seconds(&not_before) != leaf.not_before() {
        let why = "must be set to the NotBefore time encoded in the leaf certificate";
        not_before.invalid(Printed::json(not_before.text()), why);
        return false;
    }
    let now = Time::from(settings.clock.now());
    if Time::from_unix(leaf.not_before(), 0).nanos_since(&now).abs() >= 5 * MINUTE * NANOS {
        let why = "must be set to within 5 minutes of kube-apiserver's current time";
        not_before.invalid(Printed::json(not_before.text()), why);
        return false;
    }
    if seconds(&not_after) != leaf.not_after() {
        let why = "must be set to the NotAfter time encoded in the leaf certificate";
        not_after.invalid(Printed::json(not_after.text()), why);
        return false;
    }
    true
}

/// Checks how long the certificate is valid, and when it is to be renewed.
fn validate_lifetime(request: &Cursor<'_, '_>, leaf: &Certificate<'_>) -> bool {
    let status = request.field("status");
    let (chain, refresh) = (status.field("certificateChain"), status.field("beginRefreshAt"));
    let lifetime = leaf.not_after() - leaf.not_before();
    let max = request.at(&["spec", "maxExpirationSeconds"]).integer();
    if lifetime < HOUR {
        chain.invalid(lifetime * NANOS, "leaf certificate lifetime must be >= 1 hour");
    } else if lifetime > max {
        let why = format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({max})");
        chain.invalid(lifetime * NANOS, why);
    } else if seconds(&refresh) < leaf.not_before() + 10 * MINUTE {
        let why = "must be at least 10 minutes after status.notBefore";
        refresh.invalid(Printed::json(refresh.text()), why);
    } else if seconds(&refresh) > leaf.not_after() - 10 * MINUTE {
        let why = "must be at least 10 minutes before status.notAfter";
        refresh.invalid(Printed::json(refresh.text()), why);
    } else {
        return true;
    }
    false
}

/// Checks the certificates after the leaf. The spelling of the first message is the reference's.
fn validate_intermediates(chain: &Cursor<'_, '_>, rest: &[u8]) {
    for block in pem::blocks(rest) {
        if block.label != "CERTIFICATE" {
            let why = "issued certificate chain must consist entirely of CERTFICATE PEM blocks";
            return chain.invalid(chain.text(), why);
        }
        if Certificate::parse(&block.contents).is_none() {
            let why = "intermediate certificate does not parse as valid X.509";
            return chain.invalid(chain.text(), why);
        }
    }
}

fn seconds(time: &Cursor<'_, '_>) -> i64 {
    Time::parse(time.text()).map(|time| time.unix_seconds()).unwrap_or_default()
}
