//! Persistent volume claims: their number and the storage that they request, in all and by storage class.

use pintle_meta::Value;
use pintle_meta::quantity::Quantity;

use crate::resource_list::ResourceList;
use crate::scope::ScopeRequirement;

const COUNT: &str = "count/persistentvolumeclaims";
const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";

/// Between the name of a storage class and what is counted of it: `gold.storageclass.storage.k8s.io/requests.storage`.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// Older than the field `storageClassName`, and still before it.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// Returns whether a name counts every object as one.
pub(super) fn counts_objects(name: &str) -> bool {
    [COUNT, CLAIMS].contains(&name)
}

pub(super) fn tracks(name: &str) -> bool {
    let counted = |name: &str| name == CLAIMS || name == STORAGE;
    name == COUNT || counted(name) || name.rsplit_once(OF_CLASS).is_some_and(|(_, of)| counted(of))
}

pub(super) fn usage(claim: &Value) -> ResourceList {
    let class = claim.annotation(CLASS_ANNOTATION);
    let class = class.unwrap_or_else(|| claim.text_at(&["spec", "storageClassName"]));
    let mut usage = ResourceList::default();
    usage.set_count(COUNT, 1);
    usage.set_count(CLAIMS, 1);
    if !class.is_empty() {
        usage.set_count(format!("{class}{OF_CLASS}{CLAIMS}"), 1);
    }
    if let Some(storage) = storage(claim) {
        if !class.is_empty() {
            usage.set(format!("{class}{OF_CLASS}{STORAGE}"), storage.clone());
        }
        usage.set(STORAGE, storage);
    }
    usage
}

/// Returns the storage that a claim requests, or has already been given if that is more: an expansion that failed may be
/// taken back. Quotas count whole bytes.
fn storage(claim: &Value) -> Option<Quantity> {
    let amount = |path: &[&str]| Quantity::parse(claim.at(path)?.as_str()?).ok();
    let requested = amount(&["spec", "resources", "requests", "storage"])?;
    let allocated = amount(&["status", "allocatedResources", "storage"]);
    let mut storage = allocated.filter(|allocated| *allocated > requested).unwrap_or(requested);
    storage.round_up(0);
    Some(storage)
}

pub(super) fn is_in_scope(scope: &ScopeRequirement, claim: &Value) -> Result<bool, String> {
    if scope.scope != "VolumeAttributesClass" {
        return Ok(false);
    }
    let paths: [&[&str]; 3] = [
        &["spec", "volumeAttributesClassName"],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    scope.matches_class(paths.into_iter().map(|path| claim.text_at(path)).filter(|class| !class.is_empty()))
}
