//! Orphaning: dependents of an object that is being deleted lose their references to it, and then it goes.

use futures_util::{StreamExt, stream};
use pintle_meta::Status;
use pintle_registry::Result;

use super::attempt::location;
use super::graph::ORPHAN;
use super::node::NodeId;
use super::{GarbageCollector, patches};
use crate::api::found;

/// Patches of dependents at the same time.
const PATCHES: usize = 20;

/// Errors that are reported of all that there were.
const ERRORS: usize = 10;

impl GarbageCollector {
    pub(super) async fn attempt_to_orphan(&self, id: NodeId) -> Result<()> {
        let Some(node) = self.view(id).filter(|node| node.flags.is_orphaning) else { return Ok(()) };
        let Some(live) = self.read_same(&node.resource, &node.key, node.uid).await? else { return Ok(()) };
        let uid = live.metadata()?.uid.into_owned();
        let dependents = self.graph().dependents(id);
        let patches = stream::iter(dependents).map(|dependent| self.orphan(dependent, &uid));
        let patched: Vec<Result<()>> = patches.buffer_unordered(PATCHES).collect().await;
        let failed = patched.into_iter().filter_map(Result::err).map(|status| status.message.to_string());
        let failed: Vec<String> = failed.collect();
        if !failed.is_empty() {
            let errors = failed[..failed.len().min(ERRORS)].join(", ");
            return Err(Box::new(Status::plain(format!(
                "failed to orphan dependents of owner {}, got errors: [{errors}]",
                self.describe(&id.key())
            ))));
        }
        self.remove_finalizer(&node, ORPHAN).await
    }

    /// Removes the reference of a dependent.
    async fn orphan(&self, id: NodeId, owner: &str) -> Result<()> {
        let Some(node) = self.graph().view(id) else { return Ok(()) };
        let Some(live) = self.read_same(&node.resource, &node.key, node.uid).await? else { return Ok(()) };
        if !live.metadata()?.owners.iter().any(|found| found.uid == owner) {
            return Ok(());
        }
        let patch = patches::without_owners(&live, &[owner])?;
        found(self.patch(&location(&node.resource, &node.key), patch).await).map(drop)
    }
}
