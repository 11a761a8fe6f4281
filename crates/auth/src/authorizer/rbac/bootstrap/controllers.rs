//! Roles of controllers. Each is `system:controller:` and the name of a service account in `kube-system`, which has it.

use pintle_features::Feature;

use super::{EVENTS, READ, READ_UPDATE, Role, named, role, rule, when};

pub(super) const ROLES: &[Role] = &[
    role(
        "attachdetach-controller",
        &[
            rule("list watch", "core", "persistentvolumeclaims persistentvolumes"),
            rule(READ, "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("list watch", "core", "pods"),
            EVENTS,
            rule("create delete get list watch", "storage.k8s.io", "volumeattachments"),
            rule(READ, "storage.k8s.io", "csidrivers"),
            rule(READ, "storage.k8s.io", "csinodes"),
        ],
    ),
    role(
        "certificate-controller",
        &[
            rule("delete get list watch", "certificates.k8s.io", "certificatesigningrequests"),
            rule(
                "update",
                "certificates.k8s.io",
                "certificatesigningrequests/approval certificatesigningrequests/status",
            ),
            named("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
            named(
                "sign",
                "certificates.k8s.io",
                "signers",
                "kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet \
                 kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown",
            ),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            EVENTS,
        ],
    ),
    role(
        "clusterrole-aggregation-controller",
        &[rule("escalate get list patch update watch", "rbac.authorization.k8s.io", "clusterroles")],
    ),
    role(
        "cronjob-controller",
        &[
            rule("get list update watch", "batch", "cronjobs"),
            rule("create delete get list patch update watch", "batch", "jobs"),
            rule("update", "batch", "cronjobs/status"),
            rule("update", "batch", "cronjobs/finalizers"),
            rule("delete list watch", "core", "pods"),
            EVENTS,
        ],
    ),
    role(
        "daemon-set-controller",
        &[
            rule(READ, "apps extensions", "daemonsets"),
            rule("update", "apps extensions", "daemonsets/status"),
            rule("update", "apps extensions", "daemonsets/finalizers"),
            rule("list watch", "core", "nodes"),
            rule("create delete list patch watch", "core", "pods"),
            rule("create", "core", "pods/binding"),
            rule("create delete get list patch update watch", "apps", "controllerrevisions"),
            EVENTS,
        ],
    ),
    role(
        "deployment-controller",
        &[
            rule("get list update watch", "apps extensions", "deployments"),
            rule("update", "apps extensions", "deployments/status"),
            rule("update", "apps extensions", "deployments/finalizers"),
            rule("create delete get list patch update watch", "apps extensions", "replicasets"),
            rule("get list update watch", "core", "pods"),
            EVENTS,
        ],
    ),
    role(
        "device-taint-eviction-controller",
        &[
            rule("delete get list watch", "core", "pods"),
            rule("patch update", "core", "pods/status"),
            rule(READ, "resource.k8s.io", "resourceclaims"),
            rule(READ, "resource.k8s.io", "resourceslices"),
            rule(READ, "resource.k8s.io", "deviceclasses"),
            EVENTS,
            when(Feature::DRADeviceTaintRules, "patch update", "resource.k8s.io", "devicetaintrules/status"),
            when(Feature::DRADeviceTaintRules, READ, "resource.k8s.io", "devicetaintrules"),
        ],
    )
    .when(&[Feature::DRADeviceTaints]),
    role(
        "disruption-controller",
        &[
            rule(READ, "apps extensions", "deployments"),
            rule(READ, "apps extensions", "replicasets"),
            rule(READ, "core", "replicationcontrollers"),
            rule(READ, "policy", "poddisruptionbudgets"),
            rule(READ, "apps", "statefulsets"),
            rule("update", "policy", "poddisruptionbudgets/status"),
            rule("patch update", "core", "pods/status"),
            rule("get", "*", "*/scale"),
            EVENTS,
        ],
    ),
    role(
        "endpoint-controller",
        &[
            rule(READ, "core", "pods services"),
            rule("create delete get list update watch", "core", "endpoints"),
            rule("create", "core", "endpoints/restricted"),
            EVENTS,
        ],
    ),
    role(
        "endpointslice-controller",
        &[
            rule(READ, "core", "nodes pods services"),
            rule("update", "core", "services/finalizers"),
            rule("create delete get list update watch", "discovery.k8s.io", "endpointslices"),
            EVENTS,
        ],
    ),
    role(
        "endpointslicemirroring-controller",
        &[
            rule(READ, "core", "endpoints services"),
            rule("update", "core", "services/finalizers"),
            rule("update", "core", "endpoints/finalizers"),
            rule("create delete get list update watch", "discovery.k8s.io", "endpointslices"),
            EVENTS,
        ],
    ),
    role(
        "ephemeral-volume-controller",
        &[
            rule(READ, "core", "pods"),
            rule("update", "core", "pods/finalizers"),
            rule("create get list watch", "core", "persistentvolumeclaims"),
            EVENTS,
        ],
    ),
    role(
        "expand-controller",
        &[
            rule(READ_UPDATE, "core", "persistentvolumes"),
            rule("patch update", "core", "persistentvolumeclaims/status"),
            rule(READ, "core", "persistentvolumeclaims"),
            EVENTS,
        ],
    ),
    role("generic-garbage-collector", &[rule("delete get list patch update watch", "*", "*"), EVENTS]),
    role(
        "horizontal-pod-autoscaler",
        &[
            rule(READ, "autoscaling", "horizontalpodautoscalers"),
            rule("update", "autoscaling", "horizontalpodautoscalers/status"),
            rule("get update", "*", "*/scale"),
            rule("list watch", "core", "pods"),
            rule("list watch", "metrics.k8s.io", "pods"),
            rule(READ, "custom.metrics.k8s.io", "*"),
            rule(READ, "external.metrics.k8s.io", "*"),
            EVENTS,
        ],
    ),
    role(
        "job-controller",
        &[
            rule(READ_UPDATE, "batch", "jobs"),
            rule("update", "batch", "jobs/status"),
            rule("update", "batch", "jobs/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            EVENTS,
            when(
                Feature::WorkloadWithJob,
                "create get list watch",
                "scheduling.k8s.io",
                "podgroups workloads",
            ),
        ],
    ),
    role(
        "kube-apiserver-serving-clustertrustbundle-publisher",
        &[
            named("attest", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-serving"),
            rule("create delete list update watch", "certificates.k8s.io", "clustertrustbundles"),
            EVENTS,
        ],
    )
    .when(&[Feature::ClusterTrustBundle]),
    role(
        "legacy-service-account-token-cleaner",
        &[
            named("get", "core", "configmaps", "kube-apiserver-legacy-service-account-token-tracking"),
            rule("delete patch", "core", "secrets"),
        ],
    ),
    role(
        "namespace-controller",
        &[
            rule("delete get list watch", "core", "namespaces"),
            rule("update", "core", "namespaces/finalize namespaces/status"),
            rule("delete deletecollection get list watch", "*", "*"),
        ],
    ),
    role(
        "node-controller",
        &[
            rule("delete get list patch update watch", "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("patch update", "core", "pods/status"),
            rule("delete get list watch", "core", "pods"),
            EVENTS,
        ],
    ),
    role(
        "persistent-volume-binder",
        &[
            rule("create delete get list update watch", "core", "persistentvolumes"),
            rule("update", "core", "persistentvolumes/status"),
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("update", "core", "persistentvolumeclaims/status"),
            rule("create delete get list watch", "core", "pods"),
            rule(READ, "storage.k8s.io", "storageclasses"),
            rule("list watch", "core", "nodes"),
            EVENTS,
            rule("watch", "core", "events"),
        ],
    ),
    role(
        "pod-garbage-collector",
        &[
            rule("delete list watch", "core", "pods"),
            rule(READ, "core", "nodes"),
            rule("patch", "core", "pods/status"),
        ],
    ),
    role(
        "podcertificaterequestcleaner",
        &[rule("delete get list watch", "certificates.k8s.io", "podcertificaterequests")],
    )
    .when(&[Feature::PodCertificateRequest]),
    role(
        "podgroup-protection-controller",
        &[rule("get list update watch", "scheduling.k8s.io", "podgroups"), rule(READ, "core", "pods")],
    )
    .when(&[Feature::GenericWorkload]),
    role("pv-protection-controller", &[rule("get list update watch", "core", "persistentvolumes"), EVENTS]),
    role(
        "pvc-protection-controller",
        &[
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("update", "core", "persistentvolumeclaims/status"),
            rule(READ, "core", "pods"),
            EVENTS,
        ],
    ),
    role(
        "replicaset-controller",
        &[
            rule("get list update watch", "apps extensions", "replicasets"),
            rule("update", "apps extensions", "replicasets/status"),
            rule("update", "apps extensions", "replicasets/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            EVENTS,
        ],
    ),
    role(
        "replication-controller",
        &[
            rule("get list update watch", "core", "replicationcontrollers"),
            rule("update", "core", "replicationcontrollers/status"),
            rule("update", "core", "replicationcontrollers/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            EVENTS,
        ],
    ),
    role(
        "resource-claim-controller",
        &[
            rule(READ, "core", "pods"),
            rule("update", "core", "pods/finalizers"),
            rule("create delete get list watch", "resource.k8s.io", "resourceclaims"),
            rule("patch update", "resource.k8s.io", "resourceclaims resourceclaims/status"),
            rule("patch update", "core", "pods/status"),
            EVENTS,
            when(Feature::DRAWorkloadResourceClaims, READ, "scheduling.k8s.io", "podgroups"),
            when(Feature::DRAWorkloadResourceClaims, "patch update", "scheduling.k8s.io", "podgroups/status"),
            when(
                Feature::DRAResourceClaimGranularStatusAuthorization,
                "patch update",
                "resource.k8s.io",
                "resourceclaims/binding",
            ),
        ],
    ),
    role(
        "resourcepoolstatusrequest-controller",
        &[
            rule("delete get list watch", "resource.k8s.io", "resourcepoolstatusrequests"),
            rule("patch update", "resource.k8s.io", "resourcepoolstatusrequests/status"),
            rule(READ, "resource.k8s.io", "resourceslices"),
            rule(READ, "resource.k8s.io", "resourceclaims"),
            EVENTS,
        ],
    )
    .when(&[Feature::DRAResourcePoolStatus]),
    role(
        "resourcequota-controller",
        &[rule("list watch", "*", "*"), rule("update", "core", "resourcequotas/status"), EVENTS],
    ),
    role("root-ca-cert-publisher", &[rule("create update", "core", "configmaps"), EVENTS]),
    role(
        "route-controller",
        &[rule("list watch", "core", "nodes"), rule("patch", "core", "nodes/status"), EVENTS],
    ),
    role(
        "selinux-warning-controller",
        &[
            EVENTS,
            rule(READ, "core", "persistentvolumes"),
            rule(READ, "core", "persistentvolumeclaims"),
            rule(READ, "core", "pods"),
            rule(READ, "storage.k8s.io", "csidrivers"),
        ],
    ),
    role("service-account-controller", &[rule("create", "core", "serviceaccounts"), EVENTS]),
    role(
        "service-cidrs-controller",
        &[
            rule(READ_UPDATE, "networking.k8s.io", "servicecidrs"),
            rule("patch update", "networking.k8s.io", "servicecidrs/finalizers"),
            rule("patch update", "networking.k8s.io", "servicecidrs/status"),
            rule(READ, "networking.k8s.io", "ipaddresses"),
            EVENTS,
        ],
    ),
    role(
        "service-controller",
        &[
            rule(READ, "core", "services"),
            rule("patch update", "core", "services/status"),
            rule("list watch", "core", "nodes"),
            EVENTS,
        ],
    ),
    role(
        "statefulset-controller",
        &[
            rule("list watch", "core", "pods"),
            rule(READ, "apps", "statefulsets"),
            rule("update", "apps", "statefulsets/status"),
            rule("update", "apps", "statefulsets/finalizers"),
            rule("create delete get patch update", "core", "pods"),
            rule("create delete get list patch update watch", "apps", "controllerrevisions"),
            rule("create get list watch", "core", "persistentvolumeclaims"),
            rule("delete update", "core", "persistentvolumeclaims"),
            rule("update", "core", "pods/finalizers"),
            EVENTS,
        ],
    ),
    role(
        "storage-version-garbage-collector",
        &[
            rule(READ, "coordination.k8s.io", "leases"),
            rule("delete get list patch update watch", "internal.apiserver.k8s.io", "storageversions"),
            rule("get patch update", "internal.apiserver.k8s.io", "storageversions/status"),
        ],
    )
    .when(&[Feature::StorageVersionAPI, Feature::APIServerIdentity]),
    role(
        "storage-version-migrator-controller",
        &[
            rule("create list patch", "*", "*"),
            rule("get", "apiextensions.k8s.io", "customresourcedefinitions"),
            rule("patch", "apiextensions.k8s.io", "customresourcedefinitions/status"),
            rule("update", "storagemigration.k8s.io", "storageversionmigrations/status"),
        ],
    )
    .when(&[Feature::StorageVersionMigrator]),
    role("ttl-after-finished-controller", &[rule("delete get list watch", "batch", "jobs"), EVENTS]),
    role("ttl-controller", &[rule("list patch update watch", "core", "nodes"), EVENTS]),
    role(
        "validatingadmissionpolicy-status-controller",
        &[
            rule(READ, "admissionregistration.k8s.io", "validatingadmissionpolicies"),
            rule("get patch update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"),
            EVENTS,
        ],
    ),
    role(
        "volumeattributesclass-protection-controller",
        &[
            rule(READ, "core", "persistentvolumeclaims"),
            rule(READ, "core", "persistentvolumes"),
            rule("get list update watch", "storage.k8s.io", "volumeattributesclasses"),
            EVENTS,
        ],
    ),
];
