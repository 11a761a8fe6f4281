//! Flags of the controllers that run in this process.

use super::Problems;
use crate::Parsed;

/// Signers that can have files of their own.
const SIGNERS: [&str; 4] = ["kube-apiserver-client", "kubelet-client", "kubelet-serving", "legacy-unknown"];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let mut pairs = vec![("cluster-signing".to_owned(), pair(flags, "cluster-signing"))];
    for signer in SIGNERS {
        let prefix = format!("cluster-signing-{signer}");
        let pair = pair(flags, &prefix);
        pairs.push((prefix, pair));
    }
    for (prefix, (certificate, key)) in &pairs {
        if certificate != key {
            problems.push(format!("--{prefix}-cert-file and --{prefix}-key-file must be given together"));
        }
    }
    let is_given = |(_, (certificate, key)): &(String, (bool, bool))| *certificate || *key;
    if is_given(&pairs[0]) && pairs[1..].iter().any(is_given) {
        problems.push("cannot specify default and per controller certs at the same time".into());
    }
    if flags.duration_nanos("cluster-signing-duration") <= 0 {
        problems.push("--cluster-signing-duration must be greater than zero".into());
    }
    if flags.duration_nanos("legacy-service-account-token-clean-up-period") <= 0 {
        problems.push("--legacy-service-account-token-clean-up-period must be greater than zero".into());
    }
}

/// Returns whether certificate and key are given.
fn pair(flags: &Parsed, prefix: &str) -> (bool, bool) {
    let is_given = |name: &str| flags.non_empty(&format!("{prefix}-{name}-file")).is_some();
    (is_given("cert"), is_given("key"))
}
