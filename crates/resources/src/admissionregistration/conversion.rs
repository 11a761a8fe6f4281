//! What the internal types of webhooks hold otherwise.

use crate::framework::conversion::Fix;

pub(crate) const FIXES: &[Fix] = &[Fix::new("admissionregistration/v1.ServiceReference").filled(&["port"])];
