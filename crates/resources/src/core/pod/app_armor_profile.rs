//! AppArmor profiles, which were annotations of a pod before they became fields of its containers.

use pintle_meta::field_path::Path;
use pintle_meta::value::Key;
use pintle_meta::{Value, Warnings};
use pintle_schema::normal;

use super::{CONTAINERS, containers};
use crate::framework::conversion::build;
use crate::framework::strategy::tree;

/// Before the name of a container.
pub(crate) const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
const MAX_LENGTH: usize = 4095;

/// The field's value for an annotation; `None` if there is none.
pub(crate) fn of(annotation: &str) -> Option<Value> {
    let profile = |kind: &str, name: Option<&str>| {
        let fields = [("type", Some(kind.into())), ("localhostProfile", name.map(Value::string))];
        Some(build("core/v1.AppArmorProfile", fields))
    };
    match annotation {
        "unconfined" => profile("Unconfined", None),
        "runtime/default" => profile("RuntimeDefault", None),
        _ => {
            let name = annotation.strip_prefix("localhost/").filter(|name| !name.is_empty())?;
            profile("Localhost", Some(name))
        }
    }
}

pub(crate) fn warning(annotations: &Path<'_>, key: &str) -> String {
    format!(r#"{}: deprecated since v1.30; use the "appArmorProfile" field instead"#, annotations.key(key))
}

/// Of a new pod: where an annotation says something that no field says, or nothing that a field could say.
pub(crate) fn warnings(pod: &Value) -> Vec<String> {
    let Some(spec) = pod.get("spec").filter(|_| is_concerned(pod)) else { return Vec::new() };
    let told = |container: &Value| {
        let key = key(container);
        let annotation = pod.annotation(&key).filter(|_| field(container).is_none())?;
        let says_more = valid(annotation).is_none_or(|profile| Some(&profile) != of_pod(pod));
        says_more.then(|| warning(&Path::new("metadata.annotations"), &key))
    };
    // In the order in which the fields are set.
    let mut warnings = Warnings::new();
    warnings.extend(containers(spec).filter_map(told));
    warnings.into_texts()
}

/// Sets the fields that annotations stand for.
pub(crate) fn set_fields(pod: &mut Value) {
    if !is_concerned(pod) {
        return;
    }
    let annotated = pod.clone();
    let profile = |container: &Value| {
        let annotation = annotated.annotation(&key(container)).filter(|_| field(container).is_none())?;
        valid(annotation).filter(|profile| Some(profile) != of_pod(&annotated))
    };
    for list in CONTAINERS {
        for container in tree::items_mut(pod, &["spec", list], |container| profile(container).is_some()) {
            let (Some(profile), Some(container)) = (profile(container), container.as_object_mut()) else {
                continue;
            };
            let context = container.get_or_insert_with(Key::new_static("securityContext"), || {
                let of = pintle_schema::find("core/v1.SecurityContext").and_then(|found| found.structure());
                of.map(normal::zero_struct).unwrap_or_default()
            });
            if let Some(context) = context.as_object_mut() {
                context.insert(Key::new_static("appArmorProfile"), profile);
            }
        }
    }
}

fn is_concerned(pod: &Value) -> bool {
    pod.text_at(&["spec", "os", "name"]) != "windows"
        && Value::annotations(pod).any(|(key, _)| key.starts_with(ANNOTATION))
}

fn key(container: &Value) -> String {
    format!("{ANNOTATION}{}", container.text_at(&["name"]))
}

fn field(container: &Value) -> Option<&Value> {
    container.at(&["securityContext", "appArmorProfile"])
}

fn of_pod(pod: &Value) -> Option<&Value> {
    pod.at(&["spec", "securityContext", "appArmorProfile"])
}

/// A profile that validation would let pass.
fn valid(annotation: &str) -> Option<Value> {
    let profile = of(annotation)?;
    let name = profile.text_at(&["localhostProfile"]);
    (name.trim() == name && name.len() <= MAX_LENGTH).then_some(profile)
}
