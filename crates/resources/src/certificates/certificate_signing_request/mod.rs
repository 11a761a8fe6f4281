//! CertificateSigningRequests: the rules of their spec, and of the conditions that decide about them.

pub(super) mod conditions;
pub(super) mod validation;
