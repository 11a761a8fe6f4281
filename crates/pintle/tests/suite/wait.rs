//! Starting a server from a script: a free port, and waiting until it is ready.

use std::process::{Command, Output};

use crate::support::Launch;

fn wait(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
    command.arg("wait").args(arguments).output().expect("it runs")
}

#[tokio::test]
async fn a_script_waits_for_a_server_on_a_free_port() {
    let launch = Launch::new();
    let (port_file, data) = (launch.path("port"), launch.path("data").display().to_string());
    let launch = launch.arg("--secure-port=0").arg(format!("--port-file={}", port_file.display()));
    let early = wait(&["--ready", "--timeout=50ms", "--data-dir", &data]);
    assert!(!early.status.success());
    let error = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(error.starts_with("Error: the server is not ready after 50ms: cannot read "), "{error}");

    // A server that was killed left its own.
    std::fs::write(&port_file, "1\n").expect("written");
    let mut server = launch.spawn(None);
    let waiting = tokio::task::spawn_blocking(move || wait(&["--ready", &format!("--data-dir={data}")]));
    let waited = waiting.await.expect("no panic");
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    let port = std::fs::read_to_string(&port_file).expect("the port");
    server.port = port.trim_end().parse().expect("a port");
    server.admin().get("/readyz").await.is(200, "ok");
    server.stop().await;
    assert!(!port_file.exists(), "nothing is served at that port any more");
}

#[test]
fn what_cannot_be_waited_for_is_named() {
    let error = |arguments: &[&str]| {
        let output = wait(arguments);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(error(&["--timeout=1s"]), "Error: say what to wait for: pintle wait --ready\n");
    assert_eq!(
        error(&["--ready", "--timeout=soon"]),
        "Error: --timeout \"soon\" is not a duration such as 30s\n"
    );
    assert_eq!(
        error(&["--ready", "--nope"]),
        "Error: pintle wait does not take \"--nope\"; see pintle wait --help\n"
    );
    assert!(String::from_utf8_lossy(&wait(&["--help"]).stdout).contains("pintle wait --ready"));
}
