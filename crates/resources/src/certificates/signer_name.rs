//! Names of signers: `example.com/signer-name`.

use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use crate::framework::validation::Cursor;

const MAX_DOMAIN: usize = 253;
/// A domain, and below it a label and a subdomain.
const MAX_LENGTH: usize = MAX_DOMAIN + 1 + (253 + 63 + 1);

/// Whether a signer is one of Kubernetes'.
pub(super) fn is_kubernetes(name: &str) -> bool {
    let domain = name.split('/').next().unwrap_or_default();
    domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
}

/// Checks the name of a signer: a domain, and a name below it.
pub(super) fn check(signer: &Cursor<'_, '_>) {
    let name = signer.text();
    if name.is_empty() {
        return signer.required("");
    }
    let Some((domain, own)) = name.split_once('/').filter(|(_, own)| !own.contains('/')) else {
        return signer.invalid(
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        );
    };
    if domain.len() > MAX_DOMAIN {
        signer.too_long(MAX_DOMAIN);
    }
    check_labels(signer, domain, dns1123_label);
    if !domain.contains('.') {
        signer.invalid(domain, "should be a domain with at least two segments separated by dots");
    }
    check_labels(signer, own, dns1123_subdomain);
    if name.len() > MAX_LENGTH {
        signer.too_long(MAX_LENGTH);
    }
}

/// Reports the first label that is wrong; others would lead to the same errors.
fn check_labels(signer: &Cursor<'_, '_>, text: &str, format: fn(&str) -> Vec<String>) {
    let wrong = text.split('.').map(|label| (label, format(label))).find(|(_, wrong)| !wrong.is_empty());
    for (label, why) in wrong.iter().flat_map(|(label, wrong)| wrong.iter().map(move |why| (label, why))) {
        signer.invalid(text, format!("validating label {}: {why}", pintle_meta::quote(label)));
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::Value;

    use super::*;
    use crate::framework::validation::Errors;

    fn errors(name: &str) -> Vec<String> {
        let object: Value = [("s", Value::string(name))].into_iter().collect::<pintle_meta::Object>().into();
        let errors = Errors::default();
        check(&Cursor::root(&object, None, &errors).field("s"));
        errors.into_vec().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_signer_is_a_name_below_a_domain() {
        assert!(errors("a.b/c.d").is_empty());
        assert_eq!(errors(""), ["s: Required value"]);
        let form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        for wrong in ["a.b", "a.b/c/d"] {
            assert_eq!(errors(wrong), [format!("s: Invalid value: {wrong:?}: {form}")]);
        }
        assert_eq!(
            errors("a/c"),
            [r#"s: Invalid value: "a": should be a domain with at least two segments separated by dots"#]
        );
        let label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        // The second label that is wrong is not reported.
        assert_eq!(errors("A.B/c"), [format!(r#"s: Invalid value: "A.B": validating label "A": {label}"#)]);
        let domain = format!("{}a", "a.".repeat(127));
        assert_eq!(errors(&format!("{domain}/c")), ["s: Too long: may not be more than 253 bytes"]);
        let own = format!("{}a", "a.".repeat(159));
        assert_eq!(
            errors(&format!("{}/{own}", &domain[2..])),
            ["s: Too long: may not be more than 571 bytes"]
        );
    }

    #[test]
    fn signers_of_kubernetes_have_its_domain() {
        for (name, expected) in [
            ("kubernetes.io/a", true),
            ("a.kubernetes.io/b", true),
            ("akubernetes.io/b", false),
            ("a.b/kubernetes.io", false),
        ] {
            assert_eq!(is_kubernetes(name), expected, "{name}");
        }
    }
}
