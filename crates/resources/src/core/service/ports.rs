//! Node ports. All that are taken are bits of one record, which every server reads and writes; a bit that could be
//! written is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use pintle_codec::json;
use pintle_meta::{Status, Value};
use pintle_registry::{Record, Result};
use pintle_runtime::Random;

use super::bitmap::Bitmap;

/// Number of rounds in which a port has no service before it is released: a service may be about to use it.
const ROUNDS_BEFORE_FREE: u32 = 3;

/// The ports that services may have on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl PortRange {
    fn parse(text: &str) -> Option<PortRange> {
        let (first, last) = text.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(PortRange { first, last })
    }

    fn size(self) -> usize {
        usize::from(self.last.saturating_sub(self.first)) + 1
    }

    fn place(self, port: i64) -> Option<usize> {
        let place = usize::try_from(port.checked_sub(self.first.into())?).ok()?;
        (place < self.size()).then_some(place)
    }

    fn port(self, place: usize) -> i64 {
        i64::from(self.first) + place as i64
    }

    /// How many of the first ports are left to those who choose for themselves: of more than 16 a part, at least 16 and at
    /// most 128.
    fn reserved(self) -> usize {
        if self.size() <= 16 { 0 } else { (self.size() / 32).clamp(16, 128) }
    }
}

/// Why there is no port.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    Full,
    Allocated,
    NotInRange(PortRange),
    /// There is no record yet, or it is of another range: it has to be repaired.
    NoRecord,
    Failed(Box<Status>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full => f.write_str("range is full"),
            Refusal::Allocated => f.write_str("provided port is already allocated"),
            Refusal::NotInRange(range) => {
                write!(f, "provided port is not in the valid range. The range of valid ports is {range}")
            }
            Refusal::NoRecord => {
                f.write_str("cannot allocate resources of type servicenodeportallocations at this time")
            }
            Refusal::Failed(status) => f.write_str(&status.message),
        }
    }
}

/// All node ports.
pub(super) struct NodePorts {
    record: Record,
    range: PortRange,
    random: Random,
    /// Ports without a service, and the rounds left before they are released.
    leaks: Mutex<BTreeMap<i64, u32>>,
}

impl NodePorts {
    pub(super) fn new(record: Record, range: PortRange, random: Random) -> NodePorts {
        NodePorts { record, range, random, leaks: Mutex::default() }
    }

    /// Allocates all of these or none: ports that the client has chosen, and any where none is chosen. Chosen ones come
    /// first. The error is of the first that cannot be had.
    pub(super) async fn take(
        &self,
        wanted: &[Option<i64>],
    ) -> std::result::Result<Vec<i64>, (usize, Refusal)> {
        let change = self.record.change(|record| {
            let Some((record, mut map)) = self.usable(record) else {
                return Ok((None, Err((0, Refusal::NoRecord))));
            };
            Ok(match self.choose(wanted, &mut map) {
                Ok(ports) => (Some(written(record, self.range, &map)?), Ok(ports)),
                Err(refused) => (None, Err(refused)),
            })
        });
        change.await.map_err(|status| (0, Refusal::Failed(status)))?
    }

    fn choose(
        &self,
        wanted: &[Option<i64>],
        map: &mut Bitmap,
    ) -> std::result::Result<Vec<i64>, (usize, Refusal)> {
        let range = self.range;
        for (at, port) in wanted.iter().enumerate().filter_map(|(at, port)| Some((at, (*port)?))) {
            let place = range.place(port).ok_or((at, Refusal::NotInRange(range)))?;
            if !map.insert(place) {
                return Err((at, Refusal::Allocated));
            }
        }
        let mut given = Vec::with_capacity(wanted.len().min(range.size()));
        for (at, port) in wanted.iter().enumerate() {
            given.push(match port {
                Some(port) => *port,
                None => {
                    let free = map.free(range.size(), range.reserved(), || self.random.number());
                    let place = free.ok_or((at, Refusal::Full))?;
                    map.insert(place);
                    range.port(place)
                }
            });
        }
        Ok(given)
    }

    /// Returns all allocated ports.
    pub(super) async fn taken(&self) -> Result<BTreeSet<i64>> {
        let record = self.record.read().await?;
        let map = self.usable(record.as_ref()).map(|(_, map)| map).unwrap_or_default();
        Ok(map.iter().map(|place| self.range.port(place)).collect())
    }

    /// Releases ports. Free ones, and those of another range, are ignored.
    pub(super) async fn give_back(&self, ports: &[i64]) -> Result<()> {
        let places: Vec<usize> = ports.iter().filter_map(|port| self.range.place(*port)).collect();
        if places.is_empty() {
            return Ok(());
        }
        let change = self.record.change(|record| {
            let Some((record, mut map)) = self.usable(record) else { return Ok((None, ())) };
            let mut changed = false;
            for place in &places {
                changed |= map.remove(*place);
            }
            Ok((changed.then(|| written(record, self.range, &map)).transpose()?, ()))
        });
        change.await
    }

    /// Returns the record, for a later [`NodePorts::repair`].
    pub(super) async fn record(&self) -> Result<Option<Value>> {
        self.record.read().await
    }

