//! Formats of names, labels, ports, addresses and similar values.
//!
//! Each check returns the problems of a value in the reference's words and order; empty if it is valid. Checks that
//! report on a field take its path and return field errors. They are linear scans: the regular expressions appear
//! only in the messages.

mod dns;
mod fields;
mod ip;
pub mod object_meta;
mod text;

pub use dns::{
    dns1035_label, dns1123_label, dns1123_subdomain, dns1123_subdomain_with_underscore,
    wildcard_dns1123_subdomain,
};
pub use fields::{
    domain_prefixed_key, domain_prefixed_path, fully_qualified_domain_name, fully_qualified_name, label_name,
    labels, non_negative,
};
pub use ip::{
    Cidr, cidr, cidr_for_legacy_field, cidr_warnings, interface_address, ip, ip_for_legacy_field,
    ip_warnings, parse_cidr_sloppy, parse_ip_sloppy,
};
pub use text::{
    c_identifier, config_map_key, decimal_integer, env_var_name, group_id, http_header_name, in_range,
    label_value, path_segment_name, path_segment_prefix, percent, port_name, port_number, qualified_name,
    relaxed_env_var_name, user_id,
};

/// Checks of declarative validation. They differ from their namesakes in the message of the length limit, which
/// counts bytes.
pub mod declared {
    pub use super::dns::declared::{dns1123_label, dns1123_subdomain, dns1123_subdomain_caseless};
}

pub const DNS1123_LABEL_MAX_LENGTH: usize = 63;
pub const DNS1123_SUBDOMAIN_MAX_LENGTH: usize = 253;
pub const DNS1035_LABEL_MAX_LENGTH: usize = 63;
pub const LABEL_VALUE_MAX_LENGTH: usize = 63;

pub fn max_length_error(length: usize) -> String {
    format!("must be no more than {length} characters")
}

pub fn max_bytes_error(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

pub fn empty_error() -> String {
    "must be non-empty".into()
}

pub fn inclusive_range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Returns the message of a mismatch: the rule, examples, and the regular expression.
pub fn regex_error(message: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{regex}')");
    }
    let mut out = format!("{message} (e.g. ");
    for (position, example) in examples.iter().enumerate() {
        // The comma before "or" is the reference's.
        out.push_str(if position == 0 { "'" } else { " or '" });
        out.push_str(example);
        out.push_str("', ");
    }
    out.push_str("regex used for validation is '");
    out.push_str(regex);
    out.push_str("')");
    out
}

/// Masks the end of a name prefix, which may end with a dash. The reference checks it with its last two characters
/// replaced by one letter, so a dash before the last one is accepted too.
pub fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-').filter(|rest| !rest.is_empty()) {
        // Without a character boundary there the name is invalid anyway.
        Some(rest) if rest.is_char_boundary(rest.len() - 1) => format!("{}a", &rest[..rest.len() - 1]),
        _ => name.to_owned(),
    }
}

/// Returns whether a text is non-empty and consists of these sets: the first character, the last and those between.
fn consists_of(
    text: &str,
    first: impl Fn(u8) -> bool,
    middle: impl Fn(u8) -> bool,
    last: impl Fn(u8) -> bool,
) -> bool {
    match text.as_bytes() {
        [] => false,
        // A single character counts as the first one.
        [one] => first(*one),
        [start, inner @ .., end] => first(*start) && inner.iter().all(|&byte| middle(byte)) && last(*end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regex_messages_keep_the_references_commas() {
        assert_eq!(regex_error("bad", "x+", &[]), "bad (regex used for validation is 'x+')");
        assert_eq!(regex_error("bad", "x+", &["a"]), "bad (e.g. 'a', regex used for validation is 'x+')");
        assert_eq!(
            regex_error("bad", "x+", &["a", "b"]),
            "bad (e.g. 'a',  or 'b', regex used for validation is 'x+')"
        );
    }

    #[test]
    fn a_trailing_dash_is_masked_for_prefixes() {
        let cases =
            [("web-", "wea"), ("web", "web"), ("-", "-"), ("a-", "a"), ("a--", "aa"), ("", ""), ("é-", "é-")];
        for (name, want) in cases {
            assert_eq!(mask_trailing_dash(name), want, "{name}");
        }
    }
}
