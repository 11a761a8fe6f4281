//! IP addresses and CIDRs.
//!
//! Old fields accept what Go accepted before it rejected leading zeros ("sloppy"); new ones only the canonical form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::field_path::{Error, Path};
use crate::quote;

/// Address with a prefix length, as written: an IPv4-mapped IPv6 address stays one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub address: IpAddr,
    pub prefix: u8,
}

impl Cidr {
    /// Returns the network: the address without its host bits.
    pub fn network(self) -> Cidr {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Cidr { address, ..self }
    }

    /// Whether an address is in the network. As in Go, IPv4-mapped IPv6 addresses count as IPv4.
    pub fn contains(self, address: IpAddr) -> bool {
        let network = self.network();
        match (network.address.to_canonical(), address.to_canonical()) {
            (v4 @ IpAddr::V4(_), IpAddr::V4(_)) => {
                let is_mapped = network.address.is_ipv6();
                let prefix = if is_mapped { self.prefix.saturating_sub(96) } else { self.prefix };
                Cidr { address: address.to_canonical(), prefix }.network().address == v4
            }
            (IpAddr::V6(_), IpAddr::V6(_)) => Cidr { address, prefix: self.prefix }.network() == network,
            _ => false,
        }
    }

    /// Formats the network as Go does: an IPv4-mapped one as IPv4.
    fn network_text(self) -> String {
        let Cidr { address, prefix } = self.network();
        match (self.address, address.to_canonical()) {
            (IpAddr::V6(_), v4 @ IpAddr::V4(_)) => format!("{v4}/{}", prefix.saturating_sub(96)),
            (_, address) => format!("{address}/{prefix}"),
        }
    }
}

/// Go's former `net.ParseIP`: leading zeros are allowed. Zones are not.
pub fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    match text.bytes().find(|byte| matches!(byte, b'.' | b':'))? {
        b'.' => parse_v4(text).map(IpAddr::V4),
        _ => parse_v6(text).map(IpAddr::V6),
    }
}

/// Go's former `net.ParseCIDR`.
pub fn parse_cidr_sloppy(text: &str) -> Option<Cidr> {
    let (address, prefix) = text.split_once('/')?;
    let address = parse_v4(address).map(IpAddr::V4).or_else(|| parse_v6(address).map(IpAddr::V6))?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let prefix = number(prefix, 10).and_then(|prefix| u8::try_from(prefix).ok()).filter(|&p| p <= longest)?;
    Some(Cidr { address, prefix })
}

/// Validates that an address is in canonical form.
pub fn ip(path: &Path<'_>, value: &str) -> Vec<Error> {
    let (address, mut errors) = checked_ip(path, value, true);
    if let (Some(address), true) = (address, errors.is_empty()) {
        errors.extend(canonical(path, value, &address.to_string()));
    }
    errors
}

/// Validates an address in a field older than the strict rules. Values that the object already had stay valid.
pub fn ip_for_legacy_field(path: &Path<'_>, value: &str, strict: bool, old: &[&str]) -> Vec<Error> {
    if old.contains(&value) {
        return Vec::new();
    }
    checked_ip(path, value, strict).1
}

/// Returns the warnings about an address that [`ip_for_legacy_field`] accepts.
pub fn ip_warnings(path: &Path<'_>, value: &str) -> Vec<String> {
    let Some(sloppy) = parse_ip_sloppy(value) else { return Vec::new() };
    let canonical = quote(&sloppy.to_canonical().to_string());
    let value_text = quote(value);
    match value.parse::<IpAddr>() {
        Ok(address) if !is_v4_in_v6(address) => {
            if address.is_ipv4() || address.to_string() == value {
                return Vec::new();
            }
            vec![format!(
                "{path}: IPv6 address {value_text} should be in RFC 5952 canonical format ({canonical})"
            )]
        }
        _ => vec![format!("{path}: non-standard IP address {value_text} is invalid: use {canonical}")],
    }
}

/// Validates that a CIDR is in canonical form.
pub fn cidr(path: &Path<'_>, value: &str) -> Vec<Error> {
    let (network, mut errors) = checked_cidr(path, value, true);
    if let (Some(network), true) = (network, errors.is_empty()) {
        errors.extend(canonical(path, value, &network.network_text()));
    }
    errors
}

/// Like [`ip_for_legacy_field`], for CIDRs.
pub fn cidr_for_legacy_field(path: &Path<'_>, value: &str, strict: bool, old: &[&str]) -> Vec<Error> {
    if old.contains(&value) {
        return Vec::new();
    }
    checked_cidr(path, value, strict).1
}

/// Returns the warnings about a CIDR that [`cidr_for_legacy_field`] accepts.
pub fn cidr_warnings(path: &Path<'_>, value: &str) -> Vec<String> {
    let Some(sloppy) = parse_cidr_sloppy(value) else { return Vec::new() };
    let mut warnings = Vec::new();
    let (value_text, network) = (quote(value), quote(&sloppy.network_text()));
    if sloppy.network() != sloppy {
        let longest = if sloppy.address.is_ipv4() { 32 } else { 128 };
        let single = quote(&format!("{}/{longest}", sloppy.address.to_canonical()));
        warnings.push(format!(
            "{path}: CIDR value {value_text} is ambiguous in this context (should be {network} or {single}?)"
        ));
    }
    match parse_cidr_strict(value) {
        Some(strict) if !is_v4_in_v6(strict.address) => {
            let canonical = format!("{}/{}", strict.address, strict.prefix);
            if warnings.is_empty() && strict.address.is_ipv6() && canonical != value {
                let canonical = quote(&canonical);
                warnings.push(format!(
                    "{path}: IPv6 CIDR value {value_text} should be in RFC 5952 canonical format ({canonical})"
                ));
            }
        }
        _ => warnings.push(format!("{path}: non-standard CIDR value {value_text} is invalid: use {network}")),
    }
    warnings
}

