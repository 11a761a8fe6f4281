//! Users that a front proxy has authenticated and names in headers.
//!
//! The proxy's certificate must be of an authority for front proxies alone, since its holder can act as any user. From all other
//! clients the headers are ignored, and they are removed before the request goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::{Authenticator, ClientCertificates, Credentials, Error, Identity};
use crate::User;

/// Which headers speak of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxyHeaders {
    /// The first that has a value counts.
    user: Vec<HeaderName>,
    uid: Vec<HeaderName>,
    /// All values of all of them count.
    group: Vec<HeaderName>,
    /// Beginnings, in lower case; what follows is the key.
    extra: Vec<String>,
}

impl FrontProxyHeaders {
    /// Names in any case. What cannot be the name of a header cannot be sent either.
    pub fn new(user: &[String], uid: &[String], group: &[String], extra: &[String]) -> FrontProxyHeaders {
        let names = |names: &[String]| -> Vec<HeaderName> {
            names.iter().filter_map(|name| name.trim().parse().ok()).collect()
        };
        let extra = extra.iter().map(|prefix| prefix.trim().to_ascii_lowercase()).collect();
        FrontProxyHeaders { user: names(user), uid: names(uid), group: names(group), extra }
    }

    /// Headers that are always removed, whatever is configured.
    pub fn standard() -> FrontProxyHeaders {
        let name = |name: &str| [name.to_owned()];
        FrontProxyHeaders::new(
            &name("x-remote-user"),
            &name("x-remote-uid"),
            &name("x-remote-group"),
            &name("x-remote-extra-"),
        )
    }

    /// Removes every one of them.
    pub fn forget(&self, headers: &mut HeaderMap) {
        for name in self.user.iter().chain(&self.uid).chain(&self.group) {
            headers.remove(name);
        }
        let is_extra = |name: &&HeaderName| self.extra.iter().any(|prefix| name.as_str().starts_with(prefix));
        let extra: Vec<HeaderName> = headers.keys().filter(is_extra).cloned().collect();
        for name in extra {
            headers.remove(name);
        }
    }

    fn first<'a>(names: &[HeaderName], headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        names.iter().filter_map(|name| headers.get(name)).find(|value| !value.is_empty())
    }

    /// Returns the user that the headers name; `None` if there is no name.
    fn user(&self, headers: &HeaderMap) -> Result<Option<User>, Error> {
        let Some(name) = FrontProxyHeaders::first(&self.user, headers) else { return Ok(None) };
        let uid = FrontProxyHeaders::first(&self.uid, headers).map(text).transpose()?.unwrap_or_default();
        let groups = self.group.iter().flat_map(|name| headers.get_all(name));
        let groups = groups.filter(|group| !group.is_empty()).map(text).collect::<Result<_, _>>()?;
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra {
            for (name, value) in headers {
                if let Some(key) = name.as_str().strip_prefix(prefix) {
                    extra.entry(unescaped(key)).or_default().push(text(value)?);
                }
            }
        }
        Ok(Some(User { name: text(name)?, uid, groups, extra }))
    }
}

fn text(value: &HeaderValue) -> Result<String, Error> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned)
        .map_err(|_| Error::Refused("a header of the front proxy about the user is not UTF-8".into()))
}

/// Decodes percent-encoding; a malformed escape stays as it is.
fn unescaped(key: &str) -> String {
    let bytes = key.as_bytes();
    let well = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').all(|(at, _)| {
        bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    match percent_decode_str(key).decode_utf8() {
        Ok(decoded) if well => decoded.into_owned(),
        _ => key.to_owned(),
    }
}

/// Believes front proxies.
pub struct RequestHeader {
    /// Certificates of front proxies, not of clients.
    pub proxies: Arc<ClientCertificates>,
    /// Common names that a proxy's certificate may have; none means any.
    pub allowed_names: Vec<String>,
    pub headers: FrontProxyHeaders,
}

