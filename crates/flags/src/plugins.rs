//! The admission plugins of the reference: their order, their defaults, and the flags that enable and disable them.

use crate::Parsed;

/// An admission plugin of the reference.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionPlugin {
    pub name: &'static str,
    /// Enabled by default.
    pub on: bool,
}

/// All plugins, in the order in which the chain calls them.
pub const ADMISSION_PLUGINS: &[AdmissionPlugin] = &[
    off("AlwaysAdmit"),
    off("NamespaceAutoProvision"),
    on("NamespaceLifecycle"),
    off("NamespaceExists"),
    off("LimitPodHardAntiAffinityTopology"),
    on("LimitRanger"),
    on("ServiceAccount"),
    off("NodeRestriction"),
    on("TaintNodesByCondition"),
    off("AlwaysPullImages"),
    off("ImagePolicyWebhook"),
    on("PodSecurity"),
    off("PodNodeSelector"),
    on("Priority"),
    on("DefaultTolerationSeconds"),
    off("PodTolerationRestriction"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration"),
    on("DefaultStorageClass"),
    on("StorageObjectInUseProtection"),
    on("PodGroupProtection"),
    off("OwnerReferencesPermissionEnforcement"),
    on("PersistentVolumeClaimResize"),
    on("RuntimeClass"),
    on("CertificateApproval"),
    on("CertificateSigning"),
    on("ClusterTrustBundleAttest"),
    on("CertificateSubjectRestriction"),
    on("DefaultIngressClass"),
    off("DenyServiceExternalIPs"),
    on("PodTopologyLabels"),
    on("PodGroupWorkloadExists"),
    on("NodeDeclaredFeatureValidator"),
    on("JobValidation"),
    on("PodResizeValidator"),
    on("MutatingAdmissionPolicy"),
    on("MutatingAdmissionWebhook"),
    on("ValidatingAdmissionPolicy"),
    on("ValidatingAdmissionWebhook"),
    on("ResourceQuota"),
    off("AlwaysDeny"),
];

const fn on(name: &'static str) -> AdmissionPlugin {
    AdmissionPlugin { name, on: true }
}

const fn off(name: &'static str) -> AdmissionPlugin {
    AdmissionPlugin { name, on: false }
}

/// Returns the plugin of a name.
pub(crate) fn find(name: &str) -> Option<&'static AdmissionPlugin> {
    ADMISSION_PLUGINS.iter().find(|plugin| plugin.name == name)
}

impl Parsed {
    /// Returns the names of the enabled admission plugins, in the order in which the chain calls them.
    pub fn admission_plugins(&self) -> impl Iterator<Item = &'static str> {
        let named =
            |flag: &str, plugin: &AdmissionPlugin| self.strings(flag).iter().any(|name| name == plugin.name);
        let is_on = move |plugin: &&AdmissionPlugin| {
            if self.changed("admission-control") {
                return named("admission-control", plugin);
            }
            let on = plugin.on || plugin.name == "NodeRestriction" && self.is_closed_by_default();
            named("enable-admission-plugins", plugin) || (on && !named("disable-admission-plugins", plugin))
        };
        ADMISSION_PLUGINS.iter().filter(is_on).map(|plugin| plugin.name)
    }

    /// Reports whether authorization is not configured on the embedded store. Then the modes Node and RBAC apply, with the
    /// plugin NodeRestriction, without which Node authorization is incomplete. With etcd, where this server replaces another,
    /// the reference's default `AlwaysAllow` applies.
    pub fn is_closed_by_default(&self) -> bool {
        self.strings("etcd-servers").is_empty()
            && self.strings("authorization-mode").is_empty()
            && self.non_empty("authorization-config").is_none()
    }
}
