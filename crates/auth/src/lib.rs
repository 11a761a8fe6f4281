//! Who is asking, and may they: authenticators and authorizers, one file each.
//!
//! An authenticator looks at a request's [`Credentials`] and says who it is, that it does not know (`None`), or that
//! something is wrong with them. An authorizer looks at [`Attributes`] and allows, denies or has no opinion; no opinion
//! from anyone is a denial.

pub mod authenticator;
pub mod authorizer;
pub mod certificate_request;
pub mod configuration;
pub mod jwt;
mod metrics;
pub mod review;
pub mod service_account;
mod user;

pub use authenticator::{Authenticator, Credentials, Identity, PeerCertificates, TokenAuthenticator};
pub use authorizer::{Attributes, Authorizer, Decision, Verdict};
pub use metrics::{Configuration, MeasuredAuthorizer, Metrics};
pub use user::{
    ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, API_SERVER, NODE_PREFIX, NODES, PRIVILEGED_GROUP, User,
};
