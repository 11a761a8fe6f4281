//! Defaults of APIServices.

use crate::framework::defaults::Fill::Int;
use crate::framework::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[Rule::table(
    &["apiregistration/v1.ServiceReference", "apiregistration/v1beta1.ServiceReference"],
    &[("port", Int(443))],
)];

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    #[test]
    fn services_listen_on_the_usual_port() {
        for version in ["v1", "v1beta1"] {
            let kind = format!("apiregistration/{version}.APIService");
            let rest = r#""groupPriorityMinimum":1,"versionPriority":1"#;
            let service = |port| {
                format!(
                    r#"{{"metadata":{{}},"spec":{{"service":{{"namespace":"n","name":"s"{port}}},{rest}}},"status":{{}}}}"#
                )
            };
            check(&kind, &service(""), &service(r#","port":443"#));
            check(&kind, &service(r#","port":8443"#), &service(r#","port":8443"#));
            let local = format!(r#"{{"metadata":{{}},"spec":{{"service":null,{rest}}},"status":{{}}}}"#);
            check(&kind, &local, &local.replace(r#""service":null,"#, ""));
        }
    }
}
