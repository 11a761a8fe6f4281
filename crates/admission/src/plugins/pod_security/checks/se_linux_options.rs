//! SELinux options have a type for containers, and neither user nor role. `container_engine_t` is a type since 1.31.

use std::collections::BTreeSet;

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, plural, quoted, setters};

pub(super) const CHECK: Check = Check::baseline(&[(0, check), (31, check_with_engine)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    violation(pod, &["", "container_t", "container_init_t", "container_kvm_t"])
}

fn check_with_engine(pod: &Pod<'_>) -> Option<Violation> {
    violation(pod, &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])
}

/// The values of all options that are not allowed.
#[derive(Default)]
struct Forbidden<'a> {
    types: BTreeSet<&'a str>,
    user: bool,
    role: bool,
}

impl<'a> Forbidden<'a> {
    /// Returns whether the options of a security context have values that are not allowed, and collects them.
    fn collect(&mut self, context: Option<&'a Value>, allowed: &[&str]) -> bool {
        let Some(options) = context.and_then(|context| context.get("seLinuxOptions")) else { return false };
        let (kind, user, role) =
            (options.text_at(&["type"]), options.text_at(&["user"]), options.text_at(&["role"]));
        let is_wrong = !allowed.contains(&kind);
        if is_wrong {
            self.types.insert(kind);
        }
        self.user |= !user.is_empty();
        self.role |= !role.is_empty();
        is_wrong || !user.is_empty() || !role.is_empty()
    }
}

fn violation(pod: &Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let mut forbidden = Forbidden::default();
    let of_pod = forbidden.collect(pod.security_context(), allowed);
    let wrong = pod.containers().filter(|container| forbidden.collect(container.security_context(), allowed));
    let names: Vec<&str> = wrong.map(|container| container.name()).collect();
    let setters = setters(of_pod, &names)?;
    let mut values = Vec::new();
    if !forbidden.types.is_empty() {
        let noun = plural(forbidden.types.len(), "type", "types");
        values.push(format!("{noun} {}", quoted(&forbidden.types)));
    }
    if forbidden.user {
        values.push("user may not be set".into());
    }
    if forbidden.role {
        values.push("role may not be set".into());
    }
    let detail = format!("{setters} set forbidden securityContext.seLinuxOptions: {}", values.join("; "));
    Some(Violation { reason: "seLinuxOptions", detail })
}
