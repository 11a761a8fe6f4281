use std::sync::Arc;
use std::time::Duration;

use pintle_meta::quote;

use super::files::{documents, hash};
use super::load::load;
use super::testing::{SERVER, TestFolder};
use super::*;
use crate::testing::TestCluster;

static RULES: ManifestRules = ManifestRules {
    plugin: "P",
    kinds: &["Policy", "Binding"],
    scheme: "pkg/p.go:1",
    check: |kind, object, path| match object.get("refused") {
        Some(_) => Err(format!("{kind} {} of {path} is refused", object.name())),
        None => Ok(()),
    },
    check_all: |objects| match objects.of("Binding").len() > objects.of("Policy").len() {
        true => Err("more bindings than policies".to_owned()),
        false => Ok(()),
    },
};

fn object(kind: &str, name: &str, more: &str) -> String {
    let version = "admissionregistration.k8s.io/v1";
    format!(
        r#"{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"{name}.static.k8s.io"}}{more}}}"#
    )
}

fn policy(name: &str) -> String {
    object("Policy", name, "")
}

/// Loads the manifests of a folder and returns their names by kind.
fn loaded(folder: &TestFolder) -> Result<Vec<String>, String> {
    let manifests = folder.environment(&pintle_metrics::Registry::default());
    let loaded = load(&*manifests.folders, "/m", &*manifests.decoder, &RULES)?;
    let names = |kind: &&str| {
        let objects = loaded.objects.of(kind).iter();
        objects
            .map(|object| {
                assert!(object.get("complete").is_some(), "with defaults");
                let name = object.name().strip_suffix(STATIC_SUFFIX).unwrap();
                format!("{kind} {name}")
            })
            .collect::<Vec<_>>()
    };
    Ok(RULES.kinds.iter().flat_map(names).collect())
}

fn check(files: &[(&str, &str)], expected: Result<&[&str], &str>) {
    let folder = TestFolder::new("/m");
    for (name, content) in files {
        folder.write(name, content);
    }
    let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(loaded(&folder), expected.map_err(str::to_owned), "{files:?}");
}

#[test]
fn files_with_the_extensions_of_json_and_yaml_are_manifests() {
    for name in ["a.yaml", "b.yml", "c.json", "D.YAML", ".json", "e.txt.Yml"] {
        assert!(is_manifest(name), "{name}");
    }
    for name in ["a", "yaml", "a.yaml.bak", "..data", "a.toml", ""] {
        assert!(!is_manifest(name), "{name}");
    }
}

#[test]
fn documents_end_at_separators() {
    for (content, expected) in [
        ("", Ok(vec![])),
        ("a: 1", Ok(vec!["a: 1"])),
        ("a: 1\r\n---\r\nb: 2\n", Ok(vec!["a: 1", "b: 2"])),
        ("---\na: 1\n--- # more\n\n---\n  \n---\nb: 2\n---", Ok(vec!["---\na: 1", "b: 2"])),
        ("a: 1\n---\n---\n---\nb: 2", Ok(vec!["a: 1", "---", "b: 2"])),
        (" ---\n a---\n", Ok(vec!["---\n a---"])),
        ("a: 1\n--- b: 2\n", Err("b: 2")),
        ("a: 1\n----\n", Err("-")),
    ] {
        let file =
            ManifestFile { path: "/m/f".into(), content: bytes::Bytes::copy_from_slice(content.as_bytes()) };
        let expected = expected.map(|documents| documents.into_iter().map(str::to_owned).collect::<Vec<_>>());
        let failed = "failed to split YAML documents in file \"/m/f\": invalid Yaml document separator: ";
        let found = documents(&file).map(|documents| {
            documents.into_iter().map(|document| String::from_utf8(document).unwrap()).collect()
        });
        assert_eq!(found, expected.map_err(|rest| format!("{failed}{rest}")), "{content:?}");
    }
}

#[test]
fn the_hash_is_of_the_content_of_files() {
    let file = |content: &str| ManifestFile {
        path: "/m/f".into(),
        content: bytes::Bytes::copy_from_slice(content.as_bytes()),
    };
    assert_eq!(hash(&[]), "");
    assert_eq!(hash(&[file("")]), "");
    // `printf 'a\0' | sha256sum`
    let a = "sha256:ffe9aaeaa2a2d5048174df0b80599ef0197ec024c4b051bc9860cff58ef7f9f3";
    assert_eq!(hash(&[file(""), file("a")]), a);
    assert_ne!(hash(&[file("a"), file("b")]), hash(&[file("ab")]));
}

#[test]
fn objects_of_the_kinds_are_found_in_files_and_lists() {
    check(&[], Ok(&[]));
    check(&[("a.json", "")], Ok(&[]));
    let two = format!("{}\n---\n{}\n", policy("b"), policy("a"));
    check(&[("z.yaml", &two), ("a.json", &policy("c"))], Ok(&["Policy a", "Policy b", "Policy c"]));
    let list = |kind: &str, items: &[String]| {
        let items = items.join(",");
        format!(r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}","items":[{items}]}}"#)
    };
    let items = [policy("b"), policy("a")];
    check(&[("a.json", &list("PolicyList", &items))], Ok(&["Policy a", "Policy b"]));
    let mixed = list("List", &[policy("b"), list("List", &[object("Binding", "b", "")])]);
    check(&[("a.json", &mixed)], Ok(&["Policy b", "Binding b"]));
    let mut deep = list("List", &[]);
    for _ in 0..100 {
        deep = list("List", &[deep]);
    }
    check(&[("a.json", &deep)], Err("error loading /m/a.json: too many lists within lists"));
}

