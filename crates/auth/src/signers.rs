//! Permissions of signers of certificates. Signers are not objects: `signers` is a resource of RBAC rules alone, named by the
//! signer or by its domain with `/*`.

use crate::{Attributes, Authorizer, User};

const GROUP: &str = "certificates.k8s.io";

/// Returns whether a user has a verb on a signer, or on all signers of its domain.
pub async fn is_allowed(authorizer: &dyn Authorizer, user: &User, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer, &format!("{domain}/*")] {
        let attributes =
            Attributes { name, version: "*", ..Attributes::of_resource(user, verb, GROUP, "signers") };
        let verdict = authorizer.authorize(&attributes).await;
        if verdict.is_allowed() && verdict.error.is_none() {
            return true;
        }
    }
    false
}
