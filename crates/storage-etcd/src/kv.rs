//! Reads and transactions, translated.

use bytes::Bytes;
use pintle_storage::{
    Compare, Error, KeyValue, LeaseId, Op, Range, RangeRequest, Result, Revision, Txn, TxnResult, prefix_end,
};

use crate::classify::Failure;
use crate::client::{Client, Effect};
use crate::proto::{self, Request, ResponseHeader};

/// Ranges are read in pages at one revision, however much the caller wants at once, so that neither etcd nor we ever
/// hold one huge message. Pages start small, because nothing is known about the values, and grow towards a size in bytes.
const FIRST_PAGE: usize = 100;
const LARGEST_PAGE: usize = 10_000;
const PAGE_BYTES: usize = 4 << 20;
/// A range is begun anew so often when compaction overtakes it.
const RANGE_ATTEMPTS: usize = 3;

/// etcd's way to say "to the end of all keys".
const END_OF_KEYS: Bytes = Bytes::from_static(b"\0");

/// `key` and `range_end` of a prefix.
pub(crate) fn bounds(prefix: &Bytes) -> (Bytes, Bytes) {
    // No key is empty in etcd, so that the first one is a zero byte.
    let key = if prefix.is_empty() { END_OF_KEYS } else { prefix.clone() };
    (key, prefix_end(prefix).unwrap_or(END_OF_KEYS))
}

pub(crate) fn to_etcd(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

pub(crate) fn from_etcd(revision: i64) -> Revision {
    Revision(u64::try_from(revision).unwrap_or(0))
}

/// The newest revision, which heads every answer.
pub(crate) fn newest(header: Option<&ResponseHeader>) -> Result<Revision, Failure> {
    match header {
        Some(header) if header.revision > 0 => Ok(from_etcd(header.revision)),
        _ => Err(Failure::Unavailable("an answer of etcd has no revision".to_owned())),
    }
}

/// The revision to read at. 0 would mean the newest; nothing was there before the first.
fn read_at(at: Option<Revision>) -> i64 {
    at.map_or(0, |at| to_etcd(at).max(1))
}

pub(crate) fn key_value(kv: proto::KeyValue) -> KeyValue {
    KeyValue {
        key: kv.key.into(),
        value: kv.value.into(),
        create_revision: from_etcd(kv.create_revision),
        mod_revision: from_etcd(kv.mod_revision),
        lease: (kv.lease != 0).then_some(LeaseId(kv.lease)),
        stale: false,
    }
}

pub(crate) async fn get(
    client: &Client,
    key: Bytes,
    at: Option<Revision>,
) -> Result<(Option<proto::KeyValue>, Revision), Failure> {
    let request = proto::RangeRequest { key, revision: read_at(at), ..Default::default() };
    let mut response = client.call(request, Effect::Repeatable).await?;
    let revision = newest(response.header.as_ref())?;
    Ok((response.kvs.pop(), revision))
}

pub(crate) async fn count(client: &Client, prefix: &Bytes) -> Result<u64, Failure> {
    let (key, range_end) = bounds(prefix);
    let request = proto::RangeRequest { key, range_end, count_only: true, ..Default::default() };
    Ok(u64::try_from(client.call(request, Effect::Repeatable).await?.count).unwrap_or(0))
}

pub(crate) async fn range(client: &Client, request: &RangeRequest) -> Result<Range, Failure> {
    if request.from.as_ref().is_some_and(|from| *from < request.prefix) {
        return Err(Failure::InvalidArgument("a range starts before its prefix".to_owned()));
    }
    for _ in 1..RANGE_ATTEMPTS {
        match read_pages(client, request).await {
            // The caller named no revision, so any newer one will do.
            Err(Failure::Compacted) if request.at.is_none() => {}
            outcome => return outcome,
        }
    }
    read_pages(client, request).await
}

async fn read_pages(client: &Client, request: &RangeRequest) -> Result<Range, Failure> {
    let (mut key, range_end) = bounds(&request.prefix);
    if let Some(from) = request.from.clone().filter(|from| !from.is_empty()) {
        key = from;
    }
    let (mut at, mut revision) = (request.at, None);
    let (mut page, mut kvs) = (FIRST_PAGE, Vec::new());
    loop {
        let wanted = if request.limit == 0 { page } else { page.min(request.limit - kvs.len()) };
        let call = proto::RangeRequest {
            key: key.clone(),
            range_end: range_end.clone(),
            limit: wanted as i64,
            revision: read_at(at),
            count_only: false,
        };
        let response = match client.call(call, Effect::Repeatable).await {
            Err(Failure::AnswerTooLarge(_)) if page > 1 => {
                page = (page / 8).max(1);
                continue;
            }
            response => response?,
        };
        let revision = *revision.get_or_insert(newest(response.header.as_ref())?);
        at.get_or_insert(revision);
        let returned = response.kvs.len();
        let remaining = u64::try_from(response.count).unwrap_or(0).saturating_sub(returned as u64);
        let bytes: usize = response.kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
        kvs.extend(response.kvs.into_iter().map(key_value));
        let last = match kvs.last() {
            Some(last) if returned > 0 && remaining > 0 && kvs.len() != request.limit => last,
            _ => return Ok(Range { kvs, remaining, revision }),
        };
        key = [&last.key[..], b"\0"].concat().into();
        page = next_page(page, returned, bytes);
    }
}

/// As many keys of the size just seen as fill a page, but not many more than last time: the next may be larger.
fn next_page(page: usize, returned: usize, bytes: usize) -> usize {
    let size = (bytes / returned.max(1)).max(1);
    (PAGE_BYTES / size).clamp(1, page.saturating_mul(4).min(LARGEST_PAGE))
}

/// Checks what etcd would not: it takes the same key twice when both are deletions.
pub(crate) fn txn_request(txn: &Txn) -> Result<proto::TxnRequest> {
    let mut keys: Vec<_> = txn.then.iter().map(Op::key).collect();
    keys.sort_unstable();
    if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::InvalidArgument(format!("key {:?} twice in one transaction", twice[0])));
    }
    let compare = |compare: &Compare| proto::Compare {
        result: 0,
        target: proto::Compare::MOD,
        key: compare.key.clone(),
        to: Some(proto::CompareTo::ModRevision(to_etcd(compare.mod_revision))),
    };
    let change = |op: &Op| match op {
        Op::Put { key, value, lease } => {
            let (key, value) = (key.clone(), value.clone());
            Request::Put(proto::PutRequest { key, value, lease: lease.map_or(0, |lease| lease.0) }).into()
        }
        Op::Delete { key } => Request::DeleteRange(proto::DeleteRangeRequest { key: key.clone() }).into(),
    };
    Ok(proto::TxnRequest {
        compare: txn.compare.iter().map(compare).collect(),
        success: txn.then.iter().map(change).collect(),
        failure: txn.otherwise.iter().map(|key| read(key.clone())).collect(),
    })
}

