//! Neither the pod nor a container of Windows is a process of the host.

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, setters};

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let of_host = pod.containers().filter(|container| is_host_process(container.security_context()));
    let names: Vec<&str> = of_host.map(|container| container.name()).collect();
    let setters = setters(is_host_process(pod.security_context()), &names)?;
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    Some(Violation { reason: "hostProcess", detail })
}

fn is_host_process(context: Option<&Value>) -> bool {
    let option = context.and_then(|context| context.at(&["windowsOptions", "hostProcess"]));
    option.and_then(Value::as_bool) == Some(true)
}
