//! Certificates in DER, in the order and the forms in which Go's `crypto/x509` writes them.

use pintle_meta::quote;
use pintle_meta::time::Time;
use x509_parser::x509::X509Name;

use crate::certificate_request::Details;
use crate::jwt::der::{positive as integer, tagged};

/// The attributes of a subject that are kept, in the order in which they are written.
const ATTRIBUTES: [(&str, &[u8]); 9] = [
    ("2.5.4.6", &[6, 3, 85, 4, 6]),
    ("2.5.4.10", &[6, 3, 85, 4, 10]),
    ("2.5.4.11", &[6, 3, 85, 4, 11]),
    ("2.5.4.7", &[6, 3, 85, 4, 7]),
    ("2.5.4.8", &[6, 3, 85, 4, 8]),
    ("2.5.4.9", &[6, 3, 85, 4, 9]),
    ("2.5.4.17", &[6, 3, 85, 4, 17]),
    (COMMON_NAME, &[6, 3, 85, 4, 3]),
    (SERIAL_NUMBER, &[6, 3, 85, 4, 5]),
];

/// Attributes of which there is one; the last one counts.
const COMMON_NAME: &str = "2.5.4.3";
const SERIAL_NUMBER: &str = "2.5.4.5";

/// Key usages by their bit, and by their names in the certificates API.
const KEY_USAGES: [(&str, u16); 10] = [
    ("signing", 0),
    ("digital signature", 0),
    ("content commitment", 1),
    ("key encipherment", 2),
    ("data encipherment", 3),
    ("key agreement", 4),
    ("cert sign", 5),
    ("crl sign", 6),
    ("encipher only", 7),
    ("decipher only", 8),
];

/// Extended key usages in the order in which they are written.
const EXTENDED_USAGES: [(&str, &[u8]); 13] = [
    ("any", &[6, 4, 85, 29, 37, 0]),
    ("server auth", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 1]),
    ("client auth", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 2]),
    ("code signing", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 3]),
    ("email protection", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 4]),
    ("s/mime", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 4]),
    ("ipsec end system", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 5]),
    ("ipsec tunnel", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 6]),
    ("ipsec user", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 7]),
    ("timestamping", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 8]),
    ("ocsp signing", &[6, 8, 43, 6, 1, 5, 5, 7, 3, 9]),
    ("microsoft sgc", &[6, 10, 43, 6, 1, 4, 1, 130, 55, 10, 3, 3]),
    ("netscape sgc", &[6, 9, 96, 134, 72, 1, 134, 248, 66, 4, 1]),
];

const KEY_USAGE: &[u8] = &[6, 3, 85, 29, 15];
const ALTERNATIVE_NAMES: &[u8] = &[6, 3, 85, 29, 17];
const BASIC_CONSTRAINTS: &[u8] = &[6, 3, 85, 29, 19];
const AUTHORITY_KEY: &[u8] = &[6, 3, 85, 29, 35];
const EXTENDED_KEY_USAGE: &[u8] = &[6, 3, 85, 29, 37];

const SEQUENCE: u8 = 0x30;

pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tagged(SEQUENCE, &parts.concat())
}

pub(super) fn positive(number: &[u8]) -> Vec<u8> {
    integer(number)
}

/// Returns a bit string of whole bytes.
pub(super) fn bits(content: &[u8]) -> Vec<u8> {
    tagged(3, &[&[0], content].concat())
}

/// The usages of a certificate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Usages {
    /// Bits, the first being the lowest.
    key: u16,
    extended: Vec<&'static [u8]>,
}

impl Usages {
    /// Errors: the names that are unknown, quoted.
    pub(super) fn named(names: &[&str]) -> Result<Usages, String> {
        let known = |name: &str| KEY_USAGES.iter().any(|usage| usage.0 == name) || extended(name).is_some();
        let unknown: Vec<_> = names.iter().filter(|name| !known(name)).map(|name| quote(name)).collect();
        if !unknown.is_empty() {
            return Err(unknown.join(" "));
        }
        let mut usages = Usages::default();
        for (name, bit) in KEY_USAGES {
            usages.key |= u16::from(names.contains(&name)) << bit;
        }
        for (name, id) in EXTENDED_USAGES {
            if names.contains(&name) && !usages.extended.contains(&id) {
                usages.extended.push(id);
            }
        }
        Ok(usages)
    }

