//! What anyone may read: health and version, as the reference's bootstrap role `system:public-info-viewer` grants.
//! It goes when RBAC brings that role.

use async_trait::async_trait;

use super::{Attributes, Authorizer, Verdict};

const PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

pub struct PublicInfo;

#[async_trait]
impl Authorizer for PublicInfo {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        if !attributes.is_resource && attributes.verb == "get" && PATHS.contains(&attributes.path) {
            Verdict::allow("")
        } else {
            Verdict::no_opinion("")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    #[tokio::test]
    async fn health_and_version_are_public_and_nothing_else() {
        let nobody = User::anonymous();
        let allowed = async |verb, path| {
            PublicInfo.authorize(&Attributes::of_path(&nobody, verb, path)).await.is_allowed()
        };
        assert!(allowed("get", "/readyz").await);
        assert!(allowed("get", "/version").await);
        assert!(!allowed("post", "/version").await);
        assert!(!allowed("get", "/readyz/etcd").await, "single checks tell their reason");
        assert!(!allowed("get", "/metrics").await);
    }
}
