//! The groups, versions and resources that are served: `--runtime-config` switches group versions and single resources,
//! feature gates have resources of their own, and an emulated release has only the resources that it had.

use std::collections::BTreeMap;

use pintle_discovery::{GroupVersion, Resource};
use pintle_features::{Feature, Features};
use pintle_meta::quote;
use pintle_schema::{Resources, has_version};

use crate::Error;

/// Resources that are served only with a feature gate.
const GATED: &[(&str, &str, Feature)] = &[
    ("certificates.k8s.io", "clustertrustbundles", Feature::ClusterTrustBundle),
    ("certificates.k8s.io", "podcertificaterequests", Feature::PodCertificateRequest),
    ("scheduling.k8s.io", "podgroups", Feature::GenericWorkload),
    ("scheduling.k8s.io", "workloads", Feature::GenericWorkload),
    ("storagemigration.k8s.io", "storageversionmigrations", Feature::StorageVersionMigrator),
];

/// The minor release of 1 that brought a resource of a version; those that every emulated release has are not listed. Where
/// the resource is empty, all of the version.
const INTRODUCED: &[(&str, &str, &str, u32)] = &[
    ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies", 36),
    ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings", 36),
    ("admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicies", 34),
    ("admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicybindings", 34),
    ("certificates.k8s.io", "v1beta1", "podcertificaterequests", 35),
    ("resource.k8s.io", "v1", "", 34),
    ("resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests", 36),
    ("resource.k8s.io", "v1beta2", "devicetaintrules", 36),
    ("storage.k8s.io", "v1", "volumeattributesclasses", 34),
    ("storagemigration.k8s.io", "v1beta1", "storageversionmigrations", 35),
];

/// The choice of group versions and resources beside feature gates.
#[derive(Clone, Debug)]
pub struct ApiGroupsConfig {
    /// `--runtime-config`.
    pub runtime_config: BTreeMap<String, String>,
    /// Major and minor of the emulated release.
    pub release: (u32, u32),
    /// Whether a resource that is served brings its newer versions along although the release does not have them.
    pub forward: bool,
    /// Whether `runtime_config` may name resources that the release does not have.
    pub forward_by_name: bool,
}

impl Default for ApiGroupsConfig {
    fn default() -> ApiGroupsConfig {
        ApiGroupsConfig {
            runtime_config: BTreeMap::new(),
            release: (1, 36),
            forward: false,
            forward_by_name: false,
        }
    }
}

/// Returns the group versions and resources that are served, in the order of discovery.
pub(crate) fn served(
    builtin: &Resources,
    config: &ApiGroupsConfig,
    features: Features,
) -> Result<Vec<GroupVersion>, Error> {
    let mut served = choose(builtin, config, features)?;
    if !features.enabled(Feature::StorageVersionHash) {
        let resources = served.iter_mut().flat_map(|version| &mut version.resources);
        resources.for_each(|resource| resource.storage = None);
    }
    Ok(served)
}

/// Returns whether a resource, or the one that it is a subresource of, is served.
pub(crate) fn contains(
    served: &[GroupVersion],
    version: &pintle_schema::GroupVersion,
    resource: &pintle_schema::Resource,
) -> bool {
    let version =
        served.iter().find(|served| served.group == version.group && served.version == version.version);
    version.is_some_and(|served| served.resources.iter().any(|found| found.name == resource.name))
}

fn choose(
    builtin: &Resources,
    choice: &ApiGroupsConfig,
    features: Features,
) -> Result<Vec<GroupVersion>, Error> {
    let mut config = Switches::new(builtin);
    config.by_stage(&choice.runtime_config)?;
    let wishes = wishes(&choice.runtime_config)?;
    config.by_name(&wishes);
    if choice.forward {
        config.bring_newer_versions();
        config.by_name(&wishes);
    }
    let mut served = pintle_discovery::builtin(builtin, |_| true);
    for version in &mut served {
        let (group, name) = (version.group.clone(), version.version.clone());
        version.resources.retain(|resource| {
            let gate = GATED.iter().find(|(of, plural, _)| *of == group && *plural == resource.name);
            config.enabled(&group, &name, &resource.name)
                && gate.is_none_or(|(.., gate)| features.enabled(*gate))
        });
    }
    leave_out_later(&mut served, &wishes, choice)?;
    served.retain(|version| !version.resources.is_empty());
    if !served.iter().any(|version| version.name() == "apiregistration.k8s.io/v1") {
        return Err(Error::ApiGroups("API group/version apiregistration.k8s.io/v1 must be enabled".into()));
    }
    Ok(served)
}

