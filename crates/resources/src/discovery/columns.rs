//! The columns of `EndpointSlice`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    (kind == "EndpointSlice").then_some(&ENDPOINT_SLICE)
}

/// How many ports and addresses are shown.
const MOST: usize = 3;

static ENDPOINT_SLICE: Columns = Columns::new(
    "discovery/v1.EndpointSlice",
    &[
        NAME,
        text("AddressType", doc::ENDPOINT_SLICE_ADDRESS_TYPE),
        text("Ports", doc::ENDPOINT_SLICE_PORTS),
        text("Endpoints", doc::ENDPOINT_SLICE_ENDPOINTS),
        AGE,
    ],
    |object, context, cells| {
        let ports = object.items_at(&["ports"]).iter().map(port);
        let endpoints = object.items_at(&["endpoints"]).iter();
        let addresses = endpoints.flat_map(|endpoint| cell::texts(endpoint, &["addresses"]));
        cells.extend([
            cell::name(object),
            cell::text(object, &["addressType"]),
            cell::first_of(ports, MOST).into(),
            cell::first_of(addresses, MOST).into(),
            context.age(object),
        ]);
    },
);

/// A port's number; its name if it has none, which stands for all numbers.
fn port(port: &Value) -> String {
    match port.get("port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => port.get("name").and_then(Value::as_str).unwrap_or("*").into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    const KIND: &str = "discovery/v1.EndpointSlice";

    #[test]
    fn the_first_three_of_ports_and_addresses_are_shown() {
        let object = r#"{"metadata":{"name":"s"},"addressType":"IPv4",
            "ports":[{"port":80},{"name":"x"},{},{"port":81}],
            "endpoints":[{"addresses":["1.1.1.1","1.1.1.2"]},{"addresses":["1.1.1.3"]},{"addresses":["1.1.1.4"]},
                {"addresses":["1.1.1.5"]}]}"#;
        check(
            KIND,
            object,
            r#"["s","IPv4","80,x,* + 1 more...","1.1.1.1,1.1.1.2,1.1.1.3 + 2 more...","<unknown>"]"#,
        );
    }

    #[test]
    fn without_any_they_are_unset() {
        let object = r#"{"metadata":{"name":"s"},"addressType":"IPv6"}"#;
        check(KIND, object, r#"["s","IPv6","<unset>","<unset>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"s"},"addressType":"IPv6","ports":[{"name":""}]}"#;
        check(KIND, object, r#"["s","IPv6","<unset>","<unset>","<unknown>"]"#);
    }
}
