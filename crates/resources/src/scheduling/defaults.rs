//! Defaults of priority classes.

use crate::defaults::Fill::Text;
use crate::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[Rule::table(
    &["scheduling/v1.PriorityClass", "scheduling/v1beta1.PriorityClass"],
    &[("preemptionPolicy", Text("PreemptLowerPriority"))],
)];
