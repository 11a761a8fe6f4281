//! Defaults of endpoint slices.

use crate::framework::defaults::Fill::Text;
use crate::framework::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[Rule::table(
    &["discovery/v1.EndpointPort", "discovery/v1beta1.EndpointPort"],
    &[("name", Text("")), ("protocol", Text("TCP"))],
)];

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    #[test]
    fn ports_have_a_name_and_a_protocol() {
        for version in ["v1", "v1beta1"] {
            check(
                &format!("discovery/{version}.EndpointSlice"),
                r#"{"ports":[{"port":80},{"name":"x","protocol":"UDP"}]}"#,
                r#"{"metadata":{},"addressType":"","endpoints":null,
                    "ports":[{"name":"","protocol":"TCP","port":80},{"name":"x","protocol":"UDP"}]}"#,
            );
        }
    }
}
