//! `DenyServiceExternalIPs`: rejects new external IPs of services, by which their users could receive the traffic of others.

use std::collections::HashSet;

use async_trait::async_trait;
use pintle_meta::Value;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

pub(crate) struct DenyServiceExternalIPs;

#[async_trait]
impl Plugin for DenyServiceExternalIPs {
    fn name(&self) -> &'static str {
        "DenyServiceExternalIPs"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
            && target.subresource.is_empty()
            && target.resource.group.is_empty()
            && target.resource.resource == "services"
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let new = attributes.object().map_or(&[][..], external_ips);
        let old: HashSet<&str> =
            attributes.old_object().map_or(&[][..], external_ips).iter().filter_map(Value::as_str).collect();
        if new.iter().filter_map(Value::as_str).all(|ip| old.contains(ip)) {
            return Ok(());
        }
        Err(attributes.forbidden("Use of external IPs is denied by admission control"))
    }
}

fn external_ips(service: &Value) -> &[Value] {
    service.items_at(&["spec", "externalIPs"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{create, target, update};

    fn service(ips: &[&str]) -> String {
        format!(r#"{{"metadata":{{"name":"s"}},"spec":{{"externalIPs":{ips:?}}}}}"#)
    }

    #[tokio::test]
    async fn external_ips_may_go_but_not_come() {
        let denied = Some("Use of external IPs is denied by admission control".to_owned());
        assert_eq!(create("services").json(&service(&[])).run(&DenyServiceExternalIPs).await.why(), None);
        assert_eq!(
            create("services").json(&service(&["1.1.1.1"])).run(&DenyServiceExternalIPs).await.why(),
            denied
        );
        for (old, new, expected) in [
            (&["1.1.1.1", "2.2.2.2"][..], &["2.2.2.2", "1.1.1.1"][..], None),
            (&["1.1.1.1", "2.2.2.2"], &["2.2.2.2"], None),
            (&["1.1.1.1"], &[], None),
            (&[], &[], None),
            (&[], &["1.1.1.1"], denied.clone()),
            (&["1.1.1.1"], &["1.1.1.1", "2.2.2.2"], denied.clone()),
            (&["1.1.1.1"], &["1.1.1.01"], denied),
        ] {
            let case = update("services").old_json(&service(old)).json(&service(new));
            assert_eq!(case.run(&DenyServiceExternalIPs).await.why(), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn only_services_are_handled() {
        assert!(!DenyServiceExternalIPs.validates(Operation::Update, &target("services/status")));
        assert!(!DenyServiceExternalIPs.validates(Operation::Delete, &target("services")));
        assert!(
            !DenyServiceExternalIPs.validates(Operation::Create, &target("services.serving.knative.dev"))
        );
    }
}
