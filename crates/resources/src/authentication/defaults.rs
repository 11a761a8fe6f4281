//! Defaults of token requests.

use crate::framework::defaults::Fill::Int;
use crate::framework::defaults::Rule;

pub(crate) const RULES: &[Rule] =
    &[Rule::table(&["authentication/v1.TokenRequestSpec"], &[("expirationSeconds", Int(3600))])];

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    #[test]
    fn a_token_is_good_for_an_hour() {
        let request = |spec: &str| {
            format!(
                r#"{{"metadata":{{}},"spec":{{"audiences":["a"],{spec}"boundObjectRef":null}},
                    "status":{{"token":"","expirationTimestamp":null}}}}"#
            )
        };
        let (before, after) = (request(""), request(r#""expirationSeconds":3600,"#));
        check("authentication/v1.TokenRequest", &before, &after);
        let own = request(r#""expirationSeconds":600,"#);
        check("authentication/v1.TokenRequest", &own, &own);
    }
}
