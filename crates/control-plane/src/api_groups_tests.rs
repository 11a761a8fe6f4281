//! Choices and what comes of them.

use super::*;

fn choose_by(
    runtime_config: &[(&str, &str)],
    features: &[Feature],
    change: impl FnOnce(&mut ApiGroupsConfig),
) -> Result<Vec<String>, String> {
    let runtime_config =
        runtime_config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let features = features.iter().fold(Features::none(), |features, feature| features.with(*feature, true));
    let mut config = ApiGroupsConfig { runtime_config, ..ApiGroupsConfig::default() };
    change(&mut config);
    let served =
        choose(&Resources::builtin().unwrap(), &config, features).map_err(|error| error.to_string())?;
    let names = served.iter().flat_map(|version| {
        version.resources.iter().map(|resource| format!("{}/{}", version.name(), resource.name))
    });
    Ok(names.collect())
}

fn chosen(runtime_config: &[(&str, &str)]) -> Vec<String> {
    choose_by(runtime_config, &[], |_| {}).unwrap()
}

fn of<'a>(names: &'a [String], prefix: &str) -> Vec<&'a str> {
    names.iter().filter_map(|name| name.strip_prefix(prefix)).collect()
}

#[test]
fn by_default_nothing_is_served_that_is_not_finished() {
    let names = chosen(&[]);
    assert!(names.iter().all(|name| !name.contains("beta") && !name.contains("alpha")), "{names:?}");
    let builtin = Resources::builtin().unwrap();
    let expected: usize =
        pintle_discovery::builtin(&builtin, pintle_schema::GroupVersion::is_served_by_default)
            .iter()
            .map(|version| version.resources.len())
            .sum();
    assert_eq!(names.len(), expected);
}

#[test]
fn stages_are_switched_from_wide_to_narrow_and_names_come_last() {
    let all = chosen(&[("api/all", "true")]);
    assert!(!of(&all, "resource.k8s.io/v1alpha3/").is_empty());
    assert!(!of(&all, "networking.k8s.io/v1beta1/").is_empty());
    let few = chosen(&[("api/all", "false"), ("apiregistration.k8s.io/v1", "true"), ("v1", "")]);
    assert_eq!(of(&few, "apiregistration.k8s.io/v1/"), ["apiservices"]);
    assert!(of(&few, "v1/").contains(&"pods"));
    assert!(of(&few, "apps/").is_empty());
    let no_beta = chosen(&[("api/all", "true"), ("api/beta", "false"), ("storage.k8s.io/v1beta1", "true")]);
    assert!(of(&no_beta, "networking.k8s.io/v1beta1/").is_empty());
    assert_eq!(of(&no_beta, "storage.k8s.io/v1beta1/"), ["volumeattributesclasses"]);
}

#[test]
fn a_resource_comes_before_its_version() {
    let names = chosen(&[("apps/v1", "false"), ("apps/v1/deployments", "true"), ("batch/v1/jobs", "false")]);
    assert_eq!(of(&names, "apps/v1/"), ["deployments"]);
    assert_eq!(of(&names, "batch/v1/"), ["cronjobs"]);
    let beta = chosen(&[("resource.k8s.io/v1beta2/deviceclasses", "true")]);
    assert_eq!(of(&beta, "resource.k8s.io/v1beta2/"), ["deviceclasses"]);
}

#[test]
fn some_resources_need_their_gate_too() {
    let on = [("certificates.k8s.io/v1beta1", "true"), ("storagemigration.k8s.io/v1beta1", "true")];
    assert_eq!(of(&chosen(&on), "certificates.k8s.io/v1beta1/"), [""; 0]);
    let gated =
        choose_by(&on, &[Feature::ClusterTrustBundle, Feature::StorageVersionMigrator], |_| {}).unwrap();
    assert_eq!(of(&gated, "certificates.k8s.io/v1beta1/"), ["clustertrustbundles"]);
    assert_eq!(of(&gated, "storagemigration.k8s.io/v1beta1/"), ["storageversionmigrations"]);
    let only_gated = choose_by(&[], &[Feature::ClusterTrustBundle], |_| {}).unwrap();
    assert!(of(&only_gated, "certificates.k8s.io/v1beta1/").is_empty());
}

#[test]
fn an_unknown_group_version_is_an_error() {
    let fails = |key: &str, value: &str| choose_by(&[(key, value)], &[], |_| {}).unwrap_err();
    assert_eq!(
        fails("apps/v9", "true"),
        "--runtime-config: group version apps/v9 that has not been registered"
    );
    assert_eq!(
        fails("apps/v1/Deployments", "true"),
        "--runtime-config: invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase \
         plural, not \"Deployments\""
    );
    assert_eq!(
        fails("apiregistration.k8s.io/v1", "false"),
        "API group/version apiregistration.k8s.io/v1 must be enabled"
    );
    // Known, though nothing of it is served any more.
    assert_eq!(chosen(&[("apps/v1beta1", "true")]), chosen(&[]));
}

#[test]
fn an_older_release_has_only_what_it_had() {
    let old = |runtime_config: &[(&str, &str)], release, forward| {
        choose_by(runtime_config, &[], |choice| (choice.release, choice.forward) = (release, forward))
    };
    let names = old(&[], (1, 33), false).unwrap();
    assert!(of(&names, "resource.k8s.io/").is_empty());
    assert!(!of(&names, "storage.k8s.io/v1/").contains(&"volumeattributesclasses"));
    let policies = |names: &[String]| {
        of(names, "admissionregistration.k8s.io/v1/").contains(&"mutatingadmissionpolicies")
    };
    assert!(!policies(&old(&[], (1, 35), false).unwrap()) && policies(&chosen(&[])));
    let beta = [("admissionregistration.k8s.io/v1beta1", "true")];
    assert!(!policies(&old(&beta, (1, 35), false).unwrap()) && policies(&old(&beta, (1, 35), true).unwrap()));
}

#[test]
fn newer_versions_must_be_enabled_explicitly() {
    let wish = [("resource.k8s.io/v1/deviceclasses", "true")];
    assert_eq!(
        choose_by(&wish, &[], |choice| choice.release = (1, 33)).unwrap_err(),
        "cannot enable resource resource.k8s.io/v1, Resource=deviceclasses in runtime-config because it is introduced at \
         1.34 after the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true"
    );
    let whole = [("resource.k8s.io/v1", "true")];
    assert!(
        choose_by(&whole, &[], |choice| choice.release = (1, 33)).unwrap_err().starts_with(
            "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources"
        )
    );
    let names =
        choose_by(&wish, &[], |choice| (choice.release, choice.forward_by_name) = ((1, 33), true)).unwrap();
    assert_eq!(of(&names, "resource.k8s.io/v1/"), ["deviceclasses"]);
}

#[test]
fn subresources_go_with_their_resource() {
    let builtin = Resources::builtin().unwrap();
    let mut served = pintle_discovery::builtin(&builtin, |version| version.group == "apps");
    served[0].resources.retain(|resource| resource.name == "deployments");
    let apps = builtin.versions().iter().find(|version| version.group == "apps").unwrap();
    let names: Vec<(&str, Option<&str>)> = apps
        .resources
        .iter()
        .filter(|resource| contains(&served, apps, resource))
        .map(|resource| (resource.name, resource.subresource))
        .collect();
    assert_eq!(
        names,
        [("deployments", None), ("deployments", Some("scale")), ("deployments", Some("status"))]
    );
}
