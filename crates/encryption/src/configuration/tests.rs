//! The messages about files that cannot be used are the reference's.

use super::*;

fn read(resources: &str) -> Result<EncryptionConfiguration, String> {
    read_with(resources, false)
}

fn read_with(resources: &str, reloads: bool) -> Result<EncryptionConfiguration, String> {
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n{resources}"
    );
    EncryptionConfiguration::read("/e.yaml", text.as_bytes(), reloads)
}

fn refusal(resources: &str) -> String {
    read(resources).err().unwrap_or_else(|| panic!("it is accepted: {resources}"))
}

/// The refusal of an entry with these resources.
fn of_resources(resources: &str) -> String {
    refusal(&format!("- resources: {resources}\n  providers: [identity: {{}}]\n"))
}

/// The refusal of an entry with this provider.
fn of_provider(provider: &str) -> String {
    refusal(&format!("- resources: [secrets]\n  providers: [{provider}]\n"))
}

#[test]
fn an_example_is_accepted_and_completed() {
    let read = read(
        "- resources: [secrets, '*.apps']\n  providers:\n  - kms: {name: a, endpoint: 'unix:///s', timeout: 100ms}\n  \
         - kms: {apiVersion: v2, name: b, endpoint: 'unix:///s'}\n  - identity: {}\n",
    )
    .unwrap_or_else(|why| panic!("{why}"));
    let kms: Vec<_> = read.resources[0].providers.iter().filter_map(|of| of.kms.as_ref()).collect();
    let seen = |of: &KmsConfiguration| (of.api_version.clone(), of.cache_size, of.timeout().as_millis());
    assert_eq!(seen(kms[0]), ("v1".to_owned(), Some(1000), 100));
    assert_eq!(seen(kms[1]), ("v2".to_owned(), None, 3000));
}

#[test]
fn documents_of_another_kind_are_refused() {
    let read = |text: &str| EncryptionConfiguration::read("/e.yaml", text.as_bytes(), false).err();
    let words = "error decoding encryption provider configuration file \"/e.yaml\": ";
    for (text, why) in [
        (
            "apiVersion: apiserver.config.k8s.io/v2\nkind: EncryptionConfiguration\n",
            "no kind \"EncryptionConfiguration\" is registered for version \"apiserver.config.k8s.io/v2\" in scheme \
             \"k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142\"",
        ),
        ("kind: EncryptionConfiguration\nresources: [secret]\n", "Object 'apiVersion' is missing"),
        (
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresource: []\n",
            "strict decoding error: unknown field \"resource\"",
        ),
    ] {
        assert_eq!(read(text), Some(format!("{words}{why}")), "{text}");
    }
}

#[test]
fn entries_need_resources_and_providers() {
    assert_eq!(refusal(""), "resources: Required value: at least one resources is required");
    assert_eq!(
        refusal("- {}\n"),
        "[resources[0].resources: Required value: at least one resources[0].resources is required, \
         resources[0].providers: Required value: at least one resources[0].providers is required]"
    );
}

