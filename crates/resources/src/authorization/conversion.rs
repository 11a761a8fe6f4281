//! Versions of access reviews.

use crate::framework::conversion::Pair;

pub(crate) const PAIRS: &[Pair] =
    &[Pair::new("authorization/v1beta1.SubjectAccessReviewSpec", "authorization/v1.SubjectAccessReviewSpec")
        .renamed(&[("group", "groups")])];
