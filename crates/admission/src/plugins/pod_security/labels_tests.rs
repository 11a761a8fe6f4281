use super::*;

const fn at(level: Level, version: Version) -> LevelVersion {
    LevelVersion { level, version }
}

const PRIVILEGED: Policy = Policy {
    enforce: LevelVersion::PRIVILEGED,
    audit: LevelVersion::PRIVILEGED,
    warn: LevelVersion::PRIVILEGED,
};

const RESTRICTED: Policy = {
    let restricted = at(Level::Restricted, Version::Minor(20));
    Policy { enforce: restricted, audit: restricted, warn: restricted }
};

/// Returns the policy of labels, written without their prefix, as `enforce audit warn`; then the errors.
fn policy(labels: &[(&str, &str)], defaults: &Policy) -> String {
    let labels: Vec<(String, &str)> =
        labels.iter().map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), *value)).collect();
    let others = [("a", "b"), ("pod-security.kubernetes.io/other", "x"), ("enforce", "restricted")];
    let all = labels.iter().map(|(key, value)| (key.as_str(), *value)).chain(others);
    let (Policy { enforce, audit, warn }, errors) = Labels::of(all).policy(defaults);
    let mut text = format!("{enforce} {audit} {warn}");
    for error in errors {
        text.push_str(&format!("; {error}"));
    }
    text
}

#[test]
fn versions_are_read_as_written() {
    for text in ["latest", "v1.0", "v1.9", "v1.22", "v1.1000", "v1.9223372036854775807"] {
        assert_eq!(Version::parse(text).map(|version| version.to_string()).as_deref(), Some(text));
    }
    for text in [
        "",
        "1.22",
        "v1",
        "v1.",
        "v2.0",
        "v1.01",
        "v1.00",
        "v1.-1",
        "v1.+1",
        "v1.2.3",
        "v1.x",
        " v1.1",
        "Latest",
        "v1.9223372036854775808",
        "v1.٣",
    ] {
        assert_eq!(Version::parse(text), None, "{text}");
    }
    assert!(Version::Minor(9) < Version::Minor(10) && Version::Minor(i64::MAX) < Version::Latest);
}

#[test]
fn labels_take_the_place_of_defaults() {
    for (labels, defaults, expect) in [
        (&[][..], &PRIVILEGED, "privileged:latest privileged:latest privileged:latest"),
        (&[], &RESTRICTED, "restricted:v1.20 restricted:v1.20 restricted:v1.20"),
        (
            &[("enforce", "baseline"), ("audit", "restricted"), ("warn", "privileged")],
            &PRIVILEGED,
            "baseline:latest restricted:latest privileged:latest",
        ),
        (
            &[("enforce-version", "v1.1"), ("audit-version", "v1.2"), ("warn-version", "v1.3")],
            &RESTRICTED,
            "restricted:v1.1 restricted:v1.2 restricted:v1.3",
        ),
    ] {
        assert_eq!(policy(labels, defaults), expect, "{labels:?}");
    }
}

#[test]
fn an_enforced_level_raises_the_level_of_warnings() {
    for (labels, defaults, expect) in [
        (
            &[("enforce", "baseline"), ("enforce-version", "v1.5")][..],
            &PRIVILEGED,
            "baseline:v1.5 privileged:latest baseline:v1.5",
        ),
        // The version of warnings stays where it has a label.
        (
            &[("enforce", "baseline"), ("enforce-version", "v1.5"), ("warn-version", "v1.7")],
            &PRIVILEGED,
            "baseline:v1.5 privileged:latest baseline:v1.7",
        ),
        // A level of warnings that has a label stays.
        (
            &[("enforce", "restricted"), ("warn", "baseline")],
            &PRIVILEGED,
            "restricted:latest privileged:latest baseline:latest",
        ),
        // A level is not lowered, and a version alone raises nothing.
        (&[("enforce", "baseline")], &RESTRICTED, "baseline:v1.20 restricted:v1.20 restricted:v1.20"),
        (&[("enforce-version", "v1.5")], &PRIVILEGED, "privileged:v1.5 privileged:latest privileged:latest"),
    ] {
        assert_eq!(policy(labels, defaults), expect, "{labels:?}");
    }
}

#[test]
fn wrong_labels_are_named_and_only_the_enforced_level_is_strict() {
    let level = "must be one of privileged, baseline, restricted";
    let version = r#"must be "latest" or "v1.x""#;
    let wrong = |label: &str, value: &str, why: &str| {
        format!("metadata.labels[pod-security.kubernetes.io/{label}]: Invalid value: {value:?}: {why}")
    };
    assert_eq!(
        policy(&[("warn", "x"), ("audit", "y"), ("enforce", "Baseline")], &PRIVILEGED),
        [
            "restricted:latest privileged:latest privileged:latest".to_owned(),
            wrong("enforce", "Baseline", level),
            wrong("audit", "y", level),
            wrong("warn", "x", level),
        ]
        .join("; ")
    );
    assert_eq!(
        policy(&[("enforce-version", ""), ("audit-version", "v1"), ("warn-version", "2")], &RESTRICTED),
        [
            "restricted:latest restricted:latest restricted:latest".to_owned(),
            wrong("enforce-version", "", version),
            wrong("audit-version", "v1", version),
            wrong("warn-version", "2", version),
        ]
        .join("; ")
    );
}

#[test]
fn versions_of_the_privileged_level_are_equivalent() {
    let mut other = PRIVILEGED;
    other.audit.version = Version::Minor(3);
    assert!(other.is_equivalent(&PRIVILEGED) && other.is_privileged());
    other.audit.level = Level::Baseline;
    assert!(!other.is_equivalent(&PRIVILEGED) && !other.is_privileged());
    let mut newer = RESTRICTED;
    newer.warn.version = Version::Latest;
    assert!(!newer.is_equivalent(&RESTRICTED) && RESTRICTED.is_equivalent(&RESTRICTED));
}