    /// Returns the bit string of key usages, without trailing zeros.
    fn key_bits(&self) -> Vec<u8> {
        // Bits of DER are counted from the highest of the first byte.
        let reversed = self.key.reverse_bits().to_be_bytes();
        let content = if reversed[1] == 0 { &reversed[..1] } else { &reversed[..] };
        let unused = content.last().map_or(0, |last| last.trailing_zeros());
        tagged(3, &[&[u8::try_from(unused).unwrap_or_default()], content].concat())
    }
}

fn extended(name: &str) -> Option<&'static [u8]> {
    EXTENDED_USAGES.iter().find(|usage| usage.0 == name).map(|(_, id)| *id)
}

/// Returns the attributes of a subject that Go keeps. Values of one attribute are one set.
pub(crate) fn subject(name: &X509Name<'_>) -> Vec<u8> {
    let mut sets = Vec::new();
    for (dotted, id) in ATTRIBUTES {
        let found = name.iter_attributes().filter(|known| known.attr_type().to_id_string() == dotted);
        let mut values: Vec<&str> = found.filter_map(|known| known.as_str().ok()).collect();
        if [COMMON_NAME, SERIAL_NUMBER].contains(&dotted) {
            values = values.last().filter(|value| !value.is_empty()).copied().into_iter().collect();
        }
        let mut values: Vec<_> = values.iter().map(|value| sequence(&[id, &text(value)])).collect();
        values.sort_unstable();
        if !values.is_empty() {
            sets.extend(tagged(0x31, &values.concat()));
        }
    }
    tagged(SEQUENCE, &sets)
}

/// Returns a text as a printable string if it can be one.
fn text(value: &str) -> Vec<u8> {
    let is_printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let tag = if value.bytes().all(is_printable) { 0x13 } else { 0x0c };
    tagged(tag, value.as_bytes())
}

/// Returns the validity of a certificate, from and to a second of Unix time.
pub(super) fn validity(from: i64, to: i64) -> Vec<u8> {
    sequence(&[&time(from), &time(to)])
}

fn time(seconds: i64) -> Vec<u8> {
    let text = Time::from_unix(seconds, 0).to_string();
    let digits: String = text.chars().filter(|char| char.is_ascii_digit()).chain(['Z']).collect();
    // Years of two digits are from 1950 to 2049.
    let year = digits.get(..4).and_then(|year| year.parse().ok());
    match year.is_some_and(|year: u16| (1950..2050).contains(&year)) {
        true => tagged(0x17, &digits.as_bytes()[2..]),
        false => tagged(0x18, digits.as_bytes()),
    }
}

/// Returns the extensions of a certificate that is none of an authority.
pub(super) fn extensions(details: &Details, usages: &Usages, authority: Option<&[u8]>) -> Vec<u8> {
    let mut all = Vec::new();
    let mut add = |id: &[u8], is_critical: bool, value: &[u8]| {
        let critical: &[u8] = if is_critical { &[1, 1, 0xff] } else { &[] };
        all.extend(sequence(&[id, critical, &tagged(4, value)]));
    };
    if usages.key != 0 {
        add(KEY_USAGE, true, &usages.key_bits());
    }
    if !usages.extended.is_empty() {
        add(EXTENDED_KEY_USAGE, false, &sequence(&usages.extended));
    }
    add(BASIC_CONSTRAINTS, true, &sequence(&[]));
    if let Some(id) = authority {
        add(AUTHORITY_KEY, false, &sequence(&[&tagged(0x80, id)]));
    }
    let names = alternative_names(details);
    if !names.is_empty() {
        let is_nameless = details.subject_der == sequence(&[]);
        add(ALTERNATIVE_NAMES, is_nameless, &tagged(SEQUENCE, &names));
    }
    tagged(0xa3, &tagged(SEQUENCE, &all))
}

fn alternative_names(details: &Details) -> Vec<u8> {
    let texts = |tag: u8, names: &[String]| -> Vec<u8> {
        names.iter().flat_map(|name| tagged(tag, name.as_bytes())).collect()
    };
    [
        texts(0x82, &details.dns_names),
        texts(0x81, &details.email_addresses),
        details.ip_addresses.iter().flat_map(|address| tagged(0x87, address)).collect(),
        texts(0x86, &details.uris),
    ]
    .concat()
}
