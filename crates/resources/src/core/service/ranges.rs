//! The networks that cluster IPs come from: what `ServiceCIDR` objects name.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use pintle_meta::Value;
use pintle_meta::validation::parse_cidr_sloppy;
use pintle_registry::Reflect;

use super::families::Family;

/// IPv6 networks may not be larger.
const SHORTEST_V6: u8 = 64;

/// A network. Addresses are numbers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Network {
    pub(super) family: Family,
    base: u128,
    prefix: u8,
}

impl Network {
    pub(super) fn parse(text: &str) -> Option<Network> {
        let cidr = parse_cidr_sloppy(text)?;
        let (family, address, bits) = match cidr.address {
            IpAddr::V4(address) => (Family::V4, u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (Family::V6, address.to_bits(), 128),
        };
        let host = host_mask(bits - u32::from(cidr.prefix));
        Some(Network { family, base: address & !host, prefix: cidr.prefix })
    }

    pub(super) fn host_bits(self) -> u32 {
        let bits = if self.family == Family::V4 { 32 } else { 128 };
        bits - u32::from(self.prefix)
    }

    /// The address of the network itself, which nobody gets.
    pub(super) fn address(self) -> IpAddr {
        self.at(self.base)
    }

    fn at(self, number: u128) -> IpAddr {
        match self.family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
            Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(number)),
        }
    }

    /// The first and the last address that somebody can get; nothing if there is none.
    fn usable(self) -> Option<(u128, u128)> {
        let last = self.base | host_mask(self.host_bits());
        // Not IPv4's broadcast.
        let last = if self.family == Family::V4 { last.checked_sub(1)? } else { last };
        let first = self.base.checked_add(1)?;
        (first <= last).then_some((first, last))
    }

    /// Whether somebody can get this address here.
    pub(super) fn contains(self, address: IpAddr) -> bool {
        let (family, number) = match address.to_canonical() {
            IpAddr::V4(address) => (Family::V4, u128::from(address.to_bits())),
            IpAddr::V6(address) => (Family::V6, address.to_bits()),
        };
        family == self.family && self.usable().is_some_and(|(first, last)| (first..=last).contains(&number))
    }

    /// How many of the first addresses are left to those who choose for themselves: a sixteenth, at least 16 and at most 256.
    fn reserved(self) -> u128 {
        match self.host_bits() {
            // 31 bits or more of IPv4 count as nothing, as do 16 addresses or fewer.
            bits if bits <= 4 || (self.family == Family::V4 && bits >= 31) => 0,
            bits => (1u128 << (bits - 4).min(64)).clamp(16, 256),
        }
    }

    /// All addresses in the order in which they are tried: from a random one on, those that are left to others at the end.
    pub(super) fn candidates(self, random: impl Fn() -> u64) -> impl Iterator<Item = IpAddr> {
        let (upper, lower) = match self.usable() {
            None => (None, None),
            Some((first, last)) => {
                let middle = (first + self.reserved()).min(last + 1);
                let part = |first: u128, end: u128| (first < end).then_some((first, end - first));
                (part(middle, last + 1), part(first, middle))
            }
        };
        let scan = move |(first, count): (u128, u128)| {
            let start = u128::from(random()) % count;
            (0..count).map(move |step| self.at(first + (start + step) % count))
        };
        upper.into_iter().chain(lower).flat_map(scan)
    }
}

fn host_mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

/// A network as a `ServiceCIDR` writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) text: String,
    pub(super) network: Network,
    /// Whether new addresses may come from it: of several objects with one network, one is enough.
    pub(super) is_ready: bool,
}

/// The ranges of all objects, by the objects' names.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    objects: BTreeMap<String, Vec<Range>>,
}

impl Ranges {
    /// Every network of a family once.
    pub(super) fn of(&self, family: Family) -> Vec<Range> {
        let mut all: Vec<Range> = Vec::new();
        for range in self.objects.values().flatten().filter(|range| range.network.family == family) {
            match all.iter_mut().find(|known| known.text == range.text) {
                Some(known) => known.is_ready |= range.is_ready,
                None => all.push(range.clone()),
            }
        }
        all
    }

    pub(super) fn contain(&self, address: IpAddr) -> bool {
        self.objects.values().flatten().any(|range| range.network.contains(address))
    }
}

