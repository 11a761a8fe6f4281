//! Strategies: the rules of one resource on its way to the store.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use pintle_codec::negotiate::Encoding;
use pintle_meta::Value;
use pintle_meta::field_path::Error;
use pintle_meta::names;
use pintle_meta::time::Time;
use pintle_meta::validation::object_meta;

use crate::delete::DeleteOptions;

/// The part of a request that the registry and its strategies need.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Namespace of the request's path; empty for a cluster-scoped resource.
    pub namespace: String,
    /// The user's name, for what is recorded about them.
    pub user: String,
    pub user_uid: String,
    pub groups: Vec<String>,
    /// The user's extra fields, from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
    /// The verb of a write: `create`, `update` or `patch`; else empty.
    pub verb: &'static str,
    /// The reading of the clock that the whole write has; the store takes one where there is none.
    pub time: Option<Time>,
    /// Told to the client beside the answer.
    pub warnings: Vec<String>,
    /// For the audit of the request: key and value.
    pub annotations: Vec<(&'static str, String)>,
    /// The object of a write before it was read, for errors that print parts of it.
    pub sent: Option<Sent>,
}

/// The object of a request as it was before it was read into the normal form, which has no empty lists and maps.
#[derive(Clone)]
pub enum Sent {
    /// The body of a create or update.
    Body { encoding: Encoding, bytes: Bytes },
    /// The outcome of a patch or apply, in the request's version.
    Patched(Value),
}

impl fmt::Debug for Sent {
    /// Leaves the content out: it may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sent::Body { encoding, bytes } => write!(f, "{} bytes of {encoding:?}", bytes.len()),
            Sent::Patched(_) => f.write_str("a patched object"),
        }
    }
}

/// The default propagation policy of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GarbageCollection {
    #[default]
    Background,
    /// They stay, without an owner.
    Orphan,
    /// The resource takes no part in it.
    Unsupported,
}

/// The fields that a request for a resource or subresource does not write, and that its field manager does not come to own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetFields {
    /// These and all below them. A path is of field names; `*` stands for any element of a list or map.
    These(&'static [&'static [&'static str]]),
    /// All but these.
    AllBut(&'static [&'static [&'static str]]),
}

/// A deletion that only begins something (a namespace is emptied first): the first request marks the object, which stays
/// until another request or an update finds that nothing holds it any more.
#[derive(Clone, Copy)]
pub struct StagedDeletion {
    /// Notes in the object that its deletion begins; its metadata tells when.
    pub begin: fn(&mut Value),
    /// Whether something of its own holds the object, beside its finalizers.
    pub is_held: fn(&Value) -> bool,
    /// Whether the first request says what becomes of dependents, or only the one that finds the object ready to go.
    pub first_decides: bool,
}

/// One per resource or subresource. All objects are of the storage version and in normal form, and stay so.
pub trait Strategy: Send + Sync + 'static {
    /// Returns the errors of a name; the prefix of a generated one when `is_prefix`.
    fn validate_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        object_meta::subdomain_name(name, is_prefix)
    }

    /// A name for an object that says only what it begins with.
    fn generate_name(&self, prefix: &str, random: &mut dyn FnMut() -> u64) -> String {
        names::generate(prefix, random)
    }

    /// Called before a new object is validated: clears what clients may not set, sets what they need not. What it sets in
    /// the place of something older it may warn of.
    fn prepare_for_create(&self, _context: &mut Context, _object: &mut Value) {}

    /// Called with the prepared object; must not change it. Its metadata is validated beside this.
    fn validate(&self, _context: &Context, _object: &Value) -> Vec<Error> {
        Vec::new()
    }

    fn warnings_on_create(&self, _context: &Context, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Called before a changed object is validated: keeps what clients may not change, counts the generation.
    fn prepare_for_update(&self, _context: &Context, _new: &mut Value, _old: &Value) {}

    fn validate_update(&self, _context: &Context, _new: &Value, _old: &Value) -> Vec<Error> {
        Vec::new()
    }

    /// The same for kinds whose validation also finds what is wrong and yet allowed.
    fn examine_update(&self, context: &mut Context, new: &Value, old: &Value) -> Vec<Error> {
        self.validate_update(context, new, old)
    }

    /// Whether the metadata of a changed object is validated beside this. Not where the reference stores a change without its
    /// strategy for updates.
    fn validates_metadata_on_update(&self) -> bool {
        true
    }

    fn warnings_on_update(&self, _context: &Context, _new: &Value, _old: &Value) -> Vec<String> {
        Vec::new()
    }

    /// The fields that `prepare_for_create` and `prepare_for_update` set back, the same in every version of
    /// a built-in kind; see [`FieldManager::of_version`](crate::FieldManager::of_version).
    fn reset_fields(&self) -> ResetFields {
        ResetFields::These(&[])
    }

    /// Returns the object that clients get in place of a stored one; `None` for the stored object itself, which is the rule. Objects of older
    /// releases may lack what newer ones always have. Called once for each value that the cache reads, and for what a write
    /// answers; what is compared, patched and stored again is the object as it is stored.
    fn decorated(&self, _object: &Value) -> Option<Value> {
        None
    }

    /// Called after everything was found to be right, before it is stored.
    fn canonicalize(&self, _object: &mut Value) {}

    /// Whether a PUT may create what is not there.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// Whether a PUT without a resourceVersion overwrites whatever is there.
    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn garbage_collection(&self) -> GarbageCollection {
        GarbageCollection::Background
    }

    /// The reason why the object of a name cannot be deleted. Not called where a collection is deleted.
    fn forbids_deletion(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Called once for the deletion of an object or of a collection.
    fn warnings_on_delete(&self, _options: &DeleteOptions) -> Vec<String> {
        Vec::new()
    }

    /// Whether the resource knows graceful deletion at all.
    fn deletes_gracefully(&self) -> bool {
        false
    }

    /// Called for a resource that does, when an object is first deleted: whether this one waits for its grace period,
    /// which is set in the options if it was not.
    fn check_graceful_delete(&self, _object: &Value, _options: &mut DeleteOptions) -> bool {
        false
    }

    /// Returns the stages of a deletion that takes more than one request; `None` where one is enough.
    fn staged_deletion(&self) -> Option<StagedDeletion> {
        None
    }

    /// Called when an update removed the last finalizer of an object that is being deleted. Reports whether the update deletes it,
    /// as the reference's `ShouldDeleteDuringUpdate`.
    fn should_delete_during_update(&self, _new: &Value, _old: &Value) -> bool {
        true
    }

    /// Whether a deletion answers with the object and not with a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }

    /// Returns the time to live of an object from this write on; `None` if it does not expire.
    fn time_to_live(&self, _object: &Value, _now: Time) -> Option<std::time::Duration> {
        None
    }
}

impl fmt::Debug for dyn Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Strategy")
    }
}
