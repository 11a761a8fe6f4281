//! Defaults of certificate signing requests. Those of PodCertificateRequest are declared.
//!
//! The reference also guesses who shall sign a `v1beta1` request that does not say, by reading it. Nothing can be created in
//! that version any more, and whatever was stored in it had its signer filled in before; so there is nothing to guess.

use crate::framework::defaults::Fill::{Text, Texts};
use crate::framework::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[
    Rule::table(
        &["certificates/v1beta1.CertificateSigningRequestSpec"],
        &[("usages", Texts(&["digital signature", "key encipherment"]))],
    ),
    Rule::table(&["certificates/v1beta1.CertificateSigningRequestCondition"], &[("status", Text("True"))]),
];

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    #[test]
    fn the_first_version_had_usual_usages_and_conditions() {
        check(
            "certificates/v1beta1.CertificateSigningRequest",
            r#"{"spec":{"request":"AAEC"},"status":{"conditions":[{"type":"Approved"},{"type":"Denied","status":"False"}]}}"#,
            r#"{"metadata":{},"spec":{"request":"AAEC","usages":["digital signature","key encipherment"]},
                "status":{"conditions":[
                    {"type":"Approved","status":"True","lastUpdateTime":null,"lastTransitionTime":null},
                    {"type":"Denied","status":"False","lastUpdateTime":null,"lastTransitionTime":null}]}}"#,
        );
        let own = r#"{"request":"AAEC","usages":["client auth"]}"#;
        check("certificates/v1beta1.CertificateSigningRequestSpec", own, own);
    }

    #[test]
    fn a_certificate_of_a_pod_is_good_for_a_day() {
        check(
            "certificates/v1beta1.PodCertificateRequestSpec",
            r#"{"signerName":"s"}"#,
            r#"{"signerName":"s","podName":"","podUID":"","serviceAccountName":"","serviceAccountUID":"",
                "nodeName":"","nodeUID":"","maxExpirationSeconds":86400,"pkixPublicKey":null,"proofOfPossession":null,
                "stubPKCS10Request":null}"#,
        );
    }
}
