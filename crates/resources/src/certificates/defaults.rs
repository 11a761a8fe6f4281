//! Defaults of certificate signing requests. Those of PodCertificateRequest are declared.

use crate::defaults::Fill::{Text, Texts};
use crate::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[
    Rule::table(
        &["certificates/v1beta1.CertificateSigningRequestSpec"],
        &[("usages", Texts(&["digital signature", "key encipherment"]))],
    ),
    Rule::table(&["certificates/v1beta1.CertificateSigningRequestCondition"], &[("status", Text("True"))]),
];

#[cfg(test)]
mod tests {
    use crate::defaults::tests::check;

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
