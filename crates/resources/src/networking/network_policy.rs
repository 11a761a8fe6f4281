//! NetworkPolicies: the traffic that pods accept and send.

use std::collections::HashSet;

use pintle_meta::field_path::Path;
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::{cidr_warnings, parse_cidr_sloppy, port_name, port_number};
use pintle_meta::{Value, Warnings};

use super::strategy::NAMESPACED;
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

pub(super) const NETWORK_POLICIES: Rules = Rules {
    validate: |_, policy| validate(&policy.field("spec"), &Options::default()),
    validate_update: |_, policy| {
        let spec = policy.field("spec");
        validate(&spec, &Options::of_update(&spec));
    },
    warnings: |_, policy, _| warnings(policy),
    generation_counts_empties: true,
    ..NAMESPACED.counting_spec()
};

/// The two lists of rules, and the lists of peers in them.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// Values of the old object that would be invalid today and may stay.
#[derive(Default)]
struct Options<'v> {
    selectors: ValidationOptions,
    /// All networks of the old object. Rules and peers come and go, so a network may stay wherever it stood.
    cidrs: HashSet<&'v str>,
}

impl<'v> Options<'v> {
    fn of_update(spec: &Cursor<'_, 'v>) -> Options<'v> {
        let old = spec.before();
        let selector = old.field("podSelector");
        let selector = selector.value().view::<LabelSelector>().unwrap_or_default();
        let is_invalid = !selector.validate(ValidationOptions::default(), &Path::NOWHERE).is_empty();
        let mut cidrs = HashSet::new();
        for (direction, peers) in DIRECTIONS {
            let rules = old.field(direction).values().iter();
            for block in rules.flat_map(|rule| rule.items_at(&[peers])).filter_map(|peer| peer.get("ipBlock"))
            {
                cidrs.insert(block.text_at(&["cidr"]));
                cidrs.extend(block.items_at(&["except"]).iter().filter_map(Value::as_str));
            }
        }
        let selectors =
            ValidationOptions { allow_invalid_values: is_invalid, ..ValidationOptions::default() };
        Options { selectors, cidrs }
    }
}

fn validate(spec: &Cursor<'_, '_>, options: &Options<'_>) {
    spec.field("podSelector").label_selector(options.selectors);
    for (direction, peers) in DIRECTIONS {
        for rule in spec.field(direction).items() {
            rule.field("ports").each(|port| validate_port(port));
            rule.field(peers).each(|peer| validate_peer(peer, options));
        }
    }
    let types = spec.field("policyTypes");
    if types.len() > 2 {
        return types.invalid(
            types.printed_as("*[]networking.PolicyType"),
            "may not specify more than two policyTypes",
        );
    }
    types.each(|kind| kind.one_of(&["Ingress", "Egress"]));
}

fn validate_port(port: &Cursor<'_, '_>) {
    let protocol = port.field("protocol");
    if protocol.is_set() {
        protocol.one_of(&["TCP", "UDP", "SCTP"]);
    }
    let (number, end) = (port.field("port"), port.field("endPort"));
    if !number.is_set() {
        if end.is_set() {
            end.invalid(end.integer(), "may not be specified when `port` is not specified");
        }
    } else if number.optional_text().is_some() {
        if end.is_set() {
            end.invalid(end.integer(), "may not be specified when `port` is non-numeric");
        }
        number.text_format(port_name);
    } else {
        number.integer_format(port_number);
        if end.is_set() {
            if end.integer() < number.integer() {
                end.invalid(number.integer(), "must be greater than or equal to `port`");
            }
            end.integer_format(port_number);
        }
    }
}

fn validate_peer(peer: &Cursor<'_, '_>, options: &Options<'_>) {
    let selectors = [peer.field("podSelector"), peer.field("namespaceSelector")];
    for selector in selectors.iter().filter(|selector| selector.is_set()) {
        selector.label_selector(options.selectors);
    }
    let block = peer.field("ipBlock");
    if block.is_set() {
        validate_block(&block, options);
    }
    let has_selector = selectors.iter().any(Cursor::is_set);
    match (has_selector, block.is_set()) {
        (false, false) => peer.required("must specify a peer"),
        (true, true) => peer.forbidden("may not specify both ipBlock and another peer"),
        _ => {}
    }
}

