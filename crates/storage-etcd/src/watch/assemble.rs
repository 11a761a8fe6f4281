//! Batches out of etcd's answers.
//!
//! An answer may hold several revisions, and a large one comes in parts that may split a revision:
//!
//! ```text
//! [5 a, 5 b, 6 a | more] [6 b, 7 a]     ->     5: a b     6: a b     7: a
//! ```
//!
//! A revision is whole once a later one begins or the last part is there. When the stream breaks off before that,
//! the half is dropped and the watch resumes at its revision.

use pintle_storage::{Event, Revision, WatchItem};

use crate::kv::{from_etcd, key_value};
use crate::proto;

pub(super) struct Assembler {
    /// The first revision that has not been handed out: where to resume.
    next: Revision,
    /// The last progress or change that was handed out.
    reached: Revision,
    /// A revision of which more may follow.
    partial: Vec<Event>,
}

/// An answer that makes no sense.
#[derive(Debug)]
pub(super) struct Malformed;

impl Assembler {
    pub(super) fn new(from: Revision) -> Self {
        Assembler { next: from, reached: Revision::ZERO, partial: Vec::new() }
    }

    /// Where a new stream has to start.
    pub(super) fn next(&self) -> Revision {
        self.next
    }

    /// The stream broke off; what is half there will come again.
    pub(super) fn broke_off(&mut self) {
        self.partial.clear();
    }

    /// Returns the items that a response completes.
    pub(super) fn take(&mut self, response: proto::WatchResponse) -> Result<Vec<WatchItem>, Malformed> {
        let mut items = Vec::new();
        if response.events.is_empty() && !response.fragment && !response.created && self.partial.is_empty() {
            items.extend(self.progress(response.header.as_ref()));
            return Ok(items);
        }
        for event in response.events {
            let event = convert(event).ok_or(Malformed)?;
            match self.partial.last().map(Event::revision) {
                Some(open) if event.revision() > open => items.push(self.complete(open)),
                Some(open) if event.revision() < open => return Err(Malformed),
                _ => {}
            }
            // Revisions that were delivered are not delivered again, whatever a member sends.
            if event.revision() >= self.next {
                self.partial.push(event);
            }
        }
        if !response.fragment
            && let Some(open) = self.partial.last().map(Event::revision)
        {
            items.push(self.complete(open));
        }
        Ok(items)
    }

    fn complete(&mut self, revision: Revision) -> WatchItem {
        self.next = revision.next();
        self.reached = revision;
        WatchItem::Changes { revision, events: std::mem::take(&mut self.partial) }
    }

    /// A member that lags behind the one before may report less than was seen already, which says nothing.
    fn progress(&mut self, header: Option<&proto::ResponseHeader>) -> Option<WatchItem> {
        let revision = from_etcd(header?.revision);
        if revision < self.reached || revision == Revision::ZERO {
            return None;
        }
        self.reached = revision;
        self.next = self.next.max(revision.next());
        Some(WatchItem::Progress(revision))
    }
}

fn convert(event: proto::Event) -> Option<Event> {
    let prev = event.prev_kv.map(key_value);
    let kv = key_value(event.kv?);
    if event.kind == proto::Event::DELETE {
        return Some(Event::Delete { key: kv.key, revision: kv.mod_revision, prev });
    }
    Some(Event::Put { kv, prev })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(revision: i64, key: &str) -> proto::Event {
        let kv = proto::KeyValue { key: key.into(), mod_revision: revision, ..Default::default() };
        proto::Event { kind: 0, kv: Some(kv), prev_kv: None }
    }

    fn response(fragment: bool, events: &[(i64, &str)]) -> proto::WatchResponse {
        let events = events.iter().map(|(revision, key)| event(*revision, key)).collect();
        proto::WatchResponse { events, fragment, ..header(9) }
    }

    fn header(revision: i64) -> proto::WatchResponse {
        proto::WatchResponse { header: Some(proto::ResponseHeader { revision }), ..Default::default() }
    }

    /// `5: a b`, or `progress 5`.
    fn take(assembler: &mut Assembler, response: proto::WatchResponse) -> Vec<String> {
        let show = |item: WatchItem| match item {
            WatchItem::Progress(revision) => format!("progress {revision}"),
            WatchItem::Changes { revision, events } => {
                let keys: Vec<_> = events.iter().map(|event| String::from_utf8_lossy(event.key())).collect();
                format!("{revision}: {}", keys.join(" "))
            }
        };
        assembler.take(response).unwrap().into_iter().map(show).collect()
    }

    #[test]
    fn events_are_grouped_by_revision() {
        let mut assembler = Assembler::new(Revision(5));
        assert_eq!(
            take(&mut assembler, response(false, &[(5, "a"), (5, "b"), (6, "a")])),
            ["5: a b", "6: a"]
        );
        assert_eq!(assembler.next(), Revision(7));
    }

    #[test]
    fn a_revision_split_by_fragments_is_put_together() {
        let mut assembler = Assembler::new(Revision(5));
        assert_eq!(take(&mut assembler, response(true, &[(5, "a"), (5, "b"), (6, "a")])), ["5: a b"]);
        assert_eq!(take(&mut assembler, response(true, &[(6, "b")])), Vec::<String>::new());
        assert_eq!(take(&mut assembler, response(false, &[(6, "c"), (7, "a")])), ["6: a b c", "7: a"]);
    }

    #[test]
    fn half_a_revision_is_dropped_when_the_stream_breaks_off() {
        let mut assembler = Assembler::new(Revision(5));
        take(&mut assembler, response(true, &[(5, "a"), (6, "a")]));
        assembler.broke_off();
        assert_eq!(assembler.next(), Revision(6), "resumes at the revision that was cut");
        assert_eq!(take(&mut assembler, response(false, &[(6, "a"), (6, "b")])), ["6: a b"]);
    }

    #[test]
    fn delivered_events_are_not_repeated() {
        let mut assembler = Assembler::new(Revision(5));
        take(&mut assembler, response(false, &[(5, "a"), (6, "a")]));
        assert_eq!(take(&mut assembler, response(false, &[(6, "a"), (7, "a")])), ["7: a"]);
    }

    #[test]
    fn progress_moves_the_resumption_and_never_goes_back() {
        let mut assembler = Assembler::new(Revision(5));
        assert_eq!(take(&mut assembler, header(8)), ["progress 8"]);
        assert_eq!(assembler.next(), Revision(9));
        assert_eq!(take(&mut assembler, header(7)), Vec::<String>::new(), "a member that lags");
        assert_eq!(take(&mut assembler, header(8)), ["progress 8"], "asked again, answered again");
        let mut ahead = Assembler::new(Revision(20));
        assert_eq!(take(&mut ahead, header(8)), ["progress 8"]);
        assert_eq!(ahead.next(), Revision(20), "a watch that lies ahead stays there");
    }

    #[test]
    fn answers_that_make_no_sense_are_errors() {
        let mut assembler = Assembler::new(Revision(1));
        let no_kv = proto::WatchResponse { events: vec![proto::Event::default()], ..header(9) };
        assert!(assembler.take(no_kv).is_err());
        assert!(assembler.take(response(false, &[(6, "a"), (5, "a")])).is_err());
    }
}
