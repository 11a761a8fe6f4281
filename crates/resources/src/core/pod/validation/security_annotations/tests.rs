use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "initContainers": [{"name": "init", "image": "i"}]}
}"#;
const OF_POD: &str = "/metadata/annotations/seccomp.security.alpha.kubernetes.io~1pod";
const OF_CONTAINER: &str = "/metadata/annotations/container.seccomp.security.alpha.kubernetes.io~1c";
const APP_ARMOR: &str = "/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1c";

fn base() -> Base {
    Base::new("", "pods", POD)
}

#[test]
fn values_of_annotations_are_profiles() {
    base().refuses(&[
        (
            &[(OF_POD, r#""x""#), (OF_CONTAINER, r#""localhost//a/../b""#)],
            &[
                "metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"x\": must be a valid seccomp \
                 profile",
                "metadata.annotations.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: \"/a/../b\": must be a \
                 relative path",
                "metadata.annotations.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: \"/a/../b\": must not \
                 contain '..'",
            ],
        ),
        (
            &[(APP_ARMOR, r#""x""#)],
            &["metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: \"x\": invalid AppArmor \
               profile name: \"x\""],
        ),
        (
            &[("/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1d", r#""unconfined""#)],
            &["metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: \"d\": container not \
               found"],
        ),
    ]);
    base().accepts(&[
        &[(OF_POD, r#""runtime/default""#), (OF_CONTAINER, r#""docker/default""#)],
        &[(OF_POD, r#""unconfined""#), (OF_CONTAINER, r#""localhost/a/b""#)],
        &[(APP_ARMOR, r#""""#)],
        &[("/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1init", r#""localhost/a""#)],
    ]);
}

#[test]
fn seccomp_annotations_agree_with_fields() {
    const POD_FIELD: &str = "/spec/securityContext/seccompProfile";
    const FIELD: &str = "/spec/containers/0/securityContext/seccompProfile";
    let localhost = r#"{"type": "Localhost", "localhostProfile": "a"}"#;
    let of_type = |name: &str| format!(r#"{{"type": "{name}"}}"#);
    let (unconfined, runtime) = (of_type("Unconfined"), of_type("RuntimeDefault"));
    let wrong = "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match";
    base().refuses(&[
        (&[(OF_POD, r#""runtime/default""#), (POD_FIELD, &unconfined)], &[wrong]),
        (&[(OF_POD, r#""unconfined""#), (POD_FIELD, &runtime)], &[wrong]),
        (&[(OF_POD, r#""unconfined""#), (POD_FIELD, localhost)], &[wrong]),
        (
            &[(OF_CONTAINER, r#""localhost/b""#), (FIELD, localhost)],
            &["spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and \
               field must match"],
        ),
        (
            &[(OF_CONTAINER, r#""unconfined""#), (FIELD, &of_type("x"))],
            &["spec.containers[0].securityContext.seccompProfile.type: Unsupported value: \"x\": supported values: \
               \"Localhost\", \"RuntimeDefault\", \"Unconfined\""],
        ),
    ]);
    base().accepts(&[
        &[(OF_POD, r#""docker/default""#), (POD_FIELD, &runtime)],
        &[(OF_POD, r#""unconfined""#), (POD_FIELD, &unconfined)],
        &[(OF_CONTAINER, r#""localhost/a""#), (FIELD, localhost)],
        // The annotation of a container is not compared with the field of the pod.
        &[(OF_CONTAINER, r#""unconfined""#), (POD_FIELD, &runtime)],
    ]);
}

#[test]
fn app_armor_annotations_agree_with_fields() {
    const POD_FIELD: &str = "/spec/securityContext/appArmorProfile";
    const FIELD: &str = "/spec/containers/0/securityContext/appArmorProfile";
    let localhost = r#"{"type": "Localhost", "localhostProfile": "a"}"#;
    let (unconfined, runtime) = (r#"{"type": "Unconfined"}"#, r#"{"type": "RuntimeDefault"}"#);
    let wrong = "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match";
    base().refuses(&[
        (&[(APP_ARMOR, r#""runtime/default""#), (FIELD, unconfined)], &[wrong]),
        (&[(APP_ARMOR, r#""unconfined""#), (FIELD, runtime)], &[wrong]),
        (&[(APP_ARMOR, r#""unconfined""#), (FIELD, localhost)], &[wrong]),
        (
            &[(APP_ARMOR, r#""localhost/b""#), (FIELD, localhost)],
            &["spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation \
               and field must match"],
        ),
        // The profile of the pod is that of its containers; an annotation that is no profile sets no field.
        (&[(APP_ARMOR, r#""""#), (POD_FIELD, runtime)], &[wrong]),
    ]);
    base().accepts(&[
        &[(APP_ARMOR, r#""localhost/a""#), (FIELD, localhost)],
        &[(APP_ARMOR, r#""runtime/default""#), (POD_FIELD, runtime)],
        // The annotation becomes a field of the container, which overrides that of the pod.
        &[(APP_ARMOR, r#""unconfined""#), (POD_FIELD, runtime)],
    ]);
    // Windows pods are not compared.
    base().refuses(&[(
        &[(APP_ARMOR, r#""unconfined""#), (FIELD, runtime), ("/spec/os/name", r#""windows""#)],
        &["spec.containers[0].securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod"],
    )]);
}

#[test]
fn annotations_of_templates_are_checked_at_their_path() {
    let template = r#"{"metadata": {"name": "a", "namespace": "n"}, "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "securityContext": {
            "seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "RuntimeDefault"}
        }}
    }}"#;
    let base = Base::new("", "podtemplates", template);
    let (seccomp, app_armor) = (format!("/template{OF_POD}"), format!("/template{APP_ARMOR}"));
    base.refuses(&[
        (
            &[(&seccomp, r#""x""#)],
            &[
                "template.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"x\": must be a valid seccomp \
                 profile",
                "template.spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
            ],
        ),
        (
            &[(&app_armor, r#""unconfined""#)],
            &["template.spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and \
               field must match"],
        ),
    ]);
}
