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

/// Returns the declarations of a device selector. `shared` adds `device.allowMultipleAllocations`.
pub fn device_selector(shared: bool) -> Declarations {
    let of_names = |value: Type| Type::map(Type::String, Type::map(Type::String, value));
    let mut device = Record::new("kubernetes.DRADevice")
        .field("driver", Type::String)
        .field("attributes", of_names(Type::Dyn))
        .field("capacity", of_names(Type::Named("kubernetes.Quantity")));
    if shared {
        device = device.field("allowMultipleAllocations", Type::Bool);
    }
    Declarations::new().variable("device", Type::object(device))
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

    #[test]
    fn attributes_are_of_any_type_and_capacities_are_quantities() {
        let check = |text: &str, shared: bool| match Environment::new(device_selector(shared)).check(text) {
            Ok(expression) => expression.result_type().declared_name(),
            Err(error) => error.issues()[0].message.clone(),
        };
        assert_eq!(check("device.driver == 'a' && device.attributes['a'].b == 1", true), "bool");
        assert_eq!(check("device.attributes['a'].b", true), "dyn");
        assert_eq!(check("device.capacity['a'].b.isGreaterThan(quantity('1Gi'))", true), "bool");
        assert_eq!(check("device.allowMultipleAllocations", true), "bool");
        assert_eq!(
            check("device.allowMultipleAllocations", false),
            "undefined field 'allowMultipleAllocations'"
        );
    }

    #[test]
    fn costs_are_bound_by_the_sizes_of_a_device() {
        let estimate = |text: &str| {
            Environment::new(device_selector(true)).check(text).unwrap().estimate(&DeviceSizes).max
        };
        assert!(estimate("device.attributes['a'].b.contains('c')") < 100);
        let nested = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a == b))))";
        assert!(estimate(nested) > 1_000_000);
    }
}
