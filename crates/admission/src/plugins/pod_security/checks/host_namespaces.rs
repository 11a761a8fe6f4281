//! Pods do not share the network, the processes or the IPC of the host.

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation};

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let is_shared = |field: &&str| pod.spec().get(field).and_then(Value::as_bool) == Some(true);
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(is_shared);
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    (!shared.is_empty()).then(|| Violation { reason: "host namespaces", detail: shared.join(", ") })
}
