use std::cmp::Ordering;

use super::{Amount, Decimal, Error, Format, Quantity};
use Format::{BinarySi, DecimalExponent, DecimalSi};

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the same number in the representation for numbers out of range of `i64`.
fn promoted(quantity: &Quantity) -> Quantity {
    Quantity { amount: Amount::Big(Box::new(quantity.decimal())), ..quantity.clone() }
}

fn int(value: i64, scale: i32) -> Quantity {
    Quantity::from_scaled(value, scale)
}

#[test]
fn texts_are_parsed_as_value_and_notation() {
    let cases = [
        ("0", 0, 0, DecimalSi),
        ("0n", 0, 0, DecimalSi),
        ("0Ki", 0, 0, BinarySi),
        ("0Ti", 0, 0, BinarySi),
        ("0e-10", 0, 0, DecimalExponent),
        ("1", 1, 0, DecimalSi),
        ("1Ki", 1 << 10, 0, BinarySi),
        ("8Ki", 1 << 13, 0, BinarySi),
        ("7Mi", 7 << 20, 0, BinarySi),
        ("6Gi", 6 << 30, 0, BinarySi),
        ("5Ti", 5 << 40, 0, BinarySi),
        ("4Pi", 4 << 50, 0, BinarySi),
        ("3Ei", 3 << 60, 0, BinarySi),
        ("100Ti", 100 << 40, 0, BinarySi),
        ("5n", 5, -9, DecimalSi),
        ("4u", 4, -6, DecimalSi),
        ("3m", 3, -3, DecimalSi),
        ("50k", 5, 4, DecimalSi),
        ("7M", 7, 6, DecimalSi),
        ("6G", 6, 9, DecimalSi),
        ("300T", 3, 14, DecimalSi),
        ("2P", 2, 15, DecimalSi),
        ("1E", 1, 18, DecimalSi),
        ("12E", 12, 18, DecimalSi),
        ("1E-3", 1, -3, DecimalExponent),
        ("1e3", 1, 3, DecimalExponent),
        ("1E18", 1, 18, DecimalExponent),
        ("1.3E+6", 13, 5, DecimalExponent),
        ("0.5e-2", 5, -3, DecimalExponent),
        ("100.035k", 100_035, 0, DecimalSi),
        ("0.0005k", 5, -1, DecimalSi),
        ("0.05000", 5, -2, DecimalSi),
        ("6.987654321G", 6_987_654_321, 0, DecimalSi),
        ("1.01E", 101, 16, DecimalSi),
        // Rounded up to nano units in any notation.
        ("3.001n", 4, -9, DecimalSi),
        ("1.1E-9", 2, -9, DecimalExponent),
        ("0.0000000001", 1, -9, DecimalSi),
        ("0.5e-9", 1, -9, DecimalExponent),
        ("0.00000012345", 124, -9, DecimalSi),
        ("0.00000012354", 124, -9, DecimalSi),
        ("0.9999999999", 1, 0, DecimalSi),
        // Binary notation has a largest number, and no fractions below one.
        ("9Ei", i64::MAX, 0, BinarySi),
        ("9223372036854775807Ki", i64::MAX, 0, BinarySi),
        ("100.035Ki", 10_243_584, -2, BinarySi),
        ("0.5Mi", 1 << 19, 0, BinarySi),
        ("0.05Gi", 536_870_912, -1, BinarySi),
        ("0.000000000001Ki", 2, -9, DecimalSi),
        // Digits may be missing before and after the point.
        (".001", 1, -3, DecimalSi),
        (".0001k", 100, -3, DecimalSi),
        ("1.", 1, 0, DecimalSi),
        ("1.G", 1, 9, DecimalSi),
    ];
    for (text, value, scale, format) in cases {
        let expected = int(value, scale);
        let mut negated = expected.clone();
        negated.neg();
        for (text, expected) in
            [(text.to_owned(), &expected), (format!("+{text}"), &expected), (format!("-{text}"), &negated)]
        {
            let got = quantity(&text);
            assert_eq!(&got, expected, "{text}");
            assert_eq!(&promoted(&got), expected, "{text}");
            assert_eq!(got.format(), format, "{text}");
        }
    }
}

#[test]
fn texts_without_digits_are_zero_as_in_the_reference() {
    for text in ["-", "+", ".", "-.", "Ki", "m", "e5", "+.Mi"] {
        assert_eq!(quantity(text).to_string(), "0", "{text}");
    }
}

