//! The API group `storage.k8s.io`.

pub(crate) mod columns;
mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
pub(crate) mod defaults;
mod parameters;
mod storage_class;
pub(crate) mod strategy;
mod volume_attachment;
mod volume_attributes_class;
