//! Bootstrap tokens, by which nodes join: the signatures by which a node verifies what it is told before it trusts anything, and the
//! removal of tokens that have expired.

mod cleaner;
mod signer;

use std::time::Duration;

use pintle_cache::Entry;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_runtime::Clock;

pub use cleaner::BootstrapTokenCleaner;
pub use signer::BootstrapSigner;

const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const NAMESPACE: &str = "kube-system";

/// Returns whether an entry is a bootstrap token. `place` is that of the type among the fields of secrets.
fn is_token(entry: &Entry, place: usize) -> bool {
    entry.field(place) == Some(SECRET_TYPE)
        && entry.key().split_once('/').is_some_and(|(namespace, _)| namespace == NAMESPACE)
}

fn data<'a>(secret: &'a Value, key: &str) -> &'a [u8] {
    secret.at(&["data", key]).and_then(Value::as_bytes).unwrap_or_default()
}

/// The life that a token has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Unlimited,
    Left(Duration),
    Over,
}

impl Life {
    /// Reads the life of a secret. One whose end cannot be read is over.
    fn of(secret: &Value, clock: &Clock) -> Life {
        let end = data(secret, "expiration");
        if end.is_empty() {
            return Life::Unlimited;
        }
        let end = std::str::from_utf8(end).ok().and_then(|text| Time::parse(text).ok());
        let left = end.map_or(0, |end| end.nanos_since(&Time::from(clock.now())));
        match u64::try_from(left) {
            Ok(left @ 1..) => Life::Left(Duration::from_nanos(left)),
            _ => Life::Over,
        }
    }
}
