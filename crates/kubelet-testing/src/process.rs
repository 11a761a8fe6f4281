//! `exec` and `attach` over SPDY: a process, its streams, and the status that it ends with.

use std::process::{ExitStatus, Stdio};

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::spdy::{Sender, Stream, accept};
use crate::{Query, Upgraded};

/// The main process of every container: answers each line.
const MAIN: [&str; 3] = ["sh", "-c", "while read line; do echo \"got $line\"; done"];

/// Starts the process that a request is for.
pub(crate) fn start(what: &str, query: &Query) -> std::io::Result<Child> {
    let asked: Vec<&str> = query.all("command").collect();
    let words = if what == "attach" { MAIN.to_vec() } else { asked };
    let Some((program, args)) = words.split_first() else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let (mut command, is_terminal) = (Command::new(program), query.is_on("tty"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.env("TERMINAL", if is_terminal { "yes" } else { "no" });
    command.spawn()
}

/// Returns the status of a process that has ended, as the error stream has it.
pub(crate) fn status(ended: std::io::Result<ExitStatus>) -> String {
    match ended {
        Ok(status) if status.success() => json!({"metadata": {}, "status": "Success"}),
        Ok(status) => {
            let code = status.code().unwrap_or(137).to_string();
            json!({
                "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
                "message": format!("command terminated with non-zero exit code: {code}"),
                "details": {"causes": [{"reason": "ExitCode", "message": code}]},
            })
        }
        Err(error) => json!({
            "metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
            "message": format!("error executing command in container: {error}"),
        }),
    }
    .to_string()
}

pub(crate) async fn serve(stream: Upgraded, what: &str, query: &Query) {
    let (sender, mut opened) = accept(stream);
    let tty = query.is_on("tty");
    let wanted = 1 + [query.is_on("input"), query.is_on("output"), query.is_on("error") && !tty, tty]
        .into_iter()
        .filter(|on| *on)
        .count();
    let mut streams = Vec::new();
    while streams.len() < wanted {
        let Some(stream) = opened.recv().await else { return };
        streams.push(stream);
    }
    let id = |kind: &str| {
        streams.iter().find(|stream| stream.header("streamtype") == kind).map(|stream| stream.id)
    };
    let (error, stdout, stderr) = (id("error").unwrap_or_default(), id("stdout"), id("stderr"));
    let mut child = match start(what, query) {
        Ok(child) => child,
        Err(why) => {
            let _ = sender.data(error, true, status(Err(why)).as_bytes()).await;
            return sender.close().await;
        }
    };
    let (mut stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut input = take(&mut streams, "stdin");
    let mut resizes = take(&mut streams, "resize");
    let feeding = async {
        while let Some(data) = receive(&mut input).await {
            let Some(to) = &mut stdin else { break };
            if to.write_all(&data).await.is_err() || to.flush().await.is_err() {
                break;
            }
        }
        stdin = None;
        std::future::pending::<()>().await;
    };
    let running = async {
        let resized = async {
            if let Some(size) = receive(&mut resizes).await
                && let Some(stdout) = stdout
            {
                let _ = sender.data(stdout, false, &[b"size ", &*size].concat()).await;
            }
            std::future::pending::<()>().await;
        };
        let copies = async {
            let to = if tty { stdout } else { stderr };
            tokio::join!(copy(out, stdout, &sender), copy(err, to, &sender));
            child.wait().await
        };
        tokio::select! {
            ended = copies => ended,
            () = resized => unreachable!(),
        }
    };
    let gone = async {
        // Nothing is opened any more: only the end of the connection ends this.
        while opened.recv().await.is_some() {}
    };
    let ended = tokio::select! {
        ended = running => ended,
        () = feeding => return,
        () = gone => return,
    };
    for stream in [stdout, stderr].into_iter().flatten() {
        let _ = sender.data(stream, true, b"").await;
    }
    let _ = sender.data(error, true, status(ended).as_bytes()).await;
    sender.close().await;
}

fn take(streams: &mut Vec<Stream>, kind: &str) -> Option<mpsc::Receiver<bytes::Bytes>> {
    let at = streams.iter().position(|stream| stream.header("streamtype") == kind)?;
    Some(streams.remove(at).data)
}

async fn receive(stream: &mut Option<mpsc::Receiver<bytes::Bytes>>) -> Option<bytes::Bytes> {
    stream.as_mut()?.recv().await
}

async fn copy(from: Option<impl AsyncRead + Unpin>, to: Option<u32>, sender: &Sender) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 32 << 10];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        if let Some(stream) = to
            && sender.data(stream, false, &buffer[..size]).await.is_err()
        {
            return;
        }
    }
}