/// An entry of `--runtime-config` that names a version or resource.
struct Wish {
    group: String,
    version: String,
    resource: Option<String>,
    enabled: bool,
}

fn wishes(runtime_config: &BTreeMap<String, String>) -> Result<Vec<Wish>, Error> {
    let mut wishes = Vec::new();
    for (key, value) in runtime_config {
        if STAGES.iter().any(|(stage, _)| stage == key) || key == "api/legacy" {
            continue;
        }
        // The core group has been spelled in several ways.
        let named = match key.strip_prefix("api/").unwrap_or(key) {
            core if core == "v1" || core.starts_with("v1/") => format!("/{core}"),
            other => other.to_owned(),
        };
        let mut parts = named.splitn(3, '/').map(str::to_owned);
        let (Some(group), Some(version)) = (parts.next(), parts.next()) else { continue };
        if !has_version(&group, &version) {
            let name = named.trim_start_matches('/').splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
            let name = if group.is_empty() { version } else { name };
            return Err(Error::ApiGroups(format!(
                "--runtime-config: group version {name} that has not been registered"
            )));
        }
        let resource = parts.next();
        if let Some(resource) = resource.as_deref().filter(|resource| *resource != resource.to_lowercase()) {
            return Err(Error::ApiGroups(format!(
                "--runtime-config: invalid key {key}: group/version/resource and resource is always lowercase plural, \
                 not {}",
                quote(resource)
            )));
        }
        let enabled = matches!(value.as_str(), "" | "1" | "t" | "T" | "true" | "TRUE" | "True");
        wishes.push(Wish { group, version, resource, enabled });
    }
    Ok(wishes)
}

/// The keys that stand for many versions, from wide to narrow, with what is left of a version's name without its numbers.
const STAGES: [(&str, Option<&str>); 4] =
    [("api/all", None), ("api/ga", Some("v")), ("api/beta", Some("vbeta")), ("api/alpha", Some("valpha"))];

