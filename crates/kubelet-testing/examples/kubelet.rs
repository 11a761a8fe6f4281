//! Runs the kubelet of the tests: `cargo run -p pintle-kubelet-testing --example kubelet -- ADDRESS:PORT CA-FILE [KUBECONFIG [NODE]]`.
//! Writes its authority to the file, and joins the API server of a kubeconfig.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use pintle_kubelet_testing::{Kubelet, Options};
use pintle_outbound::Kubeconfig;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |place: usize| args.get(place).map(String::as_str);
    let address = arg(0).map(|address| address.parse().expect("ADDRESS:PORT"));
    let mut kubelet = Kubelet::start(Options { address, ..Options::default() }).await;
    if let Some(path) = arg(1) {
        std::fs::write(path, &kubelet.authority.pem).expect("a file");
    }
    if let Some(path) = arg(2) {
        // The server may be about to start, and write it.
        while !Path::new(path).exists() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        kubelet.join(&Kubeconfig::load(Path::new(path)).expect("a kubeconfig"), arg(3).unwrap_or("local"));
    }
    writeln!(std::io::stdout(), "{}", kubelet.address).expect("standard output");
    for line in 1.. {
        kubelet.log(&format!("line {line}"));
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
