//! Tables of services that are refused, and why.

use super::tests::walk;
use super::{service, status_update};
use crate::framework::strategy::testing::of;
use crate::framework::validation::testing::Base;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const ONLY_LOAD_BALANCER: &str = "Forbidden: may only be used when `type` is 'LoadBalancer'";
const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

const SERVICE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"ports":[{"port":80}],
    "clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}}"#;

fn services() -> Base {
    Base::new("", "services", SERVICE)
}

/// A service with a port on each node, perhaps behind a load balancer.
fn of_type(kind: &str) -> Base {
    Base::new("", "services", &SERVICE.replace(r#""spec":{"#, &format!(r#""spec":{{"type":"{kind}","#)))
}

#[test]
fn addresses_and_families_are_known_ones() {
    services().refuses(&[
        (&[("/spec/clusterIPs", "")], &["spec.clusterIPs: Required value"]),
        (
            &[("/spec/ipFamilies", r#"["IPv5"]"#)],
            &[r#"spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6""#],
        ),
        (
            &[("/spec/ipFamilyPolicy", r#""Both""#)],
            &[
                r#"spec.ipFamilyPolicy: Unsupported value: "Both": supported values: "PreferDualStack", "RequireDualStack", "SingleStack""#,
            ],
        ),
        (
            &[("/spec/clusterIP", r#""10.0.0""#), ("/spec/clusterIPs", r#"["10.0.0"]"#)],
            &[
                r#"spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            ],
        ),
        (
            &[("/spec/clusterIPs", r#"["10.0.0.1","fd00::1","10.0.0.2"]"#)],
            &[
                r#"spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","10.0.0.2"]: may only hold up to 2 values"#,
            ],
        ),
    ]);
}

#[test]
fn families_stay_with_their_addresses() {
    const BOTH: &[(&str, &str)] = &[
        ("/spec/clusterIPs", r#"["10.0.0.1","fd00::1"]"#),
        ("/spec/ipFamilies", r#"["IPv4","IPv6"]"#),
        ("/spec/ipFamilyPolicy", r#""RequireDualStack""#),
    ];
    let base = services();
    base.accepts_update(&[BOTH]);
    base.refuses_update(&[
        (
            &[("/spec/ipFamilies", r#"["IPv6"]"#)],
            &[
                r#"spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set"#,
                r#"spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`"#,
            ],
        ),
        (
            &[("/spec/clusterIP", ""), ("/spec/clusterIPs", ""), ("/spec/ipFamilies", "")],
            &[
                "spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset",
                "spec.ipFamilies[0]: Invalid value: null: primary ipFamily can not be unset",
            ],
        ),
    ]);
    base.refuses_update_of(
        BOTH,
        &[(
            &[
                ("/spec/clusterIP", r#""fd00::1""#),
                ("/spec/clusterIPs", r#"["fd00::1"]"#),
                ("/spec/ipFamilies", r#"["IPv6"]"#),
                ("/spec/ipFamilyPolicy", r#""SingleStack""#),
            ],
            &[
                r#"spec.clusterIPs[0]: Invalid value: ["fd00::1"]: may not change once set"#,
                r#"spec.ipFamilies[0]: Invalid value: ["fd00::1"]: may not change once set"#,
            ],
        )],
    );
}

#[test]
fn names_of_ports_are_labels() {
    services().refuses(&[
        (&[("/spec/ports/0/name", r#""A""#)], &[&format!(r#"spec.ports[0].name: Invalid value: "A": {LABEL}"#)]),
        (&[("/spec/ports/0/targetPort", r#""http_port""#)], &[r#"spec.ports[0].targetPort: Invalid value: "http_port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#]),
        (&[("/spec/ports/0/targetPort", "65536")], &["spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive"]),
        (&[("/spec/ports/0/appProtocol", r#""a b""#)], &[&format!(r#"spec.ports[0].appProtocol: Invalid value: "a b": {NAME_PART}"#)]),
        (&[("/spec/selector", r#"{"a b":"c"}"#)], &[&format!(r#"spec.selector: Invalid value: "a b": {NAME_PART}"#)]),
    ]);
}

#[test]
fn node_ports_are_unique_by_protocol() {
    let base = of_type("NodePort");
    base.accepts(&[&[(
        "/spec/ports",
        r#"[{"name":"a","port":80,"nodePort":30001},{"name":"b","port":80,"nodePort":30001,"protocol":"UDP"}]"#,
    )]]);
    base.refuses(&[(
        &[(
            "/spec/ports",
            r#"[{"name":"a","port":80,"nodePort":30001},{"name":"b","port":81,"nodePort":30001}]"#,
        )],
        &["spec.ports[1].nodePort: Duplicate value: 30001"],
    )]);
}

#[test]
fn external_services_have_a_name_and_no_addresses() {
    let base = Base::new(
        "",
        "services",
        r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"type":"ExternalName","externalName":"a.example"}}"#,
    );
    base.refuses(&[
        (
            &[("/spec/ipFamilyPolicy", r#""SingleStack""#)],
            &["spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services"],
        ),
        (
            &[("/spec/externalName", r#""A.""#)],
            &[&format!(r#"spec.externalName: Invalid value: "A": {SUBDOMAIN}"#)],
        ),
    ]);
}

#[test]
fn topology_is_named_once_or_twice_alike() {
    let mode = "/metadata/annotations/service.kubernetes.io~1topology-mode";
    let hints = "/metadata/annotations/service.kubernetes.io~1topology-aware-hints";
    let base = services();
    base.accepts(&[&[(mode, r#""Auto""#)], &[(hints, r#""Auto""#), (mode, r#""Auto""#)]]);
    base.refuses(&[(&[(hints, r#""Auto""#), (mode, r#""Disabled""#)], &[r#"metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Disabled": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified"#])]);
}

#[test]
fn sessions_and_external_addresses_are_known_ones() {
    services().refuses(&[
        (
            &[("/spec/sessionAffinity", r#""Cookie""#)],
            &[r#"spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None""#],
        ),
        (&[("/spec/externalIPs", r#"["bogus"]"#)], &[r#"spec.externalIPs[0]: Invalid value: "bogus": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#]),
    ]);
}

#[test]
fn load_balancers_alone_have_ranges_classes_and_health_ports() {
    let ranges = "/metadata/annotations/service.beta.kubernetes.io~1load-balancer-source-ranges";
    services().refuses(&[
        (&[("/spec/allocateLoadBalancerNodePorts", "true")], &[&format!("spec.allocateLoadBalancerNodePorts: {ONLY_LOAD_BALANCER}")]),
        (&[(ranges, r#""10.0.0.0/8""#)], &[&format!("metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: {ONLY_LOAD_BALANCER}")]),
        (&[("/spec/externalTrafficPolicy", r#""Local""#)], &[r#"spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services"#]),
        (&[("/spec/healthCheckNodePort", "30500")], &["spec.healthCheckNodePort: Invalid value: 30500: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"]),
    ]);
    let base = of_type("LoadBalancer");
    base.accepts(&[
        &[(ranges, r#"" 10.0.0.0/8, fd00::/8 ""#)],
        &[(ranges, r#"" ""#)],
        &[("/spec/loadBalancerSourceRanges", r#"[" 10.0.0.0/8 "]"#)],
        &[("/spec/loadBalancerClass", r#""example.com/fast""#)],
    ]);
    base.refuses(&[
        (&[("/spec/loadBalancerSourceRanges", r#"["10.0.0.0/33"]"#)], &[&format!(r#"spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": {CIDR}"#)]),
        (&[(ranges, r#""10.0.0.0/8,bogus""#)], &[&format!(r#"metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "bogus": {CIDR}"#)]),
        (&[("/spec/loadBalancerClass", r#""a b""#)], &[&format!(r#"spec.loadBalancerClass: Invalid value: "a b": {NAME_PART}"#)]),
        (&[("/spec/externalTrafficPolicy", r#""Near""#)], &[r#"spec.externalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local""#]),
        (&[("/spec/internalTrafficPolicy", r#""Near""#)], &[r#"spec.internalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local""#]),
        (&[("/spec/externalTrafficPolicy", r#""Local""#)], &["spec.healthCheckNodePort: Required value"]),
        (&[("/spec/externalTrafficPolicy", r#""Local""#), ("/spec/healthCheckNodePort", "65536")], &["spec.healthCheckNodePort: Invalid value: 65536: must be between 1 and 65535, inclusive"]),
    ]);
    let local = [("/spec/externalTrafficPolicy", r#""Local""#), ("/spec/healthCheckNodePort", "30500")];
    base.refuses_update_of(
        &local,
        &[(
            &[("/spec/healthCheckNodePort", "30501")],
            &["spec.healthCheckNodePort: Forbidden: field is immutable"],
        )],
    );
    // An annotation that was stored may stay.
    base.accepts_update_of(&[(ranges, r#""bogus""#)], &[&[("/spec/ports/0/port", "81")]]);
}

#[test]
fn points_of_load_balancers_are_addresses_or_names() {
    let base = Base::new(
        "",
        "services/status",
        &SERVICE.replace(r#""spec":{"#, r#""spec":{"type":"LoadBalancer","#),
    );
    let points = "/status/loadBalancer/ingress";
    base.accepts_update(&[&[(points, r#"[{"ip":"1.2.3.4"},{"hostname":"a.example"}]"#)]]);
    base.refuses_update(&[
        (&[(points, r#"[{"hostname":"a.example","ipMode":"VIP"}]"#)], &["status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set"]),
        (&[(points, r#"[{"ip":"1.2.3.4","ipMode":"Relay"}]"#)], &[r#"status.loadBalancer.ingress[0].ipMode: Unsupported value: "Relay": supported values: "Proxy", "VIP""#]),
        (&[(points, r#"[{"hostname":"A"}]"#)], &[&format!(r#"status.loadBalancer.ingress[0].hostname: Invalid value: "A": {SUBDOMAIN}"#)]),
    ]);
}

/// Rules that only objects without defaults break.
#[test]
fn defaults_are_required() {
    let services = of("", "services");
    let errors = |spec: &str| {
        let text = format!(r#"{{"spec":{{"clusterIP":"None","clusterIPs":["None"],{spec}}}}}"#);
        walk(service, &services.tree(&text), None)
    };
    let complete = r#""type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster""#;
    assert_eq!(errors(complete), [""; 0]);
    assert_eq!(
        errors(&format!(r#"{complete},"sessionAffinityConfig":{{}}"#)),
        ["spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None"]
    );
    let sticky = complete.replace(r#""None""#, r#""ClientIP""#);
    assert_eq!(
        errors(&sticky),
        ["spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP"]
    );
    assert_eq!(
        errors(&format!(r#"{sticky},"sessionAffinityConfig":{{}}"#)),
        ["spec.sessionAffinityConfig.clientIP: Required value: when session affinity type is ClientIP"]
    );
    assert_eq!(
        errors(&format!(r#"{sticky},"sessionAffinityConfig":{{"clientIP":{{}}}}"#)),
        [
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Required value: when session affinity type is ClientIP"
        ]
    );
    assert_eq!(
        errors(r#""type":"LoadBalancer""#),
        [
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services",
            "spec.sessionAffinity: Required value",
            "allocateLoadBalancerNodePorts: Required value",
            "spec.externalTrafficPolicy: Required value",
            "spec.internalTrafficPolicy: Required value",
        ]
    );
    let status =
        r#"{"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}"#;
    assert_eq!(
        walk(status_update, &services.tree(status), None),
        ["status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set"]
    );
}
