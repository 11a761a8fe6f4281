//! Containers set `runAsNonRoot: true`, or the pod does for those that set nothing. Since 1.35 not in a user namespace, where
//! root is another user of the host.

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, containers, setters};

const REASON: &str = "runAsNonRoot != true";

pub(super) const CHECK: Check = Check::restricted(&[(0, check), (35, check_unless_user_namespace)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let of_pod = pod.security_context().and_then(|context| context.get("runAsNonRoot")?.as_bool());
    let (mut setting, mut missing) = (Vec::new(), Vec::new());
    for container in pod.containers() {
        match container.setting("runAsNonRoot").and_then(Value::as_bool) {
            Some(true) => {}
            Some(false) => setting.push(container.name()),
            None if of_pod == Some(true) => {}
            None => missing.push(container.name()),
        }
    }
    if let Some(setters) = setters(of_pod == Some(false), &setting) {
        let detail = format!("{setters} must not set securityContext.runAsNonRoot=false");
        return Some(Violation { reason: REASON, detail });
    }
    (!missing.is_empty()).then(|| Violation {
        reason: REASON,
        detail: format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&missing)),
    })
}

fn check_unless_user_namespace(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_user_namespace() { None } else { check(pod) }
}