/// Returns a version without its numbers.
fn stage(version: &str) -> String {
    version.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The versions and resources that are on and off.
struct Switches {
    /// By group and version.
    versions: BTreeMap<(String, String), bool>,
    /// By group, version and resource; they take precedence over their version.
    resources: BTreeMap<(String, String, String), bool>,
}

impl Switches {
    fn new(builtin: &Resources) -> Switches {
        let version = |version: &pintle_schema::GroupVersion| {
            let key = (version.group.to_owned(), version.version.to_owned());
            (key, version.is_served_by_default())
        };
        let versions = builtin.versions().iter().map(version).collect();
        Switches { versions, resources: BTreeMap::new() }
    }

    fn by_stage(&mut self, runtime_config: &BTreeMap<String, String>) -> Result<(), Error> {
        for (key, wanted) in STAGES {
            let Some(value) = runtime_config.get(key) else { continue };
            let enabled = value
                .parse::<bool>()
                .map_err(|_| Error::ApiGroups(format!("--runtime-config: invalid value {key}={value}")))?;
            for ((_, version), found) in &mut self.versions {
                if wanted.is_none_or(|wanted| stage(version) == wanted) {
                    *found = enabled;
                }
            }
        }
        Ok(())
    }

    /// Applies entries by name. A resource takes precedence over its version, whatever their order.
    fn by_name(&mut self, wishes: &[Wish]) {
        for Wish { group, version, resource, enabled } in wishes {
            let key = (group.clone(), version.clone());
            match resource {
                None => {
                    self.versions.insert(key, *enabled);
                }
                Some(resource) => {
                    self.resources.insert((key.0, key.1, resource.clone()), *enabled);
                }
            }
        }
    }

    fn bring_newer_versions(&mut self) {
        let newer = |group: &str, version: &str| -> Vec<(String, String)> {
            let is_newer = |(of, other): &&(String, String)| of == group && age(other) > age(version);
            self.versions.keys().filter(is_newer).cloned().collect()
        };
        let lasts = |version: &str| !version.contains("alpha");
        let on = self.versions.iter().filter(|((_, version), on)| **on && lasts(version));
        let versions: Vec<_> = on.flat_map(|((group, version), _)| newer(group, version)).collect();
        let on = self.resources.iter().filter(|((_, version, _), on)| **on && lasts(version));
        let resources: Vec<_> = on
            .flat_map(|((group, version, resource), _)| {
                newer(group, version).into_iter().map(|(group, version)| (group, version, resource.clone()))
            })
            .collect();
        self.versions.extend(versions.into_iter().map(|key| (key, true)));
        self.resources.extend(resources.into_iter().map(|key| (key, true)));
    }

    fn enabled(&self, group: &str, version: &str, resource: &str) -> bool {
        let key = (group.to_owned(), version.to_owned());
        let of_version = self.versions.get(&key).copied().unwrap_or(false);
        self.resources.get(&(key.0, key.1, resource.to_owned())).copied().unwrap_or(of_version)
    }
}

/// Returns a key that sorts versions by age: alpha before beta before stable, then by number.
fn age(version: &str) -> (u8, Vec<u32>) {
    let stage = match () {
        () if version.contains("alpha") => 0,
        () if version.contains("beta") => 1,
        () => 2,
    };
    let numbers = version.split(|letter: char| !letter.is_ascii_digit());
    (stage, numbers.filter_map(|number| number.parse().ok()).collect())
}

/// Removes resources that the emulated release does not have.
fn leave_out_later(
    served: &mut [GroupVersion],
    wishes: &[Wish],
    choice: &ApiGroupsConfig,
) -> Result<(), Error> {
    let wished = |version: &GroupVersion, resource: Option<&str>| {
        wishes.iter().any(|wish| {
            wish.enabled
                && version.group == wish.group
                && version.version == wish.version
                && wish.resource.as_deref() == resource
        })
    };
    let release = format!("{}.{}", choice.release.0, choice.release.1);
    // Older versions first: resources of them that stay may bring newer ones along.
    let mut order: Vec<usize> = (0..served.len()).collect();
    order.sort_by_key(|place| age(&served[*place].version));
    let mut staying: Vec<(String, String)> = Vec::new();
    for place in order {
        let version = &served[place];
        let before = version.resources.len();
        let mut keep: Vec<Resource> = Vec::new();
        for resource in &version.resources {
            let own = (version.group.to_string(), resource.name.to_string());
            let by_name = wished(version, Some(&resource.name));
            let minor = introduced(version, &resource.name);
            let stays = (1, minor) <= choice.release
                || (choice.forward && staying.contains(&own))
                || (choice.forward_by_name && (by_name || wished(version, None)));
            if stays {
                keep.push(resource.clone());
                if !version.version.contains("alpha") {
                    staying.push(own);
                }
            } else if by_name {
                return Err(Error::ApiGroups(format!(
                    "cannot enable resource {}/{}, Resource={} in runtime-config because it is introduced at 1.{minor} after \
                     the current version {release}. Consider setting --runtime-config-emulation-forward-compatible=true",
                    version.group, version.version, resource.name
                )));
            }
        }
        if keep.is_empty() && before > 0 && wished(version, None) {
            return Err(Error::ApiGroups(format!(
                "cannot enable version {} in runtime-config because all the resources have been introduced after the current \
                 version {release}. Consider setting --runtime-config-emulation-forward-compatible=true",
                version.name()
            )));
        }
        served[place].resources = keep;
    }
    Ok(())
}

/// Returns the minor release of 1 that introduced a resource; 0 for those of all emulated releases.
fn introduced(version: &GroupVersion, resource: &str) -> u32 {
    let is = |(group, name, plural, _): &&(&str, &str, &str, u32)| {
        version.group == *group && version.version == *name && (plural.is_empty() || *plural == resource)
    };
    INTRODUCED.iter().find(is).map_or(0, |(.., minor)| *minor)
}

#[cfg(test)]
#[path = "api_groups_tests.rs"]
mod tests;
