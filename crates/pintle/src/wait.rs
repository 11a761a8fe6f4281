//! `pintle wait --ready`: for scripts that start a server and then use it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use http::header::HeaderName;
use pintle_flags::{CommandLine, DataDir};
use pintle_runtime::{Clock, Stopwatch};

use crate::{admin, client, print, sentence};

const USAGE: &str = "Wait until the server on a data directory is ready.

Usage:
  pintle wait --ready [--timeout 30s] [--data-dir DIR] [--cert-dir DIR]

It asks /readyz with the administrator's credentials from the certificate
directory, which a server on the embedded store makes at its start, and ends
with status 0 once the answer is ok, or with status 1 after the timeout.

Flags:
      --ready             wait for readiness; there is nothing else to wait for
      --timeout duration  how long to wait (default 30s)
      --data-dir string   as given to the server (default ~/.local/share/pintle)
      --cert-dir string   as given to the server (default DATA-DIR/pki)

Example:
  pintle --data-dir /tmp/p --secure-port 0 --port-file /tmp/p/port &
  pintle wait --ready --data-dir /tmp/p
  export KUBECONFIG=/tmp/p/pki/admin.kubeconfig
";

/// Time between two attempts.
const INTERVAL: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn command(args: &[OsString]) -> anyhow::Result<()> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if words.is_empty() || words.iter().any(|word| ["-h", "--help"].contains(word)) {
        print(USAGE);
        return Ok(());
    }
    let (mut ready, mut timeout, mut flags) = (false, TIMEOUT, Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        match name {
            "--ready" if value.is_none() => ready = true,
            "--timeout" | "--data-dir" | "--cert-dir" => {
                let value = value.or_else(|| words.next());
                let value = value.with_context(|| format!("{name} needs a value; see pintle wait --help"))?;
                if name == "--timeout" {
                    timeout = duration(value)?;
                } else {
                    flags.push(OsString::from(format!("{name}={value}")));
                }
            }
            _ => bail!("pintle wait does not take {word:?}; see pintle wait --help"),
        }
    }
    if !ready {
        bail!("say what to wait for: pintle wait --ready");
    }
    wait(&kubeconfig(flags)?, timeout)
}

fn duration(text: &str) -> anyhow::Result<Duration> {
    let nanos = pintle_meta::parse_duration(text)
        .ok()
        .and_then(|nanos| u64::try_from(nanos).ok())
        .with_context(|| format!("--timeout {text:?} is not a duration such as 30s"))?;
    Ok(Duration::from_nanos(nanos))
}

/// Returns where the server of these flags writes the administrator's kubeconfig.
fn kubeconfig(flags: Vec<OsString>) -> anyhow::Result<PathBuf> {
    let CommandLine::Run(flags) = pintle_flags::command_line("pintle", flags, 0)? else {
        bail!("unknown flags; see pintle wait --help");
    };
    if flags.changed("cert-dir") {
        return Ok(Path::new(flags.string("cert-dir")).join(admin::FILE_NAME));
    }
    match flags.data_dir(|name| std::env::var_os(name))? {
        DataDir::Path(path) => Ok(path.join("pki").join(admin::FILE_NAME)),
        DataDir::Memory => {
            bail!("--data-dir=:memory: has no folder; give its server a --cert-dir, and name that")
        }
    }
}

fn wait(kubeconfig: &Path, timeout: Duration) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (clock, watch) = (Clock::system(), Stopwatch::start());
        loop {
            let attempt =
                clock.timeout(timeout.saturating_sub(watch.elapsed()), Box::pin(ask(kubeconfig))).await;
            let why = match attempt {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => sentence(&error),
                None => "it does not answer".to_owned(),
            };
            if watch.elapsed() >= timeout {
                bail!("the server is not ready after {timeout:?}: {why}");
            }
            clock.sleep(INTERVAL).await;
        }
    })
}

async fn ask(kubeconfig: &Path) -> anyhow::Result<()> {
    let access = admin::read(kubeconfig)?;
    let length = HeaderName::from_static("content-length");
    client::download(&access, "/readyz", &length, &mut std::io::sink(), |_, _| {}).await
}
