//! Whether the certificate and key of a TLS secret look like ones, as far as their armor tells. What is inside is not read.

/// Returns the error of a key pair in the words of the reference's TLS library; `None` if none is found.
pub(crate) fn problem(certificates: &[u8], key: &[u8]) -> Option<String> {
    let found = blocks(certificates);
    if !found.iter().any(|kind| kind == "CERTIFICATE") {
        return Some(match &found[..] {
            [] => "tls: failed to find any PEM data in certificate input".into(),
            [only] if only.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may \
                 have been switched"
                    .into()
            }
            _ => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: [{}]",
                found.join(" ")
            ),
        });
    }
    let found = blocks(key);
    let is_key = |kind: &String| kind == "PRIVATE KEY" || kind.ends_with(" PRIVATE KEY");
    if found.iter().any(is_key) {
        return None;
    }
    Some(match &found[..] {
        [] => "tls: failed to find any PEM data in key input".into(),
        [only] if only == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".into()
        }
        _ => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the \
             following types: [{}]",
            found.join(" ")
        ),
    })
}

/// The types of the PEM blocks of a text. What is no whole block is skipped, as text between blocks is.
fn blocks(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut found = Vec::new();
    // The type of the block that is open, and what is in it so far.
    let mut open: Option<(&str, String)> = None;
    for line in text.lines().map(str::trim_end) {
        let marked = |mark: &str| line.strip_prefix(mark)?.strip_suffix("-----");
        if let Some(kind) = marked("-----BEGIN ") {
            open = Some((kind, String::new()));
        } else if let Some(end) = marked("-----END ") {
            if let Some((kind, _)) = open.take().filter(|(kind, body)| *kind == end && is_base64(body)) {
                found.push(kind.to_owned());
            }
        } else if let Some((_, body)) = &mut open {
            // Headers may come first.
            if body.is_empty() && line.contains(':') {
                continue;
            }
            body.push_str(line.trim());
        }
    }
    found
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.chars().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const KEY: &str = "some text\n-----BEGIN EC PRIVATE KEY-----\nA: b\n\nAA==\n-----END EC PRIVATE KEY-----";

    #[test]
    fn what_does_not_look_like_a_certificate_and_a_key_is_told() {
        let told = |certificates: &str, key: &str| problem(certificates.as_bytes(), key.as_bytes());
        assert_eq!(told(CERTIFICATE, KEY), None);
        for (certificates, key, why) in [
            ("x", KEY, "tls: failed to find any PEM data in certificate input"),
            (
                "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----",
                KEY,
                "tls: failed to find any PEM data in certificate input",
            ),
            (
                KEY,
                KEY,
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
            ),
            (CERTIFICATE, "", "tls: failed to find any PEM data in key input"),
            (
                CERTIFICATE,
                CERTIFICATE,
                "tls: found a certificate rather than a key in the PEM for the private key",
            ),
            (
                CERTIFICATE,
                "-----BEGIN A-----\n-----END A-----\n-----BEGIN B-----\n-----END B-----\n",
                "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [A B]",
            ),
        ] {
            assert_eq!(told(certificates, key).as_deref(), Some(why));
        }
    }
}
