//! Conversions of webhooks.

use crate::framework::conversion::Fix;

pub(crate) const FIXES: &[Fix] = &[Fix::new("admissionregistration/v1.ServiceReference").filled(&["port"])];
