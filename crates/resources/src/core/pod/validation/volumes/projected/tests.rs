use pintle_features::Feature;

use crate::core::pod::validation::volumes::tests::{MODE, POD, SUBDOMAIN, accepted, pods, refused};
use crate::framework::validation::testing::Base;

/// Pods with gates on whose fields are dropped otherwise.
fn with_projections() -> Base {
    let gates = [(Feature::ClusterTrustBundleProjection, true), (Feature::PodCertificateRequest, true)];
    Base::with_features("", "pods", POD, &gates)
}

fn projected(sources: &str) -> String {
    format!(r#"{{"name":"v","projected":{{"sources":[{sources}]}}}}"#)
}

#[test]
fn projected_files_have_different_paths() {
    let pods = pods();
    accepted(
        &pods,
        &projected(r#"{"secret":{"name":"a","items":[{"key":"k","path":"p"}]}},{"configMap":{"name":"a"}}"#),
    );
    accepted(&pods, &projected("{}"));
    let at = "spec.volumes[0].projected";
    refused(
        &pods,
        &projected(
            r#"{"secret":{"items":[{"key":"k","path":"p"},{"key":"k","path":"p"}]}},
               {"configMap":{"items":[{"key":"k","path":"p"},{"key":"k","path":""}]}},
               {"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.name"}},{"path":"","fieldRef":{"fieldPath":"metadata.name"}}]}}"#,
        ),
        &[
            &format!("{at}.sources[0].secret.name: Required value"),
            &format!(r#"{at}: Invalid value: "": conflicting duplicate paths"#),
            &format!("{at}.sources[1].configMap.name: Required value"),
            &format!(r#"{at}: Invalid value: "": conflicting duplicate paths"#),
            &format!("{at}.sources[1].configMap.items[1].path: Required value"),
            &format!(r#"{at}: Invalid value: "p": conflicting duplicate paths"#),
            &format!("{at}.sources[2].downwardAPI.path: Required value"),
        ],
    );
    refused(
        &pods,
        r#"{"name":"v","projected":{"defaultMode":512,"sources":[{"secret":{"name":"a"},"configMap":{"name":"a"}}]}}"#,
        &[
            &format!("{at}.defaultMode: Invalid value: 512: {MODE}"),
            &format!("{at}.sources[0]: Forbidden: may not specify more than 1 volume type per source"),
        ],
    );
}

#[test]
fn projected_tokens_live_ten_minutes_at_least() {
    let pods = pods();
    let token = |rest: &str| projected(&format!(r#"{{"serviceAccountToken":{{{rest}}}}}"#));
    accepted(&pods, &token(r#""path":"a","expirationSeconds":4294967296"#));
    let at = "spec.volumes[0].projected";
    refused(
        &pods,
        &token(r#""path":"","expirationSeconds":599"#),
        &[
            &format!(
                "{at}.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"
            ),
            &format!("{at}.path: Required value"),
        ],
    );
    let away = token(r#""path":"../a","expirationSeconds":4294967297"#);
    let seconds = format!(
        "{at}.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"
    );
    refused(
        &pods,
        &away,
        &[&seconds, &format!(r#"{at}.path: Invalid value: "../a": must not contain '..'"#)],
    );
    // Stored before there was a rule about the path.
    let old = token(r#""path":"../a""#);
    let changed = [("/metadata/labels/a", r#""b""#), ("/metadata/generation", "1")];
    pods.accepts_update_of(&[("/spec/volumes/0", &old)], &[&changed]);
}

#[test]
fn projected_trust_bundles_are_of_a_name_or_a_signer() {
    let pods = with_projections();
    let bundle = |rest: &str| projected(&format!(r#"{{"clusterTrustBundle":{{{rest}}}}}"#));
    accepted(&pods, &bundle(r#""name":"a","path":"p""#));
    accepted(&pods, &bundle(r#""name":"example.com:s:a","path":"p""#));
    accepted(&pods, &bundle(r#""signerName":"example.com/s","labelSelector":{},"path":"p""#));
    let at = "spec.volumes[0].projected.sources[0].clusterTrustBundle";
    refused(
        &pods,
        &bundle(r#""path":"""#),
        &[
            &format!("{at}: Required value: either name or signerName must be specified"),
            &format!("{at}.path: Required value"),
        ],
    );
    refused(
        &pods,
        &bundle(r#""name":"a","signerName":"b","path":"p""#),
        &[&format!(
            r#"{at}: Invalid value: {{"Name":"a","SignerName":"b","LabelSelector":null,"Optional":null,"Path":"p"}}: only one of name and signerName may be used"#
        )],
    );
    refused(
        &pods,
        &bundle(r#""name":"","labelSelector":{"matchLabels":{"a":"b"}},"path":"/p""#),
        &[
            &format!("{at}.name: Required value: must be a valid object name"),
            &format!(r#"{at}.name: Invalid value: "": not a valid clustertrustbundlename: {SUBDOMAIN}"#),
            &format!(
                r#"{at}.labelSelector: Invalid value: {{"matchLabels":{{"a":"b"}}}}: labelSelector must be unset if name is specified"#
            ),
            &format!(r#"{at}.path: Invalid value: "/p": must be a relative path"#),
        ],
    );
    refused(
        &pods,
        &bundle(r#""signerName":"","labelSelector":{"matchLabels":{"a":"-"}},"path":"p""#),
        &[
            &format!("{at}.signerName: Required value: must be a valid signer name"),
            &format!("{at}.signerName: Required value"),
            &format!(
                r#"{at}.labelSelector.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#
            ),
        ],
    );
    let two =
        r#"{"clusterTrustBundle":{"name":"a","path":"p"}},{"clusterTrustBundle":{"name":"b","path":"p"}}"#;
    refused(
        &pods,
        &projected(two),
        &[r#"spec.volumes[0].projected: Invalid value: "p": conflicting duplicate paths"#],
    );
}

#[test]
fn projected_certificates_have_a_signer_a_key_and_a_path() {
    let pods = with_projections();
    let certificate = |rest: &str| projected(&format!(r#"{{"podCertificate":{{{rest}}}}}"#));
    accepted(
        &pods,
        &certificate(
            r#""signerName":"example.com/s","keyType":"ED25519","maxExpirationSeconds":7862400,"keyPath":"k","certificateChainPath":"c","userAnnotations":{"Example.com/A":"b"}"#,
        ),
    );
    let at = "spec.volumes[0].projected.sources[0].podCertificate";
    refused(
        &pods,
        &certificate(
            r#""signerName":"example.com/s","keyType":"x","maxExpirationSeconds":3599,"userAnnotations":{"":"a","A":"b"}"#,
        ),
        &[
            &format!("{at}.userAnnotations: Required value"),
            &format!(
                r#"{at}.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")"#
            ),
            &format!(
                r#"{at}.keyType: Unsupported value: "x": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519""#
            ),
            &format!(
                "{at}.maxExpirationSeconds: Invalid value: 3599: if provided, maxExpirationSeconds must be >= 3600"
            ),
            &format!(
                "{at}: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
            ),
        ],
    );
    let long = format!(
        r#""signerName":"kubernetes.io/s","keyType":"ED25519","maxExpirationSeconds":86401,"credentialBundlePath":"a","keyPath":"a","certificateChainPath":"..","userAnnotations":{{"a.b/c":"{}"}}"#,
        "x".repeat(256 * 1024)
    );
    refused(
        &pods,
        &certificate(&long),
        &[
            &format!("{at}.userAnnotations: Too long: may not be more than 262144 bytes"),
            &format!(
                "{at}.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400"
            ),
            r#"spec.volumes[0].projected: Invalid value: "a": conflicting duplicate paths"#,
            &format!(r#"{at}.certificateChainPath: Invalid value: "..": must not contain '..'"#),
            &format!(r#"{at}.certificateChainPath: Invalid value: "..": must not start with '..'"#),
        ],
    );
}