#[test]
fn invalid_texts_have_the_references_messages() {
    let format =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let numeric = "unable to parse numeric part of quantity";
    let suffix = "unable to parse quantity's suffix";
    let cases = [
        ("", format),
        ("1.1.M", format),
        ("1+1.0M", format),
        ("0.1am", format),
        ("aoeu", format),
        (" 1", format),
        ("1 ", format),
        ("--1", suffix),
        ("1é", format),
        ("1e5x", format),
        ("0.1mi", suffix),
        (".5i", suffix),
        ("1i", suffix),
        ("-3.01i", suffix),
        ("-3.01e-", suffix),
        ("1+5", suffix),
        ("1K", suffix),
        ("1ki", suffix),
        ("1Ki5", suffix),
        ("1ee5", suffix),
        ("1e9223372036854775808", suffix),
        ("Ei", numeric),
        ("-.Pi", numeric),
        ("e-10", numeric),
    ];
    for (text, message) in cases {
        assert_eq!(
            Quantity::parse(text).map_err(|error| error.to_string()),
            Err(message.to_owned()),
            "{text}"
        );
    }
    assert_eq!("Ei".parse::<Quantity>(), Err(Error::Numeric));
}

#[test]
fn the_canonical_form_has_no_fraction_and_the_largest_suffix() {
    let cases = [
        (1 << 30, 0, BinarySi, "1Gi"),
        (300 << 20, 0, BinarySi, "300Mi"),
        (6 << 10, 0, BinarySi, "6Ki"),
        (1001 << 30, 0, BinarySi, "1001Gi"),
        (1 << 40, 0, BinarySi, "1Ti"),
        (1025, 0, BinarySi, "1025"),
        (1023, 0, BinarySi, "1023"),
        (1000, 0, BinarySi, "1k"),
        (5, 0, BinarySi, "5"),
        (500, -3, BinarySi, "500m"),
        (1_234_567, -3, BinarySi, "1234567m"),
        (2_048_000, -3, BinarySi, "2Ki"),
        (1024, 3, BinarySi, "1000Ki"),
        (1, 9, DecimalSi, "1G"),
        (1_000_000, 3, DecimalSi, "1G"),
        (1, -3, DecimalSi, "1m"),
        (108, -2, DecimalSi, "1080m"),
        (10_800, -4, DecimalSi, "1080m"),
        (10_800, -10, DecimalSi, "1080n"),
        (1_234_567, 6, DecimalSi, "1234567M"),
        (i64::MAX, 1, DecimalSi, "92233720368547758070"),
        (i64::MIN + 1, 2, DecimalSi, "-922337203685477580700"),
        (1, 9, DecimalExponent, "1e9"),
        (1, -3, DecimalExponent, "1e-3"),
        (80, -3, DecimalExponent, "80e-3"),
        (300, 6, DecimalExponent, "300e6"),
        (1, 1, DecimalExponent, "10"),
        (1, 100, DecimalExponent, "10e99"),
        (0, 7, DecimalExponent, "0"),
        // There is no suffix beyond exa and nano; the reference then prints none.
        (1, 21, DecimalSi, "1"),
    ];
    for (value, scale, format, text) in cases {
        let small = Quantity { format, ..int(value, scale) };
        assert_eq!(small.to_string(), text);
        assert_eq!(promoted(&small).to_string(), text);
    }
}

