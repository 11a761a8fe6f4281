//! Windows options of security contexts.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::dns1123_subdomain;

use crate::framework::validation::Cursor;

const MAX_CREDENTIAL_SPEC: usize = 64 * 1024;
const MAX_DOMAIN: usize = 256;
const MAX_USER: usize = 104;
const MAX_NETBIOS_NAME: usize = 15;
const MAX_DNS_LABEL: usize = 63;

/// Characters that a NetBIOS name may not have.
const NOT_NETBIOS: &str = "\\/:*?\"<>|";
/// Characters that the name of a user may not have.
const NOT_USER: &str = "\"/\\:;|=,+*?<>@[]";

/// Checks the Windows options of a pod or container.
pub(super) fn windows_options(options: &Cursor<'_, '_>) {
    if !options.is_set() {
        return;
    }
    let name = options.field("gmsaCredentialSpecName");
    if name.is_set() {
        for why in dns1123_subdomain(name.text()) {
            name.invalid(Printed::json(name.text()), why);
        }
    }
    let spec = options.field("gmsaCredentialSpec");
    if spec.is_set() && spec.is_empty() {
        spec.invalid(Printed::json(""), "gmsaCredentialSpec cannot be an empty string");
    } else if spec.text().len() > MAX_CREDENTIAL_SPEC {
        spec.invalid(Printed::json(spec.text()), "gmsaCredentialSpec size must be under 64 KiB");
    }
    let user = options.field("runAsUserName");
    if user.is_set() {
        run_as_user(&user);
    }
}

/// Checks the name of a user, with or without a domain and a backslash before it.
fn run_as_user(field: &Cursor<'_, '_>) {
    let name = field.text();
    let wrong = |is_wrong: bool, why: &str| {
        if is_wrong {
            field.invalid(Printed::json(name), format!("runAsUserName{why}"));
        }
        is_wrong
    };
    if wrong(name.is_empty(), " cannot be an empty string")
        || wrong(name.chars().any(|char| char.is_ascii_control()), " cannot contain control characters")
        || wrong(name.matches('\\').count() > 1, " cannot contain more than one backslash")
    {
        return;
    }
    let (domain, user) = match name.split_once('\\') {
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    if let Some(domain) = domain {
        wrong(domain.len() >= MAX_DOMAIN, "'s Domain length must be under 256 characters");
        let is_domain = is_netbios_name(domain) || domain.split('.').all(is_dns_label);
        wrong(!is_domain, "'s Domain doesn't match the NetBios nor the DNS format");
    }
    wrong(user.is_empty(), "'s User cannot be empty");
    wrong(user.len() > MAX_USER, "'s User length must not be longer than 104 characters");
    let is_blank = !user.is_empty() && user.chars().all(|char| matches!(char, '.' | ' '));
    wrong(is_blank, "'s User cannot contain only periods or spaces");
    let has_forbidden = user.chars().any(|char| NOT_USER.contains(char));
    wrong(has_forbidden, "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

fn is_netbios_name(name: &str) -> bool {
    !name.starts_with('.')
        && (1..=MAX_NETBIOS_NAME).contains(&name.chars().count())
        && !name.chars().any(|char| NOT_NETBIOS.contains(char))
}

/// Whether a text is a label of a DNS name, in upper or lower case.
fn is_dns_label(label: &str) -> bool {
    label.len() <= MAX_DNS_LABEL
        && label.starts_with(|char: char| char.is_ascii_alphanumeric())
        && label.ends_with(|char: char| char.is_ascii_alphanumeric())
        && label.chars().all(|char| char.is_ascii_alphanumeric() || char == '-')
}
