//! The `Authorization` header of a client.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderValue;
use pintle_runtime::Clock;

use crate::tls::{SetupError, read_file};

/// Age at which the content of a token file is read again.
const TOKEN_LIFE: Duration = Duration::from_secs(60);

/// Credentials that are sent with every request.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Authorization {
    #[default]
    None,
    Bearer(String),
    /// Read again from time to time, since tokens in files are rotated.
    BearerFile(PathBuf),
    Basic {
        user: String,
        password: String,
    },
}

/// Credentials with the token that was last read from a file.
pub(crate) struct Credentials {
    authorization: Authorization,
    clock: Clock,
    token: Mutex<Option<(Instant, HeaderValue)>>,
}

impl Credentials {
    pub(crate) fn new(authorization: Authorization, clock: Clock) -> Credentials {
        Credentials { authorization, clock, token: Mutex::new(None) }
    }

    /// Returns the header, if there are credentials.
    pub(crate) fn header(&self) -> Result<Option<HeaderValue>, SetupError> {
        match &self.authorization {
            Authorization::None => Ok(None),
            Authorization::Bearer(token) => secret(format!("Bearer {token}")).map(Some),
            Authorization::Basic { user, password } => {
                secret(format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))).map(Some)
            }
            Authorization::BearerFile(path) => self.file_token(path).map(Some),
        }
    }

    fn file_token(&self, path: &Path) -> Result<HeaderValue, SetupError> {
        let now = self.clock.instant();
        let mut known = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |since: Instant| now.saturating_duration_since(since) < TOKEN_LIFE;
        if let Some((_, value)) = known.as_ref().filter(|(since, _)| is_fresh(*since)) {
            return Ok(value.clone());
        }
        match (read_token(path), known.as_ref()) {
            (Ok(value), _) => {
                *known = Some((now, value.clone()));
                Ok(value)
            }
            // A file that is being replaced: the last token is the best there is.
            (Err(error), Some((_, old))) => {
                tracing::error!(%error, "cannot read a token again, the old one stays");
                Ok(old.clone())
            }
            (Err(error), None) => Err(error),
        }
    }
}

fn read_token(path: &Path) -> Result<HeaderValue, SetupError> {
    let text = String::from_utf8(read_file(path)?)
        .map_err(|_| SetupError(format!("{} is not a token", path.display())))?;
    match text.trim() {
        "" => {
            let path = pintle_meta::quote(&path.display().to_string());
            Err(SetupError(format!("read empty token from file {path}")))
        }
        token => secret(format!("Bearer {token}")),
    }
}

fn secret(text: String) -> Result<HeaderValue, SetupError> {
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| SetupError("the credentials cannot be sent in a header".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use pintle_runtime::ManualClock;

    use super::*;

    #[test]
    fn a_token_file_is_read_again_after_a_minute() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "one\n").unwrap();
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let credentials = Credentials::new(Authorization::BearerFile(path.clone()), manual.clock());
        let header = || credentials.header().unwrap().unwrap();
        assert_eq!(header(), "Bearer one");
        std::fs::write(&path, "two").unwrap();
        manual.advance(Duration::from_secs(59));
        assert_eq!(header(), "Bearer one");
        manual.advance(Duration::from_secs(1));
        assert_eq!(header(), "Bearer two");
        std::fs::write(&path, " ").unwrap();
        manual.advance(TOKEN_LIFE);
        assert_eq!(header(), "Bearer two", "an empty file is being replaced");
    }
}
