use super::*;

const NAME_ERROR: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// Checks which values are valid and which have exactly this one error.
fn check(validate: impl Fn(&str) -> Vec<String>, good: &[&str], bad: &[&str], error: &str) {
    for good in good {
        assert!(validate(good).is_empty(), "{good}: {:?}", validate(good));
    }
    for bad in bad {
        assert_eq!(validate(bad), [error], "{bad}");
    }
}

#[test]
fn qualified_names_have_a_name_and_maybe_a_prefix() {
    let longest = "x".repeat(63);
    check(
        qualified_name,
        &["simple", "1-num.2_num", "Upper", "example.com/a", "a/b", &longest],
        &["a b", "-a", "a-", "_a", "é", "example.com/a b"],
        NAME_ERROR,
    );
    assert_eq!(qualified_name(""), ["name part must be non-empty", NAME_ERROR]);
    assert_eq!(qualified_name("a/"), ["name part must be non-empty", NAME_ERROR]);
    assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
    assert_eq!(qualified_name(&"x".repeat(64)), ["name part must be no more than 63 bytes"]);
    let errors = qualified_name("Bad/a");
    assert!(errors[0].starts_with("prefix part a lowercase RFC 1123 subdomain must"), "{errors:?}");
    let long = format!("{}/a", "x".repeat(254));
    assert_eq!(qualified_name(&long), ["prefix part must be no more than 253 bytes"]);
    assert_eq!(
        qualified_name("a/b/c"),
        [
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    );
}

#[test]
fn label_values_may_be_empty() {
    check(
        label_value,
        &["", "a", "A.b_c-d", &"x".repeat(63)],
        &["a b", "-", "a.", "@", "é"],
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
    assert_eq!(label_value(&"y".repeat(64)), ["must be no more than 63 bytes"]);
}

#[test]
fn identifiers_follow_c() {
    check(
        c_identifier,
        &["a", "_", "A1_b"],
        &["", "1a", "a-b", "é"],
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
    );
}

#[test]
fn port_names_report_every_problem() {
    check(port_name, &["http", "a", "1a", "a-1-b"], &["1", "123"], "must contain at least one letter (a-z)");
    let charset = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
    let letter = "must contain at least one letter (a-z)";
    assert_eq!(port_name(""), [charset, letter]);
    assert_eq!(port_name("A"), [charset, letter]);
    assert_eq!(port_name("a--b"), ["must not contain consecutive hyphens"]);
    assert_eq!(port_name("-a"), ["must not begin or end with a hyphen"]);
    assert_eq!(
        port_name("----------------"),
        [
            "must be no more than 15 characters",
            letter,
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen"
        ]
    );
}

#[test]
fn numbers_must_be_in_range() {
    assert!(port_number(1).is_empty() && port_number(65_535).is_empty());
    for bad in [0, -1, 65_536] {
        assert_eq!(port_number(bad), ["must be between 1 and 65535, inclusive"]);
    }
    assert!(user_id(0).is_empty() && group_id(2_147_483_647).is_empty());
    assert_eq!(user_id(2_147_483_648), ["must be between 0 and 2147483647, inclusive"]);
    assert_eq!(group_id(-1), ["must be between 0 and 2147483647, inclusive"]);
}

#[test]
fn percents_are_digits_and_a_sign() {
    check(
        percent,
        &["0%", "100%", "00001%"],
        &["", "%", "1", "-1%", "1.5%", "1%%", "a%"],
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    );
}

#[test]
fn decimal_integers_are_canonical() {
    check(
        decimal_integer,
        &["0", "7", "-7", "10", "123456789012345678901234567890"],
        &["-", "-0", "00", "01", "+1", "1.0", "1a", " 1"],
        "must be a valid decimal integer in canonical form",
    );
    assert_eq!(decimal_integer(""), ["must be non-empty"]);
}

#[test]
fn header_names_are_letters_digits_and_hyphens() {
    check(
        http_header_name,
        &["X-Header", "-", "1"],
        &["", "a b", "a_b", "a:"],
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    );
}

#[test]
fn environment_variables_do_not_start_with_a_digit() {
    check(
        env_var_name,
        &["A", "-a", ".a", "_", "a.b-C_1"],
        &["", "1a", "a b", "a=b"],
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')",
    );
    assert_eq!(env_var_name("."), ["must not be '.'"]);
    assert_eq!(env_var_name(".."), ["must not be '..'"]);
    assert_eq!(env_var_name("..a"), ["must not start with '..'"]);
    check(
        relaxed_env_var_name,
        &["1", "a b", "..", "~!"],
        &["a=b", "é", "a\tb", "\u{7f}"],
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    );
    assert_eq!(relaxed_env_var_name(""), ["environment variable name must be non-empty"]);
}

#[test]
fn config_map_keys_are_file_names() {
    check(
        config_map_key,
        &["a", "A.b_c-1", ".hidden", &"x".repeat(253)],
        &["", "a/b", "a b", "é"],
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    );
    assert_eq!(config_map_key(&"x".repeat(254)), ["must be no more than 253 characters"]);
    assert_eq!(config_map_key("."), ["must not be '.'"]);
    assert_eq!(config_map_key("..a"), ["must not start with '..'"]);
}

#[test]
fn path_segments_have_no_slashes_or_dots() {
    assert!(path_segment_name("a b:c").is_empty());
    assert!(path_segment_name("").is_empty());
    assert_eq!(path_segment_name("."), ["may not be '.'"]);
    assert_eq!(path_segment_name(".."), ["may not be '..'"]);
    assert_eq!(path_segment_name("%a/"), ["may not contain '/'", "may not contain '%'"]);
    assert!(path_segment_prefix("..").is_empty());
}
