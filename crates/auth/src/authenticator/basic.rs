//! `--basic-auth-file`: a CSV of `password,user,uid[,"group1,group2"]`, for clusters that still have one.
//!
//! The reference has taken this away; here it is off unless asked for. Passwords in a file are worth less than any other
//! credential that the server knows.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use aws_lc_rs::{constant_time, hmac, rand};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderValue};

use super::{Authenticator, Credentials, Error, Identity};
use crate::User;

/// The `WWW-Authenticate` challenge of a 401 response.
pub const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"kubernetes-master\"");

/// Passwords are kept as digests under a key of this process, and compared in constant time.
pub struct BasicAuth {
    key: hmac::Key,
    users: HashMap<String, (hmac::Tag, Arc<User>)>,
    /// Compared with where there is no such user, so that both take as long.
    unknown_user: hmac::Tag,
}

/// Why the file cannot be used; names the line, never a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("not CSV: line {line}")]
    Csv { line: u64 },
    #[error(
        "password file '{path}' must have at least 3 columns (password, user name, user uid), found {columns} in line {line}"
    )]
    Columns { path: String, line: u64, columns: usize },
    #[error("the system has no randomness to give")]
    Randomness,
}

impl BasicAuth {
    pub fn load(path: &Path) -> Result<BasicAuth, LoadError> {
        BasicAuth::parse(&std::fs::read(path)?, &path.display().to_string())
    }

    fn parse(text: &[u8], path: &str) -> Result<BasicAuth, LoadError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new())
            .map_err(|_| LoadError::Randomness)?;
        let unknown_user = hmac::sign(&key, b"");
        let mut users = HashMap::new();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        for record in reader.records() {
            let record = record
                .map_err(|error| LoadError::Csv { line: error.position().map_or(0, csv::Position::line) })?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() < 3 {
                return Err(LoadError::Columns { path: path.into(), line, columns: record.len() });
            }
            let groups = match record.get(3) {
                Some(groups) if !groups.is_empty() => groups.split(',').map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            let name = record[1].to_owned();
            let user = User { name: name.clone(), uid: record[2].into(), groups, ..User::default() };
            let entry = (hmac::sign(&key, record[0].as_bytes()), Arc::new(user.authenticated()));
            if users.insert(name, entry).is_some() {
                tracing::warn!(line, "password file has the same user twice, the last one counts");
            }
        }
        Ok(BasicAuth { key, users, unknown_user })
    }

    fn user(&self, name: &str, password: &str) -> Option<Arc<User>> {
        let given = hmac::sign(&self.key, password.as_bytes());
        let (expected, user) = match self.users.get(name) {
            Some((expected, user)) => (expected, Some(user)),
            None => (&self.unknown_user, None),
        };
        let same = constant_time::verify_slices_are_equal(given.as_ref(), expected.as_ref()).is_ok();
        user.filter(|_| same).cloned()
    }
}

#[async_trait]
impl Authenticator for BasicAuth {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        let Some((name, password)) = name_and_password(&credentials) else { return Ok(None) };
        match self.user(&name, &password) {
            Some(user) => Ok(Some(user.into())),
            None => Err(Error::Refused("invalid username/password combination".into())),
        }
    }
}

/// Of an `Authorization: Basic` header; what is not well formed counts as none.
fn name_and_password(credentials: &Credentials<'_>) -> Option<(String, String)> {
    let header = credentials.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = header.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case("basic ") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use http::HeaderMap;

    use super::*;
    use crate::PeerCertificates;

    const FILE: &[u8] = b"p1,ann,u1,\"devs,ops\"\n\"p,2\",bob,u2\n,empty,u3\n";

    async fn ask(header: &str) -> Result<Option<Arc<User>>, Error> {
        let passwords = BasicAuth::parse(FILE, "f").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().unwrap());
        let credentials = Credentials {
            headers: &headers,
            path: "/",
            certificates: &PeerCertificates::default(),
            now: SystemTime::now(),
        };
        Ok(passwords.authenticate(credentials).await?.map(|identity| identity.user))
    }

    fn basic(pair: &str) -> String {
        format!("Basic {}", STANDARD.encode(pair))
    }

    #[tokio::test]
    async fn name_and_password_let_in() {
        let ann = ask(&basic("ann:p1")).await.unwrap().unwrap();
        assert_eq!((ann.name.as_str(), ann.uid.as_str()), ("ann", "u1"));
        assert_eq!(ann.groups, ["devs", "ops", "system:authenticated"]);
        assert!(ask(&basic("bob:p,2").replace("Basic", "bAsIc")).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_wrong_pair_is_refused_and_anything_else_passed_over() {
        for wrong in ["ann:", "ann:p2", "bob:p1", "eve:p1", "eve:", "Ann:p1"] {
            let error = ask(&basic(wrong)).await.unwrap_err().to_string();
            assert_eq!(error, "invalid username/password combination", "{wrong}");
        }
        for other in ["Bearer p1", "Basic", "Basic ???", &basic("ann")] {
            assert_eq!(ask(other).await, Ok(None), "{other}");
        }
    }

    #[test]
    fn a_bad_file_is_refused_with_its_line_and_without_its_secret() {
        let error = BasicAuth::parse(b"p,a,b\nsesame,c\n", "f").err().unwrap().to_string();
        assert!(error.contains("found 2 in line 2") && !error.contains("sesame"), "{error}");
    }
}
