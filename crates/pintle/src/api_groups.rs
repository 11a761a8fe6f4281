//! Which groups, versions and resources are served, by the flags.

use pintle_discovery::GroupVersion;
use pintle_flags::Parsed;
use pintle_schema::Resources;

/// In the order of discovery.
pub(crate) fn served(_: &Parsed) -> anyhow::Result<Vec<GroupVersion>> {
    let builtin = Resources::builtin()?;
    Ok(pintle_discovery::builtin(&builtin, pintle_schema::GroupVersion::is_served_by_default))
}
