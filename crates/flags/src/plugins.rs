//! The admission plugins of the reference: their order, their defaults, and the flags that enable and disable them.

use crate::Parsed;
use crate::table::Effect;

/// An admission plugin of the reference.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionPlugin {
    pub name: &'static str,
    /// Enabled by default.
    pub on: bool,
    /// Whether Pintle implements it.
    pub effect: Effect,
}

/// All plugins, in the order in which the chain calls them.
pub const ADMISSION_PLUGINS: &[AdmissionPlugin] = &[
    off("AlwaysAdmit").active(),
    off("NamespaceAutoProvision").active(),
    on("NamespaceLifecycle").active(),
    off("NamespaceExists").active(),
    off("LimitPodHardAntiAffinityTopology").active(),
    on("LimitRanger").active(),
    on("ServiceAccount").active(),
    off("NodeRestriction").active(),
    on("TaintNodesByCondition").active(),
    off("AlwaysPullImages").active(),
    off("ImagePolicyWebhook").active(),
    on("PodSecurity").active(),
    off("PodNodeSelector").active(),
    on("Priority").active(),
    on("DefaultTolerationSeconds").active(),
    off("PodTolerationRestriction").active(),
    off("EventRateLimit").active(),
    off("ExtendedResourceToleration").active(),
    on("DefaultStorageClass").active(),
    on("StorageObjectInUseProtection").active(),
    on("PodGroupProtection").active(),
    off("OwnerReferencesPermissionEnforcement").active(),
    on("PersistentVolumeClaimResize").active(),
    on("RuntimeClass").active(),
    on("CertificateApproval").active(),
    on("CertificateSigning").active(),
    on("ClusterTrustBundleAttest").active(),
    on("CertificateSubjectRestriction").active(),
    on("DefaultIngressClass").active(),
    off("DenyServiceExternalIPs").active(),
    on("PodTopologyLabels").active(),
    on("PodGroupWorkloadExists").active(),
    on("NodeDeclaredFeatureValidator").active(),
    on("JobValidation").active(),
    on("PodResizeValidator").active(),
    on("MutatingAdmissionPolicy").active(),
    on("MutatingAdmissionWebhook").active(),
    on("ValidatingAdmissionPolicy").active(),
    on("ValidatingAdmissionWebhook").active(),
    on("ResourceQuota").active(),
    off("AlwaysDeny").active(),
];

const fn on(name: &'static str) -> AdmissionPlugin {
    AdmissionPlugin { name, on: true, effect: Effect::NotYet }
}

const fn off(name: &'static str) -> AdmissionPlugin {
    AdmissionPlugin { name, on: false, effect: Effect::NotYet }
}

impl AdmissionPlugin {
    const fn active(mut self) -> Self {
        self.effect = Effect::Active;
        self
    }
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