#[test]
fn texts_are_printed_in_canonical_form_unless_they_look_canonical_at_first_glance() {
    let cases = [
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        (".001Ki", "1024m"),
        (".000000001Ki", "1024n"),
        (".000000000001Ki", "2n"),
        ("0.5Mi", "512Ki"),
        ("1.5Gi", "1536Mi"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("0.100", "100m"),
        ("1e4", "10e3"),
        ("1000E", "1"),
        ("00", "0"),
        ("+0", "0"),
        ("12345678901234567890123e6", "12345678901234567890123e6"),
        ("123456789.0123456789", "123456789012345679n"),
        ("1000000000000000000000000", "1"),
        // Unchanged.
        ("1.500", "1.500"),
        ("+1", "+1"),
        ("-1", "-1"),
        ("007", "007"),
        ("1.", "1."),
        ("05Ki", "05Ki"),
        ("1E3", "1E3"),
        ("1e0", "1e0"),
        ("1e+06", "1e+06"),
        ("1e4294967299", "1e4294967299"),
    ];
    for (text, printed) in cases {
        assert_eq!(quantity(text).to_string(), printed, "{text}");
    }
    let mut rounded = quantity("1.500");
    assert!(rounded.round_up(Quantity::MILLI));
    assert_eq!(rounded.to_string(), "1.500");
    rounded.add(&quantity("0"));
    assert_eq!(rounded.to_string(), "1500m");
}

#[test]
fn quantities_compare_by_value_at_any_scale() {
    let large = 1_000_000_000_000_000_000;
    let cases = [
        (int(901, -2), int(901, -2), Ordering::Equal),
        (int(90, -1), int(901, -2), Ordering::Less),
        (int(0, 1), int(0, -1), Ordering::Equal),
        (int(800, -3), int(1, 0), Ordering::Less),
        (int(800, -3), int(79, -2), Ordering::Greater),
        (int(i64::MAX, 0), int(1, -1), Ordering::Greater),
        (int(i64::MAX, 1), int(0, 1), Ordering::Greater),
        (int(i64::MAX, -16), int(1, 3), Ordering::Less),
        (int(i64::MIN, -18), int(-1, 0), Ordering::Less),
        (int(i64::MIN, -19), int(-1, 0), Ordering::Greater),
        (int(large, -17), int(1, 1), Ordering::Equal),
        (int(-large, -17), int(-10, 0), Ordering::Equal),
        (int(large + 1, -17), int(1, 1), Ordering::Greater),
        (int(large - 1, -17), int(1, 1), Ordering::Less),
        (int(1, i32::MAX), int(1, i32::MIN), Ordering::Greater),
        (int(-1, i32::MAX), int(1, i32::MIN), Ordering::Less),
    ];
    for (a, b, order) in cases {
        for (a, b) in [(a.clone(), b.clone()), (promoted(&a), b.clone()), (a.clone(), promoted(&b))] {
            assert_eq!(a.cmp(&b), order, "{a:?} {b:?}");
            assert_eq!(b.cmp(&a), order.reverse(), "{a:?} {b:?}");
        }
    }
    assert_eq!(quantity("10000T").cmp(&quantity("100Gi")), Ordering::Greater);
}

#[test]
fn rounding_goes_away_from_zero() {
    let cases = [
        ("9.01", -3, int(901, -2), true),
        ("9.01", -2, int(901, -2), true),
        ("9.01", -1, int(91, -1), false),
        ("9.01", 0, int(10, 0), false),
        ("9.01", 2, int(100, 0), false),
        ("-9.01", -1, int(-91, -1), false),
        ("-9.01", 0, int(-10, 0), false),
        ("-9.01", 30, int(-1, 30), false),
        ("0", 5, int(0, 0), true),
    ];
    for (text, scale, expected, exact) in cases {
        for mut got in [quantity(text), promoted(&quantity(text))] {
            assert_eq!(got.round_up(scale), exact, "{text} {scale}");
            assert_eq!(got, expected, "{text} {scale}");
        }
    }
}

#[test]
fn integers_are_rounded_up_and_overflow_as_in_the_reference() {
    let cases = [
        ("1", 1, 1000),
        ("1m", 1, 1),
        ("1001m", 2, 1001),
        ("1.5n", 1, 1),
        ("-1.5", -2, -1500),
        ("1Gi", 1 << 30, (1 << 30) * 1000),
        ("0.1Ki", 103, 102_400),
        // Too many digits for the fast path, so rounded by the other rule.
        ("-0.1Ki", -101, -102_400),
        ("100E", 0, 0),
        ("18446744073709551617", 1, 1000),
        ("9Ei", i64::MAX, -1000),
        ("-4Pi", -(4 << 50), -(4 << 50) * 1000),
    ];
    for (text, value, milli) in cases {
        assert_eq!(quantity(text).value(), value, "{text}");
        assert_eq!(quantity(text).milli_value(), milli, "{text}");
    }
    for (scale, units) in [(-9, 100_000_000_000), (-2, 10_000), (0, 100), (2, 1), (3, 1), (400, 1)] {
        assert_eq!(int(1, 2).scaled_value(scale), units);
        assert_eq!(promoted(&int(1, 2)).scaled_value(scale), units);
    }
    assert_eq!(quantity("5k").as_i64(), Some(5000));
    assert_eq!(quantity("1Gi").as_i64(), Some(1 << 30));
    assert_eq!(quantity("5000m").as_i64(), None);
    assert_eq!(quantity("100E").as_i64(), None);
}

#[test]
fn arithmetic_keeps_the_notation_of_a_nonzero_operand() {
    let cases = [
        ("10", "1m", "10001m", "9999m"),
        ("0", "100m", "100m", "-100m"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "0", "1Gi", "1Gi"),
        ("1Gi", "1G", "2073741824", "73741824"),
        ("1Mi", "1Ki", "1025Ki", "1023Ki"),
        ("1.2", "1.8", "3", "-600m"),
        ("1e3", "1k", "2e3", "0"),
        ("9Ei", "9Ei", "18446744073709551614", "0"),
        ("1n", "1E", "1000000000000000000000000001n", "-999999999999999999999999999n"),
    ];
    for (a, b, sum, difference) in cases {
        for (x, y) in [(quantity(a), quantity(b)), (promoted(&quantity(a)), quantity(b))] {
            let mut got = x.clone();
            got.add(&y);
            assert_eq!(got.to_string(), sum, "{a} + {b}");
            let mut got = x;
            got.sub(&y);
            assert_eq!(got.to_string(), difference, "{a} - {b}");
        }
    }
    let mut negated = Quantity::new(i64::MIN, DecimalSi);
    negated.neg();
    assert_eq!(negated.to_string(), "9223372036854775808");
}

#[test]
fn floating_point_is_approximate() {
    let cases = [
        ("0", 0.0),
        ("1500m", 1.5),
        ("100k", 1e5),
        ("1Gi", 1_073_741_824.0),
        ("0.1Ki", 102.4),
        ("1.1Ki", 1126.4),
        ("9Ei", 9_223_372_036_854_775_807.0),
        ("-1e400", f64::NEG_INFINITY),
        ("12345678901234567890e400", f64::INFINITY),
        ("1e308", 1e308),
    ];
    for (text, expected) in cases {
        assert_eq!(quantity(text).as_approximate_f64(), expected, "{text}");
    }
}

#[test]
fn json_is_a_string_and_bare_numbers_are_accepted() {
    let literals = [
        (r#"" 1""#, "1"),
        (r#""1 ""#, "1"),
        ("10", "10"),
        ("-1", "-1"),
        ("1.5", "1500m"),
        ("1e3", "1e3"),
        ("null", "0"),
        (r#""1Gi""#, "1Gi"),
    ];
    for (literal, printed) in literals {
        assert_eq!(Quantity::from_json(literal).map(|q| q.to_string()), Ok(printed.to_owned()), "{literal}");
    }
    assert_eq!(Quantity::from_json(r#""\u0031""#), Err(Error::Format));
    for (literal, printed) in
        [(r#"" 1Gi""#, "1Gi"), ("10", "10"), ("-10", "-10"), ("1.5", "1500m"), ("null", "0")]
    {
        let read: Quantity = serde_json::from_str(literal).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), format!("\"{printed}\""));
    }
    assert!(serde_json::from_str::<Quantity>("true").is_err());
}

#[test]
fn huge_exponents_and_long_digits_are_fast() {
    let huge = quantity("1e1000000000");
    assert_eq!(huge.to_string(), "10e999999999");
    assert_eq!(huge.cmp_i64(1), Ordering::Greater);
    assert_eq!(huge.value(), 0);
    assert_eq!(quantity("0e2000000000").value(), 0);
    let mut sum = quantity("1Ki");
    sum.add(&huge);
    assert_eq!(sum, huge);
    assert_eq!(sum.to_string(), "10e999999999");
    sum.sub(&huge);
    assert_eq!(sum.to_string(), "0");
    assert_eq!(quantity("1e-1000000000").to_string(), "1e-9");
    assert_eq!(quantity("12345678901234567890e1000000000").to_string(), "123456789012345678900e999999999");

    let nines = "9".repeat(3_000_000);
    let mut long = quantity(&nines);
    assert_eq!(long.to_string(), nines);
    assert_eq!(quantity(&format!("0.{nines}")).to_string(), "1");
    assert_eq!(quantity(&format!("{nines}Ei")).to_string(), i64::MAX.to_string());
    assert_eq!(quantity(&format!("0.{nines}Ki")).to_string(), "1Ki");
    long.add(&quantity("1"));
    assert_eq!(long, int(1, 3_000_000));
    assert_eq!(Decimal::from_int(10, 4).exponent(), 5);
}