/// Validates an address with the prefix length of its network, as of an interface.
pub fn interface_address(path: &Path<'_>, value: &str) -> Vec<Error> {
    let Some(Cidr { address, prefix }) = parse_cidr_sloppy(value) else {
        let form = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        return vec![Error::invalid(path, value, form)];
    };
    let address = address.to_canonical();
    // A short prefix of an IPv4-mapped address gives a negative number here, as in the reference.
    let prefix = i16::from(prefix) - if address.is_ipv4() && prefix > 32 { 96 } else { 0 };
    canonical(path, value, &format!("{address}/{prefix}")).into_iter().collect()
}

fn checked_ip(path: &Path<'_>, value: &str, strict: bool) -> (Option<IpAddr>, Vec<Error>) {
    let Some(address) = parse_ip_sloppy(value) else {
        let form = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return (None, vec![Error::invalid(path, value, form)]);
    };
    let wrong = match value.parse::<IpAddr>() {
        Err(_) if strict => Some("must not have leading 0s"),
        Ok(address) if strict && is_v4_in_v6(address) => Some("must not be an IPv4-mapped IPv6 address"),
        _ => None,
    };
    (Some(address), wrong.map(|wrong| Error::invalid(path, value, wrong)).into_iter().collect())
}

fn checked_cidr(path: &Path<'_>, value: &str, strict: bool) -> (Option<Cidr>, Vec<Error>) {
    let Some(sloppy) = parse_cidr_sloppy(value) else {
        let form = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        return (None, vec![Error::invalid(path, value, form)]);
    };
    let wrong = match parse_cidr_strict(value) {
        _ if !strict => None,
        None => Some("must not have leading 0s in IP or prefix length"),
        Some(cidr) if is_v4_in_v6(cidr.address) => Some("must not have an IPv4-mapped IPv6 address"),
        Some(cidr) if cidr.network() != cidr => Some("must not have bits set beyond the prefix length"),
        Some(_) => None,
    };
    (Some(sloppy), wrong.map(|wrong| Error::invalid(path, value, wrong)).into_iter().collect())
}

fn canonical(path: &Path<'_>, value: &str, canonical: &str) -> Option<Error> {
    let wrong = || format!("must be in canonical form ({})", quote(canonical));
    (value != canonical).then(|| Error::invalid(path, value, wrong()))
}

fn is_v4_in_v6(address: IpAddr) -> bool {
    address.is_ipv6() && address.to_canonical().is_ipv4()
}

fn parse_cidr_strict(text: &str) -> Option<Cidr> {
    let sloppy = parse_cidr_sloppy(text)?;
    let (address, prefix) = text.split_once('/')?;
    let leading_zero = prefix.len() > 1 && prefix.starts_with('0');
    (!leading_zero && address.parse() == Ok(sloppy.address)).then_some(sloppy)
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = parts.next().and_then(|part| number(part, 10)).and_then(|n| u8::try_from(n).ok())?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    let (head, tail) = match text.split_once("::") {
        Some((head, tail)) => (groups(head, tail.is_empty())?, Some(groups(tail, true)?)),
        None => (groups(text, true)?, None),
    };
    let mut all = [0; 8];
    match &tail {
        None if head.len() == 8 => all.copy_from_slice(&head),
        // The two colons replace at least one group.
        Some(tail) if head.len() + tail.len() < 8 => {
            all[..head.len()].copy_from_slice(&head);
            all[8 - tail.len()..].copy_from_slice(tail);
        }
        _ => return None,
    }
    Some(all.into())
}

/// Parses at most eight colon-separated groups; the last may be an IPv4 address if these are the address's last
/// groups.
fn groups(text: &str, last: bool) -> Option<Vec<u16>> {
    let mut groups = Vec::with_capacity(8);
    if text.is_empty() {
        return Some(groups);
    }
    let mut parts = text.split(':').peekable();
    while let Some(part) = parts.next() {
        if last && parts.peek().is_none() && part.contains('.') {
            let bits = parse_v4(part)?.to_bits();
            groups.extend([(bits >> 16) as u16, bits as u16]);
        } else {
            groups.push(number(part, 16).and_then(|n| u16::try_from(n).ok())?);
        }
        if groups.len() > 8 {
            return None;
        }
    }
    Some(groups)
}

/// Parses digits with any number of leading zeros, with enough range for every part of an address.
fn number(text: &str, radix: u32) -> Option<u32> {
    let mut value = 0;
    for c in text.chars() {
        value = value * radix + c.to_digit(radix)?;
        if value >= 0xff_ffff {
            return None;
        }
    }
    (!text.is_empty()).then_some(value)
}

#[cfg(test)]
#[path = "ip_tests.rs"]
mod tests;