/// A read within a transaction.
pub(crate) fn read(key: Bytes) -> proto::RequestOp {
    Request::Range(proto::RangeRequest { key, ..Default::default() }).into()
}

pub(crate) fn txn_result(response: proto::TxnResponse) -> Result<TxnResult, Failure> {
    let revision = newest(response.header.as_ref())?;
    let succeeded = response.succeeded;
    let read = |op: proto::ResponseOp| op.range.and_then(|mut range| range.kvs.pop()).map(key_value);
    let read = if succeeded { Vec::new() } else { response.responses.into_iter().map(read).collect() };
    Ok(TxnResult { succeeded, revision, read, written: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_become_ranges() {
        let range = |prefix: &'static [u8]| bounds(&Bytes::from_static(prefix));
        assert_eq!(range(b"/pods/"), (Bytes::from("/pods/"), Bytes::from("/pods0")));
        assert_eq!(range(b""), (Bytes::from("\0"), Bytes::from("\0")));
        assert_eq!(range(b"\xff"), (Bytes::from_static(b"\xff"), Bytes::from("\0")));
    }

    #[test]
    fn pages_grow_towards_their_size_in_bytes() {
        assert_eq!(next_page(100, 100, 100 * 1000), 400, "four times at most");
        assert_eq!(next_page(400, 400, 400 * 1024 * 1024), 4, "large values shrink the page at once");
        assert_eq!(next_page(10_000, 10_000, 10_000), LARGEST_PAGE);
        assert_eq!(next_page(100, 1, 50 << 20), 1);
    }

    #[test]
    fn a_key_twice_is_refused_before_it_is_sent() {
        let gone = Op::Delete { key: Bytes::from("/a") };
        let txn = Txn { then: vec![gone.clone(), gone], ..Txn::default() };
        assert!(matches!(txn_request(&txn), Err(Error::InvalidArgument(_))));
    }
}
