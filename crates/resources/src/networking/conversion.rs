//! Versions of ingresses.

use pintle_meta::{Node, Value};

use crate::framework::conversion::{Error, Fields, Pair, build};

pub(crate) const PAIRS: &[Pair] = &[
    spec("networking/v1beta1.IngressSpec"),
    backend("networking/v1beta1.IngressBackend"),
    spec("extensions/v1beta1.IngressSpec"),
    backend("extensions/v1beta1.IngressBackend"),
];

const fn spec(version: &'static str) -> Pair {
    Pair::new(version, "networking/v1.IngressSpec").renamed(&[("backend", "defaultBackend")])
}

const fn backend(version: &'static str) -> Pair {
    Pair::new(version, "networking/v1.IngressBackend").inward(inward).outward(outward)
}

fn inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let name = value.text_at(&["serviceName"]);
    let given = value.get("servicePort").unwrap_or(&Value::NULL);
    if name.is_empty() && matches!(given.node(), Node::Null | Node::Int(0)) {
        return Ok(());
    }
    let field = if given.as_str().is_some() { "name" } else { "number" };
    let port = build("networking/v1.ServiceBackendPort", [(field, Some(given.clone()))]);
    let fields = [("name", Some(name.into())), ("port", Some(port))];
    out.set("service", build("networking/v1.IngressServiceBackend", fields));
    Ok(())
}

fn outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let Some(service) = value.get("service") else { return Ok(()) };
    out.set("serviceName", service.text_at(&["name"]));
    match service.text_at(&["port", "name"]) {
        "" => {
            let number = service.at(&["port", "number"]).and_then(Value::as_i64).unwrap_or_default();
            out.set("servicePort", number);
        }
        name => out.set("servicePort", name),
    }
    Ok(())
}
