//! Seccomp and AppArmor profiles, as fields of pods and containers.

use pintle_meta::field_path::Value as Printed;

use crate::core::volume_sources::paths;
use crate::framework::validation::Cursor;

const TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];

/// Longest path of a file: `PATH_MAX` without the final null.
const MAX_APP_ARMOR_PROFILE: usize = 4095;

/// Checks a seccomp profile.
pub(super) fn seccomp(profile: &Cursor<'_, '_>) {
    if !profile.is_set() {
        return;
    }
    let kind = profile.field("type");
    if kind.is_empty() {
        kind.required("type is required when seccompProfile is set");
    } else {
        kind.one_of(TYPES);
    }
    let file = profile.field("localhostProfile");
    match (kind.text() == "Localhost", file.is_set()) {
        (true, true) => paths::local_descending(&file),
        (true, false) => file.required("must be set when seccomp type is Localhost"),
        (false, true) => {
            let shown = profile.printed_as("core.SeccompProfile");
            file.invalid(shown, "can only be set when seccomp type is Localhost");
        }
        (false, false) => {}
    }
}

/// Checks an AppArmor profile.
pub(super) fn app_armor(profile: &Cursor<'_, '_>) {
    const REQUIRED: &str = "must be set when AppArmor type is Localhost";
    if !profile.is_set() {
        return;
    }
    let (kind, name) = (profile.field("type"), profile.field("localhostProfile"));
    match kind.text() {
        "Localhost" if !name.is_set() => name.required(REQUIRED),
        "Localhost" => {
            if name.text().trim() != name.text() {
                name.invalid(name.text(), "must not be padded with whitespace");
            } else if name.is_empty() {
                name.required(REQUIRED);
            }
            if name.text().len() > MAX_APP_ARMOR_PROFILE {
                name.too_long(MAX_APP_ARMOR_PROFILE);
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if name.is_set() {
                let why = "can only be set when AppArmor type is Localhost";
                name.invalid(Printed::json(name.text()), why);
            }
        }
        "" => kind.required("type is required when appArmorProfile is set"),
        _ => kind.one_of(TYPES),
    }
}
