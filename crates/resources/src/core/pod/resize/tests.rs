//! Tests of resizes.

use pintle_features::Feature;

use crate::framework::validation::testing::{Base, Change};

const POD: &str = r#"{"metadata":{"name":"p","namespace":"n"},
    "spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi"}}}]},
    "status":{"qosClass":"Burstable"}}"#;
const RESOURCES: &str = "/spec/containers/0/resources";
const ONLY: &str = "spec: Forbidden: only cpu and memory resources are mutable";

fn resizes() -> Base {
    Base::new("", "pods/resize", POD)
}

fn resizes_with(features: &[(Feature, bool)]) -> Base {
    Base::with_features("", "pods/resize", POD, features)
}

#[test]
fn cpu_and_memory_may_change_within_the_class() {
    resizes().accepts_update(&[
        &[(RESOURCES, r#"{"requests":{"cpu":"500m"},"limits":{"cpu":"3","memory":"2Gi"}}"#)],
        &[(RESOURCES, r#"{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"3","memory":"2Gi"}}"#)],
        // Anything else is put back.
        &[("/spec/nodeName", r#""n""#), ("/spec/containers/0/image", r#""j""#)],
    ]);
    resizes().refuses_update(&[
        (
            &[(RESOURCES, r#"{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}"#)],
            &[r#"spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing"#],
        ),
        (
            &[(
                RESOURCES,
                r#"{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi","ephemeral-storage":"1Gi"}}"#,
            )],
            &[ONLY],
        ),
        (
            &[(RESOURCES, r#"{"limits":{"cpu":"2"}}"#), ("/spec/containers/0/resizePolicy", r#"[{"resourceName":"cpu","restartPolicy":"NotRequired"}]"#)],
            &[
                "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
                "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
                ONLY,
            ],
        ),
        (
            &[(RESOURCES, r#"{"requests":{"cpu":"3"},"limits":{"cpu":"2","memory":"1Gi"}}"#)],
            &[r#"spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2"#],
        ),
    ]);
    // The class is computed if none is stored.
    resizes().refuses_update_of(
        &[("/status/qosClass", "")],
        &[(
            &[(RESOURCES, r#"{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}"#)],
            &[r#"spec: Invalid value: "": Pod QOS Class may not change as a result of resizing"#],
        )],
    );
}

#[test]
fn some_pods_cannot_be_resized() {
    let other: Change<'_> = (RESOURCES, r#"{"requests":{"cpu":"-1"},"limits":{"cpu":"2","memory":"1Gi"}}"#);
    let same: Change<'_> = (RESOURCES, r#"{"requests":{"cpu":"500m"},"limits":{"cpu":"2","memory":"1Gi"}}"#);
    for (before, change, expected) in [
        (
            ("/metadata/annotations", r#"{"kubernetes.io/config.mirror":"x"}"#),
            other,
            "[]: Forbidden: static pods cannot be resized",
        ),
        (("/spec/os", r#"{"name":"windows"}"#), other, "[]: Forbidden: windows pods cannot be resized"),
        (
            ("/status/containerStatuses", r#"[{"name":"b"},{"name":"c","state":{"running":{}}}]"#),
            same,
            "spec: Forbidden: Pod running on node without support for resize",
        ),
        (
            ("/status/nodeAllocatableResourceClaimStatuses", r#"[{"resourceClaimName":"a"}]"#),
            same,
            "spec: Forbidden: pods with node allocatable resource claims cannot be resized",
        ),
    ] {
        resizes().refuses_update_of(&[before], &[(&[change], &[expected])]);
    }
    let running = r#"[{"name":"c","state":{"running":{}},"resources":{}}]"#;
    resizes().accepts_update_of(&[("/status/containerStatuses", running)], &[&[same]]);
}

#[test]
fn containers_keep_their_places() {
    let two: Change<'_> = ("/spec/containers/-", r#"{"name":"d","image":"i"}"#);
    resizes().refuses_update_of(
        &[two],
        &[
            (
                &[("/spec/containers/1/name", r#""e""#)],
                &["spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize"],
            ),
            (
                &[("/spec/containers/1", ""), ("/spec/initContainers", r#"[{"name":"e","image":"i"}]"#)],
                &[
                    "spec.containers: Forbidden: containers may not be added or removed on resize",
                    "spec.initContainers: Forbidden: initContainers may not be added or removed on resize",
                ],
            ),
        ],
    );
    resizes().refuses_update_of(
        &[("/spec/initContainers", r#"[{"name":"e","image":"i"}]"#)],
        &[(
            &[("/spec/initContainers/0/name", r#""f""#)],
            &["spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on resize"],
        )],
    );
}

#[test]
fn init_containers_are_resized_by_a_gate() {
    let container = |rest: &str| {
        format!(r#"[{{"name":"e","image":"i","resources":{{"requests":{{"cpu":"1"}}}}{rest}}}]"#)
    };
    let at = "/spec/initContainers";
    let (init, sidecar) = (container(""), container(r#","restartPolicy":"Always""#));
    let cpu: Change<'_> = ("/spec/initContainers/0/resources/requests/cpu", r#""2""#);
    let gone: Change<'_> = ("/spec/initContainers/0/resources/requests", r#"{"memory":"1"}"#);
    let more: Change<'_> = ("/spec/initContainers/0/resources/requests/ephemeral-storage", r#""1""#);
    let removed = "spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed";
    let off = resizes_with(&[(Feature::InPlacePodVerticalScalingInitContainers, false)]);
    resizes().accepts_update_of(&[(at, &init)], &[&[cpu]]);
    off.accepts_update_of(&[(at, &sidecar)], &[&[cpu]]);
    off.accepts_update_of(&[(at, &init)], &[&[]]);
    for base in [&resizes(), &off] {
        base.refuses_update_of(
            &[(at, &sidecar)],
            &[
                (&[gone], &[removed]),
                (
                    &[more],
                    &[
                        "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable",
                    ],
                ),
            ],
        );
    }
    off.refuses_update_of(
        &[(at, &init)],
        &[(&[gone], &["spec: Forbidden: resources for non-sidecar init containers are immutable"])],
    );
    let policy = container(
        r#","resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"},{"resourceName":"memory","restartPolicy":"NotRequired"}]"#,
    );
    resizes().refuses_update_of(
        &[(at, &policy)],
        &[(
            &[cpu],
            &[
                "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
            ],
        )],
    );
}

#[test]
fn resources_of_the_pod_are_resized_by_a_gate() {
    let own: Change<'_> =
        ("/spec/resources", r#"{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"4","memory":"4Gi"}}"#);
    let other = |resources: &'static str| ("/spec/resources", resources);
    resizes().accepts_update_of(
        &[own],
        &[&[other(r#"{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"4","memory":"4Gi"}}"#)]],
    );
    resizes().accepts_update(&[&[other(r#"{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi"}}"#)]]);
    resizes().refuses_update_of(
        &[own],
        &[
            (
                &[("/spec/resources", "")],
                &["spec.resources: Forbidden: pod-level resources cannot be removed"],
            ),
            (
                &[
                    ("/spec/resources/limits/hugepages-2Mi", r#""2Mi""#),
                    ("/spec/resources/requests/hugepages-2Mi", r#""2Mi""#),
                ],
                &["spec: Forbidden: only cpu and memory resources are mutable at pod-level"],
            ),
        ],
    );
    let pages: [Change<'_>; 2] = [
        ("/spec/resources/limits/hugepages-2Mi", r#""2Mi""#),
        ("/spec/resources/requests/hugepages-2Mi", r#""2Mi""#),
    ];
    resizes().refuses_update_of(
        &[own, pages[0], pages[1]],
        &[(
            &[(pages[0].0, ""), (pages[1].0, "")],
            &[
                "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed",
                "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed",
                "spec: Forbidden: only cpu and memory resources are mutable at pod-level",
            ],
        )],
    );
    let off = resizes_with(&[(Feature::InPlacePodLevelResourcesVerticalScaling, false)]);
    off.refuses_update_of(
        &[own],
        &[(
            &[other(r#"{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"4","memory":"4Gi"}}"#)],
            &[
                "[]: Forbidden: resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
            ],
        )],
    );
    // Without the gate they are put back.
    off.accepts_update(&[&[other(r#"{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi"}}"#)]]);
}

#[test]
fn only_containers_change() {
    // Without amounts there is nothing to resize, and yet it is a change.
    let best: Change<'_> = ("/status/qosClass", r#""BestEffort""#);
    let plain: Change<'_> = ("/spec/containers", r#"[{"name":"c","image":"i"}]"#);
    resizes().refuses_update_of(&[plain, best], &[(&[("/spec/resources", "{}")], &[ONLY])]);
    let claims = r#"[{"name":"c","image":"i","resources":{"claims":[{"name":"a"}]}}]"#;
    let claimed: [Change<'_>; 2] =
        [("/spec/resourceClaims", r#"[{"name":"a","resourceClaimName":"a"}]"#), ("/spec/containers", claims)];
    // A container with claims cannot be resized, as in the reference.
    resizes().refuses_update_of(&[claimed[0], claimed[1], best], &[(&[], &[ONLY])]);
}
