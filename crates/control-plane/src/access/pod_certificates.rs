//! The permission to write the status of a PodCertificateRequest: issuing, denying and failing it need `sign` on its signer.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{Authorizer, signers};
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Value, quote};
use pintle_registry::{Context, Guard, Result};
use pintle_resources::reviews::requesting_user;

/// Guards writes of the statuses of requests for certificates of pods.
pub(crate) struct PodCertificateStatuses {
    pub(crate) authorizer: Arc<dyn Authorizer>,
}

#[async_trait]
impl Guard for PodCertificateStatuses {
    async fn check(&self, _: &Context, _: &str, _: &Value, _: Option<&Value>) -> Result<()> {
        Ok(())
    }

    /// Checks the permission for a valid change. The signer is that of the stored object.
    async fn examine(&self, context: &Context, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        let Some(old) = old.filter(|old| errors.is_empty() && old.get("status") != new.get("status")) else {
            return;
        };
        let user = requesting_user(context);
        let signer = old.text_at(&["spec", "signerName"]);
        if !signers::is_allowed(&*self.authorizer, &user, "sign", signer).await {
            let why = format!(
                "User {} is not permitted to \"sign\" for signer {}",
                quote(&user.name),
                quote(signer)
            );
            let path = Path::new("spec");
            errors.push(Error::forbidden(&path.child("signerName"), why));
        }
    }
}
