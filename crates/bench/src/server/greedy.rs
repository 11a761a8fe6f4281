//! Hundreds of clients of one user that ask as often as they can.
//!
//! They are in a process of their own: in this one, the clients that are measured would wait behind them for this program's threads.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;

use super::client::{Client, Request};
use super::kubeconfig::Access;
use crate::arguments::Running;

pub(crate) const USER: &str = "pintle-bench-greedy";
/// Requests at a time, and the connections that they share.
pub(crate) const CLIENTS: usize = 400;
const CONNECTIONS: usize = 40;

/// The process of the greedy clients, until it is dropped.
pub(crate) struct Greedy {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Greedy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Greedy {
    /// Starts clients of the server of a kubeconfig that ask for a path. `program` is this one.
    pub(crate) fn start(program: &Path, kubeconfig: &Path, path: &str) -> anyhow::Result<Greedy> {
        let mut command = Command::new(program);
        command.arg("--kubeconfig").arg(kubeconfig).arg("--greedy").arg(path);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("the greedy clients cannot be started")?;
        let input = child.stdin.take().context("the greedy clients cannot be asked")?;
        let output = BufReader::new(child.stdout.take().context("the greedy clients say nothing")?);
        Ok(Greedy { child, input, output })
    }

    /// Returns how many requests were answered with success so far.
    pub(crate) fn answered(&mut self) -> anyhow::Result<usize> {
        self.input.write_all(b"\n").context("the greedy clients have ended")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim().parse().context("the greedy clients have ended")
    }
}

/// The other process: says how many requests were answered for each line that it is sent.
pub(crate) async fn serve(servers: &[Running], path: &str) -> anyhow::Result<()> {
    let server = servers.first().context("--greedy belongs after a --kubeconfig")?;
    let client = Arc::new(Client::new(Access::read(&server.kubeconfig)?)?);
    let answered = Arc::new(AtomicUsize::new(0));
    for _ in 0..CONNECTIONS {
        let connection = client.connect().await?;
        for _ in 0..CLIENTS / CONNECTIONS {
            let (connection, path, answered) = (connection.clone(), path.to_owned(), answered.clone());
            tokio::spawn(async move {
                loop {
                    let answer = connection.ask(Request::get(path.clone()).acting_as(USER)).await;
                    match answer {
                        Ok(answer) => {
                            answered.fetch_add(usize::from(answer.status.is_success()), Ordering::Relaxed);
                        }
                        Err(_) => return,
                    }
                }
            });
        }
    }
    let counting = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lines() {
            line?;
            println!("{}", answered.load(Ordering::Relaxed));
        }
        anyhow::Ok(())
    });
    counting.await?
}
