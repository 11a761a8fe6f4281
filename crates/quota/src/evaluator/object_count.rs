//! Objects that count for nothing but their number.

use crate::names;
use crate::resource_list::ResourceList;

/// Returns the names that count the objects of a resource. A few have one that is older than `count/`.
pub(super) fn names(group: &str, resource: &str) -> Vec<String> {
    let older = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];
    let older = (group.is_empty() && older.contains(&resource)).then(|| resource.to_owned());
    [names::object_count(group, resource)].into_iter().chain(older).collect()
}

pub(super) fn usage(names: &[String]) -> ResourceList {
    let mut usage = ResourceList::default();
    names.iter().for_each(|name| usage.set_count(name.as_str(), 1));
    usage
}
