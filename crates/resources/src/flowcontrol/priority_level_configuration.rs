//! PriorityLevelConfigurations: shares of the server's concurrency, and queues.

use super::bootstrap;
use super::strategy::{RESOURCE, STATUS_OF_RESOURCE, conditions};
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

pub(super) const PRIORITY_LEVELS: Rules =
    Rules { validate: |_, level| validate(level), validate_update: |_, level| validate(level), ..RESOURCE };

pub(super) const STATUS: Rules = Rules {
    validate_update: |_, level| conditions(&level.at(&["status", "conditions"])),
    ..STATUS_OF_RESOURCE
};

/// Only for objects of `v1beta3`, from which it is removed when they are converted.
const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const MAX_QUEUES: i64 = 10_000_000;
/// Bits of a hash value that deal a hand of queues evenly.
const MAX_HASH_BITS: i64 = 60;
const SPEC: &str = "flowcontrol.PriorityLevelConfigurationSpec";

fn validate(level: &Cursor<'_, '_>) {
    let annotations = level.at(&["metadata", "annotations"]);
    if annotations.key(PRESERVE_ZERO).is_set() {
        annotations.forbidden(format!("annotation '{PRESERVE_ZERO}' is forbidden"));
    }
    let spec = level.field("spec");
    let name = level.at(&["metadata", "name"]).text();
    validate_spec(&spec, name);
    if name == bootstrap::EXEMPT {
        // Its shares may be changed.
        if spec.field("type").text() != "Exempt" || spec.field("limited").is_set() {
            let why = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";
            spec.invalid(spec.printed_as(SPEC), why);
        }
    } else if bootstrap::priority_level(name).is_some_and(|fixed| fixed != *spec.value()) {
        spec.invalid(spec.printed_as(SPEC), format!("spec of '{name}' must equal the fixed value"));
    }
    conditions(&level.at(&["status", "conditions"]));
}

fn validate_spec(spec: &Cursor<'_, '_>, name: &str) {
    let kind = spec.field("type");
    if (name == bootstrap::EXEMPT) != (kind.text() == "Exempt") {
        kind.invalid(
            kind.printed_as("flowcontrol.PriorityLevelEnablement"),
            "must be 'Exempt' if and only if `name` is 'exempt'",
        );
    }
    let (limited, exempt) = (spec.field("limited"), spec.field("exempt"));
    match kind.text() {
        "Exempt" => {
            if limited.is_set() {
                limited.forbidden("must be nil if the type is not Limited");
            }
            if exempt.is_set() {
                check_share(&exempt.field("nominalConcurrencyShares"));
                check_percent(&exempt.field("lendablePercent"));
            }
        }
        "Limited" => {
            if exempt.is_set() {
                exempt.forbidden("must be nil if the type is Limited");
            }
            if limited.is_set() {
                validate_limited(&limited);
            } else {
                limited.required("must not be empty when type is Limited");
            }
        }
        _ => kind.required_one_of(&["Exempt", "Limited"]),
    }
}

fn validate_limited(limited: &Cursor<'_, '_>) {
    check_share(&limited.field("nominalConcurrencyShares"));
    let response = limited.field("limitResponse");
    let queuing = response.field("queuing");
    match response.field("type").text() {
        "Reject" => {
            if queuing.is_set() {
                queuing.forbidden("must be nil if limited.limitResponse.type is not Limited");
            }
        }
        "Queue" if queuing.is_set() => validate_queuing(&queuing),
        "Queue" => queuing.required("must not be empty if limited.limitResponse.type is Limited"),
        _ => response.field("type").required_one_of(&["Queue", "Reject"]),
    }
    check_percent(&limited.field("lendablePercent"));
    let borrowing = limited.field("borrowingLimitPercent");
    if borrowing.integer() < 0 {
        borrowing.invalid(borrowing.integer(), "if specified, must be a non-negative integer");
    }
}

