//! Values of flags: how each kind is read, and what a second occurrence does to the first.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pintle_meta::quantity::Quantity;

use crate::golang::{
    atoi, parse_bool, parse_duration, parse_float, parse_int, parse_quantity, parse_uint, parse_uint_decimal,
    quote, read_record,
};
use crate::kind::Kind;
use crate::version::VersionRequest;

/// A certificate for clients that ask for certain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCertKey {
    /// Host names, with wildcards, or addresses; empty means those in the certificate.
    pub names: Vec<String>,
    /// Path of the certificate.
    pub cert_file: String,
    /// Path of its key.
    pub key_file: String,
}

/// A range of ports, both ends included; `None` where nothing was set is an empty range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// First port.
    pub first: i64,
    /// Last port.
    pub last: i64,
}

impl PortRange {
    /// Whether a port is inside.
    pub fn contains(&self, port: i64) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// A verbosity for source files whose name matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VModule {
    /// File name without its extension, with `*`, `?` and `[...]`.
    pub pattern: String,
    /// Verbosity there.
    pub level: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    String(String),
    Strings(Vec<String>),
    Int(i64),
    Uint(u64),
    Float(f64),
    Duration(i64),
    Ip(Option<IpAddr>),
    Pairs(BTreeMap<String, String>),
    Multimap(BTreeMap<String, Vec<String>>),
    CertKeys(Vec<NamedCertKey>),
    Int32s(Vec<i32>),
    /// The number, and the canonical spelling of what was given.
    Quantity(i64, String),
    Level(u32),
    VModule(Vec<VModule>),
    Version(VersionRequest),
    PortRange(Option<PortRange>),
}

impl Value {
    /// The value of a flag that is not on the command line.
    pub(crate) fn default_of(kind: Kind, default: &str) -> Result<Value, String> {
        let mut value = Value::zero(kind);
        if !default.is_empty() {
            value.set(kind, default, true)?;
        }
        Ok(value)
    }

    fn zero(kind: Kind) -> Value {
        match kind {
            Kind::Bool => Value::Bool(false),
            Kind::String => Value::String(String::new()),
            Kind::Strings | Kind::StringArray => Value::Strings(Vec::new()),
            Kind::Int => Value::Int(0),
            Kind::Uint => Value::Uint(0),
            Kind::Float | Kind::Float32 => Value::Float(0.0),
            Kind::Duration => Value::Duration(0),
            Kind::Ip => Value::Ip(None),
            Kind::Pairs | Kind::PairsOneEach | Kind::QuotedPairs => Value::Pairs(BTreeMap::new()),
            Kind::Multimap => Value::Multimap(BTreeMap::new()),
            Kind::NamedCertKey => Value::CertKeys(Vec::new()),
            Kind::Int32Slice => Value::Int32s(Vec::new()),
            Kind::Quantity => Value::Quantity(0, "0".into()),
            Kind::Level => Value::Level(0),
            Kind::VModule => Value::VModule(Vec::new()),
            Kind::Version => Value::Version(VersionRequest::None),
            Kind::PortRange => Value::PortRange(None),
        }
    }

    /// Reads one occurrence. Scalars are replaced; the first occurrence of a list or map replaces the default, later
    /// ones append. The error is the reason alone, for the caller to put the flag's name to.
    pub(crate) fn set(&mut self, kind: Kind, input: &str, first: bool) -> Result<(), String> {
        match self {
            Value::Bool(value) => *value = parse_bool(input)?,
            Value::String(value) => *value = input.to_owned(),
            Value::Strings(values) => {
                let new =
                    if kind == Kind::StringArray { vec![input.to_owned()] } else { read_record(input)? };
                extend(values, new, first);
            }
            Value::Int(value) => *value = parse_int(input, 64)?,
            Value::Uint(value) => *value = parse_uint(input)?,
            Value::Float(value) => *value = parse_float(input, if kind == Kind::Float32 { 32 } else { 64 })?,
            Value::Duration(value) => *value = parse_duration(input)?,
            Value::Ip(value) => {
                // An empty address leaves things as they are, as the scripts that pass `--bind-address=` expect.
                if !input.is_empty() {
                    *value = Some(parse_ip(input)?);
                }
            }
            Value::Pairs(pairs) => {
                let new = match kind {
                    Kind::PairsOneEach => {
                        vec![split_pair(input).ok_or("malformed pair, expect string=string")?]
                    }
                    Kind::QuotedPairs => read_quoted_pairs(input)?,
                    _ => read_pairs(input),
                };
                if first {
                    pairs.clear();
                }
                pairs.extend(new);
            }
            Value::Multimap(map) => {
                if first {
                    map.clear();
                }
                for entry in input.split(',').filter(|entry| !entry.is_empty()) {
                    let (key, value) = entry.split_once(':').unwrap_or(("", entry));
                    map.entry(key.trim().to_owned()).or_default().push(value.trim().to_owned());
                }
            }
            Value::CertKeys(values) => extend(values, vec![parse_cert_key(input)?], first),
            Value::Int32s(values) => {
                let new =
                    input.split(',').map(|n| parse_int(n, 32).map(|n| n as i32)).collect::<Result<_, _>>()?;
                extend(values, new, first);
            }
            Value::Quantity(value, spelling) => {
                *value = parse_quantity(input)?;
                *spelling = Quantity::parse(input).map_or_else(|_| input.to_owned(), |read| read.to_string());
            }
            Value::Level(value) => *value = parse_uint_decimal(input, 31)? as u32,
            Value::VModule(values) => values.extend(parse_vmodule(input)?),
            Value::Version(value) => *value = VersionRequest::parse(input)?,
            Value::PortRange(value) => *value = parse_port_range(input)?,
        }
        Ok(())
    }
}

