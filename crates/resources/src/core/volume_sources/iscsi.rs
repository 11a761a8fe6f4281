//! iSCSI volumes.

use pintle_meta::validation::in_range;

use super::require;
use crate::framework::validation::Cursor;

const FORM: &str = "must be valid format";
const START: &str = "must be valid format starting with iqn, eui, or naa";

pub(crate) const NAME_TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

/// Checks a pod's volume. Its name and portal together are checked by the caller.
pub(crate) fn iscsi(source: &Cursor<'_, '_>) {
    require(source, &["targetPortal"]);
    qualified_name(&source.field("iqn"), START);
    numbers_and_secret(source);
    initiator(source, START);
}

/// As [`iscsi`], of a PersistentVolume.
pub(crate) fn iscsi_persistent(source: &Cursor<'_, '_>, volume: &str) {
    require(source, &["targetPortal"]);
    if exceeds_initiator_limit(source, volume) {
        let portal = source.at_as(&["targetPortal"], "targetportal");
        portal.invalid(portal.text(), NAME_TOO_LONG);
    }
    qualified_name(&source.field("iqn"), FORM);
    numbers_and_secret(source);
    super::secret_reference(source, &["name"]);
    initiator(source, FORM);
}

/// Whether the name of an interface, made of the volume's name and the portal, would be too long.
pub(crate) fn exceeds_initiator_limit(source: &Cursor<'_, '_>, volume: &str) -> bool {
    let portal = source.field("targetPortal").text();
    source.field("initiatorName").is_set() && volume.len() + 1 + portal.len() > 64
}

fn numbers_and_secret(source: &Cursor<'_, '_>) {
    source.field("lun").integer_format(|lun| in_range(lun, 0, 255));
    let authenticates = source.field("chapAuthDiscovery").flag() || source.field("chapAuthSession").flag();
    let secret = source.field("secretRef");
    if authenticates && !secret.is_set() {
        secret.required("");
    }
}

fn qualified_name(name: &Cursor<'_, '_>, wrong_start: &str) {
    if name.is_empty() {
        name.required("");
    } else if let Some(why) = wrong_name(name.text(), wrong_start) {
        name.invalid(name.text(), why);
    }
}

fn initiator(source: &Cursor<'_, '_>, wrong_start: &str) {
    let name = source.at_as(&["initiatorName"], "initiatorname");
    if name.is_set()
        && let Some(why) = wrong_name(name.text(), wrong_start)
    {
        name.invalid(name.text(), why);
    }
}

/// Returns the message about a name that is no iSCSI qualified name, EUI or NAA identifier.
fn wrong_name<'a>(name: &str, wrong_start: &'a str) -> Option<&'a str> {
    let is_right = match name.get(..3) {
        Some("iqn") => is_qualified_name(name),
        Some("eui") => is_identifier(&name[3..], 16),
        Some("naa") => is_identifier(&name[3..], 32),
        _ => return Some(wrong_start),
    };
    (!is_right).then_some(FORM)
}

/// Whether a text ends in the form `iqn.2001-04.com.example:storage:disk`. The reference does not ask that it starts there.
///
/// The form up to its colon has only characters of [`is_name_character`], so it is looked for in the run of such characters
/// before each colon: the time is linear whatever the text repeats.
fn is_qualified_name(text: &str) -> bool {
    let forbidden = |c: char| ",;*&$|\t\n\x0c\r ".contains(c);
    let tail = text.rfind(forbidden).map_or(0, |last| last + 1);
    text.match_indices(':').any(|(colon, _)| {
        colon >= tail && colon + 1 < text.len() && {
            let before = &text.as_bytes()[..colon];
            let start = before.iter().rposition(|&byte| !is_name_character(byte)).map_or(0, |last| last + 1);
            // Prefix, date and one character of the authority's name.
            before[start..].windows("iqn.2001-04.c".len()).any(starts_qualified_name)
        }
    })
}

fn is_name_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.'
}

fn starts_qualified_name(window: &[u8]) -> bool {
    let form = b"iqn.0000-00.";
    let fits = |(&byte, &form): (&u8, &u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    window.iter().zip(form).all(fits)
}

/// Whether a text is one character of any kind and then a number of letters and digits.
fn is_identifier(text: &str, length: usize) -> bool {
    let mut characters = text.chars();
    let rest = match characters.next() {
        None | Some('\n') => return false,
        Some(_) => characters.as_str(),
    };
    rest.len() == length && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_one_of_three_forms() {
        let right = [
            "iqn.2001-04.com.example:storage.disk1",
            "iqn.2001-04.c:a:b",
            "iqn:iqn.2001-04.com.example:disk",
            "iqn, iqn.2001-04.com.example:disk",
            "eui.0123456789abcdef",
            "eui:0123456789abcdef",
            "naa.62004567BA64678D0123456789ABCDEF",
        ];
        for name in right {
            assert_eq!(wrong_name(name, START), None, "{name}");
        }
        let wrong = [
            "iqn",
            "iqn.2001-04.com.example",
            "iqn.2001-04.com.example:",
            "iqn.2001-04.:disk",
            "iqn.201-04.com.example:disk",
            "iqn.2001-04.com_example:disk",
            "iqn.2001-04.com.example:disk 1",
            "iqn.2001-04.com.example:disk,1",
            "eui.0123456789abcde",
            "eui\n0123456789abcdef",
            "eui.0123456789abcdé",
            "naa.0123456789abcdef",
        ];
        for name in wrong {
            assert_eq!(wrong_name(name, START), Some(FORM), "{name}");
        }
        for name in ["", "iq", "IQN.2001-04.com.example:disk", "é"] {
            assert_eq!(wrong_name(name, START), Some(START), "{name}");
        }
    }

    #[test]
    fn long_names_take_linear_time() {
        let repeated = "iqn.2001-04.com:".repeat(60_000) + " ";
        assert!(!is_qualified_name(&repeated));
        assert!(!is_qualified_name(&"iqn.2001-04.".repeat(80_000)));
    }
}
