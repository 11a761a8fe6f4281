//! The API server that a kubelet belongs to, as its client.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use pintle_outbound::{Client, Kubeconfig, Url};
use serde_json::Value;

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";

pub(crate) struct Host {
    client: Client,
    server: Url,
}

impl Host {
    pub(crate) fn new(kubeconfig: &Kubeconfig) -> Host {
        let client = Client::new(&kubeconfig.server, kubeconfig.client_options()).expect("a client");
        Host { client, server: kubeconfig.server.clone() }
    }

    /// Sends an object; returns the code of the answer and its object.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &'static str,
        object: &Value,
    ) -> Result<(StatusCode, Value), String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let url = self.server.with_path(path).with_query(query);
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        let body = if object.is_null() { String::new() } else { object.to_string() };
        let answer = self.client.send(method, &url, headers, body.into()).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let object = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
        Ok((answer.status, object))
    }
}
