//! Authentication and authorization: authenticators and authorizers, one file each.
//!
//! An authenticator turns the [`Credentials`] of a request into a user, `None` if it has none of its kind, or an error if they
//! are invalid. An authorizer looks at [`Attributes`] and allows, denies or has no opinion; if none has one, the request is
//! denied.

pub mod authenticator;
pub mod authorizer;
pub mod certificate_authority;
pub mod certificate_request;
pub mod configuration;
mod expression;
pub mod jwt;
mod metrics;
pub mod review;
pub mod service_account;
pub mod signers;
mod user;
pub mod x509;

pub use authenticator::{Authenticator, Credentials, Identity, PeerCertificates, TokenAuthenticator};
pub use authorizer::{Attributes, Authorizer, Decision, Verdict};
pub use metrics::{Configuration, MeasuredAuthorizer, Metrics};
pub use user::{
    ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, API_SERVER, NODE_PREFIX, NODES, PRIVILEGED_GROUP, User,
};