#[async_trait]
impl Authenticator for RequestHeader {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        // Most requests come from no proxy, and looking costs less than verifying.
        if FrontProxyHeaders::first(&self.headers.user, credentials.headers).is_none() {
            return Ok(None);
        }
        let Some(proxy) = self.proxies.certified(credentials.certificates, credentials.now)? else {
            return Ok(None);
        };
        let name = proxy.user.as_ref().map_or("", |proxy| proxy.name.as_str());
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|allowed| allowed == name) {
            return Err(Error::Refused(format!("x509: subject with cn={name} is not in the allowed list")));
        }
        let user = self.headers.user(credentials.headers)?;
        Ok(user.map(|user| Arc::new(user.authenticated()).into()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    };
    use rustls_pki_types::CertificateDer;

    use super::*;
    use crate::PeerCertificates;

    struct Authority(CertificateDer<'static>, Issuer<'static, KeyPair>);

    fn authority() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Authority(certificate, Issuer::new(params, key))
    }

    fn certificate(authority: &Authority, name: &str) -> PeerCertificates {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&KeyPair::generate().unwrap(), &authority.1).unwrap();
        PeerCertificates::new(vec![certificate.der().clone()])
    }

    fn proxy(authority: &Authority, allowed: &[&str]) -> RequestHeader {
        let roots = std::slice::from_ref(&authority.0);
        RequestHeader {
            proxies: Arc::new(ClientCertificates::new(roots, false).unwrap()),
            allowed_names: allowed.iter().map(|name| (*name).to_owned()).collect(),
            headers: FrontProxyHeaders::standard(),
        }
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    async fn ask(
        proxy: &RequestHeader,
        certificates: &PeerCertificates,
        all: &[(&'static str, &str)],
    ) -> Result<Option<Arc<User>>, Error> {
        let headers = headers(all);
        let credentials = Credentials { headers: &headers, path: "/", certificates, now: SystemTime::now() };
        Ok(proxy.authenticate(credentials).await?.map(|identity| identity.user))
    }

    #[tokio::test]
    async fn a_trusted_proxy_names_the_user() {
        let proxies = authority();
        let user = ask(
            &proxy(&proxies, &["front"]),
            &certificate(&proxies, "front"),
            &[
                ("x-remote-user", "ann"),
                ("x-remote-uid", "u1"),
                ("x-remote-group", "a"),
                ("x-remote-group", "b"),
                ("x-remote-group", ""),
                ("x-remote-extra-acme.com%2fproject", "one"),
                ("x-remote-extra-acme.com%2fproject", "two"),
                ("x-remote-extra-broken%2", "x"),
            ],
        )
        .await
        .unwrap()
        .unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", "u1"));
        assert_eq!(user.groups, ["a", "b", "system:authenticated"]);
        assert_eq!(user.extra["acme.com/project"], ["one", "two"]);
        assert_eq!(user.extra["broken%2"], ["x"]);
    }

    #[tokio::test]
    async fn headers_of_anybody_else_mean_nothing() {
        let (proxies, clients) = (authority(), authority());
        let smuggled = [("x-remote-user", "admin"), ("x-remote-group", "system:masters")];
        let proxy = proxy(&proxies, &["front"]);
        assert_eq!(ask(&proxy, &PeerCertificates::default(), &smuggled).await, Ok(None));
        assert!(ask(&proxy, &certificate(&clients, "front"), &smuggled).await.is_err());
        let error = ask(&proxy, &certificate(&proxies, "back"), &smuggled).await.unwrap_err().to_string();
        assert_eq!(error, "x509: subject with cn=back is not in the allowed list");
    }

    #[tokio::test]
    async fn a_proxy_without_a_user_header_is_no_opinion() {
        let proxies = authority();
        let groups = [("x-remote-user", ""), ("x-remote-group", "system:masters")];
        assert_eq!(ask(&proxy(&proxies, &[]), &certificate(&proxies, "any"), &groups).await, Ok(None));
    }

    #[test]
    fn every_header_about_the_user_is_forgotten() {
        let mut all = headers(&[
            ("x-remote-user", "a"),
            ("x-remote-uid", "b"),
            ("x-remote-group", "c"),
            ("x-remote-group", "d"),
            ("x-remote-extra-one", "e"),
            ("x-me", "f"),
            ("accept", "g"),
        ]);
        FrontProxyHeaders::standard().forget(&mut all);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["accept", "x-me"]);
        FrontProxyHeaders::new(&["X-Me".into()], &[], &[], &[]).forget(&mut all);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["accept"]);
    }
}
