//! The service account flags, which only make sense together. Giving none of them is fine here.

use pintle_features::Feature;

use super::Problems;
use super::authentication::check_url;
use crate::Parsed;
use crate::golang::quote;

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let issuers = flags.strings("service-account-issuer");
    let key_files = flags.strings("service-account-key-file");
    let signing_key = flags.string("service-account-signing-key-file");
    let endpoint = flags.string("service-account-signing-endpoint");
    let audiences = flags.strings("api-audiences");

    check_issuers(issuers, problems);
    check_jwks_uri(flags.string("service-account-jwks-uri"), problems);
    check_endpoint(flags, problems);
    check_longest_life(flags, problems);

    let issuer = issuers.first().is_some_and(|issuer| !issuer.is_empty());
    let any = !issuers.is_empty()
        || !key_files.is_empty()
        || !signing_key.is_empty()
        || !endpoint.is_empty()
        || !audiences.is_empty();
    if !any {
        return;
    }
    if issuers.is_empty() {
        problems
            .push("--service-account-issuer is a required flag with the other service account flags".into());
    }
    if key_files.is_empty() && endpoint.is_empty() {
        problems.push(
            "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set".into(),
        );
    }
    if !issuer || (signing_key.is_empty() && endpoint.is_empty()) {
        problems.push(
            "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified \
             together"
                .into(),
        );
    }
}

fn check_issuers(issuers: &[String], problems: &mut Problems) {
    for (at, issuer) in issuers.iter().enumerate() {
        if issuer.contains(':')
            && let Err(reason) = check_url(issuer)
        {
            let issuer = quote(issuer);
            problems.push(format!(
                "service-account-issuer {issuer} contained a ':' but was not a valid URL: {reason}"
            ));
        } else if issuer.is_empty() {
            problems.push("service-account-issuer should not be an empty string".into());
        } else if issuers[..at].contains(issuer) {
            problems.push(format!("service-account-issuer {} is already specified", quote(issuer)));
        }
    }
}

fn check_jwks_uri(uri: &str, problems: &mut Problems) {
    if uri.is_empty() {
        return;
    }
    if let Err(reason) = check_url(uri) {
        problems.push(format!("service-account-jwks-uri must be a valid URL: {reason}"));
    } else if !uri.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:")) {
        problems.push(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"));
    }
}

fn check_endpoint(flags: &Parsed, problems: &mut Problems) {
    let Some(endpoint) = flags.non_empty("service-account-signing-endpoint") else { return };
    let keys = flags.non_empty("service-account-signing-key-file").is_some()
        || !flags.strings("service-account-key-file").is_empty();
    if keys {
        problems.push(
            "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with \
             `--service-account-signing-endpoint` (They are mutually exclusive)"
                .into(),
        );
    }
    if !flags.features().enabled(Feature::ExternalServiceAccountTokenSigner) {
        problems.push(
            "setting `--service-account-signing-endpoint` requires enabling ExternalServiceAccountTokenSigner feature \
             gate"
                .into(),
        );
    }
    if let Some(name) = endpoint.strip_prefix('@')
        && !is_socket_name(name)
    {
        problems.push(format!(
            "invalid value {} passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid \
             abstract socket name",
            quote(endpoint)
        ));
    }
}

/// Words of letters, digits, dashes and underscores, separated by dots.
fn is_socket_name(name: &str) -> bool {
    let word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    name.split('.').all(word)
}

fn check_longest_life(flags: &Parsed, problems: &mut Problems) {
    const SECOND: i64 = 1_000_000_000;
    let life = flags.duration_nanos("service-account-max-token-expiration");
    if life != 0 && !(3600 * SECOND..=(1i64 << 32) * SECOND).contains(&life) {
        problems
            .push("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds".into());
    }
}
