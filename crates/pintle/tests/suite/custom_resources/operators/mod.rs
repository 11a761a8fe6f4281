//! Operators: many definitions installed at once, then used through the operators' client library and through kubectl.

mod shapes;

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    WatchParams,
};
use kube::discovery::{Discovery, verbs};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{DEFINITIONS, Session, name};
use crate::kube_rs::watches::next;
use crate::kube_rs::{client, from_json};
use crate::support::kubectl::{Kubectl, columns, rows};
use crate::support::{Launch, Server};
use shapes::{SHAPES, Sample};

/// Number of definitions, and of clients at a time.
const COUNT: usize = 210;
const AT_ONCE: usize = 8;

fn samples() -> Vec<Sample> {
    (0..COUNT).map(|number| SHAPES[number % SHAPES.len()](number / SHAPES.len())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_definitions_of_operators_are_installed_and_used() {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    let samples = Arc::new(samples());
    install(&server, &samples).await;
    let client = client(&server).await;
    let found = Discovery::new(client.clone()).run_aggregated().await.expect("discovery");
    let driven = stream::iter(samples.iter()).map(|sample| drive(&client, &found, sample));
    driven.buffer_unordered(AT_ONCE).collect::<()>().await;
    // The first of each shape again, by hand.
    by_hand(&server, &samples[..SHAPES.len()]).await;
    server.client().get("/healthz").await.is(200, "ok");
}

async fn install(server: &Server, samples: &[Sample]) {
    let each = stream::iter(0..AT_ONCE).map(|worker| async move {
        let mut session = Session::to(server).await;
        for sample in samples.iter().skip(worker).step_by(AT_ONCE) {
            let answer = session.post(DEFINITIONS, &sample.definition).await;
            assert_eq!(answer.code, 201, "{}: {}", name(&sample.definition), answer.body);
        }
        for sample in samples.iter().skip(worker).step_by(AT_ONCE) {
            let found = session.established(name(&sample.definition)).await;
            assert_eq!(found["status"]["acceptedNames"], sample.definition["spec"]["names"]);
        }
    });
    each.buffer_unordered(AT_ONCE).collect::<()>().await;
}

/// Sends the requests of an operator's own client for an object.
async fn drive(client: &Client, found: &Discovery, sample: &Sample) {
    let what = sample.kind();
    let api_version = sample.object["apiVersion"].as_str().expect("a version");
    let version = api_version.rsplit('/').next().expect("a version");
    let kind = GroupVersionKind::gvk(sample.group(), version, what);
    let (resource, capabilities) =
        found.resolve_gvk(&kind).unwrap_or_else(|| panic!("{what} is not discovered"));
    assert_eq!((resource.plural.as_str(), resource.api_version.as_str()), (sample.plural(), api_version));
    assert!(capabilities.supports_operation(verbs::WATCH) && capabilities.supports_operation(verbs::PATCH));
    let scales = capabilities.subresources.iter().any(|(part, _)| part.plural == "scale");
    assert_eq!(scales, sample.scales(), "{what}");
    let api: Api<DynamicObject> = if sample.is_namespaced() {
        Api::namespaced_with(client.clone(), "default", &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    let post = PostParams { field_manager: Some("driver".into()), ..PostParams::default() };
    let object: DynamicObject = from_json(sample.object.clone());
    let created = api.create(&post, &object).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    contains(&created.data, &json!({"spec": sample.object["spec"]}), what);
    assert_eq!(api.get("sample").await.expect(what), created);
    let start = created.resource_version().expect("a version");
    let mut watch = api.watch(&WatchParams::default().disable_bookmarks(), &start).await.expect(what).boxed();

    let changed = api.patch("sample", &PatchParams::default(), &Patch::Merge(&sample.change)).await;
    let changed = changed.unwrap_or_else(|error| panic!("{what}: {error}"));
    contains(&changed.data, &sample.change, what);
    let (wrong, expect) = &sample.wrong;
    match api.patch("sample", &PatchParams::default(), &Patch::Merge(wrong)).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 422, "{what}: {status:?}");
            assert!(status.message.contains(expect), "{what}: {}", status.message);
        }
        other => panic!("{what}: {other:?}"),
    }
    let mine = json!({"apiVersion": api_version, "kind": what,
        "metadata": {"name": "sample", "annotations": {"mine": "yes"}}});
    let applied =
        api.patch("sample", &PatchParams::apply("operator"), &Patch::Apply(&mine)).await.expect(what);
    assert_eq!((&applied.data, applied.annotations()["mine"].as_str()), (&changed.data, "yes"), "{what}");
    let mut again = applied.clone();
    again.labels_mut().insert("seen".into(), "yes".into());
    again.managed_fields_mut().clear();
    let replaced = api.replace("sample", &post, &again).await.expect(what);
    let list = api.list(&ListParams::default().labels("seen=yes")).await.expect(what);
    assert_eq!((list.types.kind, list.items), (format!("{what}List"), vec![replaced]));
    // The object can be read in every served version.
    for version in sample.definition["spec"]["versions"].as_array().expect("versions") {
        if version["served"] == true {
            let kind = GroupVersionKind::gvk(sample.group(), version["name"].as_str().expect("a name"), what);
            let other = ApiResource::from_gvk_with_plural(&kind, sample.plural());
            let api: Api<DynamicObject> = if sample.is_namespaced() {
                Api::namespaced_with(client.clone(), "default", &other)
            } else {
                Api::all_with(client.clone(), &other)
            };
            assert_eq!(api.get("sample").await.expect(what).data, applied.data, "{what}");
        }
    }
    api.delete("sample", &DeleteParams::default()).await.expect(what);
    for expect in ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"] {
        let (kind, about, _) = next(&mut watch).await;
        assert_eq!((kind, about.as_str()), (expect, "sample"), "{what}");
    }
}

