use super::*;

fn complaint(text: &[u8]) -> String {
    validate(text).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
}

#[test]
fn syntax_errors_are_gos() {
    let cases = [
        ("", "unexpected end of JSON input"),
        ("  \n", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{\"a\"", "unexpected end of JSON input"),
        ("{\"a\":", "unexpected end of JSON input"),
        ("{\"a\":1", "unexpected end of JSON input"),
        ("{\"a\":1,", "unexpected end of JSON input"),
        ("[", "unexpected end of JSON input"),
        ("[1", "unexpected end of JSON input"),
        ("[1,", "unexpected end of JSON input"),
        ("\"abc", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{\"a\":}", "invalid character '}' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[,]", "invalid character ',' looking for beginning of value"),
        ("{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("{1:2}", "invalid character '1' looking for beginning of object key string"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1 \"b\"", "invalid character '\"' after object key:value pair"),
        ("{\"a\":1]", "invalid character ']' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1}", "invalid character '}' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("1 2", "invalid character '2' after top-level value"),
        ("\"a\nb\"", r"invalid character '\n' in string literal"),
        ("\"a\0b\"", r"invalid character '\x00' in string literal"),
        (r#""\x""#, "invalid character 'x' in string escape code"),
        (r#""\"#, "invalid character ' ' in string escape code"),
        (r#""\u12g4""#, r"invalid character 'g' in \u hexadecimal character escape"),
        (r#""\u12"#, r"invalid character ' ' in \u hexadecimal character escape"),
        ("-", "invalid character ' ' in numeric literal"),
        ("-a", "invalid character 'a' in numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e", "invalid character ' ' in exponent of numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ("+1", "invalid character '+' looking for beginning of value"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("fALSE", "invalid character 'A' in literal false (expecting 'a')"),
        ("nil", "invalid character 'i' in literal null (expecting 'u')"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
    ];
    for (text, want) in cases {
        assert_eq!(complaint(text.as_bytes()), want, "{text}");
    }
    assert_eq!(complaint(b"\xff"), "invalid character 'ÿ' looking for beginning of value");
    assert_eq!(complaint(b"{\xad"), r"invalid character '\u00ad' looking for beginning of object key string");
}

#[test]
fn valid_documents_are_accepted() {
    for text in [
        "null",
        " true ",
        "-0",
        "-0.5e+10",
        "1E5",
        "[]",
        "{}",
        "[[],{}]",
        "{\"a\":{\"b\":[1,{}]},\"\":null}",
        "\"\u{7f}é\\u0000\\/\"",
        "\r\n\t{ }",
    ] {
        assert_eq!(complaint(text.as_bytes()), "fine", "{text}");
    }
    assert_eq!(complaint(b"\"\xff\""), "fine");
}

#[test]
fn strings_are_unescaped_and_invalid_utf8_is_replaced() {
    let cases: [(&[u8], &str); 13] = [
        (b"\"plain\"", "plain"),
        ("\"é世\u{1f600}\"".as_bytes(), "é世\u{1f600}"),
        (br#""\"\\\/\b\f\n\r\t""#, "\"\\/\x08\x0c\n\r\t"),
        (br#""a\u00e9\u4e16b""#, "aé世b"),
        (br#""\ud83d\ude00""#, "\u{1f600}"),
        (br#""\ud83dx""#, "\u{fffd}x"),
        (br#""\ud83d\u0041""#, "\u{fffd}A"),
        (br#""\ud83d\n""#, "\u{fffd}\n"),
        (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (br#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        (b"\"a\xffb\"", "a\u{fffd}b"),
        // Three bytes of invalid UTF-8: Go replaces each.
        (b"\"\xe4\xb8\\n\xed\xa0\x80\"", "\u{fffd}\u{fffd}\n\u{fffd}\u{fffd}\u{fffd}"),
        (b"\"<\xe2\x80\xa8>\"", "<\u{2028}>"),
    ];
    for (literal, want) in cases {
        let mut reader = Reader::new(literal);
        assert_eq!(reader.string().unwrap(), want);
        reader.end().unwrap();
    }
}

#[test]
fn the_end_of_a_string_is_found_at_any_alignment() {
    for length in 0..40 {
        for index in 0..length {
            for (byte, ends) in
                [(b'"', true), (b'\\', true), (0x1F, true), (0x20, false), (0x21, false), (0xA2, false)]
            {
                for filler in [b'a', 0x23, 0xFF, 0x7F, 0x80, 0xDC] {
                    let mut bytes = vec![filler; length];
                    bytes[index] = byte;
                    assert_eq!(stop(&bytes), if ends { index } else { length }, "{bytes:?}");
                }
            }
        }
    }
}

#[test]
fn skipped_values_end_at_their_last_byte() {
    let mut reader = Reader::new(br#" {"a": [1, {"b":"]}"}] } ,"#);
    assert_eq!(reader.raw().unwrap(), br#"{"a": [1, {"b":"]}"}] }"#);
    assert_eq!(reader.token(), Some(b','));
    assert_eq!(reader.depth, 0);
}

#[test]
fn depth_is_bounded_in_gos_words() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(complaint(nested(MAX_DEPTH).as_bytes()), "fine");
    assert_eq!(complaint(nested(MAX_DEPTH + 1).as_bytes()), "invalid character '[' exceeded max depth");
    let objects = "{\"a\":".repeat(2_000_000);
    assert_eq!(complaint(objects.as_bytes()), "invalid character '{' exceeded max depth");
}

#[test]
fn white_space_and_html_are_reported() {
    let seen = |text: &str| Reader::new(text.as_bytes()).whole().unwrap();
    assert_eq!(seen("{\"a\":[1,\"b c\"]}"), Seen { space: false, html: false });
    assert_eq!(seen("[1, 2]"), Seen { space: true, html: false });
    assert_eq!(seen("\"a&b\""), Seen { space: false, html: true });
    assert_eq!(seen("\"\u{2028}\""), Seen { space: false, html: true });
    assert_eq!(seen("\"…\""), Seen { space: false, html: false });
}
