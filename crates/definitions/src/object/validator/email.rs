//! Mail addresses as Go's `net/mail` parses them: `a@b`, `"x y" <a@b> (comment)`, a group of one.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a text is one address.
pub fn is_email(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address(true) == Some(1) && parser.comments() && parser.rest.is_empty()
}

struct Parser<'t> {
    rest: &'t str,
}

fn is_visible(c: char) -> bool {
    ('!'..='~').contains(&c) || !c.is_ascii()
}

fn is_atom_char(c: char) -> bool {
    is_visible(c) && !"()<>[]:;@\\,\"".contains(c)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

impl<'t> Parser<'t> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    fn take(&mut self, c: char) -> bool {
        let behind = self.rest.strip_prefix(c);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    /// Number of addresses: one, or those of a group.
    fn address(&mut self, may_be_group: bool) -> Option<usize> {
        self.skip_space();
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest;
        if self.specification().is_some() {
            self.skip_space();
            return (!self.rest.starts_with('(') || self.comments()).then_some(1);
        }
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if may_be_group && self.take(':') {
            return self.group();
        }
        (self.take('<') && self.specification().is_some() && self.take('>')).then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        let mut count = 0;
        self.skip_space();
        if self.take(';') {
            return self.comments().then_some(count);
        }
        loop {
            self.skip_space();
            count += self.address(false)?;
            if !self.comments() {
                return None;
            }
            if self.take(';') {
                return self.comments().then_some(count);
            }
            if !self.take(',') {
                return None;
            }
        }
    }

    /// Splits the address at the `@`.
    fn specification(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            if self.quoted()? == 0 {
                return None;
            }
        } else {
            self.dotted()?;
        }
        if !self.take('@') {
            return None;
        }
        self.skip_space();
        if self.take('[') { self.domain_literal() } else { self.dotted() }
    }

    fn atom(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c: char| !is_atom_char(c)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!atom.is_empty()).then_some(atom)
    }

    /// An atom in which dots only stand between other characters.
    fn dotted(&mut self) -> Option<()> {
        self.atom()?.split('.').all(|part| !part.is_empty()).then_some(())
    }

    fn domain_literal(&mut self) -> Option<()> {
        let (literal, rest) = self.rest.split_once(']')?;
        self.rest = rest;
        match literal.strip_prefix("IPv6:") {
            Some(address) => {
                let mapped = || address.parse::<Ipv4Addr>().map(|_| ());
                address.parse::<Ipv6Addr>().map(|_| ()).or_else(|_| mapped()).ok()
            }
            None => {
                let mapped = || literal.parse::<Ipv6Addr>().ok()?.to_ipv4_mapped();
                literal.parse::<Ipv4Addr>().ok().or_else(mapped).map(|_| ())
            }
        }
    }

    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 && !self.comments() {
                return None;
            }
            self.skip_space();
            let before = self.rest;
            let word =
                if self.rest.starts_with('"') { self.quoted().map(|_| ()) } else { self.atom().map(|_| ()) };
            if word.is_none() {
                self.rest = before;
                return (words > 0).then_some(());
            }
            words += 1;
        }
    }

    /// A text in quotes; how long it is.
    fn quoted(&mut self) -> Option<usize> {
        let mut length = 0;
        let mut chars = self.rest.char_indices().skip(1);
        loop {
            match chars.next()? {
                (place, '"') => {
                    self.rest = &self.rest[place + 1..];
                    return Some(length);
                }
                (_, '\\') => {
                    chars.next().filter(|(_, c)| is_visible(*c) || is_blank(*c))?;
                }
                (_, c) if is_visible(c) || is_blank(c) => {}
                _ => return None,
            }
            length += 1;
        }
    }

    /// Skips blanks and comments; whether all comments are closed.
    fn comments(&mut self) -> bool {
        self.skip_space();
        while self.take('(') {
            if !self.comment() {
                return false;
            }
            self.skip_space();
        }
        true
    }

    fn comment(&mut self) -> bool {
        let mut depth = 1;
        let mut chars = self.rest.char_indices();
        while let Some((place, c)) = chars.next() {
            match c {
                '\\' => _ = chars.next(),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = &self.rest[place + 1..];
                return true;
            }
        }
        self.rest = "";
        false
    }
}

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn addresses_are_those_that_go_parses() {
        let good = [
            "a@b",
            "a.b+c@example.com",
            " a@b ",
            "<a@b>",
            "Some One <a@b>",
            "\"Some One\" <a@b>",
            "A. B <a@b>",
            "\"a b\"@c",
            "a@[1.2.3.4]",
            "a@[IPv6:::1]",
            "a@b (comment)",
            "a@b (one) (two (three))",
            "ü@b",
            "group: a@b;",
        ];
        good.iter().for_each(|text| assert!(is_email(text), "{text}"));
        let bad = [
            "",
            " ",
            "a",
            "@b",
            "a@",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a@b.",
            "a@b c",
            "a@b, c@d",
            "Some One a@b",
            "<a@b",
            "a@b>",
            "\"\"@b",
            "\"a@b",
            "a@[1.2.3]",
            "a@b (",
            "group:;",
            "group: a@b, c@d;",
            "group: a@b",
            "a\n@b",
        ];
        bad.iter().for_each(|text| assert!(!is_email(text), "{text}"));
    }
}
