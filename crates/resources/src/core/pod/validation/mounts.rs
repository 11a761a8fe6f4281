//! Mounts and devices of a container.

use super::{Facts, Options};
use crate::framework::validation::Cursor;

pub(super) fn volume_mounts(_: &Cursor<'_, '_>, _: &Cursor<'_, '_>, _: &Facts<'_>, _: &Options) {}

pub(super) fn volume_devices(_: &Cursor<'_, '_>, _: &Cursor<'_, '_>, _: &Facts<'_>, _: &Options) {}
