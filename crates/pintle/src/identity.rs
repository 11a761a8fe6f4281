//! Who this server is among those of its cluster: a name that stays the same on a host, and one that does not.

use aws_lc_rs::digest::{SHA256, digest};
use pintle_controllers::IdentityConfig;

use crate::config;
use crate::options::Options;

/// What tells this program from others on the same host.
const PROGRAM: &str = "kube-apiserver";

/// `with_address`: other servers are told where they reach this one.
pub(crate) fn config(options: &Options, port: u16, with_address: bool) -> anyhow::Result<IdentityConfig> {
    let system = rustix::system::uname();
    let hostname = system.nodename().to_string_lossy().into_owned();
    let name = name_of(&hostname);
    let mut random = [0; 16];
    aws_lc_rs::rand::fill(&mut random)?;
    let holder = format!("{name}_{}", pintle_meta::names::uuid(u128::from_be_bytes(random)));
    let peer_address = with_address.then(|| config::peer_address(options, port));
    Ok(IdentityConfig { name, holder, hostname, peer_address })
}

/// A hash of the host's name and the program's, each behind its length.
fn name_of(hostname: &str) -> String {
    let mut named = Vec::new();
    for text in [hostname, PROGRAM] {
        named.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        named.extend_from_slice(text.as_bytes());
    }
    format!("apiserver-{}", base32(&digest(&SHA256, &named).as_ref()[..16]))
}

/// Without padding, in small letters.
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
    fn the_name_depends_on_the_host_alone() {
        assert_eq!(name_of("master-1"), name_of("master-1"));
        assert_ne!(name_of("master-1"), name_of("master-2"));
        assert_eq!(name_of("a").len(), "apiserver-".len() + 26);
    }
}
