//! Since 1.23, neither the pod nor a container sets `runAsUser: 0`; since 1.35 pods in a user namespace may.

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, setters};

pub(super) const CHECK: Check = Check::restricted(&[(23, check), (35, check_unless_user_namespace)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let roots = pod.containers().filter(|container| is_root(container.security_context()));
    let names: Vec<&str> = roots.map(|container| container.name()).collect();
    let setters = setters(is_root(pod.security_context()), &names)?;
    Some(Violation { reason: "runAsUser=0", detail: format!("{setters} must not set runAsUser=0") })
}

fn is_root(context: Option<&Value>) -> bool {
    context.and_then(|context| context.get("runAsUser")?.as_i64()) == Some(0)
}

fn check_unless_user_namespace(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_user_namespace() { None } else { check(pod) }
}
