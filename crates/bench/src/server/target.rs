//! One server under measurement, and how its work is counted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use http::StatusCode;
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::{Client, Connection, Request};
use super::kubeconfig::Access;
use super::objects::{self, Objects};
use super::own::Own;
use super::process::Processes;
use super::table::Cell;
use crate::arguments::Running;

/// How long a server may rest before its memory counts.
pub(crate) const REST: Duration = Duration::from_secs(2);

/// The ConfigMap that owns the pods.
const OWNER: &str = "checkout-7d9c6b5f44";

pub(crate) struct Target {
    pub(crate) name: String,
    /// Empty for a server that is known without one.
    pub(crate) kubeconfig: PathBuf,
    pub(crate) client: Arc<Client>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) processes: Processes,
    pub(crate) own: Option<(Own, PathBuf)>,
    /// None: the server has no resources.
    pub(crate) objects: Option<Objects>,
}

/// CPU and time of several requests together.
pub(crate) struct Took {
    /// Seconds of the server's CPU, where it can be seen.
    pub(crate) cpu: Option<f64>,
    pub(crate) elapsed: f64,
}

impl Took {
    /// Subtracts the cost of a part.
    pub(crate) fn without(&self, part: &Took) -> Took {
        let cpu = self.cpu.zip(part.cpu).map(|(all, part)| (all - part).max(0.0));
        Took { cpu, elapsed: (self.elapsed - part.elapsed).max(0.0) }
    }
}

impl Target {
    pub(crate) async fn running(running: &Running, connections: usize) -> anyhow::Result<Target> {
        let client = Arc::new(Client::new(Access::read(&running.kubeconfig)?)?);
        let name = running.name.clone().unwrap_or_else(|| client.address().to_owned());
        let processes = Processes::new(running.pids.clone())?;
        let kubeconfig = running.kubeconfig.clone();
        let mut target =
            Target { name, kubeconfig, client, connections: Vec::new(), processes, own: None, objects: None };
        target.connect(connections).await?;
        Ok(target)
    }

    pub(crate) async fn own(own: Own, program: PathBuf, connections: usize) -> anyhow::Result<Target> {
        let client = Arc::new(Client::new(Access::read(&own.kubeconfig())?)?);
        let processes = Processes::new(vec![own.pid()])?;
        let (name, kubeconfig) = ("pintle".to_owned(), own.kubeconfig());
        let own = Some((own, program));
        let mut target =
            Target { name, kubeconfig, client, connections: Vec::new(), processes, own, objects: None };
        target.connect(connections).await?;
        Ok(target)
    }

    /// A server that has no resources, and is known without a kubeconfig.
    pub(crate) async fn bare(
        client: Client,
        processes: Processes,
        connections: usize,
    ) -> anyhow::Result<Target> {
        let (name, kubeconfig, client) = ("floor".to_owned(), PathBuf::new(), Arc::new(client));
        let mut target =
            Target { name, kubeconfig, client, connections: Vec::new(), processes, own: None, objects: None };
        target.connect(connections).await?;
        Ok(target)
    }

    async fn connect(&mut self, connections: usize) -> anyhow::Result<()> {
        for _ in 0..connections {
            self.connections.push(self.client.connect().await?);
        }
        Ok(())
    }

    /// The same server on the same data, begun anew, where it is ours.
    pub(crate) async fn restart(&mut self) -> anyhow::Result<bool> {
        self.restart_with(&[]).await
    }

    /// The same, with further flags.
    pub(crate) async fn restart_with(&mut self, flags: &[&str]) -> anyhow::Result<bool> {
        let Some((own, program)) = self.own.take() else { return Ok(false) };
        let connections = self.connections.len();
        self.connections.clear();
        let data = own.data().to_owned();
        own.stop()?;
        let objects = self.objects.take();
        let name = std::mem::take(&mut self.name);
        *self = Target::own(Own::start_with(&program, &data, flags)?, program, connections).await?;
        self.name = name;
        self.objects = objects;
        Ok(true)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connections[0]
    }

