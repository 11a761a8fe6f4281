//! Service accounts: their names as users, their tokens, and the keys that those are signed with.
//!
//! There are two kinds of tokens. Those of the TokenRequest API ([`Claims`]) expire and may be bound to a pod, secret or node:
//! they are invalid when it is deleted. Legacy tokens are stored in secrets, have no expiry and no audience, and are valid as
//! long as their secret has them.
//!
//! Tokens are signed ([`Signer`]) and verified ([`KeySource`]) with keys of files or by another program ([`external`]).

mod bound;
mod claims;
pub mod external;
mod keys;
mod legacy;
mod objects;
pub mod openid;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeMap;

use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

pub use self::claims::{Claims, Issued, Issuer, Ref, Signer};
pub use self::keys::{FixedKeys, KeyError, KeySource, Keys, read_public_keys};
pub use self::legacy::claims as legacy_claims;
pub use self::objects::{Kind, Objects, Use};
pub use self::tokens::{TokenSettings, Tokens};
pub use crate::jwt::PublicKey;
use crate::{ALL_AUTHENTICATED, User};

/// The issuer of legacy tokens.
pub const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// The expiration of a projected token by default. A token with it is extended to [`EXTENDED_SECONDS`].
pub const WARN_ONLY_SECONDS: i64 = 60 * 60 + 7;
/// The longest life of an extended token.
pub const EXTENDED_SECONDS: i64 = 24 * 365 * 60 * 60;

/// All service accounts are in this group.
pub const ALL_GROUP: &str = "system:serviceaccounts";
const USER_PREFIX: &str = "system:serviceaccount:";
const GROUP_PREFIX: &str = "system:serviceaccounts:";

const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const NODE_UID: &str = "authentication.kubernetes.io/node-uid";

/// The name of a service account as a user.
pub fn username(namespace: &str, name: &str) -> String {
    format!("{USER_PREFIX}{namespace}:{name}")
}

/// Namespace and name of the service account that a user is; `None` if it is none.
pub fn split_username(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(USER_PREFIX)?.split_once(':')?;
    let valid = dns1123_label(namespace).is_empty() && dns1123_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

/// The groups of every service account of a namespace.
pub fn groups(namespace: &str) -> Vec<String> {
    vec![ALL_GROUP.into(), format!("{GROUP_PREFIX}{namespace}")]
}

/// The service account of a token, with the objects it is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bearer {
    namespace: String,
    name: String,
    uid: String,
    pod: Option<Ref>,
    node: Option<Ref>,
    /// The token's own name, if it has one.
    token_id: String,
}

impl Bearer {
    fn into_user(self) -> User {
        let mut extra = BTreeMap::new();
        let mut add = |key: &str, value: String| {
            extra.insert(key.to_owned(), vec![value]);
        };
        if let Some(pod) = self.pod.filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
            add(POD_NAME, pod.name);
            add(POD_UID, pod.uid);
        }
        if !self.token_id.is_empty() {
            add(CREDENTIAL_ID, credential_id(&self.token_id));
        }
        if let Some(node) = self.node.filter(|node| !node.name.is_empty()) {
            add(NODE_NAME, node.name);
            if !node.uid.is_empty() {
                add(NODE_UID, node.uid);
            }
        }
        let mut groups = groups(&self.namespace);
        groups.push(ALL_AUTHENTICATED.into());
        User { name: username(&self.namespace, &self.name), uid: self.uid, groups, extra }
    }
}

/// How users and audit logs speak of a token.
pub fn credential_id(token_id: &str) -> String {
    format!("JTI={token_id}")
}
