//! Parsing any text ends without a panic, and a parsed selector prints to text that parses the same.

use proptest::prelude::*;

use super::{LabelSelector, field, label};
use crate::validation;

/// Generates texts from the grammars' tokens, many of which are nearly valid.
fn near_selector() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("in".to_owned()),
        Just("notin".to_owned()),
        "[=!(),<> \\\\\0]",
        "[a-z0-9./-]{1,4}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_printed_label_selector_parses_the_same(text in near_selector()) {
        if let Ok(selector) = label::Selector::parse(&text) {
            let again = label::Selector::parse(&selector.to_string());
            prop_assert_eq!(again, Ok(selector.clone()));
            let _ = selector.matches(|_| Some("1"));
        }
        let _ = LabelSelector::parse(&text);
    }

    #[test]
    fn a_printed_field_selector_parses_the_same(text in near_selector()) {
        // Not in the same order: `a==z` comes before `a=b`, but prints as `a=z`.
        let terms = |selector: &field::Selector| {
            let mut terms: Vec<String> = selector.requirements().iter().map(ToString::to_string).collect();
            terms.sort();
            terms
        };
        if let Ok(selector) = field::Selector::parse(&text) {
            let again = field::Selector::parse(&selector.to_string());
            prop_assert_eq!(again.as_ref().map(terms), Ok(terms(&selector)));
        }
    }

    #[test]
    fn an_escaped_value_round_trips(value in any::<String>()) {
        prop_assert_eq!(field::unescape(&field::escape(&value)), Ok(value));
    }

    #[test]
    fn addresses_parse_like_in_the_standard_library(text in "[0-9a-f:.]{0,20}") {
        if let Ok(address) = text.parse::<std::net::IpAddr>() {
            prop_assert_eq!(validation::parse_ip_sloppy(&text), Some(address));
        }
        let _ = validation::parse_cidr_sloppy(&format!("{text}/8"));
    }

    #[test]
    fn every_printed_address_is_canonical(bits: u128) {
        let address = std::net::Ipv6Addr::from_bits(bits).to_string();
        prop_assert_eq!(validation::parse_ip_sloppy(&address).map(|ip| ip.to_string()), Some(address));
    }
}
