//! Indents JSON as a stream: compact text in chunks of any size.

/// State between chunks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Indenter {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether an object or list was opened and may still be empty.
    opened: bool,
}

impl Indenter {
    /// Indents the next chunk of a compact document. White space between values is dropped, also at the end.
    pub fn write(&mut self, part: &[u8], out: &mut Vec<u8>) {
        for &byte in part {
            if self.in_string {
                out.push(byte);
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                continue;
            }
            let closes = matches!(byte, b'}' | b']');
            if self.opened && !closes {
                self.depth += 1;
                self.line(out);
            }
            if closes && !self.opened {
                self.depth = self.depth.saturating_sub(1);
                self.line(out);
            }
            self.opened = matches!(byte, b'{' | b'[');
            out.push(byte);
            match byte {
                b'"' => self.in_string = true,
                b',' => self.line(out),
                b':' => out.push(b' '),
                _ => {}
            }
        }
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', self.depth * 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn chunks_are_indented_like_the_whole_document() {
        let text = br#"{"a":{},"b":[],"c":[1,{"d":"x,{\"}\\"}],"e":{"f":[[],[[2]]]},"g":null}"#;
        let mut expected = Vec::new();
        json::encode_pretty(&json::decode_untyped(text).unwrap().value, &mut expected);
        for size in 1..text.len() {
            let (mut indenter, mut out) = (Indenter::default(), Vec::new());
            text.chunks(size).for_each(|part| indenter.write(part, &mut out));
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
        }
    }
}
