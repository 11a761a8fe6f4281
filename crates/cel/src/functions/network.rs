//! IP addresses and CIDRs, parsed as strictly as Go's `netip` does.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use pintle_meta::quote;

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::types::Type;
use crate::value::{Other, Val, opaque};

/// IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ip(IpAddr);

/// CIDR: an address with its host bits, and the prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    bits: u8,
}

opaque!(Ip, Type::Opaque("net.IP"), |ip| Some(if ip.0.is_ipv4() { 4 } else { 16 }));
opaque!(Cidr, Type::Opaque("net.CIDR"), |cidr| Some(usize::from(cidr.bits).div_ceil(8)));

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "ip",
        overloads: &[("string_to_ip", "string -> net.IP"), ("cidr_ip", ".net.CIDR -> net.IP")],
        run: ip,
    },
    Declared {
        name: "isIP",
        overloads: &[("is_ip", "string -> bool")],
        run: |call, args| text(call, args, |text| Ok(Val::Bool(parse_ip(text).is_ok()))),
    },
    Declared {
        name: "ip.isCanonical",
        overloads: &[("ip_is_canonical", "string -> bool")],
        run: |call, args| text(call, args, |text| Ok(Val::Bool(parse_ip(text)?.to_string() == text))),
    },
    Declared {
        name: "family",
        overloads: &[("ip_family", ".net.IP -> int")],
        run: |call, args| of_ip(call, args, |ip| Val::Int(if ip.is_ipv4() { 4 } else { 6 })),
    },
    Declared {
        name: "isUnspecified",
        overloads: &[("ip_is_unspecified", ".net.IP -> bool")],
        run: |call, args| of_ip(call, args, |ip| Val::Bool(ip.is_unspecified())),
    },
    Declared {
        name: "isLoopback",
        overloads: &[("ip_is_loopback", ".net.IP -> bool")],
        run: |call, args| of_ip(call, args, |ip| Val::Bool(ip.is_loopback())),
    },
    Declared {
        name: "isLinkLocalMulticast",
        overloads: &[("ip_is_link_local_multicast", ".net.IP -> bool")],
        run: |call, args| of_ip(call, args, |ip| Val::Bool(is_link_local_multicast(ip))),
    },
    Declared {
        name: "isLinkLocalUnicast",
        overloads: &[("ip_is_link_local_unicast", ".net.IP -> bool")],
        run: |call, args| of_ip(call, args, |ip| Val::Bool(is_link_local(ip))),
    },
    Declared {
        name: "isGlobalUnicast",
        overloads: &[("ip_is_global_unicast", ".net.IP -> bool")],
        run: |call, args| of_ip(call, args, |ip| Val::Bool(is_global_unicast(ip))),
    },
    Declared {
        name: "cidr",
        overloads: &[("string_to_cidr", "string -> net.CIDR")],
        run: |call, args| text(call, args, |text| Ok(Val::Other(Other::new(cidr(text)?)))),
    },
    Declared {
        name: "isCIDR",
        overloads: &[("is_cidr", "string -> bool")],
        run: |call, args| text(call, args, |text| Ok(Val::Bool(cidr(text).is_ok()))),
    },
    Declared {
        name: "prefixLength",
        overloads: &[("cidr_prefix_length", ".net.CIDR -> int")],
        run: |call, args| of_cidr(call, args, |cidr| Val::Int(i64::from(cidr.bits))),
    },
    Declared {
        name: "masked",
        overloads: &[("cidr_masked", ".net.CIDR -> net.CIDR")],
        run: |call, args| of_cidr(call, args, |cidr| Val::Other(Other::new(cidr.masked()))),
    },
    Declared {
        name: "containsIP",
        overloads: &[
            ("cidr_contains_ip_string", ".net.CIDR, string -> bool"),
            ("cidr_contains_ip_ip", ".net.CIDR, net.IP -> bool"),
        ],
        run: contains_ip,
    },
    Declared {
        name: "containsCIDR",
        overloads: &[
            ("cidr_contains_cidr_string", ".net.CIDR, string -> bool"),
            ("cidr_contains_cidr", ".net.CIDR, net.CIDR -> bool"),
        ],
        run: contains_cidr,
    },
];