#[test]
fn names_of_resources_are_checked() {
    let at = "resources[0].resources[0]: Invalid value: ";
    for (name, why) in [
        ("Secrets", "resource name should not contain capital letters"),
        ("*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        ("serviceipallocations", "resources which do not have REST API/s cannot be encrypted"),
        (
            "*.events.k8s.io",
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        ("a.extensions", "'extensions' group has been removed and cannot be used for encryption"),
        ("secrets.*", "encrypting the same resource across groups is not supported"),
    ] {
        assert_eq!(of_resources(&format!("['{name}']")), format!("{at}\"{name}\": {why}"));
    }
}

#[test]
fn resources_of_an_entry_do_not_overlap() {
    let duplicate = |shown: &str| {
        format!(
            "resources[0].resources: Invalid value: {shown}: the same resource cannot be specified multiple times"
        )
    };
    let overlap = |shown: &str| {
        format!(
            "resources[0].resources: Invalid value: {shown}: using overlapping resources such as 'secrets' and '*.' in the \
             same resource list is not allowed as they will be masked"
        )
    };
    assert_eq!(of_resources("[a, b.x, a]"), duplicate(r#"["a","b.x","a"]"#));
    for shown in [r#"["a","*."]"#, r#"["b.x","*.x"]"#, r#"["*.*","a"]"#] {
        assert_eq!(of_resources(shown), overlap(shown));
    }
    let both = r#"["*.","*."]"#;
    assert_eq!(of_resources(both), format!("[{}, {}]", duplicate(both), overlap(both)));
    assert!(read("- resources: ['*.', '*.apps', a.b]\n  providers: [identity: {}]\n").is_ok());
}

#[test]
fn an_element_has_one_provider_and_no_message_shows_its_key() {
    let at = "resources[0].providers[0]: Invalid value: ";
    assert_eq!(
        of_provider("{}"),
        format!(
            "{at}{{\"AESGCM\":null,\"AESCBC\":null,\"Secretbox\":null,\"Identity\":null,\"KMS\":null}}: provider does not \
             contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
        )
    );
    let secret = "MDEyMzQ1Njc4OWFiY2RlZg==";
    let two = of_provider(&format!("{{aesgcm: {{keys: [{{name: k, secret: {secret}}}]}}, identity: {{}}}}"));
    let why =
        "more than one provider specified in a single element, should split into different list elements";
    assert!(two.starts_with(at) && two.ends_with(why) && !two.contains(secret), "{two}");
}

#[test]
fn keys_are_checked() {
    let at = "resources[0].providers[0].aescbc.keys";
    let aescbc = |keys: &str| of_provider(&format!("aescbc: {{keys: [{keys}]}}"));
    for (keys, why) in [
        ("", format!("{at}: Required value: at least one keys is required")),
        ("{name: k}", format!("{at}[0].secret: Required value: secret is a mandatory field for a key")),
        (
            "{secret: MDEyMzQ1Njc4OWFiY2RlZg==}",
            format!("{at}[0].name: Required value: name is a mandatory field for a key"),
        ),
        (
            "{name: k, secret: '***'}",
            format!("{at}[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded"),
        ),
        (
            "{name: k, secret: MDEy}",
            format!(
                "{at}[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 3, expected one of \
                 [16 24 32]"
            ),
        ),
    ] {
        assert_eq!(aescbc(keys), why, "{keys}");
    }
    let why = of_provider("secretbox: {keys: [{name: k, secret: MDEyMzQ1Njc4OWFiY2RlZg==}]}");
    assert!(why.ends_with("got 16, expected one of [32]"), "{why}");
}

#[test]
fn plugins_are_checked() {
    let at = "resources[0].providers[0].kms";
    for (kms, why) in [
        ("name: a", format!("{at}.endpoint: Invalid value: \"\": endpoint is a mandatory field for a kms")),
        (
            "name: a, endpoint: 'http://x'",
            format!(
                "{at}.endpoint: Invalid value: \"http://x\": unsupported scheme \"http\" for KMS provider, only unix is supported"
            ),
        ),
        (
            "endpoint: 'unix:///s'",
            format!("{at}.name: Required value: name is a mandatory field for a provider"),
        ),
        (
            "apiVersion: v2, name: 'a:b', endpoint: 'unix:///s'",
            format!("{at}.name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':'"),
        ),
        (
            "name: a, endpoint: 'unix:///s', timeout: 0s",
            format!("{at}.timeout: Invalid value: \"0s\": timeout should be a positive value"),
        ),
        (
            "name: a, endpoint: 'unix:///s', cachesize: 0",
            format!(
                "{at}.cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable"
            ),
        ),
        (
            "apiVersion: v2, name: a, endpoint: 'unix:///s', cachesize: 10",
            format!("{at}.cachesize: Invalid value: 10: cachesize is not supported in v2"),
        ),
        (
            "apiVersion: v3, name: a, endpoint: 'unix:///s'",
            format!(
                "{at}.apiVersion: Invalid value: \"v3\": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 \
                 are supported"
            ),
        ),
    ] {
        assert_eq!(of_provider(&format!("kms: {{{kms}}}")), why, "{kms}");
    }
}

#[test]
fn names_of_plugins_are_unique_where_they_must_be() {
    let two = |version: &str| {
        let kms = format!("kms: {{apiVersion: {version}, name: a, endpoint: 'unix:///s'}}");
        format!("- resources: [secrets]\n  providers: [{kms}, {kms}]\n")
    };
    let why = "resources[0].providers[1].kms.name: Invalid value: \"a\": duplicate KMS provider name a, names must be unique";
    assert_eq!(refusal(&two("v2")), why);
    assert!(read(&two("v1")).is_ok());
    assert_eq!(read_with(&two("v1"), true).err().as_deref(), Some(why));
}
