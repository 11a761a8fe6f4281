//! Files damaged in many ways: each is refused with a sentence, or opens and its damage is found when it is read. Nothing panics,
//! nothing hangs, and nothing that is damaged goes out as if it were right.

mod support;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use pintle_storage::{Backend, Error, Op, RangeRequest, Revision, Txn, WatchRequest};
use pintle_storage_embedded::{OpenError, Options, Store, snapshot};
use support::{bytes, delete, history, put};

const PAGE: usize = 4096;
/// The engine's header: magic, layout, and two commit slots.
const HEADER: usize = 320;
/// Far more than opening a file of a megabyte takes, also where everything is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pseudo-random numbers that are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

fn options(dir: &Path) -> Options {
    Options { save_free_pages_after: None, ..Options::directory(dir) }
}

/// Every value that a key ever had, with its revision.
type Written = HashSet<(Vec<u8>, Vec<u8>, Revision)>;

/// The bytes of a store after a clean end, and as a crash leaves them; and all that was ever written to it.
async fn images() -> ([Vec<u8>; 2], Written) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pintle.db");
    let store = Store::open(options(dir.path())).unwrap();
    let lease = store.lease(Duration::from_secs(1 << 20)).await.unwrap();
    let mut written = Written::new();
    for (i, letter, length) in
        (0..400).map(|i| (i, "v", 200 + i * 3)).chain((0..400).step_by(3).map(|i| (i, "w", 300)))
    {
        let (key, value) = (format!("/many/{i:04}"), letter.repeat(length));
        let revision = put(&store, &key, &value).await;
        written.insert((key.into(), value.into(), revision));
    }
    store.compact(Revision(300)).await.unwrap();
    for i in (0..400).step_by(7) {
        delete(&store, &format!("/many/{i:04}")).await;
    }
    let leased = Op::Put { key: bytes("/leased"), value: bytes("l"), lease: Some(lease) };
    let revision = store.txn(Txn { then: vec![leased], ..Txn::default() }).await.unwrap().revision;
    written.insert((b"/leased".to_vec(), b"l".to_vec(), revision));
    let crashed = fs::read(&file).unwrap();
    store.close().await.unwrap();
    ([fs::read(&file).unwrap(), crashed], written)
}

fn variants(whole: &[u8], random: &mut Random) -> Vec<(String, Vec<u8>)> {
    let pages = whole.len() / PAGE;
    let mut variants = Vec::new();
    let mut add = |name: String, change: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut damaged = whole.to_vec();
        change(&mut damaged);
        variants.push((name, damaged));
    };
    for length in
        [0, 5, 9, 64, HEADER, PAGE - 1, PAGE, 2 * PAGE, whole.len() / 2, whole.len() - PAGE, whole.len() - 1]
    {
        add(format!("cut to {length}"), &mut |damaged| damaged.truncate(length));
    }
    for at in (9..HEADER).step_by(12) {
        add(format!("byte {at} of the header"), &mut |damaged| damaged[at] ^= 0xff);
    }
    for page in (0..12).chain((12..pages).step_by(pages / 8)) {
        add(format!("page {page} zero"), &mut |damaged| damaged[page * PAGE..(page + 1) * PAGE].fill(0));
    }
    for round in 0..12 {
        add(format!("many bits, round {round}"), &mut |damaged| {
            for _ in 0..100 {
                damaged[PAGE + random.below(whole.len() - PAGE)] ^= 1 << random.below(8);
            }
        });
    }
    for round in 0..12 {
        // Pages that are whole by themselves, where others belong: trees that lead anywhere, in circles as well.
        add(format!("pages in wrong places, round {round}"), &mut |damaged| {
            for _ in 0..=round {
                let (from, to) = (1 + random.below(pages - 1), 1 + random.below(pages - 1));
                damaged.copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE);
            }
        });
    }
    for round in 0..6 {
        add(format!("pages of ones, round {round}"), &mut |damaged| {
            for _ in 0..10 {
                let page = 1 + random.below(pages - 1);
                damaged[page * PAGE..(page + 1) * PAGE].fill(0xff);
            }
        });
    }
    variants
}

