//! Runs the kubelet of the tests: `cargo run -p pintle-kubelet-testing --example kubelet -- 127.0.0.1:10250 kubelets.crt`. Writes its
//! authority to the file.

use std::io::Write;

use pintle_kubelet_testing::{Kubelet, Options};

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let address = args.next().and_then(|address| address.parse().ok());
    let kubelet = Kubelet::start(Options { address, ..Options::default() }).await;
    if let Some(path) = args.next() {
        std::fs::write(path, &kubelet.authority.pem).expect("a file");
    }
    writeln!(std::io::stdout(), "{}", kubelet.address).expect("standard output");
    for line in 1.. {
        kubelet.log(&format!("line {line}"));
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    }
}
