//! The columns of leases.

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "Lease" => &LEASE,
        "LeaseCandidate" => &LEASE_CANDIDATE,
        _ => return None,
    })
}

static LEASE: Columns = Columns::new(
    "coordination/v1.Lease",
    &[NAME, text("Holder", doc::LEASE_SPEC_HOLDER_IDENTITY), AGE],
    |object, context, cells| {
        let holder = cell::text(object, &["spec", "holderIdentity"]);
        cells.extend([cell::name(object), holder, context.age(object)]);
    },
);

static LEASE_CANDIDATE: Columns = Columns::new(
    "coordination/v1beta1.LeaseCandidate",
    &[
        NAME,
        text("LeaseName", doc::LEASE_CANDIDATE_SPEC_LEASE_NAME),
        text("BinaryVersion", ""),
        text("EmulationVersion", ""),
        AGE,
    ],
    |object, context, cells| {
        cells.push(cell::name(object));
        let fields = ["leaseName", "binaryVersion", "emulationVersion"];
        cells.extend(fields.map(|field| cell::text(object, &["spec", field])));
        cells.push(context.age(object));
    },
);

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn leases_name_their_holder() {
        let kind = "coordination/v1.Lease";
        check(kind, r#"{"metadata":{"name":"l"}}"#, r#"["l","","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}"#;
        check(kind, object, r#"["l","me","<unknown>"]"#);
    }

    #[test]
    fn candidates_show_their_versions() {
        let object = r#"{"metadata":{"name":"c"},"spec":{"leaseName":"l","binaryVersion":"1.36.0",
            "emulationVersion":"1.35.0"}}"#;
        let cells = r#"["c","l","1.36.0","1.35.0","<unknown>"]"#;
        check("coordination/v1beta1.LeaseCandidate", object, cells);
    }
}
