//! Objects to create: pods as a cluster has them, and small ConfigMaps.

use std::fmt::Write;

/// As a controller would send it.
const POD: &str = include_str!("../../data/new-pod.json");
/// As a kubelet would report it.
const POD_STATUS: &str = include_str!("../../data/pod-status.json");

/// Of how many nodes the pods are.
const NODES: usize = 100;

/// The objects of one run in one namespace.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    pub(crate) namespace: String,
    /// With all but their own names filled in.
    pod: String,
    pod_with_status: String,
}

impl Objects {
    /// `owner` is a ConfigMap that is there: pods have an owner, and one that is gone takes them with it.
    pub(crate) fn new(namespace: &str, owner: &str, owner_uid: &str) -> Objects {
        let pod = POD
            .trim_end()
            .replace("@namespace@", namespace)
            .replace("@owner@", owner)
            .replace("@owner-uid@", owner_uid);
        let open = pod.strip_suffix('}').unwrap_or(&pod);
        let pod_with_status = format!("{open},\"status\":{}}}", POD_STATUS.trim_end());
        Objects { namespace: namespace.to_owned(), pod, pod_with_status }
    }

    pub(crate) fn path(&self, resource: &str) -> String {
        format!("/api/v1/namespaces/{}/{resource}", self.namespace)
    }

    pub(crate) fn pod_name(number: usize) -> String {
        format!("checkout-7d9c6b5f44-{number:05}")
    }

    pub(crate) fn pod_path(&self, number: usize) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.namespace, Objects::pod_name(number))
    }

    pub(crate) fn pod(&self, number: usize) -> String {
        named(&self.pod, number)
    }

    pub(crate) fn pod_with_status(&self, number: usize) -> String {
        named(&self.pod_with_status, number)
    }

    pub(crate) fn config_map_name(number: usize) -> String {
        format!("settings-{number:05}")
    }

    pub(crate) fn config_map(&self, number: usize) -> String {
        config_map(&self.namespace, &Objects::config_map_name(number), number, "")
    }
}

fn named(pod: &str, number: usize) -> String {
    pod.replace("@name@", &Objects::pod_name(number)).replace("@node@", &format!("node-{}", number % NODES))
}

/// A few settings, of which `revision` is one, and as many bytes as `padding` has.
pub(crate) fn config_map(namespace: &str, name: &str, revision: usize, padding: &str) -> String {
    let mut text = format!(
        "{{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{name}\",\"namespace\":\"{namespace}\",\
         \"labels\":{{\"app\":\"checkout\"}}}},\"data\":{{\"level\":\"info\",\"listen\":\":8080\",\"revision\":\"{revision}\",\
         \"upstream\":\"https://stock.shop.svc:8443\""
    );
    if !padding.is_empty() {
        let _ = write!(text, ",\"padding\":\"{padding}\"");
    }
    text.push_str("}}");
    text
}

#[cfg(test)]
mod tests {
    use pintle_codec::{json, protobuf};
    use pintle_meta::Value;
    use pintle_patch::fieldset::{Filter, Set};
    use pintle_patch::managed::{Resets, SameShape, Write as Wrote, update};
    use pintle_schema::find;

    use super::*;

    /// A pod as a server stores it after its status was written.
    fn stored_pod() -> Value {
        let of = find("core/v1.Pod").unwrap();
        let objects = Objects::new("pintle-bench", "owner", "0b8d2a9e-5c0e-4a34-8f6d-1f2e3d4c5b6a");
        let converter = SameShape { of: of.into(), api_versions: &["v1"] };
        let write = |live: Option<&Value>, text: &str, subresource, reset| {
            let mut pod = json::decode(of, text.as_bytes()).unwrap().value;
            let resets = Resets::everywhere(Filter::Exclude(Set::of_fields(&[&[reset]])));
            let now = "2026-03-01T09:30:00Z";
            let manager = "pintle-bench";
            let write = Wrote {
                of: of.into(),
                manager,
                subresource,
                api_version: "v1",
                now,
                resets: &resets,
                converter: &converter,
            };
            update(&write, live, &mut pod).unwrap();
            let metadata = pod.metadata_mut().unwrap();
            metadata.insert("uid", "4e7f7d1a-0a53-4b3e-9a0f-6d9c1f0b2a11");
            metadata.insert("resourceVersion", "12345");
            metadata.insert("creationTimestamp", now);
            metadata.insert("generation", 1);
            pod
        };
        let created = write(None, &objects.pod(17), "", "status");
        write(Some(&created), &objects.pod_with_status(17), "status", "spec")
    }

    #[test]
    fn ten_thousand_pods_are_as_many_bytes_as_in_the_budgets() {
        let (pod, of) = (stored_pod(), find("core/v1.Pod").unwrap());
        let (mut text, mut message) = (Vec::new(), Vec::new());
        json::encode(&pod, &mut text);
        protobuf::encode(of, &pod, &mut message).unwrap();
        assert!(
            (4250..4550).contains(&text.len()),
            "{} bytes: {}",
            text.len(),
            String::from_utf8_lossy(&text)
        );
        assert!((2900..3300).contains(&message.len()), "{} bytes", message.len());
    }

    #[test]
    fn config_maps_are_whole() {
        let of = find("core/v1.ConfigMap").unwrap();
        for padding in ["", "xyz"] {
            let text = config_map("n", "name", 3, padding);
            assert!(json::decode(of, text.as_bytes()).unwrap().strict.is_empty(), "{text}");
        }
    }
}
