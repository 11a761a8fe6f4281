//! The identity of this server in its cluster: a name that stays the same on a host, and one of each process.

use aws_lc_rs::digest::{SHA256, digest};
use pintle_controllers::IdentityConfig;
use pintle_runtime::Random;

/// The name of the program, as part of a server's name.
const PROGRAM: &str = "kube-apiserver";

/// Returns the identity of this process on a host. `peer_address`: other servers reach this one there.
pub(crate) fn config(hostname: &str, peer_address: Option<String>, random: &Random) -> IdentityConfig {
    let name = server_id(hostname);
    let uuid = u128::from(random.number()) << 64 | u128::from(random.number());
    let holder = format!("{name}_{}", pintle_meta::names::uuid(uuid));
    IdentityConfig { name, holder, hostname: hostname.to_owned(), peer_address }
}

/// Returns the name of a server among those of its cluster: a hash of the host's name and the program's, each behind its
/// length.
pub fn server_id(hostname: &str) -> String {
    let mut named = Vec::new();
    for text in [hostname, PROGRAM] {
        named.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        named.extend_from_slice(text.as_bytes());
    }
    format!("apiserver-{}", base32(&digest(&SHA256, &named).as_ref()[..16]))
}

/// Encodes in base 32 without padding, in lower case.
fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let (mut out, mut bits, mut held) = (String::new(), 0u32, 0);
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            out.push(char::from(LETTERS[(bits >> held) as usize % 32]));
        }
    }
    if held > 0 {
        out.push(char::from(LETTERS[(bits << (5 - held)) as usize % 32]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (text, expect) in
            [("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")]
        {
            assert_eq!(base32(text.as_bytes()), expect);
        }
    }

    #[test]
    fn a_server_is_named_after_its_host_as_in_the_reference() {
        assert_eq!(server_id("test-hostname"), "apiserver-rct6iizfamabra7x6d53lwb3oa");
    }

    #[test]
    fn the_name_depends_on_the_host_alone() {
        assert_eq!(server_id("master-1"), server_id("master-1"));
        assert_ne!(server_id("master-1"), server_id("master-2"));
        assert_eq!(server_id("a").len(), "apiserver-".len() + 26);
    }
}
