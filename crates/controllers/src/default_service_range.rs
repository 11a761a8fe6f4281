//! The `ServiceCIDR` named `kubernetes`: the networks that flags say services are in.

use std::sync::Arc;
use std::time::Duration;

use pintle_codec::json;
use pintle_meta::{Status, Value};
use pintle_registry::{Result, Store};

use crate::keep::keep;
use crate::objects::{ObjectIdentity, Objects};

const NAME: &str = "kubernetes";
/// As whom its status is written.
const MANAGER: &str = "kubernetes-service-cidr-controller";

/// Makes the range if it is missing, and says that it is ready. One that is there is left as it is, but for a second family.
#[derive(Clone)]
pub struct DefaultServiceRange {
    ranges: Objects,
    /// Through the status.
    statuses: Objects,
    /// One, or two of different families.
    cidrs: Vec<String>,
    interval: Duration,
}

impl DefaultServiceRange {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "start-kubernetes-service-cidr-controller";

    /// `statuses` are the same objects by the rules of their status.
    pub fn new(ranges: Objects, statuses: Arc<Store>, cidrs: Vec<String>, interval: Duration) -> Self {
        let statuses = ranges.through(statuses, "status", MANAGER);
        DefaultServiceRange { ranges, statuses, cidrs, interval }
    }

    /// Makes the range, returns, and goes on until `shutdown`.
    pub async fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let interval = self.interval;
        let round = move || {
            let controller = self.clone();
            async move { controller.sync().await }
        };
        keep("the networks of services", interval, round, shutdown).await;
    }

    pub async fn sync(&self) {
        if let Err(status) = self.settle().await {
            tracing::error!("error trying to sync the default ServiceCIDR: {}", status.message);
        }
    }

    /// Makes the range if it is missing. Services can have addresses then.
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

    async fn settle(&self) -> Result<()> {
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
            None | Some("Unknown") => self.say_ready(&range).await,
            Some("False") => {
                tracing::warn!("the default ServiceCIDR is not ready, although it is as the flags say");
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// A cluster comes to have both families.
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

    async fn say_ready(&self, range: &Value) -> Result<()> {
        let now = self.ranges.store().now().truncated();
        let text = format!(
            r#"{{"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1","metadata":{{"name":"{NAME}"}},"status":{{"conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"{now}","message":"Kubernetes default Service CIDR is ready"}}]}}}}"#
        );
        let config = json::decode_untyped(text.as_bytes());
        let config = config.map_err(|error| Box::new(Status::internal(error)))?.value;
        self.statuses.apply("", &ObjectIdentity::of(range), &config).await.map(|_| ())
    }
}

/// A list of texts in JSON.
fn json_list(texts: &[String]) -> String {
    let mut out = vec![b'['];
    for (place, text) in texts.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        json::write::string(text, &mut out);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}
