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
