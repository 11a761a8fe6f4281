//! Defaults of priority classes.

use crate::framework::defaults::Fill::Text;
use crate::framework::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[Rule::table(
    &["scheduling/v1.PriorityClass", "scheduling/v1beta1.PriorityClass"],
    &[("preemptionPolicy", Text("PreemptLowerPriority"))],
)];

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    #[test]
    fn priority_classes_preempt_by_default() {
        for version in ["v1", "v1beta1"] {
            let kind = format!("scheduling/{version}.PriorityClass");
            check(&kind, "{}", r#"{"metadata":{},"value":0,"preemptionPolicy":"PreemptLowerPriority"}"#);
            let own = r#"{"metadata":{},"value":0,"preemptionPolicy":"Never"}"#;
            check(&kind, own, own);
        }
    }

    #[test]
    fn groups_of_pods_are_disrupted_pod_by_pod() {
        let of = pintle_schema::find("scheduling/v1alpha2.PodGroup").unwrap();
        let mut group =
            pintle_codec::json::decode(of, br#"{"spec":{"schedulingPolicy":{"basic":{}}}}"#).unwrap().value;
        crate::framework::defaults::apply(of, &mut group, &Default::default());
        assert_eq!(group.text_at(&["spec", "disruptionMode"]), "Pod");
    }
}
