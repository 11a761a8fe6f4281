//! The dictionary of SPDY/3 header blocks, as its specification defines it: names and values with their length before them, and then
//! plain text.

const WORDS: &str = concat!(
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|",
    "accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-encoding|",
    "content-language|content-length|content-location|content-md5|content-range|content-type|date|etag|",
    "expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|",
    "last-modified|location|max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|",
    "retry-after|server|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|",
    "www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|keep-alive|origin",
);
const TEXT: &str = concat!(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authori",
    "tative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not ",
    "Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug S",
    "ept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,imag",
    "e/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,",
    "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
);

/// Returns the dictionary.
pub(crate) fn bytes() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1423);
    for word in WORDS.split('|') {
        bytes.extend_from_slice(&(word.len() as u32).to_be_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    bytes.extend_from_slice(TEXT.as_bytes());
    bytes
}

/// Returns the checksum by which zlib names a dictionary.
pub(crate) fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let add = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    };
    let (a, b) = bytes.iter().fold((1, 0), add);
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_is_that_of_the_specification() {
        assert_eq!((bytes().len(), adler32(&bytes())), (1423, 0xe3c6_a7c2));
    }
}