/// Whether what was sent is in what came back, which may have more: defaults.
#[track_caller]
fn contains(found: &Value, expect: &Value, what: &str) {
    match (found, expect) {
        (Value::Object(found), Value::Object(expect)) => {
            for (field, expect) in expect {
                let found = found.get(field).unwrap_or_else(|| panic!("{what}: {field} is missing"));
                contains(found, expect, what);
            }
        }
        (Value::Array(found), Value::Array(expect)) => {
            assert_eq!(found.len(), expect.len(), "{what}: {found:?}");
            found.iter().zip(expect).for_each(|(found, expect)| contains(found, expect, what));
        }
        (found, expect) => assert_eq!(found, expect, "{what}"),
    }
}

/// Output of kubectl for the first of each shape: an explained field with a line of its text, and the table.
const SEEN: [(&str, &str, &str, &str); 5] = [
    (
        "certificate0s.spec.issuerRef.name",
        "FIELD: name <string>",
        "NAME READY SECRET AGE",
        "certificate0.g0.certs.test/sample tls",
    ),
    (
        "gateway0s.spec.listeners.tls.certificateRefs",
        "FIELD: certificateRefs <[]Object>",
        "NAME CLASS LISTENERS PROGRAMMED AGE",
        "gateway0.g0.gateways.test/sample fast web",
    ),
    (
        "monitor0s.spec.template.spec.containers.livenessProbe.httpGet",
        "path <string>",
        "NAME DESIRED READY AGE",
        "monitor0.g0.monitors.test/sample 1",
    ),
    (
        "composite0s.spec.resources.patches",
        "FIELD: patches <[]Object>",
        "NAME SYNCED REGION AGE",
        "composite0.g0.compositions.test/sample north",
    ),
    (
        "workflow0s.spec.templates.dag.tasks.dependencies",
        "FIELD: dependencies <[]string>",
        "NAME STATUS ENTRY PRIORITY AGE",
        "workflow0.g0.workflows.test/sample main",
    ),
];

