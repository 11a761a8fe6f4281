use std::io::Write;

use super::*;
use crate::ALL_UNAUTHENTICATED;

fn load(text: &str) -> Result<Abac, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let path = file.path().display().to_string();
    Abac::load(file.path()).map_err(|error| error.to_string().replace(&path, "FILE"))
}

fn v1beta1(spec: &str) -> String {
    format!(r#"{{"apiVersion":"{GROUP}/v1beta1","kind":"Policy","spec":{{{spec}}}}}"#)
}

fn user(name: &str) -> User {
    let groups = match name {
        "anonymous" => vec![ALL_UNAUTHENTICATED.into()],
        "bob" => vec!["devs".into(), ALL_AUTHENTICATED.into()],
        _ => vec![ALL_AUTHENTICATED.into()],
    };
    User { name: name.into(), groups, ..User::default() }
}

/// `USER VERB /PATH` or `USER VERB RESOURCE[.GROUP] [NAMESPACE]`.
async fn allows(abac: &Abac, question: &str) -> bool {
    let words: Vec<&str> = question.split(' ').collect();
    let user = user(words[0]);
    let attributes = if words[2].starts_with('/') {
        Attributes::of_path(&user, words[1], words[2])
    } else {
        let (resource, group) = words[2].split_once('.').unwrap_or((words[2], ""));
        Attributes {
            namespace: words.get(3).copied().unwrap_or_default(),
            ..Attributes::of_resource(&user, words[1], group, resource)
        }
    };
    let verdict = abac.authorize(&attributes).await;
    if !verdict.is_allowed() {
        assert_eq!(verdict, Verdict::no_opinion("No policy matched."));
    }
    verdict.is_allowed()
}

async fn check(policies: &str, allowed: &[&str], refused: &[&str]) {
    let abac = load(policies).expect("policies");
    for question in allowed {
        assert!(allows(&abac, question).await, "{question}");
    }
    for question in refused {
        assert!(!allows(&abac, question).await, "{question}");
    }
}

#[tokio::test]
async fn a_policy_allows_its_subjects_verbs_and_resources() {
    check(
        &[
            "# a comment",
            "",
            &v1beta1(r#""user":"alice","namespace":"a","resource":"*","apiGroup":"*""#),
            &v1beta1(r#""group":"devs","namespace":"*","resource":"pods","readonly":true"#),
            &v1beta1(r#""user":"carol","group":"devs","namespace":"*","resource":"*","apiGroup":"*""#),
            &v1beta1(r#""namespace":"*","resource":"*","apiGroup":"*""#),
        ]
        .join("\r\n"),
        &["alice delete deployments.apps a", "alice get pods a", "bob list pods", "bob watch pods b"],
        &[
            "alice get pods b",
            "alice get pods",
            "bob create pods a",
            "bob get pods.metrics a",
            "bob get secrets a",
            "carol get pods a",
            "dave get pods a",
            "alice get /version",
        ],
    )
    .await;
}

#[tokio::test]
async fn paths_are_exact_or_end_in_a_star() {
    check(
        &[
            v1beta1(r#""user":"alice","nonResourcePath":"/a/*""#),
            v1beta1(r#""user":"*","nonResourcePath":"/version","readonly":true"#),
            v1beta1(r#""group":"system:unauthenticated","nonResourcePath":"/healthz""#),
            v1beta1(r#""user":"root","nonResourcePath":"*""#),
        ]
        .join("\n"),
        &["alice post /a/b", "bob get /version", "anonymous get /healthz", "root put /x"],
        &["alice get /a", "bob post /version", "anonymous get /version", "bob get /a/b", "root get pods"],
    )
    .await;
}

#[tokio::test]
async fn the_oldest_version_means_everything_that_it_does_not_say() {
    check(r#"{"user":"alice"}"#, &["alice create pods.x n", "alice get /metrics"], &["bob get pods"]).await;
    check(
        r#"{"readonly":true,"resource":"pods"}"#,
        &["bob get pods n", "bob list pods.metrics"],
        &["bob delete pods n", "bob get secrets n", "anonymous get pods", "bob get /version"],
    )
    .await;
    check(
        &format!(r#"{{"apiVersion":"{GROUP}/v0","kind":"Policy","user":"*","namespace":"n"}}"#),
        &["bob create pods n"],
        &["bob create pods m", "bob get /version", "anonymous get pods n"],
    )
    .await;
}

#[tokio::test]
async fn rules_of_a_namespace_are_listed() {
    let abac = load(
        &[
            v1beta1(r#""group":"devs","namespace":"n","resource":"pods","readonly":true"#),
            v1beta1(r#""user":"bob","namespace":"*","nonResourcePath":"/x""#),
            v1beta1(r#""user":"bob","namespace":"m","resource":"secrets""#),
        ]
        .join("\n"),
    )
    .expect("policies");
    let mut rules = Rules::default();
    abac.add_rules(&user("bob"), "n", &mut rules).await;
    let resource = ResourceRule {
        verbs: ["get", "list", "watch"].map(SmolStr::from).to_vec(),
        groups: vec!["".into()],
        resources: vec!["pods".into()],
        names: Vec::new(),
    };
    let path = PathRule { verbs: vec!["*".into()], paths: vec!["/x".into()] };
    assert_eq!(rules, Rules { resources: vec![resource], paths: vec![path], ..Rules::default() });
}

#[test]
fn a_line_that_is_no_policy_is_named() {
    let second = |line: &str| {
        let error = load(&format!("# first\n{line}\n")).expect_err(line);
        let expected = format!("error reading policy file FILE, line 2: {line}: ");
        error.strip_prefix(&expected).unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    assert!(second("{").starts_with("couldn't get version/kind; json parse error: "));
    assert!(second("[1]").starts_with("couldn't get version/kind"));
    assert_eq!(second(r#"{"user":1}"#), "json: cannot unmarshal a value into field user of type string");
    assert_eq!(
        second(&v1beta1(r#""readonly":"yes""#)),
        "json: cannot unmarshal a value into field readonly of type bool"
    );
    assert_eq!(
        second(r#"{"apiVersion":"abac.authorization.kubernetes.io/v2","kind":"Policy"}"#),
        r#"no kind "Policy" is registered for version "abac.authorization.kubernetes.io/v2""#
    );
    assert_eq!(
        second(r#"{"apiVersion":"abac.authorization.kubernetes.io/v1beta1"}"#),
        r#"Object 'Kind' is missing in '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1"}'"#
    );
    second(&"[".repeat(10_000));
}

#[test]
fn a_file_that_cannot_be_one_is_refused() {
    let error = load(&"x".repeat(LONGEST_LINE)).expect_err("too long");
    assert_eq!(error, "error reading policy file FILE: bufio.Scanner: token too long");
    let error = Abac::load(Path::new("/does/not/exist")).expect_err("missing").to_string();
    assert!(error.starts_with("open /does/not/exist: No such file or directory"), "{error}");
    assert_eq!(load(""), Ok(Abac::default()));
}
