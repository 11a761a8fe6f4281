//! What the internal types of token requests hold otherwise.

use crate::framework::conversion::Fix;

pub(crate) const FIXES: &[Fix] =
    &[Fix::new("authentication/v1.TokenRequestSpec").filled(&["expirationSeconds"])];
