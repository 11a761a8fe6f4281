//! Defaults of APIServices.

use crate::defaults::Fill::Int;
use crate::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[Rule::table(
    &["apiregistration/v1.ServiceReference", "apiregistration/v1beta1.ServiceReference"],
    &[("port", Int(443))],
)];
