//! Names of certificate signers and of the trust bundles named after them.

use pintle_meta::quote;
use pintle_meta::validation::{dns1123_label, dns1123_subdomain, object_meta};

use crate::framework::validation::Cursor;

/// The longest domain, and the longest name of a resource.
const LONGEST_SUBDOMAIN: usize = 253;
/// `domain/namespace.name`.
const LONGEST: usize = LONGEST_SUBDOMAIN + 1 + 63 + 1 + LONGEST_SUBDOMAIN;

/// Whether the Kubernetes project reserves the domain of a signer.
pub(crate) fn is_kubernetes(signer: &str) -> bool {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    domain.strip_suffix("kubernetes.io").is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Checks the name of a signer, `example.com/signer-name`.
pub(crate) fn check(name: &Cursor<'_, '_>) {
    let text = name.text();
    if text.is_empty() {
        return name.required("");
    }
    let Some((domain, own)) = text.split_once('/').filter(|(_, own)| !own.contains('/')) else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return name.invalid(text, why);
    };
    if domain.len() > LONGEST_SUBDOMAIN {
        name.too_long(LONGEST_SUBDOMAIN);
    }
    for why in first_wrong(domain, dns1123_label) {
        name.invalid(domain, why);
    }
    if !domain.contains('.') {
        name.invalid(domain, "should be a domain with at least two segments separated by dots");
    }
    for why in first_wrong(own, dns1123_subdomain) {
        name.invalid(own, why);
    }
    if text.len() > LONGEST {
        name.too_long(LONGEST);
    }
}

/// Returns the messages about the first label of a dotted text that a format refuses.
fn first_wrong(text: &str, format: fn(&str) -> Vec<String>) -> Vec<String> {
    for label in text.split('.') {
        let mut wrong = format(label);
        if !wrong.is_empty() {
            for why in &mut wrong {
                *why = format!("validating label {}: {why}", quote(label));
            }
            return wrong;
        }
    }
    Vec::new()
}

/// Returns the messages about the name of a ClusterTrustBundle: that of its signer and its own, with colons between.
pub(crate) fn trust_bundle_name(signer: &str, name: &str, is_prefix: bool) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            return vec![r#"ClusterTrustBundle without signer name must not have ":" in its name"#.into()];
        }
        return object_meta::subdomain_name(name, is_prefix);
    }
    let prefix = signer.replace('/', ":") + ":";
    match name.strip_prefix(&prefix) {
        Some(own) => object_meta::subdomain_name(own, is_prefix),
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")]
        }
    }
}

/// As [`trust_bundle_name`], of a bundle whose signer is known by the name only.
pub(crate) fn any_trust_bundle_name(name: &str) -> Vec<String> {
    let signer = name.rsplit_once(':').map(|(signer, _)| signer.replace(':', "/"));
    trust_bundle_name(&signer.unwrap_or_default(), name, false)
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;
    use crate::framework::validation::Errors;

    #[track_caller]
    fn wrong(name: &str) -> Vec<String> {
        let object = json::decode_any(serde_json::json!({ "s": name }).to_string().as_bytes()).unwrap().value;
        let errors = Errors::default();
        check(&Cursor::root(&object, None, &errors).field("s"));
        errors.into_vec().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn signers_have_a_domain_and_a_name() {
        assert!(wrong("example.com/a").is_empty());
        assert!(wrong("example.com/ns.name").is_empty());
        assert_eq!(wrong(""), ["s: Required value"]);
        for name in ["a", "a.b/c/d"] {
            assert_eq!(
                wrong(name),
                [format!(
                    "s: Invalid value: {}: must be a fully qualified domain and path of the form 'example.com/signer-name'",
                    quote(name)
                )]
            );
        }
        let errors = wrong("A/B.c");
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(
            errors[0]
                .starts_with(r#"s: Invalid value: "A": validating label "A": a lowercase RFC 1123 label"#)
        );
        assert_eq!(
            errors[1],
            r#"s: Invalid value: "A": should be a domain with at least two segments separated by dots"#
        );
        assert!(
            errors[2]
                .starts_with(r#"s: Invalid value: "B.c": validating label "B": a lowercase RFC 1123 subd"#)
        );
        let long = format!("{}com/{}a", "a.".repeat(130), "a.".repeat(160));
        assert_eq!(
            wrong(&long),
            ["s: Too long: may not be more than 253 bytes", "s: Too long: may not be more than 571 bytes"]
        );
    }

    #[test]
    fn reserved_signers() {
        for name in ["kubernetes.io/a", "a.kubernetes.io/a", "kubernetes.io"] {
            assert!(is_kubernetes(name), "{name}");
        }
        for name in ["notkubernetes.io/a", "kubernetes.io.example.com/a", "a/kubernetes.io", ""] {
            assert!(!is_kubernetes(name), "{name}");
        }
    }

    #[test]
    fn bundles_are_named_after_their_signer() {
        assert!(any_trust_bundle_name("a").is_empty());
        assert!(any_trust_bundle_name("example.com:signer:a").is_empty());
        assert_eq!(
            any_trust_bundle_name(":a"),
            [r#"ClusterTrustBundle without signer name must not have ":" in its name"#]
        );
        assert_eq!(
            any_trust_bundle_name("a/b:c"),
            ["ClusterTrustBundle for signerName a/b must be named with prefix a:b:"]
        );
        assert_eq!(any_trust_bundle_name("a:B").len(), 1);
    }
}
