//! Tokens by which nodes join.

use serde_json::{Value, json};

use super::{delete, is_gone, merge, post, with_controllers};
use crate::support::eventually;
use crate::support::shared::ready;

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const MAPS: &str = "/api/v1/namespaces/kube-public/configmaps";

fn token(id: &str, seconds: Option<i64>) -> Value {
    let mut data =
        json!({"token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true"});
    if let Some(seconds) = seconds {
        let end = time::OffsetDateTime::now_utc() + time::Duration::seconds(seconds);
        let (date, time) = (end.date(), end.time());
        let end = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        );
        data["expiration"] = end.into();
    }
    let name = format!("bootstrap-token-{id}");
    json!({"metadata": {"name": name}, "type": "bootstrap.kubernetes.io/token", "stringData": data})
}

#[tokio::test]
async fn the_cluster_info_is_signed_by_every_token() {
    let server = with_controllers("bootstrapsigner,tokencleaner").start().await;
    ready(&server).await;
    post(&server, SECRETS, &token("abcdef", None)).await;
    let mut unfit = token("unfit0", None);
    unfit["stringData"]["usage-bootstrap-signing"] = json!("false");
    post(&server, SECRETS, &unfit).await;
    let map = json!({"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": "apiVersion: v1\nkind: Config\n"}});
    post(&server, MAPS, &map).await;
    let info = format!("{MAPS}/cluster-info");
    let data = async || server.admin().get(&info).await.gives(200)["data"].clone();
    let keys = async || {
        let data = data().await;
        let keys = data.as_object().expect("data").keys();
        keys.filter_map(|key| key.strip_prefix("jws-kubeconfig-")).map(str::to_owned).collect::<Vec<_>>()
    };
    eventually("the signature", async || keys().await == ["abcdef"]).await;
    let signature = data().await["jws-kubeconfig-abcdef"].as_str().expect("a signature").to_owned();
    // Made with another implementation.
    assert_eq!(
        signature,
        "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..vH_kT4yiol-nrAWgjfCYqvum5wsKETXe0S7OOp1VgnE"
    );

    merge(&server, &info, &json!({"data": {"kubeconfig": "other"}})).await;
    eventually("another signature", async || data().await["jws-kubeconfig-abcdef"] != signature.as_str())
        .await;
    // One that expires in a moment signs until then.
    post(&server, SECRETS, &token("brief0", Some(2))).await;
    eventually("two signatures", async || keys().await == ["abcdef", "brief0"]).await;
    let path = format!("{SECRETS}/bootstrap-token-brief0");
    eventually("the token is gone", async || is_gone(&server, &path).await).await;
    eventually("one signature", async || keys().await == ["abcdef"]).await;
    delete(&server, &format!("{SECRETS}/bootstrap-token-abcdef")).await;
    eventually("no signature", async || keys().await.is_empty()).await;
    server.admin().get(&format!("{SECRETS}/bootstrap-token-unfit0")).await.code_is(200);
}

#[tokio::test]
async fn tokens_stay_where_their_cleaner_does_not_run() {
    let server = with_controllers("*").start().await;
    ready(&server).await;
    post(&server, SECRETS, &token("abcdef", Some(-5))).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    server.admin().get(&format!("{SECRETS}/bootstrap-token-abcdef")).await.code_is(200);
}
