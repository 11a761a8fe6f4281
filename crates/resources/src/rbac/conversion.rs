//! Versions of bindings: subjects of `v1alpha1` say a version where later ones say a group.

use pintle_meta::Value;
use pintle_meta::gvk::GroupVersion;

use crate::framework::conversion::{Error, Fields, Pair};

pub(crate) const PAIRS: &[Pair] =
    &[Pair::new("rbac/v1alpha1.Subject", "rbac/v1.Subject").inward(inward).outward(outward)];

const GROUP: &str = "rbac.authorization.k8s.io";

fn inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let kind = value.kind();
    let group = match kind {
        "ServiceAccount" => String::new(),
        "User" | "Group" => GROUP.into(),
        _ => GroupVersion::parse(value.api_version()).map(|found| found.group).unwrap_or_default(),
    };
    out.set("apiGroup", group);
    if kind == "User" && value.text_at(&["name"]) == "*" {
        // It has only ever meant those who are known.
        out.set("kind", Value::literal("Group"));
        out.set("name", Value::literal("system:authenticated"));
    }
    Ok(())
}

fn outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let group = value.text_at(&["apiGroup"]);
    let version = match (value.kind(), group) {
        ("ServiceAccount", "") => "v1".into(),
        ("User" | "Group", GROUP) => format!("{GROUP}/v1alpha1"),
        (_, "") => String::new(),
        // A group without a version.
        (_, group) => format!("{group}/"),
    };
    out.set("apiVersion", version);
    Ok(())
}
