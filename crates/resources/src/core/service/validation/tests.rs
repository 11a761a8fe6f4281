use super::*;
use crate::framework::strategy::testing::{Subject, of};

fn tree(services: &Subject, spec: &str) -> Value {
    let metadata = r#"{"name":"s","namespace":"n"}"#;
    let mut service = services.tree(&format!(r#"{{"metadata":{metadata},"spec":{spec}}}"#));
    let of = pintle_schema::find("core/v1.Service").unwrap();
    crate::framework::defaults::apply(of, &mut service, &Default::default());
    fields::complete_new(&mut service);
    service
}

pub(super) fn walk(rule: fn(&Cursor<'_, '_>), new: &Value, old: Option<&Value>) -> Vec<String> {
    let errors = Errors::default();
    rule(&Cursor::root(new, old, &errors));
    errors.into_vec().iter().map(ToString::to_string).collect()
}

fn wrong(spec: &str) -> Vec<String> {
    let services = of("", "services");
    walk(service, &tree(&services, spec), None)
}

fn wrong_change(new: &str, old: &str) -> Vec<String> {
    let services = of("", "services");
    let (new, old) = (tree(&services, new), tree(&services, old));
    walk(service_update, &new, Some(&old))
}

#[test]
fn a_plain_service_is_right() {
    assert!(wrong(r#"{"ports":[{"port":80}]}"#).is_empty());
    assert!(wrong(r#"{"clusterIP":"None"}"#).is_empty());
    assert!(wrong(r#"{"type":"ExternalName","externalName":"a.example."}"#).is_empty());
}

#[test]
fn addresses_agree_with_each_other() {
    for (spec, expected) in [
        (
            r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.61","clusterIPs":["10.0.0.60"]}"#,
            r#"spec.clusterIPs: Invalid value: ["10.0.0.60"]: first value must match `clusterIP`"#,
        ),
        (
            r#"{"ports":[{"port":80}],"clusterIPs":["10.0.0.60"]}"#,
            r#"spec.clusterIPs: Invalid value: ["10.0.0.60"]: must be empty when `clusterIP` is not specified"#,
        ),
        (
            r#"{"ports":[{"port":80}],"clusterIP":"None","clusterIPs":["None","10.0.0.60"]}"#,
            r#"spec.clusterIPs: Invalid value: ["None","10.0.0.60"]: 'None' must be the first and only value"#,
        ),
        (
            r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","10.0.0.2"]}"#,
            r#"spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family"#,
        ),
        (
            r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.1","ipFamilies":["IPv6"]}"#,
            r#"spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`"#,
        ),
        (
            r#"{"ports":[{"port":80}],"ipFamilies":["IPv4","IPv4"]}"#,
            r#"spec.ipFamilies[1]: Duplicate value: "IPv4""#,
        ),
        (
            r#"{"ports":[{"port":80}],"type":"NodePort","clusterIP":"None"}"#,
            r#"spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services"#,
        ),
    ] {
        assert_eq!(wrong(spec), [expected], "{spec}");
    }
}

#[test]
fn ports_are_told_apart() {
    assert_eq!(wrong("{}"), ["spec.ports: Required value"]);
    let spec = r#"{"ports":[{"name":"a","port":80,"protocol":"X"},{"port":0},{"name":"a","port":80,"nodePort":30001}]}"#;
    assert_eq!(
        wrong(spec),
        [
            r#"spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#,
            "spec.ports[1].name: Required value",
            "spec.ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[1].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            r#"spec.ports[2].name: Duplicate value: "a""#,
            "spec.ports[2].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ]
    );
    let twice = wrong(r#"{"ports":[{"name":"a","port":80},{"name":"b","port":80}]}"#);
    assert_eq!(
        twice,
        [
            r#"spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#
        ]
    );
}

#[test]
fn what_only_some_types_have_is_refused_for_others() {
    for (spec, expected) in [
        (r#"{"type":"ExternalName"}"#, "spec.externalName: Required value"),
        (
            r#"{"type":"ExternalName","externalName":"a","ipFamilies":["IPv4"]}"#,
            "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
        ),
        (
            r#"{"ports":[{"port":80}],"loadBalancerSourceRanges":["10.0.0.0/8"]}"#,
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            r#"{"ports":[{"port":80}],"loadBalancerClass":"a/b"}"#,
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            r#"{"ports":[{"port":80}],"externalTrafficPolicy":"Local"}"#,
            r#"spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services"#,
        ),
        (
            r#"{"ports":[{"port":80}],"healthCheckNodePort":30001}"#,
            "spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ),
        (
            r#"{"ports":[{"port":80}],"type":"X","internalTrafficPolicy":"Y"}"#,
            r#"spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#,
        ),
        (
            r#"{"ports":[{"port":80}],"trafficDistribution":"X"}"#,
            r#"spec.trafficDistribution: Unsupported value: "X": supported values: "PreferClose", "PreferSameZone", "PreferSameNode""#,
        ),
        (
            r#"{"ports":[{"port":80}],"externalIPs":["127.0.0.1"]}"#,
            r#"spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
        ),
        (
            r#"{"ports":[{"port":80}],"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":86401}}}"#,
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
        ),
    ] {
        assert_eq!(wrong(spec)[0], expected, "{spec}");
    }
}

#[test]
fn the_first_address_stays() {
    let old = r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}"#;
    assert!(wrong_change(old, old).is_empty());
    assert_eq!(
        wrong_change(&old.replace("10.0.0.1", "10.0.0.2"), old),
        [r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set"#]
    );
    let both = r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"PreferDualStack"}"#;
    assert!(wrong_change(both, old).is_empty());
    assert!(wrong_change(old, both).is_empty());
    let kept = old.replace("SingleStack", "PreferDualStack");
    assert_eq!(
        wrong_change(&kept, both),
        [
            r#"spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary clusterIP"#,
            r#"spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary ipFamily"#,
        ]
    );
}

#[test]
fn the_class_of_a_load_balancer_stays() {
    let old = r#"{"ports":[{"port":80}],"type":"LoadBalancer","loadBalancerClass":"a.b/c"}"#;
    assert_eq!(
        wrong_change(&old.replace("b/c", "b/d"), old),
        [r#"spec.loadBalancerClass: Invalid value: "a.b/d": may not change once set"#]
    );
}

#[test]
fn only_load_balancers_have_an_ingress() {
    let status = of("", "services/status");
    let service = |kind: &str, point: &str| {
        let text = format!(
            r#"{{"metadata":{{"name":"s","namespace":"n","resourceVersion":"1"}},"spec":{{"type":"{kind}"}},"status":{{"loadBalancer":{{"ingress":[{point}]}}}}}}"#
        );
        let service = status.tree(&text);
        walk(status_update, &service, Some(&tree(&status, "{}")))
    };
    assert!(service("LoadBalancer", r#"{"ip":"1.2.3.4","ipMode":"VIP"}"#).is_empty());
    assert_eq!(
        service("NodePort", r#"{"ip":"1.2.3.4"}"#),
        ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]
    );
    assert_eq!(
        service("LoadBalancer", r#"{"ip":"bogus","ipMode":"VIP"}"#),
        [
            r#"status.loadBalancer.ingress[0].ip: Invalid value: "bogus": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#
        ]
    );
    assert_eq!(
        service("LoadBalancer", r#"{"hostname":"1.2.3.4"}"#),
        [
            r#"status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address"#
        ]
    );
}
