//! Defaults of token requests.

use crate::defaults::Fill::Int;
use crate::defaults::Rule;

pub(crate) const RULES: &[Rule] =
    &[Rule::table(&["authentication/v1.TokenRequestSpec"], &[("expirationSeconds", Int(3600))])];
