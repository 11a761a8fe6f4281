//! The objects that tokens are validated against.

use async_trait::async_trait;
use pintle_meta::Value;

/// A kind that a token is of or bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    ServiceAccount,
    Secret,
    Pod,
    Node,
}

/// The cluster's objects, as far as tokens are concerned.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// The object now, of its stored version; `namespace` is empty for nodes. Called for every token that was not seen a
    /// moment ago. The error is what a client would be told, such as `serviceaccounts "a" not found`.
    async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, String>;

    /// Notes in a secret that its token was used on a day (`2006-01-02`), as label
    /// `kubernetes.io/legacy-token-last-used`. Called once a day for each; what goes wrong is for the log only.
    async fn mark_used(&self, secret: &Value, day: &str);

    /// Counts the use of a token.
    fn count(&self, usage: Use);
}

/// Uses of tokens that metrics count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// One that names no audience.
    Legacy,
    /// One that was extended, after the time at which it should have been replaced...
    Stale,
    /// ...and before.
    Valid,
    /// The token of a manually created secret.
    ManualSecret,
    /// The token of a secret that a service account lists.
    AutomaticSecret,
    /// The same, of one that was marked invalid.
    InvalidSecret,
}
