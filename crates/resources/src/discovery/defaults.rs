//! Defaults of endpoint slices.

use crate::defaults::Fill::Text;
use crate::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[Rule::table(
    &["discovery/v1.EndpointPort", "discovery/v1beta1.EndpointPort"],
    &[("name", Text("")), ("protocol", Text("TCP"))],
)];
