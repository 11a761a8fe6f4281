//! Valid pods of the reference's own suites, where they are at hand: validation lets all of them pass.

use pintle_codec::{json, yaml};
use pintle_meta::field_path::Error;
use pintle_published::{read_gzipped, upstream};
use pintle_registry::Context;
use pintle_resources::defaults;
use pintle_resources::strategy::{Settings, of};
use serde_json::Value as Json;

#[test]
fn published_pods_are_valid() {
    let Some(folder) = upstream("valid pods") else { return };
    let pods = read_gzipped(&folder.join("podsecurity.jsonl.gz")).unwrap();
    let settings = Settings { allow_privileged: true, ..Settings::default() };
    let strategy = of("", "pods", &settings).unwrap();
    let pod_type = pintle_schema::find("core/v1.Pod").unwrap();
    let mut refused = Vec::new();
    for line in pods.lines() {
        let pod: Json = serde_json::from_str(line).unwrap();
        let mut pod: Json =
            serde_json::from_slice(&yaml::to_json(pod["pod"].as_str().unwrap().as_bytes()).unwrap()).unwrap();
        let name = pod["metadata"]["name"].take();
        // The suites name pods after their own files, which is not always a valid name.
        pod["metadata"]["name"] = "a".into();
        pod["metadata"]["namespace"] = "n".into();
        let mut value = json::decode(pod_type, pod.to_string().as_bytes()).unwrap().value;
        defaults::apply(pod_type, &mut value, &settings.defaults());
        let context = Context::default();
        strategy.prepare_for_create(&mut context.clone(), &mut value);
        let errors = strategy.validate(&context, &value);
        // Older releases let pods with the host's users unmask `/proc`.
        let is_unmasked = |error: &Error| error.field.ends_with("securityContext.procMount");
        if !errors.iter().all(is_unmasked) {
            refused.push(format!("{name}: {errors:?}"));
        }
    }
    assert!(refused.is_empty(), "{} pods refused: {:#?}", refused.len(), &refused[..refused.len().min(5)]);
}
