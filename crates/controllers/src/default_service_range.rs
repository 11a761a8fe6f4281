//! The `ServiceCIDR` named `kubernetes`: the networks of `--service-cluster-ip-range`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_codec::json;
use pintle_meta::{Status, Value};
use pintle_registry::{Client, ObjectIdentity, Result, Store};

use crate::runtime::{Controller, Requeue, Source};

const NAME: &str = "kubernetes";
/// The field manager of its status.
const MANAGER: &str = "kubernetes-service-cidr-controller";

/// Creates the range where it is missing, and sets its condition Ready. An existing range is left alone, but for a second
/// address family.
#[derive(Clone)]
pub struct DefaultServiceRange {
    ranges: Client,
    /// Client of the status.
    statuses: Client,
    /// One network, or two of different address families.
    cidrs: Vec<String>,
    interval: Duration,
}

impl DefaultServiceRange {
    /// The post-start hook.
    pub const HOOK: &'static str = "start-kubernetes-service-cidr-controller";

    /// `statuses` is the store with the strategy of the status.
    pub fn new(ranges: Client, statuses: Arc<Store>, cidrs: Vec<String>, interval: Duration) -> Self {
        let statuses = ranges.through(statuses, "status", MANAGER);
        DefaultServiceRange { ranges, statuses, cidrs, interval }
    }

    pub async fn sync(&self) {
        if let Err(status) = self.ensure_ready().await {
            tracing::error!("error trying to sync the default ServiceCIDR: {}", status.message);
        }
    }

    /// Creates the range if it is missing, so that services can have addresses. Returns `None` if another server did.
    pub async fn ensure(&self) -> Result<Option<Value>> {
        if let Some(range) = self.ranges.find("", NAME).await? {
            return Ok(Some(range));
        }
        let cidrs = json_list(&self.cidrs);
        let text = format!(
            r#"{{"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1","metadata":{{"name":"{NAME}"}},"spec":{{"cidrs":{cidrs}}}}}"#
        );
        self.ranges.create_if_missing("", text.as_bytes()).await
    }

    async fn ensure_ready(&self) -> Result<()> {
        let range = match self.ensure().await? {
            Some(range) => Some(range),
            // Another server was faster.
            None => self.ranges.find("", NAME).await?,
        };
        let Some(range) = range else { return Ok(()) };
        let texts: Vec<&str> = range.items_at(&["spec", "cidrs"]).iter().filter_map(Value::as_str).collect();
        if let ([first], [wanted, _]) = (&texts[..], &self.cidrs[..])
            && first == wanted
        {
            return self.add_second().await;
        }
        if range.deletion_timestamp().is_some() {
            return Ok(());
        }
        if texts != self.cidrs {
            tracing::warn!(
                "the default ServiceCIDR {texts:?} does not match --service-cluster-ip-range {:?}",
                self.cidrs
            );
            return Ok(());
        }
        let conditions = range.items_at(&["status", "conditions"]).iter();
        let ready = conditions.clone().find(|condition| condition.text_at(&["type"]) == "Ready");
        match ready.map(|condition| condition.text_at(&["status"])) {
            None | Some("Unknown") => self.set_ready(&range).await,
            Some("False") => {
                tracing::warn!("the default ServiceCIDR is not ready, although it is as the flags say");
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// Adds the second address family.
    async fn add_second(&self) -> Result<()> {
        let cidrs: Vec<Value> = self.cidrs.iter().map(Value::string).collect();
        let mut change = |range: &Value| {
            let mut new = range.clone();
            if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
                spec.insert("cidrs", cidrs.clone());
            }
            Ok(Some(new))
        };
        self.ranges.update("", NAME, &mut change).await.map(|_| ())
    }

    async fn set_ready(&self, range: &Value) -> Result<()> {
        let now = self.ranges.store().now().truncated();
        let text = format!(
            r#"{{"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1","metadata":{{"name":"{NAME}"}},"status":{{"conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"{now}","message":"Kubernetes default Service CIDR is ready"}}]}}}}"#
        );
        let config = json::decode_untyped(text.as_bytes());
        let config = config.map_err(|error| Box::new(Status::internal(error)))?.value;
        self.statuses.apply("", &ObjectIdentity::of(range), &config).await.map(|_| ())
    }
}

#[async_trait]
impl Controller for DefaultServiceRange {
    fn name(&self) -> &'static str {
        "kubernetes_service_cidr"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(self.interval, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await;
        Ok(Requeue::Never)
    }

    fn awaited(&self) -> Option<&'static str> {
        Some("the networks of services")
    }
}

/// Returns a JSON array of strings.
fn json_list(texts: &[String]) -> String {
    let mut out = vec![b'['];
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json::write::string(text, &mut out);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}
