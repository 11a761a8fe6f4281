//! Snapshots.
use crate::view::View;
use std::sync::Arc;
pub struct Snapshot {
    view: Arc<View>,
}
impl Snapshot {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Snapshot { view }
    }
    pub fn revision(&self) -> u64 {
        self.view.state.revision
    }
}