fn check_share(shares: &Cursor<'_, '_>) {
    if shares.integer() < 0 {
        shares.invalid(shares.integer(), "must be a non-negative integer");
    }
}

fn check_percent(percent: &Cursor<'_, '_>) {
    if !(0..=100).contains(&percent.integer()) {
        percent.invalid(percent.integer(), "must be between 0 and 100, inclusive");
    }
}

fn validate_queuing(queuing: &Cursor<'_, '_>) {
    let (queues, hand) = (queuing.field("queues"), queuing.field("handSize"));
    for (field, max) in [("queueLengthLimit", i64::MAX), ("queues", MAX_QUEUES)] {
        let count = queuing.field(field);
        if count.integer() <= 0 {
            count.invalid(count.integer(), "must be positive");
        } else if count.integer() > max {
            count.invalid(count.integer(), format!("must not be greater than {max}"));
        }
    }
    let (decks, size) = (queues.integer(), hand.integer());
    if size <= 0 {
        hand.invalid(size, "must be positive");
    } else if size > decks {
        hand.invalid(size, format!("should not be greater than queues ({decks})"));
    } else if entropy_bits(decks, size) > MAX_HASH_BITS {
        let why = format!(
            "required entropy bits of deckSize {decks} and handSize {size} should not be greater than {MAX_HASH_BITS}"
        );
        hand.invalid(size, why);
    }
}