fn text<'v>(
    call: &mut Call<'_, '_>,
    args: &[Val<'v>],
    then: fn(&str) -> Result<Val<'static>, String>,
) -> Outcome<'v> {
    match args {
        [Val::String(text)] => then(text).or_else(Failure::error),
        _ => call.no_such_overload(args),
    }
}

fn as_ip(value: &Val<'_>) -> Option<IpAddr> {
    match value {
        Val::Other(other) => other.downcast::<Ip>().map(|ip| ip.0),
        _ => None,
    }
}

fn as_cidr(value: &Val<'_>) -> Option<Cidr> {
    match value {
        Val::Other(other) => other.downcast::<Cidr>().copied(),
        _ => None,
    }
}

fn of_ip<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], then: fn(IpAddr) -> Val<'static>) -> Outcome<'v> {
    match args {
        [value] if let Some(ip) = as_ip(value) => Ok(then(ip)),
        _ => call.no_such_overload(args),
    }
}

fn of_cidr<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], then: fn(Cidr) -> Val<'static>) -> Outcome<'v> {
    match args {
        [value] if let Some(cidr) = as_cidr(value) => Ok(then(cidr)),
        _ => call.no_such_overload(args),
    }
}

fn ip<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::String(text)] => match parse_ip(text) {
            Ok(ip) => Ok(Val::Other(Other::new(Ip(ip)))),
            Err(message) => Failure::error(message),
        },
        [value] if let Some(cidr) = as_cidr(value) => Ok(Val::Other(Other::new(Ip(cidr.address)))),
        _ => call.no_such_overload(args),
    }
}

fn contains_ip<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [network, address] = args else { return call.no_such_overload(args) };
    let address = match address {
        Val::String(text) => Some(parse_ip(text).or_else(Failure::error)?),
        address => as_ip(address),
    };
    match (as_cidr(network), address) {
        (Some(network), Some(address)) => Ok(Val::Bool(network.contains(address))),
        _ => call.no_such_overload(args),
    }
}

fn contains_cidr<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [network, other] = args else { return call.no_such_overload(args) };
    let other = match other {
        Val::String(text) => Some(cidr(text).or_else(Failure::error)?),
        other => as_cidr(other),
    };
    match (as_cidr(network), other) {
        (Some(network), Some(other)) => {
            Ok(Val::Bool(network.bits <= other.bits && network.contains(other.address)))
        }
        _ => call.no_such_overload(args),
    }
}