fn validate_block(block: &Cursor<'_, '_>, options: &Options<'_>) {
    let cidr = block.field("cidr");
    if cidr.is_empty() {
        return cidr.required("");
    }
    cidr.legacy_cidr(cidr.text(), stored(cidr.text(), options).as_slice());
    let Some(network) = parse_cidr_sloppy(cidr.text()) else { return };
    for except in block.field("except").items() {
        except.legacy_cidr(except.text(), stored(except.text(), options).as_slice());
        let Some(excepted) = parse_cidr_sloppy(except.text()) else { continue };
        if !network.contains(excepted.network().address) || network.prefix >= excepted.prefix {
            except.invalid(except.text(), "must be a strict subset of `cidr`");
        }
    }
}

/// Returns the network if the old object has it.
fn stored<'t>(text: &'t str, options: &Options<'_>) -> Option<&'t str> {
    options.cidrs.contains(text).then_some(text)
}

fn warnings(policy: &Value) -> Vec<String> {
    let path = Path::new("spec");
    let mut warnings = Warnings::new();
    for (direction, peers) in DIRECTIONS {
        let rules = path.child(direction);
        for (i, rule) in policy.items_at(&["spec", direction]).iter().enumerate() {
            let rule_path = rules.index(i);
            let peers_path = rule_path.child(peers);
            for (j, peer) in rule.items_at(&[peers]).iter().enumerate() {
                let Some(block) = peer.get("ipBlock") else { continue };
                let peer_path = peers_path.index(j);
                let block_path = peer_path.child("ipBlock");
                warnings.extend(cidr_warnings(&block_path.child("cidr"), block.text_at(&["cidr"])));
                let except_path = block_path.child("except");
                let excepted = block.items_at(&["except"]).iter().enumerate();
                warnings.extend(excepted.flat_map(|(k, except)| {
                    cidr_warnings(&except_path.index(k), except.as_str().unwrap_or_default())
                }));
                if warnings.is_full() {
                    return warnings.into_texts();
                }
            }
        }
    }
    warnings.into_texts()
}

#[cfg(test)]
mod tests {
    use pintle_codec::negotiate::Encoding;
    use pintle_registry::{Context, Sent};

    use crate::framework::strategy::testing::{of, warnings};
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "networking.k8s.io";
    const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

