//! Cost of priority and fairness for a request that does not wait.

use std::sync::Arc;

use anyhow::Context;
use pintle_auth::User;
use pintle_codec::json;
use pintle_flow_control::{
    Config, Describe, Digest, FlowControl, LevelSpec, ListOptions, ObjectStats, RequestDetails, SchemaSpec,
    Stats,
};
use pintle_metrics::Registry;
use pintle_runtime::Clock;

use crate::codec::micros;
use crate::figures::show;

/// Flow schemas that are tried before the one that matches, each of another group.
const OTHERS: usize = 20;

/// Ten thousand pods.
struct Pods;

impl ObjectStats for Pods {
    fn stats(&self, _: &str, _: &str) -> Stats {
        Stats::Known { objects: 10_000, average_size: 4_400 }
    }

    fn reads_recent_from_cache(&self) -> bool {
        true
    }
}

struct Request;

impl Describe for Request {
    fn details(&self) -> RequestDetails {
        RequestDetails::default()
    }
}

pub(crate) fn measure() -> anyhow::Result<()> {
    let control = control()?;
    let groups = ["dev", "system:authenticated"].map(str::to_owned).to_vec();
    let user = User { name: "alice".into(), groups, ..User::default() };
    for verb in ["get", "list", "create"] {
        let digest = Digest {
            user: &user,
            verb,
            is_resource: true,
            group: "",
            resource: "pods",
            subresource: "",
            namespace: "team",
            name: "",
            path: "/api/v1/namespaces/team/pods",
        };
        let admit = || control.admit(&digest, || Some(ListOptions::default()), Box::new(Request));
        let admission = admit().context("there is a catch-all")?;
        anyhow::ensure!(admission.classification.schema_name() == "everyone" && admission.ticket.is_ok());
        drop(admission);
        let took = micros(&mut || drop(std::hint::black_box(admit())));
        show(&format!("priority and fairness among {} flow schemas, {verb}", OTHERS + 3), took, "us");
    }
    Ok(())
}

/// Returns flow control with a level of 128 queues for everyone, and other levels.
pub(crate) fn control() -> anyhow::Result<Arc<FlowControl>> {
    let control = FlowControl::new(Config {
        seats: 600,
        clock: Clock::system(),
        registry: Registry::default(),
        size_based_lists: true,
        watch_list: true,
        objects: Arc::new(Pods),
        note: Arc::new(|_, _, _| {}),
    })?;
    let object = |name: &str, spec: String| -> anyhow::Result<_> {
        let text = format!(r#"{{"metadata":{{"name":"{name}","uid":"a"}},"spec":{spec}}}"#);
        Ok(json::decode_untyped(text.as_bytes())?.value)
    };
    let level = object(
        "everyone",
        r#"{"type":"Limited","limited":{"nominalConcurrencyShares":100,"limitResponse":{"type":"Queue",
            "queuing":{"queues":128,"handSize":6,"queueLengthLimit":50}}}}"#
            .into(),
    )?;
    let levels = vec![LevelSpec::read(&level).context("a level")?];
    let schema = |name: &str, group: &str, precedence: usize| {
        let rule = format!(
            r#"{{"subjects":[{{"kind":"Group","group":{{"name":"{group}"}}}}],"resourceRules":[{{"verbs":["*"],
                "apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}}]}}"#
        );
        let spec = format!(
            r#"{{"priorityLevelConfiguration":{{"name":"everyone"}},"matchingPrecedence":{precedence},
                "distinguisherMethod":{{"type":"ByUser"}},"rules":[{rule}]}}"#
        );
        SchemaSpec::read(&object(name, spec)?).context("a flow schema")
    };
    let mut schemas = vec![schema("everyone", "system:authenticated", 9000)?];
    for number in 0..OTHERS {
        schemas.push(schema(&format!("other-{number}"), &format!("group-{number}"), 100 + number)?);
    }
    control.reconfigure(levels, schemas);
    Ok(control)
}
