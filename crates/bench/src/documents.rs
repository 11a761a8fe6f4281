//! Documents of many custom resources: what a change costs, and what each document does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use http_body_util::{BodyExt, Empty};
use pintle_codec::json;
use pintle_discovery::{Contribution, Custom, CustomVersion, Publisher, Schemas, builtin};
use pintle_meta::Value;
use pintle_schema::{Resources, find};
use pintle_server::filter::Handler;
use pintle_server::{Connection, Documents, DocumentsConfig, Request, RequestInfo};

use crate::figures::{memory, show};
use crate::server::definitions::{definition, group};

const MANY: usize = 1000;
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// As a cache keeps it.
struct Encoded(String);

impl Schemas for Encoded {
    fn schema(&self, _: &str) -> Option<Value> {
        let of = find("apiextensions/v1.CustomResourceDefinition")?;
        let decoded = json::decode(of, self.0.as_bytes()).ok()?;
        decoded.value.items_at(&["spec", "versions"]).first()?.at(&["schema", "openAPIV3Schema"]).cloned()
    }
}

fn custom(number: usize) -> Custom {
    Custom {
        group: group(number).into(),
        plural: format!("things{number}").into(),
        singular: format!("thing{number}").into(),
        kind: format!("Thing{number}").into(),
        list_kind: format!("Thing{number}List").into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        terminating: false,
        preserves_unknown: false,
        versions: vec![CustomVersion {
            name: "v1".into(),
            storage: true,
            status: true,
            ..CustomVersion::default()
        }],
        schemas: Arc::new(Encoded(definition(number))),
    }
}

pub(crate) async fn measure() -> anyhow::Result<()> {
    let served = builtin(&Resources::builtin()?, pintle_schema::GroupVersion::is_served_by_default);
    let documents = Documents::new(DocumentsConfig::default(), served);
    let definitions = Arc::<Publisher>::default();
    documents.add_source(definitions.clone());
    let mut customs: Vec<Custom> = (0..MANY).map(custom).collect();
    let before = memory("self", "RssAnon");
    let set = |custom: Custom| {
        let name = format!("{}.{}", custom.plural, custom.group);
        let start = Instant::now();
        definitions.publish(&name, Some(Contribution::Definition(custom)));
        // Takes the change in.
        documents.paths();
        start.elapsed().as_secs_f64() * 1e6
    };
    let took: Vec<f64> = customs.drain(..).map(set).collect();
    show("documents_set_first_100", took[..100].iter().sum::<f64>() / 100.0, "us");
    show("documents_set_last_100", took[MANY - 100..].iter().sum::<f64>() / 100.0, "us");
    show("documents_of_1000_resident", memory("self", "RssAnon") - before, "MB");

    let v3 = format!("/openapi/v3/apis/{}/v1", group(500));
    let of_one = format!("/apis/{}/v1", group(500));
    let read = [
        ("discovery", "/apis", AGGREGATED),
        ("discovery_groups", "/apis", "application/json"),
        ("discovery_version", &of_one, "application/json"),
        ("openapi_v3", &v3, "application/json"),
        ("openapi_v3_index", "/openapi/v3", "application/json"),
        ("openapi_v2", "/openapi/v2", "application/json"),
        ("openapi_v2_protobuf", "/openapi/v2", PROTOBUF),
    ];
    // As nothing was made before, after a change of another resource, and once more.
    for (round, name) in ["first", "changed", "kept"].into_iter().enumerate() {
        for (document, path, accept) in read {
            if round == 1 {
                set(custom(10));
            }
            let start = Instant::now();
            let size = get(&documents, path, accept).await?;
            let took = start.elapsed().as_secs_f64() * 1e3;
            show(&format!("documents_{document}_{name}"), took, "ms");
            if round == 0 {
                show(&format!("documents_{document}_size"), size as f64 / 1e6, "MB");
            }
        }
    }
    show("documents_of_1000_read_resident", memory("self", "RssAnon") - before, "MB");
    get(&documents, "/openapi/v3/apis/apps/v1", "application/json").await?;
    show("documents_of_1000_kept_resident", memory("self", "RssAnon") - before, "MB");
    Ok(())
}

async fn get(documents: &Documents, path: &str, accept: &str) -> anyhow::Result<usize> {
    let (parts, ()) = http::Request::builder()
        .uri(path)
        .header("accept", accept)
        .body(())
        .map(http::Request::into_parts)?;
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    let body = Empty::new().map_err(|never| match never {}).boxed();
    let mut request = Request::new(parts, body, Arc::new(Connection::new(nowhere, nowhere, Vec::new())));
    request.info =
        RequestInfo::parse(&request.parts.method, &request.parts.uri).ok().context("not a path")?;
    let response = documents.handle(request).await;
    ensure!(response.status().is_success(), "{path}: {}", response.status());
    let body = response.into_body().collect().await.ok().context("no body")?;
    Ok(body.to_bytes().len())
}
