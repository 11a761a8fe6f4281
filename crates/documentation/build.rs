//! Takes the texts about types and fields out of `k8s-openapi`, whose schemas have them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::{env, fs};

use schemars::SchemaGenerator;
use serde_json::Value;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut generator = SchemaGenerator::default();
    roots(&mut generator);
    let mut texts = BTreeMap::new();
    for (name, schema) in generator.definitions() {
        add(&mut texts, name, schema);
    }
    any_object(&mut texts);
    // The type there is generic and says nothing of its fields.
    let event = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";
    let object = "What has changed, as it is now or was last; a Status where the event is an error.";
    texts.entry(format!("{event}/object")).or_insert_with(|| object.to_owned());
    write(&texts);
}

/// The text of a type under its name, those of fields under its name, a slash and theirs.
fn add(texts: &mut BTreeMap<String, String>, name: &str, schema: &Value) {
    if let Some(text) = schema["description"].as_str() {
        texts.insert(name.to_owned(), text.to_owned());
    }
    let Some(properties) = schema["properties"].as_object() else { return };
    for (field, property) in properties {
        if let Some(text) = property["description"].as_str() {
            texts.insert(format!("{name}/{field}"), text.to_owned());
        }
    }
    if ["apiVersion", "kind", "metadata"].iter().all(|field| properties.contains_key(*field)) {
        list(texts, name);
    }
}

/// The texts of the list of a kind, for which `k8s-openapi` has a type of its own without texts.
fn list(texts: &mut BTreeMap<String, String>, name: &str) {
    let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
    for field in ["apiVersion", "kind"] {
        if let Some(text) = texts.get(&format!("{name}/{field}")).cloned() {
            texts.insert(format!("{name}List/{field}"), text);
        }
    }
    texts.insert(format!("{name}List"), format!("{kind}List is a list of objects of kind {kind}."));
    texts.insert(format!("{name}List/metadata"), "The metadata of the list, not of an object.".to_owned());
    texts.insert(format!("{name}List/items"), "The objects of the list.".to_owned());
}

/// The texts about what every object and every list has, which those of any kind say. Documents of custom resources ask for
/// them by the types that stand for any object.
fn any_object(texts: &mut BTreeMap<String, String>) {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
    let pod = "io.k8s.api.core.v1.Pod".to_owned();
    let status = format!("{META}.Status");
    let said = [
        ("PartialObjectMetadata", "apiVersion", &pod),
        ("PartialObjectMetadata", "kind", &pod),
        ("PartialObjectMetadata", "metadata", &pod),
        ("PartialObjectMetadataList", "apiVersion", &pod),
        ("PartialObjectMetadataList", "kind", &pod),
        // It has the metadata of a list.
        ("PartialObjectMetadataList", "metadata", &status),
    ];
    for (of, field, by) in said {
        let text = texts.get(&format!("{by}/{field}")).cloned();
        let text = text.unwrap_or_else(|| panic!("{by} says nothing of {field}"));
        texts.insert(format!("{META}.{of}/{field}"), text);
    }
}