impl Reflect for Ranges {
    fn set(&mut self, _: usize, key: &str, object: Option<&Value>) {
        let Some(object) = object else {
            self.objects.remove(key);
            return;
        };
        let conditions = object.items_at(&["status", "conditions"]).iter();
        let ready = conditions.clone().find(|condition| condition.text_at(&["type"]) == "Ready");
        // Nobody has looked at it: then it is.
        let is_ready = object.deletion_timestamp().is_none()
            && ready.is_none_or(|condition| condition.text_at(&["status"]) == "True");
        let texts = object.items_at(&["spec", "cidrs"]).iter().filter_map(Value::as_str);
        let ranges = texts.filter_map(|text| {
            let network = Network::parse(text)?;
            let fits = network.family == Family::V4 || network.prefix >= SHORTEST_V6;
            fits.then(|| Range { text: text.into(), network, is_ready })
        });
        self.objects.insert(key.into(), ranges.collect());
    }

    fn clear(&mut self, _: usize) {
        self.objects.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        Network::parse(text).unwrap()
    }

    #[test]
    fn nobody_gets_the_first_or_the_broadcast_address() {
        let has = |text: &str, address: &str| network(text).contains(address.parse().unwrap());
        assert!(!has("10.0.0.0/24", "10.0.0.0") && has("10.0.0.0/24", "10.0.0.1"));
        assert!(has("10.0.0.0/24", "10.0.0.254") && !has("10.0.0.0/24", "10.0.0.255"));
        assert!(!has("10.0.0.0/24", "10.0.1.1") && !has("10.0.0.0/24", "fd00::1"));
        assert!(!has("fd00::/112", "fd00::") && has("fd00::/112", "fd00::ffff"));
        assert!(!has("fd00::/112", "fd00::1:0"));
        assert!(!has("10.0.0.4/32", "10.0.0.4") && !has("10.0.0.4/31", "10.0.0.5"));
        assert!(has("0.0.0.0/0", "10.0.0.1"));
    }

    #[test]
    fn every_address_is_tried_once_and_the_first_ones_last() {
        let all: Vec<String> =
            network("10.0.0.0/27").candidates(|| 5).map(|address| address.to_string()).collect();
        assert_eq!(all.len(), 30);
        // Sixteen are left to others: 1 to 16.
        assert_eq!(
            (all[0].as_str(), all[13].as_str(), all[14].as_str()),
            ("10.0.0.22", "10.0.0.21", "10.0.0.6")
        );
        let mut unique = all;
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 30);
        let first = |text: &str| network(text).candidates(|| 0).next().map(|address| address.to_string());
        assert_eq!(first("10.0.0.0/24").unwrap(), "10.0.0.17");
        assert_eq!(first("10.0.0.0/16").unwrap(), "10.0.1.1");
        assert_eq!(first("10.0.0.0/28").unwrap(), "10.0.0.1");
        assert_eq!(first("fd00::/64").unwrap(), "fd00::101");
        assert_eq!(first("10.0.0.0/31"), None);
        assert_eq!(first("10.0.0.0/32"), None);
        let last = network("fd00::/64").candidates(|| u64::MAX).next().unwrap();
        assert!(network("fd00::/64").contains(last));
    }

    #[test]
    fn a_range_is_ready_if_one_object_with_it_is() {
        let mut ranges = Ranges::default();
        let set = |ranges: &mut Ranges, name: &str, text: &str| {
            let decoded = pintle_codec::json::decode_untyped(text.as_bytes()).unwrap().value;
            ranges.set(0, name, Some(&decoded));
        };
        set(
            &mut ranges,
            "a",
            r#"{"spec":{"cidrs":["10.0.0.0/24","fd00::/48"]},"status":{"conditions":[{"type":"Ready","status":"False"}]}}"#,
        );
        assert!(!ranges.of(Family::V4)[0].is_ready);
        assert!(ranges.of(Family::V6).is_empty(), "too large");
        set(&mut ranges, "b", r#"{"spec":{"cidrs":["10.0.0.0/24"]}}"#);
        let all = ranges.of(Family::V4);
        assert!(all.len() == 1 && all[0].is_ready);
        set(&mut ranges, "b", r#"{"metadata":{"deletionTimestamp":"x"},"spec":{"cidrs":["10.0.0.0/24"]}}"#);
        assert!(!ranges.of(Family::V4)[0].is_ready);
        assert!(ranges.contain("10.0.0.9".parse().unwrap()));
        ranges.set(0, "a", None);
        ranges.clear(0);
        assert!(ranges.of(Family::V4).is_empty());
    }
}