/// Returns the bits of a hash value that dealing a hand of a deck needs, slightly too many.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the reference's estimate")]
fn entropy_bits(deck: i64, hand: i64) -> i64 {
    ((deck as f64).log2() * hand as f64).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "flowcontrol.apiserver.k8s.io";
    const NAME: &str = "prioritylevelconfigurations";
    const LEVEL: &str = r#"{"metadata":{"name":"a"},"spec":{"type":"Limited","limited":{
        "limitResponse":{"type":"Queue","queuing":{"queues":64,"handSize":6,"queueLengthLimit":50}}}}}"#;

    fn base() -> Base {
        Base::new(GROUP, NAME, LEVEL)
    }

    #[test]
    fn a_level_is_limited_unless_it_is_exempt() {
        base().accepts(&[&[("/spec/limited/limitResponse", r#"{"type":"Reject"}"#)]]);
        base().refuses(&[
            (
                &[("/spec/type", r#""Exempt""#)],
                &[
                    r#"spec.type: Invalid value: "Exempt": must be 'Exempt' if and only if `name` is 'exempt'"#,
                    "spec.limited: Forbidden: must be nil if the type is not Limited",
                ],
            ),
            (&[("/spec/type", r#""""#)], &["spec.type: Required value"]),
            (
                &[("/spec/type", r#""x""#)],
                &[r#"spec.type: Unsupported value: "x": supported values: "Exempt", "Limited""#],
            ),
            (&[("/spec/limited", "")], &["spec.limited: Required value: must not be empty when type is Limited"]),
            (&[("/spec/exempt", "{}")], &["spec.exempt: Forbidden: must be nil if the type is Limited"]),
            (
                &[("/metadata/annotations", &format!(r#"{{"{PRESERVE_ZERO}":""}}"#))],
                &[&format!("metadata.annotations: Forbidden: annotation '{PRESERVE_ZERO}' is forbidden")],
            ),
        ]);
        base().refuses_update(&[(
            &[("/spec/type", r#""x""#)],
            &[r#"spec.type: Unsupported value: "x": supported values: "Exempt", "Limited""#],
        )]);
    }

    #[test]
    fn shares_and_percentages_have_ranges() {
        base().refuses(&[(
            &[
                ("/spec/limited/nominalConcurrencyShares", "-1"),
                ("/spec/limited/lendablePercent", "101"),
                ("/spec/limited/borrowingLimitPercent", "-1"),
            ],
            &[
                "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
                "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
                "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
            ],
        )]);
    }

    #[test]
    fn queues_are_for_levels_that_queue() {
        const RESPONSE: &str = "/spec/limited/limitResponse";
        let at = |rest: &str| format!("spec.limited.limitResponse.{rest}");
        base().refuses(&[
            (
                &[(&format!("{RESPONSE}/type"), r#""Reject""#)],
                &[&at("queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited")],
            ),
            (
                &[(&format!("{RESPONSE}/queuing"), "")],
                &[&at("queuing: Required value: must not be empty if limited.limitResponse.type is Limited")],
            ),
            (&[(&format!("{RESPONSE}/type"), r#""""#)], &[&at("type: Required value")]),
            (
                &[(&format!("{RESPONSE}/type"), r#""x""#)],
                &[&at(r#"type: Unsupported value: "x": supported values: "Queue", "Reject""#)],
            ),
            (
                &[(&format!("{RESPONSE}/queuing"), r#"{"queues":-1,"handSize":-2,"queueLengthLimit":-3}"#)],
                &[
                    &at("queuing.queueLengthLimit: Invalid value: -3: must be positive"),
                    &at("queuing.queues: Invalid value: -1: must be positive"),
                    &at("queuing.handSize: Invalid value: -2: must be positive"),
                ],
            ),
            (
                &[(&format!("{RESPONSE}/queuing/queues"), "10000001")],
                &[
                    &at("queuing.queues: Invalid value: 10000001: must not be greater than 10000000"),
                    &at(
                        "queuing.handSize: Invalid value: 6: required entropy bits of deckSize 10000001 and handSize 6 should not be greater than 60",
                    ),
                ],
            ),
            (
                &[(&format!("{RESPONSE}/queuing/queues"), "5")],
                &[&at("queuing.handSize: Invalid value: 6: should not be greater than queues (5)")],
            ),
        ]);
    }

    #[test]
    fn mandatory_levels_have_fixed_specs() {
        let exempt =
            Base::new(GROUP, NAME, r#"{"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{}}}"#);
        exempt.accepts(&[
            &[("/spec/exempt/lendablePercent", "50")],
            &[("/spec/exempt/nominalConcurrencyShares", "7")],
            &[("/spec/exempt", "")],
        ]);
        exempt.refuses(&[
            (
                &[
                    ("/spec/exempt/nominalConcurrencyShares", "-7"),
                    ("/spec/exempt/lendablePercent", "-1"),
                ],
                &[
                    "spec.exempt.nominalConcurrencyShares: Invalid value: -7: must be a non-negative integer",
                    "spec.exempt.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive",
                ],
            ),
            (
                &[("/spec/type", r#""Limited""#), ("/spec/exempt", "")],
                &[
                    r#"spec.type: Invalid value: "Limited": must be 'Exempt' if and only if `name` is 'exempt'"#,
                    "spec.limited: Required value: must not be empty when type is Limited",
                    r#"spec: Invalid value: {"Type":"Limited","Limited":null,"Exempt":null}: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"#,
                ],
            ),
        ]);
        let catch_all = r#"{"metadata":{"name":"catch-all"},"spec":{"type":"Limited","limited":{
            "nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"}}}}"#;
        let catch_all = Base::new(GROUP, NAME, catch_all);
        catch_all.refuses(&[(
            &[("/spec/limited/nominalConcurrencyShares", "6")],
            &[
                r#"spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":6,"LimitResponse":{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of 'catch-all' must equal the fixed value"#,
            ],
        )]);
    }

    #[test]
    fn conditions_have_types_of_their_own() {
        let status = Base::new(GROUP, "prioritylevelconfigurations/status", LEVEL);
        status.refuses_update(&[(
            &[("/status", r#"{"conditions":[{"type":"a"},{"type":"a"}]}"#)],
            &[r#"status.conditions[1].type: Duplicate value: "a""#],
        )]);
    }

    #[test]
    fn large_hands_of_large_decks_need_much_entropy() {
        assert_eq!(entropy_bits(64, 6), 36);
        assert_eq!(entropy_bits(64, 10), 60);
        assert_eq!(entropy_bits(65, 10), 61);
    }
}
