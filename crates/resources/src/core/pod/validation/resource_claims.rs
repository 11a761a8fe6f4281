//! Claims of a pod for dynamic resources.

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{dns1123_label, object_meta};

use super::Facts;
use crate::framework::validation::{Cursor, Seen};

/// Checks the resource claims of a pod.
pub(super) fn claims(claims: &Cursor<'_, '_>, facts: &Facts<'_>) {
    let mut names = Seen::new();
    claims.each(|claim| {
        if facts.is_mirror {
            let why = "static pods do not support resource claims";
            return claim.report([Error::forbidden(&Path::new(""), why)]);
        }
        let name = claim.field("name");
        if name.is_empty() {
            name.required("");
        } else if !names.insert(name.text()) {
            name.duplicate(name.text());
        } else {
            name.text_format(dns1123_label);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        match sources.map(|source| claim.field(source).is_set()) {
            [true, true] => {
                let why =
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                claim.invalid(claim.printed_as("core.PodResourceClaim"), why);
            }
            [false, false] => {
                let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                claim.invalid(claim.printed_as("core.PodResourceClaim"), why);
            }
            _ => {}
        }
        for source in sources {
            let name = claim.field(source);
            if name.is_set() {
                name.text_format(|name| object_meta::subdomain_name(name, false));
            }
        }
    });
}

#[cfg(test)]
mod tests;
