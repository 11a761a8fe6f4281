//! DNS policy and configuration.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{dns1123_subdomain_with_underscore, ip_for_legacy_field};

use super::Options;
use crate::framework::validation::Cursor;

const MOST_NAMESERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
/// Characters of all search paths and the spaces between them.
const LONGEST_SEARCHES: usize = 2048;

/// Checks the DNS policy.
pub(super) fn policy(policy: &Cursor<'_, '_>) {
    policy.required_one_of(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
}

/// Checks the DNS configuration, at the spec.
pub(super) fn config(spec: &Cursor<'_, '_>, options: &Options) {
    let config = spec.field("dnsConfig");
    let (servers, searches) = (config.field("nameservers"), config.field("searches"));
    if spec.field("dnsPolicy").text() == "None" {
        if !config.is_set() {
            return config.required("must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.is_empty() {
            return servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None");
        }
    }
    let shown = |list: &Cursor<'_, '_>| -> Printed { list.printed_as("[]string") };
    if servers.len() > MOST_NAMESERVERS {
        servers.invalid(shown(&servers), format!("must not have more than {MOST_NAMESERVERS} nameservers"));
    }
    for server in servers.items() {
        server.report(ip_for_legacy_field(server.path(), server.text(), options.strict_ips, &[]));
    }
    if searches.len() > MOST_SEARCHES {
        searches.invalid(shown(&searches), format!("must not have more than {MOST_SEARCHES} search paths"));
    }
    let texts = searches.values().iter().map(|search| search.as_str().unwrap_or_default().len() + 1);
    if texts.sum::<usize>() > LONGEST_SEARCHES + 1 {
        let why = format!(
            "must not have more than {LONGEST_SEARCHES} characters (including spaces) in the search list"
        );
        searches.invalid(shown(&searches), why);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let text = search.text().strip_suffix('.').unwrap_or(search.text());
        for why in dns1123_subdomain_with_underscore(text) {
            search.invalid(text, why);
        }
    }
    for option in config.field("options").items() {
        if option.field("name").is_empty() {
            option.required("must not be empty");
        }
    }
}

#[cfg(test)]
mod tests;
