//! OpenID and the headers of authenticating proxies.

use pintle_features::Feature;

use super::Problems;
use crate::Parsed;
use crate::golang::quote;

const OIDC: [&str; 9] = [
    "oidc-ca-file",
    "oidc-client-id",
    "oidc-groups-claim",
    "oidc-groups-prefix",
    "oidc-issuer-url",
    "oidc-required-claim",
    "oidc-signing-algs",
    "oidc-username-claim",
    "oidc-username-prefix",
];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    check_oidc(flags, problems);
    for flag in [
        "requestheader-username-headers",
        "requestheader-group-headers",
        "requestheader-extra-headers-prefix",
        "requestheader-allowed-names",
    ] {
        check_blank(flags, flag, problems);
    }
    let uid_headers = flags.strings("requestheader-uid-headers");
    if !flags.features().enabled(Feature::RemoteRequestHeaderUID) {
        if !uid_headers.is_empty() {
            problems.push(
                "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be enabled"
                    .into(),
            );
        }
        return;
    }
    check_blank(flags, "requestheader-uid-headers", problems);
    if !uid_headers.is_empty() && !uid_headers.iter().any(|name| name.eq_ignore_ascii_case("X-Remote-Uid")) {
        problems.push(
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API \
             aggregation will not work"
                .into(),
        );
    }
}

fn check_oidc(flags: &Parsed, problems: &mut Problems) {
    let any = OIDC.iter().any(|flag| flags.changed(flag));
    if flags.non_empty("authentication-config").is_some() {
        if !flags.features().enabled(Feature::StructuredAuthenticationConfiguration) {
            problems.push(
                "set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file"
                    .into(),
            );
        }
        if any {
            problems.push("authentication-config file and oidc-* flags are mutually exclusive".into());
        }
    } else if any && (flags.string("oidc-issuer-url").is_empty() || flags.string("oidc-client-id").is_empty())
    {
        problems.push(
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
                .into(),
        );
    }
}

fn check_blank(flags: &Parsed, flag: &str, problems: &mut Problems) {
    if flags.strings(flag).iter().any(|name| name.trim().is_empty()) {
        problems.push(format!("empty value in {}", quote(flag)));
    }
}

/// The mistakes in a URL that Go's parser finds and people make.
pub(super) fn check_url(url: &str) -> Result<(), String> {
    let fail = |reason: &str| Err(format!("parse {}: {reason}", quote(url)));
    if url.chars().any(|c| c.is_ascii_control()) {
        return fail("net/url: invalid control character in URL");
    }
    let scheme_end = url.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    match scheme_end.map(|at| (at, &url[at..])) {
        Some((0, rest)) if rest.starts_with(':') => fail("missing protocol scheme"),
        Some((_, rest)) if rest.starts_with(':') && !url.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            fail("first path segment in URL cannot contain colon")
        }
        Some((_, rest)) if rest.starts_with("://") => check_authority(url, &rest[3..]),
        Some((_, rest)) if !rest.starts_with(':') && !url.starts_with('/') => {
            let first = url.split('/').next().unwrap_or_default();
            if first.contains(':') { fail("first path segment in URL cannot contain colon") } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn check_authority(url: &str, rest: &str) -> Result<(), String> {
    let fail = |reason: String| Err(format!("parse {}: {reason}", quote(url)));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let after_address = match host.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((_, port)) => port,
            None => return fail("missing ']' in host".into()),
        },
        None => &host[host.find(':').unwrap_or(host.len())..],
    };
    if after_address.is_empty() {
        return Ok(());
    }
    let port = after_address.strip_prefix(':');
    if port.is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit())) {
        Ok(())
    } else {
        fail(format!("invalid port {} after host", quote(after_address)))
    }
}