async fn by_hand(server: &Server, samples: &[Sample]) {
    let kubectl = Kubectl::of(server);
    let names: Vec<String> =
        samples.iter().map(|sample| format!("crd/{}", name(&sample.definition))).collect();
    let met =
        kubectl.ok(&format!("wait --for=condition=Established --timeout=15s {}", names.join(" "))).await;
    assert_eq!(met.lines().filter(|line| line.ends_with(" condition met")).count(), samples.len(), "{met}");
    let known = rows(&kubectl.ok("api-resources").await);
    for (number, line) in [
        "certificate0s cert0,certs0 g0.certs.test/v1 true Certificate0",
        "gateway0s gtw0,gtws0 g0.gateways.test/v1 true Gateway0",
        "composite0s comp0,comps0 g0.compositions.test/v1 false Composite0",
        "workflow41s wf41,wfs41 g6.workflows.test/v1alpha1 true Workflow41",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(known.iter().any(|row| row == line), "{number}: {line}: {known:#?}");
    }

    let all: Vec<String> = samples.iter().map(|sample| sample.object.to_string()).collect();
    let all = all.join("\n");
    let created = kubectl.feed("apply -f -", &all).await;
    assert_eq!(
        created.lines().filter(|line| line.ends_with("/sample created")).count(),
        samples.len(),
        "{created}"
    );
    // Where lists have defaults in them, kubectl sends them again; that changes nothing.
    let same = kubectl.feed("apply -f -", &all).await;
    assert!(same.starts_with("certificate0.g0.certs.test/sample unchanged\n"), "{same}");
    let generations =
        kubectl.ok("get cert0,gtw0,mon0,comp0,wf0 -o jsonpath={.items[*].metadata.generation}").await;
    assert_eq!(generations, "1 1 1 1 1");
    // Applying a field that the schema does not know fails, and names the field.
    let mut unknown = samples[0].object.clone();
    unknown["spec"]["nonsense"] = 1.into();
    let complaint = kubectl.run(&["apply", "-f", "-"], &unknown.to_string()).await.failed("apply");
    assert!(complaint.contains(r#"unknown field "spec.nonsense""#), "{complaint}");

    // Short names, with the columns of each.
    let table = rows(&kubectl.ok("get cert0,gtw0,mon0,comp0,wf0").await);
    for (explained, line, header, row) in SEEN {
        let place = table.iter().position(|found| found == header);
        let place = place.unwrap_or_else(|| panic!("{header}: {table:#?}"));
        let found = &table[place + 1];
        let cells = |text: &str| columns(&text.replace(['[', ']', '"', ','], " "));
        assert!(cells(found).starts_with(row), "{row}: {found}");
        let text = kubectl.ok(&format!("explain {explained}")).await;
        assert!(rows(&text).iter().any(|row| row.starts_with(line)), "explain {explained}: {line}: {text}");
    }
    assert!(kubectl.ok("explain certificate0s").await.contains("A certificate that is kept up to date."));
    let complaint = kubectl.fails("explain certificate0s.spec.nonsense").await;
    assert!(complaint.contains("field \"nonsense\" does not exist"), "{complaint}");

    // Categories, and one object as text.
    let found = kubectl.ok("get managed -o name").await;
    assert_eq!(found, "composite0.g0.compositions.test/sample\n");
    let text = kubectl.ok("get workflow0s.v1alpha1.g0.workflows.test sample -o yaml").await;
    assert!(text.contains("entrypoint: main") && text.contains("kind: Workflow0\n"), "{text}");

    let waiting = kubectl.follow("wait --for=jsonpath={.spec.suspend}=true workflow0s/sample --timeout=15s");
    kubectl.ok(r#"patch workflow0s/sample --type=merge -p {"spec":{"suspend":true}}"#).await;
    assert_eq!(waiting.rest().await, ["workflow0.g0.workflows.test/sample condition met"]);
    let met = kubectl
        .ok("wait --for=jsonpath={.spec.providerConfigRef.name}=default comp0/sample --timeout=5s")
        .await;
    assert_eq!(met, "composite0.g0.compositions.test/sample condition met\n");

    // Lists that are applied as a whole are not what defaults have made of them.
    let mut changed: Vec<Value> = samples.iter().map(|sample| sample.object.clone()).collect();
    changed[0]["spec"]["dnsNames"] = json!(["c.test"]);
    let changed: Vec<String> = changed.iter().map(Value::to_string).collect();
    let applied = kubectl.feed("apply --server-side --force-conflicts -f -", &changed.join("\n")).await;
    let done = applied.lines().filter(|line| line.ends_with("/sample serverside-applied")).count();
    assert_eq!(done, samples.len(), "{applied}");
    assert_eq!(kubectl.json("get cert0 sample").await["spec"]["dnsNames"], json!(["c.test"]));

    assert_eq!(
        kubectl.ok("scale --replicas=3 mon0/sample").await,
        "monitor0.g0.monitors.test/sample scaled\n"
    );
    assert_eq!(kubectl.ok("get mon0 sample -o jsonpath={.spec.replicas}").await, "3");
    let complaint = kubectl.fails("scale --replicas=3 cert0/sample").await;
    assert!(
        complaint.contains("could not find the requested resource") || complaint.contains("not found"),
        "{complaint}"
    );

    let gone = kubectl.ok("delete certificate0s,gateway0s,monitor0s,composite0s,workflow0s sample").await;
    assert_eq!(
        gone.lines().filter(|line| line.contains("\"sample\" deleted")).count(),
        samples.len(),
        "{gone}"
    );
    kubectl.ok(&format!("delete {}", names.join(" "))).await;
    let complaint = kubectl.fails("get certificate0s").await;
    // kubectl may have cached the resource in discovery, and then requests it.
    let known = ["doesn't have a resource type \"certificate0s\"", "could not find the requested resource"];
    assert!(known.iter().any(|known| complaint.contains(known)), "{complaint}");
}
