//! From which version on etcd's answers to requests for watch progress can be trusted.
//!
//! Earlier ones could report progress before events that belong to it (etcd issues 15220 and 17507).

/// Whether a member of this version answers right. A version that cannot be read is not trusted.
pub(crate) fn is_trusted(version: &str) -> bool {
    let Some(version) = parse(version) else { return false };
    version >= (3, 5, 13) || ((3, 4, 31)..(3, 5, 0)).contains(&version)
}

/// `3.5.13`, `3.6.0-rc.1`, `3.5.13+vendor`. A pre-release counts as the version before it.
fn parse(version: &str) -> Option<(u32, u32, u32)> {
    let (plain, pre_release) = match version.split_once(['-', '+']) {
        Some((plain, _)) => (plain, version.as_bytes().get(plain.len()) == Some(&b'-')),
        None => (version, false),
    };
    let mut parts = plain.trim().split('.').map(|part| part.parse::<u32>().ok());
    let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    match (pre_release, patch) {
        (false, _) => Some((major, minor, patch)),
        (true, 0) => Some((major, minor.checked_sub(1)?, u32::MAX)),
        (true, _) => Some((major, minor, patch - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_trusted_by_version() {
        for version in
            ["3.4.31", "3.4.40", "3.5.13", "3.5.16", "3.5.13+deb", "3.6.0", "3.6.0-rc.3", "3.10.0", "4.0.0"]
        {
            assert!(is_trusted(version), "{version}");
        }
        for version in
            ["3.3.27", "3.4.23", "3.4.30", "3.5.0", "3.5.12", "3.5.13-rc.1", "3.5", "", "not a version"]
        {
            assert!(!is_trusted(version), "{version}");
        }
    }
}