    fn base() -> Base {
        let policy = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"podSelector":{"matchLabels":{"a":"b"}},
            "ingress":[{"ports":[{"port":80}],"from":[{"podSelector":{}}]}],
            "egress":[{"ports":[{"port":80,"endPort":90}],"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]}]}}"#;
        Base::new(GROUP, "networkpolicies", policy)
    }

    #[test]
    fn selectors_select_by_valid_labels() {
        let expression = r#"{"matchExpressions":[{"key":"x","operator":"In","values":["y z"]}]}"#;
        let invalid = [("/spec/podSelector", expression)];
        let error =
            format!(r#"spec.podSelector.matchExpressions[0].values[0]: Invalid value: "y z": {LABEL_VALUE}"#);
        base().refuses(&[(&invalid, &[&error])]);
        base().refuses_update(&[(&invalid, &[&error])]);
        // Once one is stored, others are not looked at either.
        base().accepts_update_of(&invalid, &[&[("/spec/ingress/0/from/0/podSelector", expression)]]);
        base().refuses(&[
            (
                &[("/spec/ingress/0/from/0/namespaceSelector", r#"{"matchLabels":{"a":"b c"}}"#)],
                &[&format!(
                    r#"spec.ingress[0].from[0].namespaceSelector.matchLabels: Invalid value: "b c": {LABEL_VALUE}"#
                )],
            ),
            (
                &[("/spec/egress/0/to/0/podSelector", "{}")],
                &["spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"],
            ),
            (
                &[("/spec/ingress/0/from/0", "{}")],
                &["spec.ingress[0].from[0]: Required value: must specify a peer"],
            ),
        ]);
        base().accepts(&[&[("/spec/ingress/0/from/0/namespaceSelector", "{}")]]);
    }

    #[test]
    fn ports_are_numbers_or_names() {
        base().accepts(&[
            &[("/spec/ingress/0/ports/0/port", r#""http""#)],
            &[("/spec/ingress/0/ports/0", r#"{"protocol":"SCTP"}"#)],
        ]);
        base().refuses(&[
            (
                &[("/spec/ingress/0/ports/0/protocol", r#""ICMP""#)],
                &[
                    r#"spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP""#,
                ],
            ),
            (
                &[("/spec/ingress/0/ports/0/port", "0")],
                &["spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
            ),
            (
                &[("/spec/ingress/0/ports/0/port", r#""http!""#)],
                &[
                    r#"spec.ingress[0].ports[0].port: Invalid value: "http!": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#,
                ],
            ),
            (
                &[("/spec/egress/0/ports/0/endPort", "79")],
                &["spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`"],
            ),
            (
                &[("/spec/egress/0/ports/0/endPort", "65536")],
                &[
                    "spec.egress[0].ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
                ],
            ),
            (
                &[("/spec/egress/0/ports/0/port", "")],
                &[
                    "spec.egress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is not specified",
                ],
            ),
            (
                &[("/spec/egress/0/ports/0/port", r#""x""#)],
                &[
                    "spec.egress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
                ],
            ),
        ]);
    }

    #[test]
    fn blocks_except_parts_of_themselves() {
        const CIDR: &str = "/spec/egress/0/to/0/ipBlock/cidr";
        const EXCEPT: &str = "/spec/egress/0/to/0/ipBlock/except/0";
        let at = |field: &str| format!("spec.egress[0].to[0].ipBlock.{field}");
        base().refuses(&[
            (&[(CIDR, r#""""#)], &[&format!("{}: Required value", at("cidr"))]),
            (
                &[(CIDR, r#""x""#)],
                &[&format!(
                    r#"{}: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
                    at("cidr")
                )],
            ),
            (
                &[(EXCEPT, r#""x""#)],
                &[&format!(
                    r#"{}: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
                    at("except[0]")
                )],
            ),
            (
                &[(EXCEPT, r#""11.0.0.0/16""#)],
                &[&format!(
                    r#"{}: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`"#,
                    at("except[0]")
                )],
            ),
            (
                &[(EXCEPT, r#""10.0.0.0/8""#)],
                &[&format!(
                    r#"{}: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`"#,
                    at("except[0]")
                )],
            ),
        ]);
        // Stored networks may stay, and may move.
        let old = [(CIDR, r#""010.0.0.0/8""#), (EXCEPT, r#""010.1.0.0/16""#)];
        base().accepts_update_of(
            &old,
            &[
                &[("/metadata/labels", r#"{"a":"b"}"#)],
                &[("/spec/ingress/0/from/0", r#"{"ipBlock":{"cidr":"010.1.0.0/16"}}"#)],
            ],
        );
        assert!(!of(GROUP, "networkpolicies").strategy.allows_create_on_update());
    }

    #[test]
    fn a_policy_has_two_types_at_most() {
        base().accepts(&[&[("/spec/policyTypes", r#"["Egress"]"#)]]);
        base().refuses(&[
            (
                &[("/spec/policyTypes", r#"["Ingress","Egress","Egress"]"#)],
                &[
                    r#"spec.policyTypes: Invalid value: ["Ingress","Egress","Egress"]: may not specify more than two policyTypes"#,
                ],
            ),
            (
                &[("/spec/policyTypes", r#"["Ingress","x"]"#)],
                &[
                    r#"spec.policyTypes[1]: Unsupported value: "x": supported values: "Ingress", "Egress""#,
                ],
            ),
        ]);
    }

    #[test]
    fn an_empty_list_that_is_sent_counts_a_generation() {
        let policies = of(GROUP, "networkpolicies");
        let object = |extra: &str| {
            r#"{"metadata":{"name":"p","namespace":"n","generation":1},"spec":{"podSelector":{}EXTRA}}"#
                .replace("EXTRA", extra)
        };
        for (extra, generation) in [("", 1), (r#","ingress":[]"#, 2), (r#","ingress":null"#, 1)] {
            let body = Sent::Body { encoding: Encoding::Json, bytes: object(extra).into() };
            let context = Context { sent: Some(body), ..Context::default() };
            let mut new = policies.tree(&object(extra));
            policies.strategy.prepare_for_update(&context, &mut new, &policies.tree(&object("")));
            assert_eq!(new.generation(), generation, "{extra}");
        }
    }

    #[test]
    fn networks_that_read_in_two_ways_are_warned_of() {
        let policy = r#"{"metadata":{"name":"a"},"spec":{"podSelector":{},"egress":[{"to":[{"podSelector":{}},
            {"ipBlock":{"cidr":"10.0.0.0/8","except":["10.0.0.1/16"]}}]}]}}"#;
        let found = warnings(&of(GROUP, "networkpolicies"), policy, None);
        assert!(
            found.len() == 1 && found[0].starts_with("spec.egress[0].to[1].ipBlock.except[0]: CIDR value"),
            "{found:?}"
        );
    }
}
