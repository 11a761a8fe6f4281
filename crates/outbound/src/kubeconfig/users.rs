//! The users of a kubeconfig that has credentials for many servers: the name of a user is the server that it is for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Error, File, User, check_user, credentials, load};
use crate::ClientOptions;
use crate::credentials::Authorization;
use crate::tls::KeyPair;

/// Users by the servers that they are for: `host:port`, `*.suffix`, or `*` for all others. The port of https can be left out.
#[derive(Default)]
pub struct Users {
    users: BTreeMap<String, User>,
    /// The user of the current context, for servers that no name stands for.
    current: Option<String>,
    base: PathBuf,
}

/// The credentials that a client shows a server.
#[derive(Clone)]
pub struct Credentials {
    pub key_pair: Option<KeyPair>,
    pub authorization: Authorization,
}

impl Credentials {
    pub fn anonymous() -> Credentials {
        Credentials { key_pair: None, authorization: Authorization::None }
    }

    /// Gives a client these credentials.
    #[must_use]
    pub fn apply(self, mut options: ClientOptions) -> ClientOptions {
        options.tls.key_pair = self.key_pair;
        options.authorization = self.authorization;
        options
    }
}

impl Users {
    pub fn load(path: &Path) -> Result<Users, Error> {
        load(path, Users::parse)
    }

    /// `base`: what paths in it are relative to.
    pub fn parse(text: &[u8], base: &Path) -> Result<Users, Error> {
        let file = File::parse(text)?;
        let mut contexts = file.contexts.into_iter();
        let current = contexts.find(|context| context.name == file.current_context);
        let current = current.filter(|_| !file.current_context.is_empty());
        Ok(Users {
            users: file.users.into_iter().map(|named| (named.name, named.entry.user)).collect(),
            current: current.map(|named| named.entry.context.user).filter(|user| !user.is_empty()),
            base: base.to_owned(),
        })
    }

    /// Returns the credentials for a server, written `host:port`; anonymous if there are none.
    pub fn of(&self, server: &str) -> Result<Credentials, Error> {
        let without_port = server.strip_suffix(":443");
        let named = [Some(server), without_port].into_iter().flatten().find_map(|server| self.named(server));
        let current = || self.users.get_key_value(self.current.as_deref()?);
        let Some((name, user)) = named.or_else(|| self.users.get_key_value("*")).or_else(current) else {
            return Ok(Credentials::anonymous());
        };
        let mut problems = Vec::new();
        check_user(name, user, &self.base, &mut problems);
        if let Some(problem) = problems.into_iter().next() {
            return Err(Error(problem));
        }
        let (key_pair, authorization) = credentials(user, &self.base)?;
        Ok(Credentials { key_pair, authorization })
    }

    /// Finds the user of a server by its name, or by that of a domain that it is in.
    fn named(&self, server: &str) -> Option<(&String, &User)> {
        let suffixes = server.match_indices('.').map(|(at, _)| format!("*{}", &server[at..]));
        std::iter::once(server.to_owned()).chain(suffixes).find_map(|name| self.users.get_key_value(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(users: &Users, server: &str) -> String {
        match users.of(server) {
            Ok(Credentials { authorization: Authorization::Bearer(token), .. }) => token,
            Ok(_) => "anonymous".into(),
            Err(error) => error.to_string(),
        }
    }

    fn users(text: &str) -> Users {
        Users::parse(text.as_bytes(), Path::new("/")).unwrap()
    }

    #[test]
    fn the_most_specific_user_is_taken() {
        let mut text = String::from("users:\n");
        for name in ["a.ns.svc:8443", "a.ns.svc", "*.ns.svc", "*.svc:8443", "*.company.com", "*"] {
            text += &format!("- name: '{name}'\n  user: {{token: 'of {name}'}}\n");
        }
        let known = users(&text);
        for (server, expect) in [
            ("a.ns.svc:8443", "of a.ns.svc:8443"),
            ("a.ns.svc:443", "of a.ns.svc"),
            ("b.ns.svc:443", "of *.ns.svc"),
            ("b.ns.svc:8443", "of *.svc:8443"),
            ("b.ns.svc:1", "of *"),
            ("x.y.company.com:443", "of *.company.com"),
            ("company.com:443", "of *"),
        ] {
            assert_eq!(token(&known, server), expect, "{server}");
        }
    }

    #[test]
    fn the_current_context_is_for_all_others() {
        let text = "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {user: u}}]\n";
        assert_eq!(token(&users(&format!("{text}current-context: c")), "a:443"), "t");
        assert_eq!(token(&users(text), "a:443"), "anonymous");
        assert_eq!(token(&Users::default(), "a:443"), "anonymous");
    }

    #[test]
    fn a_user_that_cannot_be_used_is_an_error() {
        let error = token(&users("users: [{name: '*', user: {exec: {command: x}}}]"), "a:443");
        assert!(error.contains("exec plugins are not supported here"), "{error}");
    }
}