fn extend<T>(values: &mut Vec<T>, new: Vec<T>, first: bool) {
    if first {
        *values = new;
    } else {
        values.extend(new);
    }
}

fn parse_ip(input: &str) -> Result<IpAddr, String> {
    let ip: IpAddr = input.trim().parse().map_err(|_| format!("failed to parse IP: {}", quote(input)))?;
    Ok(ip.to_canonical())
}

fn split_pair(input: &str) -> Option<(String, String)> {
    let (key, value) = input.split_once('=')?;
    Some((key.trim().to_owned(), value.trim().to_owned()))
}

fn read_pairs(input: &str) -> Vec<(String, String)> {
    let entries = input.split(',').filter(|entry| !entry.is_empty());
    entries
        .map(|entry| split_pair(entry).unwrap_or_else(|| (entry.trim().to_owned(), String::new())))
        .collect()
}

fn read_quoted_pairs(input: &str) -> Result<Vec<(String, String)>, String> {
    let entries = match input.matches('=').count() {
        0 => return Err(format!("{input} must be formatted as key=value")),
        1 => vec![input.trim_matches('"').to_owned()],
        _ => read_record(input)?,
    };
    let split = |entry: &String| {
        let pair = entry.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        pair.ok_or_else(|| format!("{entry} must be formatted as key=value"))
    };
    entries.iter().map(split).collect()
}

fn parse_cert_key(input: &str) -> Result<NamedCertKey, String> {
    let (files, names) = match input.split_once(':') {
        Some((_, names)) if names.trim().is_empty() => return Err("empty names list is not allowed".into()),
        Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
        None => (input, Vec::new()),
    };
    match files.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [cert, key] => Ok(NamedCertKey { names, cert_file: cert.to_owned(), key_file: key.to_owned() }),
        _ => Err("expected comma separated certificate and key file paths".into()),
    }
}

fn parse_vmodule(input: &str) -> Result<Vec<VModule>, String> {
    let parse = |entry: &str| match entry.split('=').collect::<Vec<_>>()[..] {
        [pattern, level] if !pattern.is_empty() && !level.is_empty() => {
            let level = parse_uint_decimal(level, 31)
                .map_err(|reason| format!("parsing verbosity in {}: {reason}", quote(entry)))?;
            Ok(VModule { pattern: pattern.to_owned(), level: level as u32 })
        }
        _ => Err(format!("{} does not have the pattern=N format", quote(entry))),
    };
    input.split(',').filter(|entry| !entry.is_empty()).map(parse).collect()
}

fn parse_port_range(input: &str) -> Result<Option<PortRange>, String> {
    let input = input.trim();
    if input.is_empty() {
        return Ok(None);
    }
    let (first, last) = match (input.split_once('-'), input.split_once('+')) {
        (None, None) => {
            let port = atoi(input)?;
            (port, port)
        }
        (Some((first, last)), None) => (atoi(first)?, atoi(last)?),
        (None, Some((first, count))) => {
            let first = atoi(first)?;
            (first, first.saturating_add(atoi(count)?))
        }
        (Some(_), Some(_)) => return Err(format!("unable to parse port range: {input}")),
    };
    if first > 65_535 || last > 65_535 {
        return Err(format!("the port range cannot be greater than 65535: {input}"));
    }
    if last < first {
        return Err(format!("end port cannot be less than start port: {input}"));
    }
    Ok(Some(PortRange { first, last }))
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
