//! Names, keys, values and numbers that are not DNS names.

use super::{
    DNS1123_SUBDOMAIN_MAX_LENGTH, LABEL_VALUE_MAX_LENGTH, consists_of, declared, empty_error,
    inclusive_range_error, max_bytes_error, max_length_error, regex_error,
};

const NAME_PART: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_PART_MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const NAME_PART_MAX_LENGTH: usize = 63;
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const LABEL_VALUE_MESSAGE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const C_IDENTIFIER: &str = "[A-Za-z_][A-Za-z0-9_]*";
const C_IDENTIFIER_MESSAGE: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
const PERCENT: &str = "[0-9]+%";
const PERCENT_MESSAGE: &str = "a valid percent string must be a numeric string followed by an ending '%'";
const HTTP_HEADER: &str = "[-A-Za-z0-9]+";
const HTTP_HEADER_MESSAGE: &str = "a valid HTTP header must consist of alphanumeric characters or '-'";
const ENV_VAR: &str = "[-._a-zA-Z][-._a-zA-Z0-9]*";
const ENV_VAR_MESSAGE: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit";
const RELAXED_ENV_VAR_MESSAGE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const CONFIG_MAP_KEY: &str = "[-._a-zA-Z0-9]+";
const CONFIG_MAP_KEY_MESSAGE: &str =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
const DECIMAL_INTEGER_MESSAGE: &str = "must be a valid decimal integer in canonical form";

/// Validates the key of a label or annotation: a name, optionally after a DNS subdomain and a slash.
pub fn qualified_name(value: &str) -> Vec<String> {
    let wrong = || regex_error(NAME_PART_MESSAGE, NAME_PART, &["MyName", "my.name", "123-abc"]);
    let mut errors = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                wrong()
            )];
        }
        Some(("", name)) => {
            errors.push(format!("prefix part {}", empty_error()));
            name
        }
        Some((prefix, name)) => {
            let wrong = declared::dns1123_subdomain(prefix);
            errors.extend(wrong.into_iter().map(|error| format!("prefix part {error}")));
            name
        }
    };
    if name.is_empty() {
        errors.push(format!("name part {}", empty_error()));
    } else if name.len() > NAME_PART_MAX_LENGTH {
        errors.push(format!("name part {}", max_bytes_error(NAME_PART_MAX_LENGTH)));
    }
    if !is_name_part(name) {
        errors.push(format!("name part {}", wrong()));
    }
    errors
}

pub fn label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_VALUE_MAX_LENGTH {
        errors.push(max_bytes_error(LABEL_VALUE_MAX_LENGTH));
    }
    if !value.is_empty() && !is_name_part(value) {
        errors.push(regex_error(LABEL_VALUE_MESSAGE, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    errors
}

pub fn c_identifier(value: &str) -> Vec<String> {
    let first = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    let rest = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    unless(consists_of(value, first, rest, rest), || {
        regex_error(C_IDENTIFIER_MESSAGE, C_IDENTIFIER, &["my_name", "MY_NAME", "MyName"])
    })
}

/// Validates the name of a port by the rules of IANA's service registry.
pub fn port_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let allowed = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if value.len() > 15 {
        errors.push(max_length_error(15));
    }
    if !consists_of(value, allowed, allowed, allowed) {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".into());
    }
    if value.contains("--") {
        errors.push("must not contain consecutive hyphens".into());
    }
    if value.starts_with('-') || value.ends_with('-') {
        errors.push("must not begin or end with a hyphen".into());
    }
    errors
}

pub fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65_535)
}

pub fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    unless((low..=high).contains(&value), || inclusive_range_error(low, high))
}

pub fn user_id(value: i64) -> Vec<String> {
    in_range(value, 0, i32::MAX.into())
}

pub fn group_id(value: i64) -> Vec<String> {
    in_range(value, 0, i32::MAX.into())
}

pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    let matches = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    unless(matches, || regex_error(PERCENT_MESSAGE, PERCENT, &["1%", "93%"]))
}

/// Validates a whole number of any size without a plus sign, leading zeros or minus zero.
pub fn decimal_integer(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec![empty_error()];
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical = value == "0" || (!digits.is_empty() && !digits.starts_with('0'));
    let matches = canonical && digits.bytes().all(|byte| byte.is_ascii_digit());
    unless(matches, || DECIMAL_INTEGER_MESSAGE.into())
}

pub fn http_header_name(value: &str) -> Vec<String> {
    let allowed = |byte: u8| byte == b'-' || byte.is_ascii_alphanumeric();
    unless(consists_of(value, allowed, allowed, allowed), || {
        regex_error(HTTP_HEADER_MESSAGE, HTTP_HEADER, &["X-Header-Name"])
    })
}

pub fn env_var_name(value: &str) -> Vec<String> {
    let first = |byte: u8| is_key_character(byte) && !byte.is_ascii_digit();
    let matches = consists_of(value, first, is_key_character, is_key_character);
    let mut errors = unless(matches, || {
        regex_error(ENV_VAR_MESSAGE, ENV_VAR, &["my.env-name", "MY_ENV.NAME", "MyEnvName1"])
    });
    errors.extend(directory_prefix(value));
    errors
}

pub fn relaxed_env_var_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec![format!("environment variable name {}", empty_error())];
    }
    let allowed = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    unless(value.bytes().all(allowed), || RELAXED_ENV_VAR_MESSAGE.into())
}

/// Validates a key of a ConfigMap or Secret, which may become the name of a file.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > DNS1123_SUBDOMAIN_MAX_LENGTH {
        errors.push(max_length_error(DNS1123_SUBDOMAIN_MAX_LENGTH));
    }
    if !consists_of(value, is_key_character, is_key_character, is_key_character) {
        let examples = ["key.name", "KEY_NAME", "key-name"];
        errors.push(regex_error(CONFIG_MAP_KEY_MESSAGE, CONFIG_MAP_KEY, &examples));
    }
    errors.extend(directory_prefix(value));
    errors
}

/// Validates that a name can be a path segment of a URL: the minimum for every name.
pub fn path_segment_name(value: &str) -> Vec<String> {
    match value {
        "." | ".." => vec![format!("may not be '{value}'")],
        _ => path_segment_prefix(value),
    }
}

/// Like [`path_segment_name`], for the prefix of a generated name.
pub fn path_segment_prefix(value: &str) -> Vec<String> {
    let forbidden = ['/', '%'].into_iter().filter(|&c| value.contains(c));
    forbidden.map(|c| format!("may not contain '{c}'")).collect()
}

fn unless(fine: bool, error: impl FnOnce() -> String) -> Vec<String> {
    if fine { Vec::new() } else { vec![error()] }
}

fn is_name_part(value: &str) -> bool {
    let edge = |byte: u8| byte.is_ascii_alphanumeric();
    consists_of(value, edge, is_key_character, edge)
}

fn is_key_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// Rejects keys that lead to another directory, since they become file names.
fn directory_prefix(value: &str) -> Option<String> {
    match value {
        "." | ".." => Some(format!("must not be '{value}'")),
        _ if value.starts_with("..") => Some("must not start with '..'".into()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
