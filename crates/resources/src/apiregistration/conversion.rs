//! What the internal types of API services hold otherwise.

use crate::framework::conversion::Fix;

pub(crate) const FIXES: &[Fix] = &[Fix::new("apiregistration/v1.ServiceReference").filled(&["port"])];
