//! Environment of expressions that select devices of dynamic resource allocation: one variable, `device`.

use crate::environment::Declarations;
use crate::estimate::{Range, Sizes};
use crate::types::{Record, Type};

/// Limits of a device, by which costs are estimated.
const MOST_ATTRIBUTES: u64 = 32;
const LONGEST_DOMAIN: u64 = 63;
const LONGEST_NAME: u64 = 32;
const LONGEST_DRIVER: u64 = 63;
const LONGEST_VALUE: u64 = 64;

/// Variants of the environment, by feature gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFeatures {
    /// Whether expressions were stored before: these know everything that any gate adds.
    pub stored: bool,
    /// Whether a device can be allocated several times (`DRAConsumableCapacity`).
    pub shared: bool,
    /// Whether attributes can be lists (`DRAListTypeAttributes`).
    pub lists: bool,
}

/// Returns the declarations of a device selector.
pub fn device_selector(features: DeviceFeatures) -> Declarations {
    let DeviceFeatures { stored, shared, lists } = features;
    let of_names = |value: Type| Type::map(Type::String, Type::map(Type::String, value));
    let mut device = Record::new("kubernetes.DRADevice")
        .field("driver", Type::String)
        .field("attributes", of_names(if lists { Type::Dyn } else { Type::Any }))
        .field("capacity", of_names(Type::Named("kubernetes.Quantity")));
    if stored || shared {
        device = device.field("allowMultipleAllocations", Type::Bool);
    }
    let declarations = Declarations::new().variable("device", Type::object(device)).bindings();
    if stored || lists { declarations.includes() } else { declarations }
}

/// Maximal sizes of the parts of a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSizes;

impl Sizes for DeviceSizes {
    fn size(&self, path: &[String], _: &Type) -> Option<Range> {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        let max = match names.as_slice() {
            ["device", "driver"] => LONGEST_DRIVER,
            ["device", "allowMultipleAllocations"] => 1,
            ["device", "attributes" | "capacity"] | ["device", "attributes" | "capacity", "@values"] => {
                MOST_ATTRIBUTES
            }
            ["device", "attributes" | "capacity", "@keys"] => LONGEST_DOMAIN,
            ["device", "attributes" | "capacity", "@values", "@keys"] => LONGEST_NAME,
            ["device", "attributes", "@values", _] => LONGEST_VALUE,
            _ => return None,
        };
        Some(Range { min: 0, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    const OFF: DeviceFeatures = DeviceFeatures { stored: false, shared: false, lists: false };
    const SHARED: DeviceFeatures = DeviceFeatures { shared: true, ..OFF };
    const LISTS: DeviceFeatures = DeviceFeatures { lists: true, ..OFF };
    const STORED: DeviceFeatures = DeviceFeatures { stored: true, ..OFF };

    #[track_caller]
    fn check(features: DeviceFeatures, text: &str, expected: &str) {
        let found = match Environment::new(device_selector(features)).check(text) {
            Ok(expression) => expression.result_type().declared_name(),
            Err(error) => error.issues()[0].message.clone(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn attributes_are_of_any_type_and_capacities_are_quantities() {
        check(OFF, "device.driver == 'a' && device.attributes['a'].b == 1", "bool");
        check(OFF, "device.attributes['a'].b || device.attributes['a'].b > 1", "bool");
        check(OFF, "device.attributes['a'].b", "google.protobuf.Any");
        check(OFF, "device.attributes['a']", "map(string, google.protobuf.Any)");
        check(OFF, "device.attributes['a'].b.c", "dyn");
        check(OFF, "device.attributes['a'].b == semver('1.0.0')", "bool");
        check(OFF, "device.capacity['a'].b.isGreaterThan(quantity('1Gi'))", "bool");
        check(SHARED, "device.allowMultipleAllocations", "bool");
        check(STORED, "device.allowMultipleAllocations", "bool");
        check(OFF, "device.allowMultipleAllocations", "undefined field 'allowMultipleAllocations'");
    }

    #[test]
    fn attributes_are_lists_if_the_gate_says_so() {
        let loop_over = "device.attributes['a'].b.exists(x, x == 1)";
        let not_iterable =
            "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)";
        check(LISTS, loop_over, "bool");
        check(OFF, loop_over, not_iterable);
        check(STORED, loop_over, not_iterable);
        let includes = "device.attributes['a'].b.includes('x')";
        check(LISTS, includes, "bool");
        check(STORED, includes, "bool");
        check(OFF, includes, "undeclared reference to 'includes' (in container '')");
        check(LISTS, "device.attributes['a'].b", "dyn");
    }

    #[test]
    fn values_can_be_bound_to_names() {
        check(OFF, "cel.bind(a, device.attributes['a'], a.b && a.c)", "bool");
        check(OFF, "cel.bind(a.b, 1, true)", "cel.bind() variable names must be simple identifiers");
        check(OFF, "device.bind(a, 1, true)", "undeclared reference to 'bind' (in container '')");
        check(OFF, "cel.bind(a, 1)", "undeclared reference to 'cel' (in container '')");
    }

    #[test]
    fn costs_are_bound_by_the_sizes_of_a_device() {
        let estimate = |features: DeviceFeatures, text: &str| {
            Environment::new(device_selector(features)).check(text).unwrap().estimate(&DeviceSizes).max
        };
        assert!(estimate(OFF, "device.attributes['a'].b.contains('c')") < 100);
        assert_eq!(estimate(LISTS, "device.attributes['a'].b.includes('c')"), 4 + 48);
        let nested = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a == b))))";
        assert!(estimate(OFF, nested) > 1_000_000);
    }

    #[test]
    fn a_value_or_a_list_includes_a_value() {
        let run = |text: &str| {
            let program = Environment::new(device_selector(LISTS)).compile(text).unwrap();
            program
                .evaluate(&crate::Activation::new(), crate::Budget::of(1000))
                .value
                .map(|value| format!("{value:?}"))
        };
        assert_eq!(run("dyn([1, 2]).includes(2)").unwrap(), "Bool(true)");
        assert_eq!(run("dyn([1, 2]).includes(3)").unwrap(), "Bool(false)");
        assert_eq!(run("'a'.includes('a')").unwrap(), "Bool(true)");
        assert_eq!(run("'a'.includes(1)").unwrap(), "Bool(false)");
        let long = format!("[{}].includes(2)", vec!["1"; 49].join(","));
        assert!(run(&long).is_err());
    }
}
