//! Fairness between users: the delays of polite clients of one user beside hundreds of greedy ones of another.
//!
//! Both users are impersonated, since administrators are exempt from every limit. A server of our own is measured again without
//! priority and fairness.

use std::time::{Duration, Instant};

use anyhow::ensure;
use http::StatusCode;
use tokio::task::JoinSet;

use super::client::{Connection, Request};
use super::greedy::{self, Greedy};
use super::operations::push;
use super::table::{Cell, Row};
use super::target::Target;
use crate::arguments::Arguments;

const POLITE: &str = "pintle-bench-polite";
/// Objects of each of its LISTs.
const PAGE: usize = 100;
const POLITE_CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);
/// How long each state is measured, after a time for it to settle.
const PERIOD: Duration = Duration::from_secs(5);
const SETTLE: Duration = Duration::from_secs(1);

const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const BINDING: &str = "pintle-bench-viewers";
/// The flags of a server without priority and fairness, and of one whose seats are for a machine of two cores.
const OFF: &[&str] = &["--enable-priority-and-fairness=false"];
const FEW_SEATS: &[&str] = &["--max-requests-inflight=20", "--max-mutating-requests-inflight=10"];

/// The delays of a round.
struct Delays {
    unloaded: f64,
    loaded: f64,
    /// Polite requests that were refused, in percent.
    refused: f64,
    /// Requests of the greedy user that were answered, per second.
    greedy: f64,
}

pub(crate) async fn measure(targets: &mut [Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let states = [("", &[][..]), (", 30 seats", FEW_SEATS), (", without flow control", OFF)];
    let none = || vec![Cell::NotThere; targets.len()];
    let mut cells = states.map(|_| [none(), none(), none(), none()]);
    for (number, target) in targets.iter_mut().enumerate() {
        if target.objects.is_none() || !permit(target).await? {
            continue;
        }
        for ((_, flags), cells) in states.iter().zip(&mut cells) {
            // Another's server is measured as it is.
            if !flags.is_empty() && !target.restart_with(flags).await? {
                continue;
            }
            for _ in 0..arguments.rounds {
                note(cells, number, &round(target, arguments).await?);
            }
        }
        target.restart().await?;
        target.connection().clone().ask(Request::delete(format!("{BINDINGS}/{BINDING}"))).await?;
    }
    let what =
        format!("{} greedy clients of a user, {POLITE_CLIENTS} polite ones of another", greedy::CLIENTS);
    let mut rows = Vec::new();
    for ((state, _), [unloaded, loaded, refused, greedy]) in states.into_iter().zip(cells) {
        rows.push(Row::new(format!("{what}{state}: GET before the greedy come, p99"), "ms").of(unloaded));
        rows.push(Row::new(format!("{what}{state}: GET beside them, p99"), "ms").of(loaded));
        rows.push(Row::new(format!("{what}{state}: GET refused"), "%").of(refused));
        rows.push(Row::new(format!("{what}{state}: LISTs of the greedy"), "/s").more_is_better().of(greedy));
    }
    Ok(rows)
}

fn note(cells: &mut [Vec<Cell>; 4], number: usize, delays: &Delays) {
    let figures = [delays.unloaded, delays.loaded, delays.refused, delays.greedy];
    for (cells, figure) in cells.iter_mut().zip(figures) {
        push(&mut cells[number], Some(figure));
    }
}

/// Lets both users read. Returns whether the server has permissions at all.
async fn permit(target: &Target) -> anyhow::Result<bool> {
    let subject =
        |name: &str| format!(r#"{{"kind":"User","name":"{name}","apiGroup":"rbac.authorization.k8s.io"}}"#);
    let body = format!(
        r#"{{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{{"name":"{BINDING}"}},"roleRef":{{"kind":"ClusterRole","name":"view","apiGroup":"rbac.authorization.k8s.io"}},"subjects":[{},{}]}}"#,
        subject(greedy::USER),
        subject(POLITE)
    );
    let answer = target.connection().clone().ask(Request::post(BINDINGS, body)).await?;
    Ok(answer.status.is_success() || answer.status == StatusCode::CONFLICT)
}

async fn round(target: &Target, arguments: &Arguments) -> anyhow::Result<Delays> {
    let Some(objects) = &target.objects else { anyhow::bail!("the server has no resources") };
    let pods = objects.path("pods");
    let page = format!("{pods}?limit={PAGE}");
    let mut polite = Vec::new();
    for _ in 0..POLITE_CLIENTS {
        polite.push(target.client.connect().await?);
    }
    let (mut unloaded, _) = ask_politely(&polite, &page).await?;
    let mut greedy = Greedy::start(&arguments.itself, &target.kubeconfig, &page)?;
    tokio::time::sleep(SETTLE).await;
    let (before, start) = (greedy.answered()?, Instant::now());
    let (mut loaded, refused) = ask_politely(&polite, &page).await?;
    let rate = (greedy.answered()? - before) as f64 / start.elapsed().as_secs_f64();
    drop(greedy);
    let asked = (loaded.len() + refused).max(1);
    Ok(Delays {
        unloaded: p99(&mut unloaded),
        loaded: p99(&mut loaded),
        refused: refused as f64 * 100.0 / asked as f64,
        greedy: rate,
    })
}

/// Returns the delays in milliseconds of what was answered, and how many were refused.
async fn ask_politely(clients: &[Connection], path: &str) -> anyhow::Result<(Vec<f64>, usize)> {
    let mut asking = JoinSet::new();
    for connection in clients {
        // One object, whose answer costs next to nothing by itself.
        let (connection, path) = (connection.clone(), path.replace(&format!("limit={PAGE}"), "limit=1"));
        asking.spawn(async move {
            let (mut delays, mut refused, start) = (Vec::new(), 0, Instant::now());
            while start.elapsed() < PERIOD {
                let asked = Instant::now();
                let answer = connection.ask(Request::get(path.clone()).acting_as(POLITE)).await?;
                match answer.status {
                    status if status.is_success() => delays.push(asked.elapsed().as_secs_f64() * 1e3),
                    StatusCode::TOO_MANY_REQUESTS => refused += 1,
                    status => anyhow::bail!("a polite request was answered with {status}"),
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok((delays, refused))
        });
    }
    let (mut delays, mut refused) = (Vec::new(), 0);
    while let Some(client) = asking.join_next().await {
        let (own, own_refused) = client??;
        delays.extend(own);
        refused += own_refused;
    }
    ensure!(!delays.is_empty() || refused > 0, "no polite request was made");
    Ok((delays, refused))
}

fn p99(delays: &mut [f64]) -> f64 {
    delays.sort_by(f64::total_cmp);
    delays.get(delays.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default()
}
