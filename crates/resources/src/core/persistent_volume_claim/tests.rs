//! Cases of claims and claim templates.