    /// Makes the record say what services have. What only the record has is given up after several rounds. Changes nothing and returns
    /// false if the record is not `before`, which was read before the services: a port that was released since would be taken
    /// again for a service that is gone.
    pub(super) async fn repair(&self, in_use: &[i64], before: Option<&Value>) -> Result<bool> {
        let change = self.record.change(|record| {
            if record != before {
                return Ok((None, None));
            }
            let range =
                record.map_or(Some(self.range), |record| PortRange::parse(record.text_at(&["range"])));
            let range = range.ok_or_else(|| {
                let why = "unable to rebuild allocator from snapshot";
                Box::new(Status::internal(why))
            })?;
            let mut left = record.map(bits).unwrap_or_default();
            let mut rebuilt = Bitmap::default();
            let mut found = BTreeSet::new();
            for &port in in_use {
                let Some(place) = self.range.place(port) else {
                    tracing::error!(
                        "the port {port} is not within the port range {}; please recreate",
                        self.range
                    );
                    continue;
                };
                let was = range.place(port).is_some_and(|place| left.remove(place));
                if !rebuilt.insert(place) {
                    tracing::error!(
                        "the node port {port} was assigned to multiple services; please recreate"
                    );
                } else if !was && record.is_some() {
                    tracing::error!("the node port {port} is not allocated; repairing");
                }
                found.insert(port);
            }
            let mut leaks = self.leaks.lock().unwrap_or_else(PoisonError::into_inner).clone();
            leaks.retain(|port, _| !found.contains(port));
            for port in left.iter().map(|place| range.port(place)) {
                let rounds = leaks.entry(port).or_insert(ROUNDS_BEFORE_FREE);
                *rounds = rounds.saturating_sub(1);
                match (*rounds, self.range.place(port)) {
                    (1.., Some(place)) => {
                        rebuilt.insert(place);
                    }
                    _ => {
                        tracing::error!("the node port {port} appears to have leaked: cleaning up");
                        leaks.remove(&port);
                    }
                }
            }
            let is_same =
                record.is_some_and(|record| range == self.range && bits(record) == trimmed(&rebuilt));
            let new = if is_same {
                None
            } else {
                Some(written(&record.cloned().map_or_else(empty, Ok)?, self.range, &rebuilt)?)
            };
            Ok((new, Some(leaks)))
        });
        let Some(leaks) = change.await? else { return Ok(false) };
        *self.leaks.lock().unwrap_or_else(PoisonError::into_inner) = leaks;
        Ok(true)
    }

    /// A record of our range, and its bits.
    fn usable<'a>(&self, record: Option<&'a Value>) -> Option<(&'a Value, Bitmap)> {
        let record = record?;
        (record.text_at(&["range"]) == self.range.to_string()).then(|| (record, bits(record)))
    }
}

fn bits(record: &Value) -> Bitmap {
    trimmed(&Bitmap::read(record.get("data").and_then(Value::as_bytes).unwrap_or_default()))
}

fn trimmed(map: &Bitmap) -> Bitmap {
    Bitmap::read(&map.write())
}

fn empty() -> Result<Value> {
    let of = pintle_schema::find("core/v1.RangeAllocation");
    let text = br#"{"kind":"RangeAllocation","apiVersion":"v1"}"#;
    let decoded = of.and_then(|of| json::decode(of, text).ok());
    decoded.map(|decoded| decoded.value).ok_or_else(|| Box::new(Status::internal("no RangeAllocation")))
}

fn written(record: &Value, range: PortRange, map: &Bitmap) -> Result<Value> {
    let mut record = record.clone();
    let fields = record.as_object_mut().ok_or_else(|| Box::new(Status::internal("no RangeAllocation")))?;
    fields.insert("range", range.to_string());
    fields.insert("data", Value::bytes(map.write()));
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_their_first_ports_to_others() {
        let range = |first, last| PortRange { first, last };
        assert_eq!(range(30000, 32767).reserved(), 86);
        assert_eq!(range(1, 16).reserved(), 0);
        assert_eq!(range(1, 17).reserved(), 16);
        assert_eq!(range(1, 65535).reserved(), 128);
        assert_eq!(range(30000, 32767).to_string(), "30000-32767");
        assert_eq!(PortRange::parse("30000-32767"), Some(range(30000, 32767)));
        assert_eq!(range(30000, 30001).place(30002), None);
        assert_eq!(range(30000, 30001).place(i64::MIN), None);
    }

    #[tokio::test]
    async fn a_port_that_was_released_since_the_services_were_read_stays_free() {
        let backend = pintle_storage_embedded::Store::open(pintle_storage_embedded::Options::memory())
            .expect("a store");
        let of = pintle_schema::find("core/v1.RangeAllocation").expect("a kind");
        let stored =
            crate::builtin::Builtin::new(of, &pintle_schema::Resources::builtin().expect("resources"));
        let record =
            Record::new(std::sync::Arc::new(backend), &b"/registry/ranges/servicenodeports"[..], stored);
        let ports = NodePorts::new(record, PortRange { first: 30000, last: 32767 }, Random::system());
        assert!(ports.repair(&[], None).await.expect("a record"));
        let wanted = [Some(30017)];
        assert!(matches!(ports.take(&wanted).await.as_deref(), Ok([30017])));
        let before = ports.record().await.expect("a record");
        ports.give_back(&[30017]).await.expect("released");
        assert!(
            !ports.repair(&[30017], before.as_ref()).await.expect("an outcome"),
            "the services are to be read again"
        );
        assert!(ports.take(&wanted).await.is_ok(), "the port is free");
    }
}
