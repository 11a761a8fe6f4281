//! `--token-auth-file`: a CSV of `token,user,uid[,"group1,group2"]`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use aws_lc_rs::{digest, hmac, rand};

use super::{Error, Identity, TokenAuthenticator};
use crate::User;

/// Tokens are kept and looked up as keyed digests under a key of this process. The time a lookup takes then tells
/// nothing about how near a guess was, and no token stays in memory.
pub struct TokenFile {
    key: hmac::Key,
    users: HashMap<[u8; digest::SHA256_OUTPUT_LEN], Arc<User>>,
}

/// Why the file cannot be used; names the line, never a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("not CSV: {0}")]
    Csv(#[from] csv::Error),
    #[error("line {line} has {columns} columns: it needs at least token, user name and user uid")]
    Columns { line: u64, columns: usize },
    #[error("the system has no randomness to give")]
    Randomness,
}

impl TokenFile {
    pub fn load(path: &Path) -> Result<TokenFile, LoadError> {
        TokenFile::parse(&std::fs::read(path)?)
    }

    fn parse(text: &[u8]) -> Result<TokenFile, LoadError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new())
            .map_err(|_| LoadError::Randomness)?;
        let mut tokens = TokenFile { key, users: HashMap::new() };
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        for record in reader.records() {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() < 3 {
                return Err(LoadError::Columns { line, columns: record.len() });
            }
            if record[0].is_empty() {
                tracing::warn!(line, "empty token has been found in token file");
                continue;
            }
            let groups = match record.get(3) {
                // As they stand: a group with a space before it is another group.
                Some(groups) if !groups.is_empty() => groups.split(',').map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            let user = User { name: record[1].into(), uid: record[2].into(), groups, ..User::default() };
            let digest = tokens.digest(record[0].as_bytes());
            if tokens.users.insert(digest, Arc::new(user.authenticated())).is_some() {
                tracing::warn!(line, "token file has the same token twice, the last one counts");
            }
        }
        Ok(tokens)
    }

    fn digest(&self, token: &[u8]) -> [u8; digest::SHA256_OUTPUT_LEN] {
        let tag = hmac::sign(&self.key, token);
        let mut digest = [0; digest::SHA256_OUTPUT_LEN];
        digest.copy_from_slice(tag.as_ref());
        digest
    }
}

#[async_trait]
impl TokenAuthenticator for TokenFile {
    async fn authenticate_token(
        &self,
        token: &[u8],
        _: &[String],
        _: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        Ok(self.users.get(&self.digest(token)).cloned().map(Identity::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"t1,admin,u1,\"system:masters,ops\"\nt2,bob,u2\n";

    async fn ask(tokens: &TokenFile, token: &str) -> Option<Arc<User>> {
        let found = tokens.authenticate_token(token.as_bytes(), &[], SystemTime::now()).await.unwrap();
        found.map(|identity| identity.user)
    }

    #[tokio::test]
    async fn a_token_names_its_user_and_groups() {
        let tokens = TokenFile::parse(FILE).unwrap();
        let admin = ask(&tokens, "t1").await.unwrap();
        assert_eq!((admin.name.as_str(), admin.uid.as_str()), ("admin", "u1"));
        assert_eq!(admin.groups, ["system:masters", "ops", "system:authenticated"]);
        assert_eq!(ask(&tokens, "t2").await.unwrap().groups, ["system:authenticated"]);
    }

    #[tokio::test]
    async fn an_unknown_token_is_no_opinion() {
        let tokens = TokenFile::parse(FILE).unwrap();
        assert_eq!(ask(&tokens, "t").await, None);
    }

    #[tokio::test]
    async fn a_group_with_a_space_before_it_is_another_group() {
        let tokens = TokenFile::parse(b"t,u,i,\"dev, system:masters\"\n,x,y\n").unwrap();
        assert_eq!(
            ask(&tokens, "t").await.unwrap().groups,
            ["dev", " system:masters", "system:authenticated"]
        );
    }

    /// The time of a comparison must not depend on how much of a guess is right. Digests under a secret key are compared, and
    /// that of a near guess has nothing in common with that of the token.
    #[test]
    fn a_near_guess_looks_nothing_like_the_token() {
        let (one, other) = (TokenFile::parse(FILE).unwrap(), TokenFile::parse(FILE).unwrap());
        let token = b"a-long-token-of-somebody-0";
        let same_bits = |left: [u8; 32], right: [u8; 32]| {
            left.iter().zip(right).map(|(left, right)| (left ^ right).count_zeros()).sum::<u32>()
        };
        for last in b'1'..=b'9' {
            let mut guess = *token;
            guess[token.len() - 1] = last;
            let same = same_bits(one.digest(token), one.digest(&guess));
            assert!((64..192).contains(&same), "{same} of 256 bits are the same");
        }
        let same = same_bits(one.digest(token), other.digest(token));
        assert!(
            (64..192).contains(&same),
            "another process has another key, but {same} of 256 bits are the same"
        );
    }

    #[test]
    fn a_bad_file_is_refused_with_its_line() {
        let error =
            |text: &[u8]| TokenFile::parse(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error(b"t1,a,b\nsecret,c\n").starts_with("line 2 has 2 columns"));
        assert!(!error(b"secret,c\n").contains("secret"), "no token in the message");
    }
}
