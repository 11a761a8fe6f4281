//! The columns of `Endpoints`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(super) static ENDPOINTS: Columns = Columns::new(
    "core/v1.Endpoints",
    &[NAME, text("Endpoints", doc::ENDPOINTS_SUBSETS), AGE],
    |object, context, cells| {
        cells.extend([cell::name(object), endpoints(object).into(), context.age(object)]);
    },
);

/// How many addresses are shown.
const MOST: usize = 3;

fn endpoints(object: &Value) -> String {
    let subsets = object.items_at(&["subsets"]);
    if subsets.is_empty() {
        return cell::NONE.into();
    }
    let (mut shown, mut count) = (Vec::new(), 0);
    for subset in subsets {
        let addresses = subset.items_at(&["addresses"]);
        let mut add = |port: Option<i64>| {
            count += addresses.len();
            for address in addresses.iter().take(MOST.saturating_sub(shown.len())) {
                shown.push(address_text(address.text_at(&["ip"]), port));
            }
        };
        match subset.items_at(&["ports"]) {
            // A headless service may have none.
            [] => add(None),
            ports => ports.iter().for_each(|port| add(Some(cell::int(port, &["port"])))),
        }
    }
    let text = shown.join(",");
    if count > MOST { format!("{text} + {} more...", count - MOST) } else { text }
}

fn address_text(ip: &str, port: Option<i64>) -> String {
    match port {
        None => ip.into(),
        Some(port) if ip.contains(':') => format!("[{ip}]:{port}"),
        Some(port) => format!("{ip}:{port}"),
    }
}