/// Writes the table that the library reads.
fn write(texts: &BTreeMap<String, String>) {
    let (mut blob, mut index) = (String::new(), Vec::new());
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (key, text) in texts {
        for part in [key, text] {
            let start = *known.entry(part).or_insert_with(|| {
                blob.push_str(part);
                blob.len() - part.len()
            });
            for number in [start, part.len()] {
                let number = u32::try_from(number).expect("texts of less than four gigabytes");
                index.extend(number.to_le_bytes());
            }
        }
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    fs::write(folder.join("texts"), blob).expect("the texts can be written");
    fs::write(folder.join("index"), index).expect("the index can be written");
}

macro_rules! roots {
    ($generator:ident, $($module:ident)::+, $($name:ident),+) => {{
        use $($module)::+ as module;
        $($generator.subschema_for::<module::$name>();)+
    }};
}

/// Types that no other refers to. With them come all the others.
fn roots(generator: &mut SchemaGenerator) {
    roots!(
        generator,
        k8s_openapi::api::admissionregistration::v1,
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding,
        MutatingWebhookConfiguration,
        ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding,
        ValidatingWebhookConfiguration
    );
    roots!(
        generator,
        k8s_openapi::api::admissionregistration::v1alpha1,
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding
    );
    roots!(
        generator,
        k8s_openapi::api::admissionregistration::v1beta1,
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding
    );
    roots!(generator, k8s_openapi::api::apiserverinternal::v1alpha1, StorageVersion);
    roots!(
        generator,
        k8s_openapi::api::apps::v1,
        ControllerRevision,
        DaemonSet,
        Deployment,
        ReplicaSet,
        StatefulSet
    );
    roots!(generator, k8s_openapi::api::authentication::v1, SelfSubjectReview, TokenRequest, TokenReview);
    roots!(
        generator,
        k8s_openapi::api::authorization::v1,
        LocalSubjectAccessReview,
        SelfSubjectAccessReview,
        SelfSubjectRulesReview,
        SubjectAccessReview
    );
    roots!(generator, k8s_openapi::api::autoscaling::v1, HorizontalPodAutoscaler, Scale);
    roots!(generator, k8s_openapi::api::autoscaling::v2, HorizontalPodAutoscaler);
    roots!(generator, k8s_openapi::api::batch::v1, CronJob, Job);
    roots!(generator, k8s_openapi::api::certificates::v1, CertificateSigningRequest);
    roots!(generator, k8s_openapi::api::certificates::v1alpha1, ClusterTrustBundle);
    roots!(generator, k8s_openapi::api::certificates::v1beta1, ClusterTrustBundle, PodCertificateRequest);
    roots!(generator, k8s_openapi::api::coordination::v1, Lease);
    roots!(generator, k8s_openapi::api::coordination::v1alpha2, LeaseCandidate);
    roots!(generator, k8s_openapi::api::coordination::v1beta1, LeaseCandidate);
    roots!(
        generator,
        k8s_openapi::api::core::v1,
        Binding,
        ComponentStatus,
        ConfigMap,
        Endpoints,
        Event,
        LimitRange,
        Namespace,
        Node,
        PersistentVolume,
        Pod,
        PodTemplate,
        ReplicationController,
        ResourceQuota,
        Secret,
        Service,
        ServiceAccount
    );
    roots!(generator, k8s_openapi::api::discovery::v1, EndpointSlice);
    roots!(generator, k8s_openapi::api::events::v1, Event);
    roots!(generator, k8s_openapi::api::flowcontrol::v1, FlowSchema, PriorityLevelConfiguration);
    roots!(
        generator,
        k8s_openapi::api::networking::v1,
        IPAddress,
        Ingress,
        IngressClass,
        NetworkPolicy,
        ServiceCIDR
    );
    roots!(generator, k8s_openapi::api::networking::v1beta1, IPAddress, ServiceCIDR);
    roots!(generator, k8s_openapi::api::node::v1, RuntimeClass);
    roots!(generator, k8s_openapi::api::policy::v1, Eviction, PodDisruptionBudget);
    roots!(generator, k8s_openapi::api::rbac::v1, ClusterRole, ClusterRoleBinding, Role, RoleBinding);
    roots!(
        generator,
        k8s_openapi::api::resource::v1,
        DeviceClass,
        ResourceClaim,
        ResourceClaimTemplate,
        ResourceSlice
    );
    roots!(generator, k8s_openapi::api::resource::v1alpha3, DeviceTaintRule, ResourcePoolStatusRequest);
    roots!(
        generator,
        k8s_openapi::api::resource::v1beta1,
        DeviceClass,
        ResourceClaim,
        ResourceClaimTemplate,
        ResourceSlice
    );
    roots!(
        generator,
        k8s_openapi::api::resource::v1beta2,
        DeviceClass,
        DeviceTaintRule,
        ResourceClaim,
        ResourceClaimTemplate,
        ResourceSlice
    );
    roots!(generator, k8s_openapi::api::scheduling::v1, PriorityClass);
    roots!(generator, k8s_openapi::api::scheduling::v1alpha2, PodGroup, Workload);
    roots!(
        generator,
        k8s_openapi::api::storage::v1,
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        StorageClass,
        VolumeAttachment,
        VolumeAttributesClass
    );
    roots!(generator, k8s_openapi::api::storage::v1beta1, VolumeAttributesClass);
    roots!(generator, k8s_openapi::api::storagemigration::v1beta1, StorageVersionMigration);
    roots!(
        generator,
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1,
        CustomResourceDefinition
    );
    roots!(
        generator,
        k8s_openapi::apimachinery::pkg::apis::meta::v1,
        APIGroupList,
        APIResourceList,
        APIVersions,
        DeleteOptions,
        Patch,
        Status
    );
    roots!(generator, k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1, APIService);
    generator.subschema_for::<k8s_openapi::apimachinery::pkg::apis::meta::v1::WatchEvent<()>>();
}
