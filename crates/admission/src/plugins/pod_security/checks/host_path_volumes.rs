//! Pods mount no paths of the host.

use super::pod::Pod;
use super::{Check, Violation, plural, quoted};

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]).replaced_since(0);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let of_host = pod.volumes().iter().filter(|volume| volume.get("hostPath").is_some());
    let names: Vec<&str> = of_host.map(|volume| volume.text_at(&["name"])).collect();
    (!names.is_empty()).then(|| Violation {
        reason: "hostPath volumes",
        detail: format!("{} {}", plural(names.len(), "volume", "volumes"), quoted(&names)),
    })
}
