//! Conversions of API services.

use crate::framework::conversion::Fix;

pub(crate) const FIXES: &[Fix] = &[Fix::new("apiregistration/v1.ServiceReference").filled(&["port"])];
