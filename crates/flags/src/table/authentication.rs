//! Flags of authentication.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Duration, PairsOneEach, String, StringArray, Strings};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "anonymous-auth",
        Bool,
        "true",
        "Treat requests without credentials as user system:anonymous in group system:unauthenticated instead of \
         refusing them.",
    )
    .active(),
    flag(
        "api-audiences",
        Strings,
        "",
        "Audiences of which a service account token must name one; without it, the first --service-account-issuer.",
    ).active(),
    flag(
        "authentication-config",
        String,
        "",
        "File that configures token issuers and anonymous access; excludes the --oidc-* flags.",
    ).active(),
    flag("authentication-token-webhook-cache-ttl", Duration, "2m0s", "How long the token webhook's verdicts are kept.").active(),
    flag(
        "authentication-token-webhook-config-file",
        String,
        "",
        "kubeconfig of a webhook that is asked about bearer tokens.",
    ).active(),
    flag("authentication-token-webhook-version", String, "v1beta1", "Version of TokenReview to talk to that webhook.").active(),
    flag(
        "client-ca-file",
        String,
        "",
        "Certificate authorities of client certificates; the common name becomes the user, organisations the groups.",
    )
    .active(),
    flag(
        "enable-bootstrap-token-auth",
        Bool,
        "",
        "Accept bootstrap tokens, which are secrets in kube-system, from joining nodes.",
    ).active(),
    flag("oidc-ca-file", String, "", "Certificate authorities of the OpenID issuer; without it, those of the host.").active(),
    flag("oidc-client-id", String, "", "Client that OpenID tokens must be issued to; needed with --oidc-issuer-url.").active(),
    flag("oidc-groups-claim", String, "", "Claim of OpenID tokens that lists the user's groups.").active(),
    flag("oidc-groups-prefix", String, "", "Text put before each group from an OpenID token.").active(),
    flag("oidc-issuer-url", String, "", "https URL of the OpenID issuer whose tokens are accepted.").active(),
    flag(
        "oidc-required-claim",
        PairsOneEach,
        "",
        "Claim that an OpenID token must carry, as name=value. May be given several times.",
    ).active(),
    flag("oidc-signing-algs", Strings, "RS256", "Signature algorithms accepted in OpenID tokens, comma separated.").active(),
    flag("oidc-username-claim", String, "sub", "Claim of OpenID tokens that becomes the user name.").active(),
    flag(
        "oidc-username-prefix",
        String,
        "",
        "Text put before the user name; '-' for none. Without it, the issuer URL unless the claim is email.",
    ).active(),
    flag(
        "requestheader-allowed-names",
        Strings,
        "",
        "Common names of the certificates that may pass a user on in headers; none means any that verifies.",
    ).active(),
    flag(
        "requestheader-client-ca-file",
        String,
        "",
        "Certificate authorities of the proxies that may pass a user on in headers.",
    ).active(),
    flag("requestheader-extra-headers-prefix", Strings, "", "Beginnings of the headers with extra user attributes.").active(),
    flag("requestheader-group-headers", Strings, "", "Headers with the groups.").active(),
    flag("requestheader-uid-headers", Strings, "", "Headers with the unique id of the user.").active(),
    flag("requestheader-username-headers", Strings, "", "Headers with the user name.").active(),
    flag(
        "service-account-extend-token-expiration",
        Bool,
        "true",
        "Let tokens that are mounted into pods live up to a year, while clients learn to reload them.",
    ).active(),
    flag(
        "service-account-issuer",
        StringArray,
        "",
        "Issuer name in service account tokens, best an https URL. Given several times, the first signs and all are \
         accepted.",
    ).active(),
    flag("service-account-jwks-uri", String, "", "https URL of the key set to show in the OpenID discovery document.").active(),
    flag(
        "service-account-key-file",
        StringArray,
        "",
        "PEM file with the keys or certificates, RSA or ECDSA, that verify service account tokens. May be given \
         several times.",
    ).active(),
    flag("service-account-lookup", Bool, "true", "Refuse tokens whose service account or secret no longer exists.").active(),
    flag("service-account-max-token-expiration", Duration, "", "Longest life of a token that can be requested.").active(),
    flag("token-auth-file", String, "", "CSV file of static bearer tokens: token,user,uid[,groups].").active(),
];