impl Cidr {
    fn masked(self) -> Cidr {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
            }
        };
        Cidr { address, ..self }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Cidr { address, ..self }.masked() == self.masked()
    }
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(broadcast || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(ip))
}

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let (address, zone) = address(text).map_err(|problem| {
        format!("IP Address {} parse error during conversion from string: {problem}", quote(text))
    })?;
    if zone {
        return Err(format!("IP address {} with zone value is not allowed", quote(text)));
    }
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(address)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn cidr(text: &str) -> Result<Cidr, String> {
    const CONVERSION: &str = "network address parse error during conversion from string";
    let cidr = prefix(text).map_err(|problem| {
        format!("{CONVERSION}: {CONVERSION}: netip.ParsePrefix({}): {problem}", quote(text))
    })?;
    if is_mapped(cidr.address) {
        return Err(format!("{CONVERSION}: IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(cidr)
}

fn prefix(text: &str) -> Result<Cidr, String> {
    let (address, bits) = text.rsplit_once('/').ok_or("no '/'")?;
    let (address, zone) = self::address(address)?;
    if zone {
        return Err("IPv6 zones cannot be present in a prefix".to_owned());
    }
    let bad = || format!("bad bits after slash: {}", quote(bits));
    if bits.is_empty()
        || !bits.bytes().all(|b| b.is_ascii_digit())
        || (bits.len() > 1 && bits.starts_with('0'))
    {
        return Err(bad());
    }
    let most = if address.is_ipv4() { 32 } else { 128 };
    match bits.parse::<u64>() {
        Ok(bits) if bits <= most => Ok(Cidr { address, bits: bits as u8 }),
        Ok(_) => Err("prefix length out of range".to_owned()),
        Err(_) => Err(bad()),
    }
}

/// Parses an address; the flag is whether it has a zone.
fn address(text: &str) -> Result<(IpAddr, bool), String> {
    let problem = |(message, at): (&str, &str)| {
        let at = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
        format!("ParseAddr({}): {message}{at}", quote(text))
    };
    match text.chars().find(|c| matches!(c, '.' | ':' | '%')) {
        Some('.') => v4(text).map(|address| (IpAddr::V4(address), false)).map_err(problem),
        Some(':') => {
            let (address, zone) = match text.split_once('%') {
                Some((_, "")) => return Err(problem(("zone must be a non-empty string", ""))),
                Some((address, _)) => (address, true),
                None => (text, false),
            };
            v6(address).map(|address| (IpAddr::V6(address), zone)).map_err(problem)
        }
        Some(_) => Err(problem(("missing IPv6 address", ""))),
        None => Err(problem(("unable to parse IP", ""))),
    }
}

/// Message of a parse error, and the text it is about.
type Problem<'t> = (&'static str, &'t str);

fn v4(text: &str) -> Result<Ipv4Addr, Problem<'_>> {
    let bytes = text.as_bytes();
    let (mut fields, mut field, mut value, mut digits) = ([0; 4], 0, 0u32, 0);
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if index == 0 || index == bytes.len() - 1 || bytes[index - 1] == b'.' {
                    return Err(("IPv4 field must have at least one digit", &text[index..]));
                }
                if field == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                fields[field] = value as u8;
                (field, value, digits) = (field + 1, 0, 0);
            }
            _ => return Err(("unexpected character", text.get(index..).unwrap_or_default())),
        }
    }
    if field < 3 {
        return Err(("IPv4 address too short", ""));
    }
    fields[3] = value as u8;
    Ok(Ipv4Addr::from(fields))
}

fn v6(text: &str) -> Result<Ipv6Addr, Problem<'_>> {
    let mut bytes = [0; 16];
    let (mut filled, mut gap) = (0, None);
    let mut rest = text;
    if let Some(after) = rest.strip_prefix("::") {
        (gap, rest) = (Some(0), after);
        if rest.is_empty() {
            return Ok(Ipv6Addr::UNSPECIFIED);
        }
    }
    while filled < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or fewer digits", rest));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", rest));
        }
        if rest[digits..].starts_with('.') {
            if gap.is_none() && filled != 12 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", rest));
            }
            if filled + 4 > 16 {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", rest));
            }
            bytes[filled..filled + 4].copy_from_slice(&v4(rest)?.octets());
            (filled, rest) = (filled + 4, "");
            break;
        }
        let value = u16::from_str_radix(&rest[..digits], 16).unwrap_or_default();
        bytes[filled..filled + 2].copy_from_slice(&value.to_be_bytes());
        filled += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(("unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if gap.is_some() {
                return Err(("multiple :: in address", rest));
            }
            (gap, rest) = (Some(filled), after);
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match gap {
        None if filled < 16 => return Err(("address string too short", "")),
        Some(_) if filled == 16 => return Err(("the :: must expand to at least one field of zeros", "")),
        Some(gap) => {
            bytes.copy_within(gap..filled, 16 - (filled - gap));
            bytes[gap..16 - (filled - gap)].fill(0);
        }
        None => {}
    }
    Ok(Ipv6Addr::from(bytes))
}
