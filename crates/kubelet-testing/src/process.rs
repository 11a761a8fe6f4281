//! Processes of containers, and `exec` and `attach` over SPDY: a process, its streams, and the status that it ends with.

use std::io;
use std::process::{ExitStatus, Stdio};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::spdy::{Sender, Stream, accept};
use crate::{Query, Terminal, Upgraded};

/// The main process of every container: answers each line.
const MAIN: [&str; 3] = ["sh", "-c", "while read line; do echo \"got $line\"; done"];

/// A process, and its terminal if it has one; else its streams are pipes.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) terminal: Option<Terminal>,
}

/// Starts the process that a request is for.
pub(crate) fn start(what: &str, query: &Query) -> io::Result<Process> {
    let asked: Vec<&str> = query.all("command").collect();
    let words = if what == "attach" { MAIN.to_vec() } else { asked };
    let Some((program, args)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if !query.is_on("tty") {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        return Ok(Process { child: command.kill_on_drop(true).spawn()?, terminal: None });
    }
    let (terminal, far) = Terminal::open()?;
    // In a session of its own, whose terminal it is: Control-C and changes of the size are signals then.
    let mut command = Command::new("setsid");
    // A kubelet that was started in the background ignores Control-C; its containers do not.
    command.args(["--ctty", "env", "--default-signal"]).arg(program).args(args);
    command.stdin(far.try_clone()?).stdout(far.try_clone()?).stderr(far);
    Ok(Process { child: command.kill_on_drop(true).spawn()?, terminal: Some(terminal) })
}

/// Returns the status of a process that has ended, as the error stream has it.
pub(crate) fn status(ended: io::Result<ExitStatus>) -> String {
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

/// Changes the size of a terminal as messages say.
pub(crate) fn resize(terminal: &Terminal, messages: &[u8]) {
    for size in serde_json::Deserializer::from_slice(messages).into_iter::<Value>().flatten() {
        let number = |name: &str| size[name].as_u64().and_then(|number| u16::try_from(number).ok());
        if let (Some(columns), Some(rows)) = (number("Width"), number("Height")) {
            let _ = terminal.resize(columns, rows);
        }
    }
}

/// The streams of a request.
struct Streams {
    error: u32,
    stdin: Option<mpsc::Receiver<Bytes>>,
    stdout: Option<u32>,
    stderr: Option<u32>,
    resize: Option<mpsc::Receiver<Bytes>>,
}

impl Streams {
    /// Waits for the streams that a request announces. `None`: the client is gone.
    async fn opened(query: &Query, opened: &mut mpsc::Receiver<Stream>) -> Option<Streams> {
        let tty = query.is_on("tty");
        let wanted = 1 + [query.is_on("input"), query.is_on("output"), query.is_on("error") && !tty, tty]
            .into_iter()
            .filter(|on| *on)
            .count();
        let mut streams = Vec::new();
        while streams.len() < wanted {
            streams.push(opened.recv().await?);
        }
        let mut take = |kind: &str| {
            let at = streams.iter().position(|stream| stream.header("streamtype") == kind)?;
            Some(streams.remove(at))
        };
        Some(Streams {
            error: take("error").map_or(0, |stream| stream.id),
            stdin: take("stdin").map(|stream| stream.data),
            stdout: take("stdout").map(|stream| stream.id),
            stderr: take("stderr").map(|stream| stream.id),
            resize: take("resize").map(|stream| stream.data),
        })
    }
}

/// Serves a request to the end of its process. Returns how that ended; `None`: the client went away before.
pub(crate) async fn serve(stream: Upgraded, what: &str, query: &Query) -> Option<io::Result<ExitStatus>> {
    let (sender, mut opened) = accept(stream);
    let streams = Streams::opened(query, &mut opened).await?;
    let Streams { error, stdout, stderr, .. } = streams;
    let process = match start(what, query) {
        Ok(process) => process,
        Err(why) => {
            let _ = sender.data(error, true, status(Err(why)).as_bytes()).await;
            sender.close().await;
            return None;
        }
    };
    let running = async {
        match process.terminal {
            Some(terminal) => in_terminal(process.child, &terminal, streams, &sender).await,
            None => with_pipes(process.child, streams, &sender).await,
        }
    };
    let gone = async {
        // Nothing is opened any more: only the end of the connection ends this.
        while opened.recv().await.is_some() {}
    };
    let ended = tokio::select! {
        ended = running => ended,
        () = gone => return None,
    };
    for stream in [stdout, stderr].into_iter().flatten() {
        let _ = sender.data(stream, true, b"").await;
    }
    let code = ended.as_ref().map(|code| *code).map_err(|error| io::Error::from(error.kind()));
    let _ = sender.data(error, true, status(ended).as_bytes()).await;
    sender.close().await;
    Some(code)
}

async fn with_pipes(mut child: Child, mut streams: Streams, sender: &Sender) -> io::Result<ExitStatus> {
    let (mut stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feeding = async {
        while let Some(data) = receive(&mut streams.stdin).await {
            let Some(to) = &mut stdin else { break };
            if to.write_all(&data).await.is_err() || to.flush().await.is_err() {
                break;
            }
        }
        stdin = None;
        std::future::pending::<()>().await;
    };
    let copies = async {
        tokio::join!(copy(out, streams.stdout, sender), copy(err, streams.stderr, sender));
        child.wait().await
    };
    tokio::select! {
        ended = copies => ended,
        () = feeding => unreachable!(),
    }
}

async fn in_terminal(
    mut child: Child,
    terminal: &Terminal,
    mut streams: Streams,
    sender: &Sender,
) -> io::Result<ExitStatus> {
    let typing = async {
        while let Some(data) = receive(&mut streams.stdin).await {
            if terminal.write_all(&data).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let resizing = async {
        while let Some(data) = receive(&mut streams.resize).await {
            resize(terminal, &data);
        }
        std::future::pending::<()>().await;
    };
    let printing = async {
        let mut buffer = vec![0; 32 << 10];
        while let Ok(size @ 1..) = terminal.read(&mut buffer).await {
            if let Some(stream) = streams.stdout
                && sender.data(stream, false, &buffer[..size]).await.is_err()
            {
                break;
            }
        }
        child.wait().await
    };
    tokio::select! {
        ended = printing => ended,
        () = typing => unreachable!(),
        () = resizing => unreachable!(),
    }
}

async fn receive(stream: &mut Option<mpsc::Receiver<Bytes>>) -> Option<Bytes> {
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
