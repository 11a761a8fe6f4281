//! Properties of all quantities.

use proptest::prelude::*;

use super::{Amount, Format, Quantity};

/// Generates texts of every notation within the range of the suffixes.
fn text() -> impl Strategy<Value = String> {
    let suffix = prop::sample::select(vec![
        "", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e+7", "e0",
        "e-12",
    ]);
    ("[-+]?", "[0-9]{1,12}", "(\\.[0-9]{0,12})?", suffix)
        .prop_map(|(sign, whole, fraction, suffix)| format!("{sign}{whole}{fraction}{suffix}"))
}

fn quantity() -> impl Strategy<Value = Quantity> {
    text().prop_map(|text| Quantity::parse(&text).unwrap())
}

/// Drops the original text.
fn canonical(quantity: &Quantity) -> Quantity {
    Quantity { text: None, ..quantity.clone() }
}

fn minus(a: &Quantity, b: &Quantity) -> Quantity {
    let mut difference = a.clone();
    difference.sub(b);
    difference
}

proptest! {
    #[test]
    fn printed_quantities_parse_to_the_same_number(a in quantity()) {
        prop_assert_eq!(&Quantity::parse(&a.to_string()).unwrap(), &a);
        prop_assert_eq!(&Quantity::parse(&canonical(&a).to_string()).unwrap(), &a);
    }

    #[test]
    fn the_canonical_form_is_a_fixed_point(a in quantity()) {
        let text = canonical(&a).to_string();
        prop_assert_eq!(Quantity::parse(&text).unwrap().to_string(), text);
    }

    #[test]
    fn the_canonical_form_has_no_fraction_and_no_redundant_zeros(a in quantity()) {
        let text = canonical(&a).to_string();
        prop_assert!(!text.contains(['.', '+']));
        let mantissa: String = text.chars().take_while(|c| *c == '-' || c.is_ascii_digit()).collect();
        // Binary suffixes keep zeros, and so does a plain number in binary notation.
        prop_assert!(!mantissa.ends_with("000") || a.format() == Format::BinarySi);
    }

    #[test]
    fn order_agrees_with_the_sign_of_the_difference(a in quantity(), b in quantity()) {
        prop_assert_eq!(a.cmp(&b) as i32, minus(&a, &b).signum());
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
    }

    #[test]
    fn subtracting_undoes_adding(a in quantity(), b in quantity()) {
        let mut sum = a.clone();
        sum.add(&b);
        let mut other = b.clone();
        other.add(&a);
        prop_assert_eq!(&sum, &other);
        prop_assert_eq!(&minus(&sum, &b), &a);
    }

    #[test]
    fn both_representations_print_alike(value: i64, scale in -9i32..=0, binary: bool) {
        let format = if binary { Format::BinarySi } else { Format::DecimalSi };
        let small = Quantity { format, ..Quantity::from_scaled(value, scale) };
        let big = Quantity { amount: Amount::Big(Box::new(small.decimal())), format, text: None };
        prop_assert_eq!(small.to_string(), big.to_string());
        if value >= 0 {
            prop_assert_eq!(small.value(), big.value());
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,12}", lookalike in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,19}") {
        for text in [text, lookalike] {
            if let Ok(mut read) = Quantity::parse(&text) {
                let other = read.clone();
                read.add(&other);
                read.neg();
                read.round_up(Quantity::MILLI);
                let _ = (read.to_string(), read.value(), read.milli_value(), read.as_i64(), read.as_approximate_f64());
                prop_assert!(read.cmp(&other) != other.cmp(&read) || read == other);
            }
        }
    }
}