    /// Makes a namespace and what pods need in it. A server that has no namespaces has no resources.
    pub(crate) async fn prepare(&mut self) -> anyhow::Result<()> {
        let namespace = format!("pintle-bench-{:04x}", rand::random::<u16>());
        let body = format!(
            "{{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{namespace}\"}}}}"
        );
        let connection = self.connection().clone();
        let answer = connection.ask(Request::post("/api/v1/namespaces", body.clone())).await?;
        if is_missing(answer.status) {
            return Ok(());
        }
        if !answer.status.is_success() {
            connection.expect(Request::post("/api/v1/namespaces", body)).await?;
        }
        let folder = format!("/api/v1/namespaces/{namespace}");
        let account =
            "{\"kind\":\"ServiceAccount\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"default\"}}";
        // A controller may have made it before us.
        connection.ask(Request::post(format!("{folder}/serviceaccounts"), account)).await?;
        let owner = objects::config_map(&namespace, OWNER, 0, "");
        let owner = connection.expect(Request::post(format!("{folder}/configmaps"), owner)).await?;
        let owner: Value = serde_json::from_slice(&owner).context("a ConfigMap's answer is not JSON")?;
        let uid = owner["metadata"]["uid"].as_str().context("a ConfigMap was created without a uid")?;
        self.objects = Some(Objects::new(&namespace, OWNER, uid));
        Ok(())
    }

    /// Changes the ConfigMap that owns the pods; the resource version of now.
    pub(crate) async fn touch(&self, objects: &Objects) -> anyhow::Result<String> {
        let path = format!("{}/{OWNER}", objects.path("configmaps"));
        let revision = rand::random::<u32>() as usize;
        let body = objects::config_map(&objects.namespace, OWNER, revision, "");
        let answer = self.connection().expect(Request::put(path, body)).await?;
        let answer: Value = serde_json::from_slice(&answer).context("a ConfigMap's answer is not JSON")?;
        let version = answer["metadata"]["resourceVersion"].as_str();
        Ok(version.context("a ConfigMap was changed without a resourceVersion")?.to_owned())
    }

    /// Takes back what was made, where the server goes on without us.
    pub(crate) async fn tidy(&self) -> anyhow::Result<()> {
        let (Some(objects), None) = (&self.objects, &self.own) else { return Ok(()) };
        for resource in ["pods", "configmaps"] {
            let path = format!("{}?gracePeriodSeconds=0", objects.path(resource));
            self.connection().drain(Request::delete(path)).await?;
        }
        let path = format!("/api/v1/namespaces/{}", objects.namespace);
        self.connection().drain(Request::delete(path)).await?;
        Ok(())
    }

    /// Runs some work and looks at what the server's processes used meanwhile.
    pub(crate) async fn measure(
        &self,
        work: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<Took> {
        let (before, start) = (self.processes.used()?, Instant::now());
        work.await?;
        let (elapsed, used) = (start.elapsed().as_secs_f64(), self.processes.used()?);
        Ok(Took { cpu: self.processes.are_known().then(|| before.until(&used)), elapsed })
    }

    /// Sends requests with these numbers, as many at once as there are streams, over all connections.
    pub(crate) async fn many(
        &self,
        numbers: std::ops::Range<usize>,
        streams: usize,
        request: impl Fn(usize) -> Request + Send + Sync + 'static,
    ) -> anyhow::Result<()> {
        let (next, request) = (Arc::new(AtomicUsize::new(numbers.start)), Arc::new(request));
        let mut senders = JoinSet::new();
        for stream in 0..streams {
            let connection = self.connections[stream % self.connections.len()].clone();
            let (next, request) = (next.clone(), request.clone());
            senders.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return Ok::<_, anyhow::Error>(());
                    }
                    connection.drain(request(number)).await?;
                }
            });
        }
        while let Some(sender) = senders.join_next().await {
            sender??;
        }
        Ok(())
    }

    pub(crate) async fn resident_after_rest(&self) -> Cell {
        tokio::time::sleep(REST).await;
        if self.processes.are_known() { Cell::one(self.processes.resident()) } else { Cell::Unknown }
    }
}

/// Whether an answer says that the server does not have what was asked for.
pub(crate) fn is_missing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
            | StatusCode::NOT_IMPLEMENTED
    )
}