/// How a damaged store ended.
#[derive(Debug)]
enum End {
    Refused(OpenError),
    /// Something could not be read or written, and the store says so.
    Found,
    Whole,
}

/// Opens a store and does everything with it.
async fn use_all(dir: &Path, written: &Written) -> End {
    let store = match Store::open(options(dir)) {
        Ok(store) => store,
        Err(error) => return End::Refused(error),
    };
    let read = store.range(RangeRequest::default()).await;
    for kv in read.iter().flat_map(|read| &read.kvs) {
        let kv = (kv.key.to_vec(), kv.value.to_vec(), kv.mod_revision);
        assert!(written.contains(&kv), "this was never written: {:?}", String::from_utf8_lossy(&kv.0));
    }
    let watched = history(&store, Revision(300)).await;
    let followed = store.watch(WatchRequest { from: Revision(1), ..WatchRequest::default() }).await.map(drop);
    let counted = store.count(b"").await;
    let saved: Result<Vec<_>, _> = match store.snapshot() {
        Ok(snapshot) => snapshot.into_stream().try_collect().await,
        Err(error) => Err(error),
    };
    let changed = store.txn(Txn::create(bytes("/new"), bytes("n"), None)).await;
    let closed = store.close().await;
    let errors =
        [read.err(), watched.err(), counted.err(), saved.err(), changed.err(), followed.err(), closed.err()];
    let errors: Vec<Error> =
        errors.into_iter().flatten().filter(|error| !matches!(error, Error::Compacted { .. })).collect();
    if errors.is_empty() {
        return End::Whole;
    }
    let found = tokio::time::timeout(PATIENCE, store.damaged()).await;
    let found = found.unwrap_or_else(|_| panic!("the damage was not noted: {errors:?}"));
    assert!(matches!(found, OpenError::DamageFound { .. }), "{found:?}");
    End::Found
}

#[test]
fn damaged_files_are_refused_or_their_damage_is_found() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        previous(info);
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ([clean, crashed], written) = runtime.block_on(images());
    let mut random = Random(7);
    let (mut refused, mut found, mut whole) = (0, 0, 0);
    for (kind, image) in [("clean", clean), ("crashed", crashed)] {
        for (name, damaged) in variants(&image, &mut random) {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("pintle.db");
            fs::write(&file, &damaged).unwrap();
            // A saved copy is whole, or it is not there.
            if let Err(error) = snapshot::save_dir(dir.path(), &mut Vec::new(), |_, _| {}) {
                assert!(!matches!(error, OpenError::Io { .. }), "{kind}, {name}: {error}");
                assert!(fs::read(&file).unwrap() == damaged, "{kind}, {name}: saving changed the file");
            }
            fs::write(&file, &damaged).unwrap();
            let start = Instant::now();
            let end = runtime
                .block_on(async { tokio::time::timeout(PATIENCE, use_all(dir.path(), &written)).await });
            let end = end.unwrap_or_else(|_| panic!("{kind}, {name}: no end in {PATIENCE:?}"));
            assert!(start.elapsed() < PATIENCE, "{kind}, {name}: took {:?}", start.elapsed());
            assert_eq!(PANICS.load(Ordering::SeqCst), 0, "{kind}, {name}: a panic was not caught");
            match end {
                End::Refused(error) => {
                    let sentence = error.to_string();
                    assert!(
                        sentence.contains(file.to_str().unwrap()) && !sentence.contains('\n'),
                        "{sentence}"
                    );
                    assert!(
                        matches!(error, OpenError::Damaged { .. } | OpenError::NotAStore { .. }),
                        "{kind}, {name}: {sentence}"
                    );
                    assert!(fs::read(&file).unwrap() == damaged, "{kind}, {name}: the file was changed");
                    refused += 1;
                }
                End::Found => found += 1,
                End::Whole => whole += 1,
            }
        }
    }
    assert!(refused > 60 && found > 3 && whole > 3, "{refused} refused, {found} found, {whole} whole");
}