#[test]
fn unusable_objects_are_named_with_their_file() {
    let unnamed = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"Policy"}"#;
    let named = |name: &str| policy("").replace(".static.k8s.io", name);
    let typed = |version: &str, kind: &str| {
        policy("a").replace("admissionregistration.k8s.io/v1", version).replace("Policy", kind)
    };
    for (content, expected) in [
        (r#"{"a":1}"#.to_owned(), "no kind in scheme \"pkg/p.go:1\""),
        (
            typed("admissionregistration.k8s.io/v1beta1", "Policy"),
            "unsupported resource type *v1beta1.Policy",
        ),
        (typed("admissionregistration.k8s.io/v1", "Other"), "unsupported resource type *v1.Other"),
        (typed("v1", "Policy"), "unsupported resource type *v1.Policy"),
        (
            r#"{"apiVersion":"v1","kind":"List","items":[{"a":1}]}"#.to_owned(),
            "failed to decode list item: no kind in scheme \"pkg/p.go:1\"",
        ),
        (object("Policy", "a", r#","invalid":1"#), "Policy \"a.static.k8s.io\": invalid: Forbidden"),
        (unnamed.to_owned(), "resource in file \"/m/a.yaml\" must have a name"),
        (named("a"), "\"a\" in file \"/m/a.yaml\" must have a name ending with \".static.k8s.io\""),
        (object("Policy", "a", r#","refused":1"#), "Policy a.static.k8s.io of /m/a.yaml is refused"),
        (
            format!("{}\n---\n{}", policy("a"), policy("a")),
            "duplicate name \"a.static.k8s.io\" found in file \"/m/a.yaml\" (previously seen in \"/m/a.yaml\")",
        ),
    ] {
        check(&[("a.yaml", &content)], Err(&format!("error loading /m/a.yaml: {expected}")));
    }
    // A name of another kind is another name.
    check(
        &[("a.yaml", &policy("a")), ("b.yaml", &object("Binding", "a", ""))],
        Ok(&["Policy a", "Binding a"]),
    );
    check(&[("b.yaml", &object("Binding", "a", ""))], Err("more bindings than policies"));
}

/// The names of the policies that are in effect.
type Names = StaticManifests<Vec<String>>;

fn start(cluster: &Cluster) -> Result<Names, String> {
    StaticManifests::start("/m", &RULES, cluster, |objects| {
        objects.of("Policy").iter().map(|object| object.name().to_owned()).collect()
    })
}

fn rendered(cluster: &Cluster) -> String {
    String::from_utf8(cluster.metrics.render().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_last_usable_manifests_stay() {
    let mut fixture = TestCluster::new().await;
    let folder = TestFolder::new("/m");
    fixture.cluster.manifests = Some(folder.environment(&fixture.cluster.metrics));
    let cluster = &fixture.cluster;
    folder.write("a.yaml", "broken: 1");
    assert_eq!(start(cluster).err().unwrap(), "error loading /m/a.yaml: no kind in scheme \"pkg/p.go:1\"");
    folder.write("a.yaml", &policy("a"));
    let manifests = start(cluster).unwrap();
    let first = manifests.current();
    assert_eq!(*first, ["a.static.k8s.io"]);

    let wait = async || tokio::time::sleep(Duration::from_secs(3)).await;
    // The same content is not another version.
    folder.write("a.yaml", &policy("a"));
    wait().await;
    assert!(Arc::ptr_eq(&first, &manifests.current()));
    folder.write("b.yaml", &policy("b"));
    wait().await;
    assert_eq!(*manifests.current(), ["a.static.k8s.io", "b.static.k8s.io"]);
    folder.write("b.yaml", "broken: 1");
    wait().await;
    assert_eq!(manifests.current().len(), 2, "of the last usable files");
    let count = |status: &str, number: u32| {
        let server = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, SERVER.as_bytes());
        let server = files::hex(server.as_ref());
        let text = rendered(cluster);
        let line = format!(
            "apiserver_manifest_admission_config_controller_automatic_reloads_total{{apiserver_id_hash={},plugin=\"P\",\
             status=\"{status}\"}} {number}",
            quote(&server)
        );
        assert!(text.contains(&line), "{line} is not in\n{text}");
    };
    count("success", 2);
    count("failure", 1);
    // Tried again at the latest after a minute.
    tokio::time::sleep(Duration::from_secs(61)).await;
    count("failure", 2);
    folder.remove("b.yaml");
    folder.remove("a.yaml");
    wait().await;
    assert!(manifests.current().is_empty());
    count("success", 3);
    let text = rendered(cluster);
    let info: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("apiserver_manifest_admission_config_controller_last_config_info{"))
        .collect();
    assert!(info.len() == 1 && info[0].contains("hash=\"\""), "{info:?}");
}

/// On a runtime of one thread: if the task waited for the disk, nothing else would run.
#[test]
fn a_disk_that_does_not_answer_holds_up_nothing_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = TestFolder::new("/m");
    folder.write("a.yaml", &policy("a"));
    let disk = folder.disk.clone();
    let (ran, seen) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        runtime.block_on(async {
            let mut fixture = TestCluster::new().await;
            fixture.cluster.manifests = Some(folder.environment(&fixture.cluster.metrics));
            let _manifests = start(&fixture.cluster).unwrap();
            ran.send("started").unwrap();
            tokio::time::sleep(2 * LOOK).await;
            ran.send("waited").unwrap();
        });
        runtime.shutdown_timeout(Duration::ZERO);
        let _ = ran.send("stopped");
    });
    let next = || seen.recv_timeout(Duration::from_secs(20));
    assert_eq!(next(), Ok("started"));
    let held = disk.lock().unwrap();
    assert_eq!((next(), next()), (Ok("waited"), Ok("stopped")), "while the disk is held");
    drop(held);
    server.join().unwrap();
}
