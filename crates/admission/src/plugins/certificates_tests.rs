use pintle_auth::Verdict;
use rcgen::{CertificateParams, DnType, KeyPair};

use super::*;
use crate::testing::Case;

/// Allows `verb` on one signer or domain.
struct Signers(&'static str, &'static str);

#[async_trait]
impl Authorizer for Signers {
    async fn authorize(&self, attributes: &authorizer::Attributes<'_>) -> Verdict {
        assert_eq!((attributes.group, attributes.resource), (GROUP, "signers"));
        if (attributes.verb, attributes.name) == (self.0, self.1) {
            Verdict::allow("")
        } else {
            Verdict::no_opinion("")
        }
    }
}

fn json(text: &str) -> Value {
    pintle_codec::json::decode_untyped(text.as_bytes()).expect("a test's JSON").value
}

async fn ask(
    plugin: &dyn Plugin,
    resource: &str,
    operation: Operation,
    new: Value,
    old: &str,
) -> Option<String> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let mut case = Case::new(operation, &format!("{resource}.{GROUP}/{subresource}")).named("a").object(new);
    if operation == Operation::Update {
        case = case.old_object(json(old));
    }
    case.run(plugin).await.why()
}

const STORED: &str = r#"{"spec":{"signerName":"example.com/foo"},"status":{}}"#;

#[tokio::test]
async fn approval_needs_the_verb_approve_on_the_signer_or_its_domain() {
    let ask = async |verb, name| {
        let plugin = Approval(Arc::new(Signers(verb, name)));
        // The signer of the new object is ignored.
        let new = json(r#"{"spec":{"signerName":"other.com/x"}}"#);
        ask(&plugin, "certificatesigningrequests/approval", Operation::Update, new, STORED).await
    };
    assert_eq!(ask("approve", "example.com/foo").await, None);
    assert_eq!(ask("approve", "example.com/*").await, None);
    let why = Some(r#"user not permitted to approve requests with signerName "example.com/foo""#.to_owned());
    assert_eq!(ask("approve", "other.com/x").await, why);
    assert_eq!(ask("sign", "example.com/foo").await, why);
}

#[tokio::test]
async fn signing_needs_the_verb_sign_on_the_signer() {
    let ask = async |name, status: &str| {
        let plugin = Signing(Arc::new(Signers("sign", name)));
        let new = json(&format!(r#"{{"spec":{{"signerName":"example.com/foo"}},"status":{status}}}"#));
        ask(&plugin, "certificatesigningrequests/status", Operation::Update, new, STORED).await
    };
    let why = Some(r#"user not permitted to sign requests with signerName "example.com/foo""#.to_owned());
    assert_eq!(ask("example.com/*", r#"{"certificate":"x"}"#).await, None);
    assert_eq!(ask("nobody", r#"{"certificate":"x"}"#).await, why);
    assert_eq!(ask("nobody", r#"{"conditions":[{"type":"Failed"}]}"#).await, why);
    assert_eq!(ask("nobody", r#"{"conditions":[]}"#).await, None, "nothing changes");
}

#[tokio::test]
async fn requests_for_the_group_system_masters_are_forbidden() {
    let asking = async |signer: &str, group: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::OrganizationName, group);
        let pem = params.serialize_request(&KeyPair::generate().expect("a key")).expect("a request");
        let mut new = json(&format!(r#"{{"spec":{{"signerName":"{signer}"}}}}"#));
        let pem = Value::bytes(pem.pem().expect("PEM").into_bytes());
        new.get_mut("spec").and_then(Value::as_object_mut).expect("a spec").insert("request", pem);
        ask(&SubjectRestriction, "certificatesigningrequests", Operation::Create, new, "").await
    };
    assert_eq!(asking(API_SERVER_CLIENT, "devs").await, None);
    assert_eq!(asking("example.com/x", "system:masters").await, None);
    assert_eq!(
        asking(API_SERVER_CLIENT, "system:masters").await.as_deref(),
        Some("use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed")
    );
    let empty = json(&format!(r#"{{"spec":{{"signerName":"{API_SERVER_CLIENT}"}}}}"#));
    let refused = ask(&SubjectRestriction, "certificatesigningrequests", Operation::Create, empty, "").await;
    assert_eq!(refused.as_deref(), Some("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"));
}

#[tokio::test]
async fn a_trust_bundle_needs_the_verb_attest_on_its_signer() {
    let plugin = BundleAttest(Arc::new(Signers("attest", "example.com/mine")));
    let bundle = |signer: &str, rest: &str| {
        json(&format!(r#"{{"metadata":{{"name":"a"{rest}}},"spec":{{"signerName":"{signer}"}}}}"#))
    };
    let create = async |new| ask(&plugin, "clustertrustbundles", Operation::Create, new, "").await;
    assert_eq!(create(bundle("example.com/mine", "")).await, None);
    assert_eq!(create(bundle("", "")).await, None);
    let why = Some(r#"user not permitted to attest for signerName "example.com/x""#.to_owned());
    assert_eq!(create(bundle("example.com/x", "")).await, why);
    let old = r#"{"metadata":{"name":"a"},"spec":{"signerName":"example.com/x"}}"#;
    let update = async |new| ask(&plugin, "clustertrustbundles", Operation::Update, new, old).await;
    assert_eq!(update(bundle("example.com/x", r#","finalizers":["f"]"#)).await, None);
    assert_eq!(update(bundle("example.com/x", r#","labels":{"a":"b"}"#)).await, why);
}
