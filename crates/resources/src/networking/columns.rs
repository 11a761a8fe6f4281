//! The columns of ingresses, network policies and addresses of services.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "IPAddress" => &IP_ADDRESS,
        "Ingress" => &INGRESS,
        "IngressClass" => &INGRESS_CLASS,
        "NetworkPolicy" => &NETWORK_POLICY,
        "ServiceCIDR" => &SERVICE_CIDR,
        _ => return None,
    })
}

static INGRESS: Columns = Columns::new(
    "networking/v1.Ingress",
    &[
        NAME,
        text(
            "Class",
            "The name of the IngressClass resource that should be used for additional configuration",
        ),
        text("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
        text("Address", "Address is a list containing ingress points for the load-balancer"),
        text("Ports", "Ports of TLS configurations that open"),
        AGE,
    ],
    |object, context, cells| {
        let tls = !object.items_at(&["spec", "tls"]).is_empty();
        cells.extend([
            cell::name(object),
            cell::text_or(object, &["spec", "ingressClassName"], cell::NONE),
            hosts(object).into(),
            cell::load_balancer(object).into(),
            Value::literal(if tls { "80, 443" } else { "80" }),
            context.age(object),
        ]);
    },
);

static INGRESS_CLASS: Columns = Columns::new(
    "networking/v1.IngressClass",
    &[
        NAME,
        text("Controller", "Controller that is responsible for handling this class"),
        text("Parameters", "A reference to a resource with additional parameters"),
        AGE,
    ],
    |object, context, cells| {
        let is_default = object.annotation("ingressclass.kubernetes.io/is-default-class") == Some("true");
        let name = match is_default {
            true => format!("{} (default)", object.name()).into(),
            false => cell::name(object),
        };
        let controller = cell::text(object, &["spec", "controller"]);
        cells.extend([name, controller, parameters(object).into(), context.age(object)]);
    },
);

/// The reference gives the age, too, without a column for it; so there is one cell more than there are columns.
static IP_ADDRESS: Columns = Columns::new(
    "networking/v1.IPAddress",
    &[NAME, text("ParentRef", doc::IP_ADDRESS_SPEC_PARENT_REF)],
    |object, context, cells| {
        cells.extend([cell::name(object), parent(object).into(), context.age(object)]);
    },
);

static NETWORK_POLICY: Columns = Columns::new(
    "networking/v1.NetworkPolicy",
    &[NAME, text("Pod-Selector", doc::NETWORK_POLICY_SPEC_POD_SELECTOR), AGE],
    |object, context, cells| {
        let selector = cell::selector(object, &["spec", "podSelector"]);
        cells.extend([cell::name(object), selector, context.age(object)]);
    },
);

static SERVICE_CIDR: Columns = Columns::new(
    "networking/v1.ServiceCIDR",
    &[NAME, text("CIDRs", doc::SERVICE_CIDR_SPEC_CIDRS), AGE],
    |object, context, cells| {
        let cidrs: Vec<&str> = cell::texts(object, &["spec", "cidrs"]).collect();
        cells.extend([cell::name(object), cidrs.join(",").into(), context.age(object)]);
    },
);

/// The first hosts. Rules without a host are not shown but counted among those left out.
fn hosts(object: &Value) -> String {
    const MOST: usize = 3;
    let rules = object.items_at(&["spec", "rules"]);
    let hosts = rules.iter().map(|rule| rule.text_at(&["host"])).enumerate();
    let mut hosts = hosts.filter(|(_, host)| !host.is_empty()).take(MOST);
    let (mut shown, mut last) = (Vec::with_capacity(MOST), 0);
    for (place, host) in &mut hosts {
        shown.push(host);
        last = place;
    }
    match shown.len() {
        0 => "*".into(),
        MOST if last + 1 < rules.len() => {
            format!("{} + {} more...", shown.join(","), rules.len() - MOST)
        }
        _ => shown.join(","),
    }
}

fn parameters(object: &Value) -> String {
    let Some(parameters) = object.at(&["spec", "parameters"]).filter(|found| !found.is_null()) else {
        return cell::NONE.into();
    };
    let (kind, name) = (parameters.kind(), parameters.text_at(&["name"]));
    match parameters.get("apiGroup").and_then(Value::as_str) {
        None => format!("{kind}/{name}"),
        Some(group) => format!("{kind}.{group}/{name}"),
    }
}

/// What an address belongs to: `resource.group/namespace/name`.
fn parent(object: &Value) -> String {
    let Some(parent) = object.at(&["spec", "parentRef"]).filter(|found| !found.is_null()) else {
        return cell::NONE.into();
    };
    let of = |field| parent.text_at(&[field]);
    let mut out = match of("group") {
        "" => cell::lower(of("resource")),
        group => cell::lower(&format!("{}.{group}", of("resource"))),
    };
    for part in [of("namespace")].into_iter().filter(|namespace| !namespace.is_empty()).chain([of("name")]) {
        out.push('/');
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    fn ingress(spec: &str, status: &str, shown: &str) {
        let object = format!(r#"{{"metadata":{{"name":"i"}},"spec":{{{spec}}},"status":{{{status}}}}}"#);
        check("networking/v1.Ingress", &object, &format!(r#"["i",{shown},"<unknown>"]"#));
    }

    #[test]
    fn an_ingress_shows_its_class_addresses_and_ports() {
        ingress("", "", r#""<none>","*","","80""#);
        ingress(
            r#""ingressClassName":"c","tls":[{"secretName":"s"}]"#,
            r#""loadBalancer":{"ingress":[{"ip":"2.2.2.2"},{"hostname":"h"},{"ip":"1.1.1.1","hostname":"x"},{}]}"#,
            r#""c","*","1.1.1.1,2.2.2.2,h","80, 443""#,
        );
    }

    #[test]
    fn an_ingress_shows_three_hosts() {
        let hosts = |hosts: &[&str], shown: &str| {
            let rules: Vec<String> = hosts.iter().map(|host| format!(r#"{{"host":"{host}"}}"#)).collect();
            ingress(
                &format!(r#""rules":[{}]"#, rules.join(",")),
                "",
                &format!(r#""<none>",{shown:?},"","80""#),
            );
        };
        hosts(&["a", "", "b"], "a,b");
        hosts(&["a", "b", "c"], "a,b,c");
        hosts(&["a", "b", "c", ""], "a,b,c + 1 more...");
        hosts(&["a", "b", "", "c", "d", "e"], "a,b,c + 3 more...");
        hosts(&["a", "", "", "", "b"], "a,b");
        hosts(&["", ""], "*");
    }

    #[test]
    fn an_ingress_class_says_whether_it_is_the_default() {
        let kind = "networking/v1.IngressClass";
        let object = r#"{"metadata":{"name":"c","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},
            "spec":{"controller":"x/y","parameters":{"kind":"K","name":"n"}}}"#;
        check(kind, object, r#"["c (default)","x/y","K/n","<unknown>"]"#);
        let object =
            r#"{"metadata":{"name":"c"},"spec":{"parameters":{"apiGroup":"g.io","kind":"K","name":"n"}}}"#;
        check(kind, object, r#"["c","","K.g.io/n","<unknown>"]"#);
        check(kind, r#"{"metadata":{"name":"c"}}"#, r#"["c","","<none>","<unknown>"]"#);
    }

    #[test]
    fn an_address_says_what_it_belongs_to() {
        let kind = "networking/v1.IPAddress";
        check(kind, r#"{"metadata":{"name":"1.1.1.1"}}"#, r#"["1.1.1.1","<none>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"1.1.1.1"},"spec":{"parentRef":{"resource":"services","namespace":"n",
            "name":"s"}}}"#;
        check(kind, object, r#"["1.1.1.1","services/n/s","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"1.1.1.1"},"spec":{"parentRef":{"group":"G.io","resource":"Things",
            "name":"s"}}}"#;
        check(kind, object, r#"["1.1.1.1","things.g.io/s","<unknown>"]"#);
    }

    #[test]
    fn policies_and_ranges() {
        let object = r#"{"metadata":{"name":"p"},"spec":{"podSelector":{"matchLabels":{"a":"b"}}}}"#;
        check("networking/v1.NetworkPolicy", object, r#"["p","a=b","<unknown>"]"#);
        check("networking/v1.NetworkPolicy", r#"{"metadata":{"name":"p"}}"#, r#"["p","<none>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"c"},"spec":{"cidrs":["10.0.0.0/8","fd00::/64"]}}"#;
        check("networking/v1.ServiceCIDR", object, r#"["c","10.0.0.0/8,fd00::/64","<unknown>"]"#);
    }
}
