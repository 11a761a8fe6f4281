//! Declarations out of tokens.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::lexer::{Kind, Token, tokens};
use super::{Constant, Field, File, Literal, Markers, Shape, Type};

pub(in crate::schema) fn parse(source: &str) -> Result<File> {
    let mut parser = Parser { tokens: tokens(source), at: 0, markers: Vec::new() };
    let mut file = File::default();
    while parser.at < parser.tokens.len() {
        match parser.peek_word() {
            Some("import") => parser.group(|parser| parser.import(&mut file))?,
            Some("type") => parser.group(|parser| {
                let declared = parser.type_declaration()?;
                file.types.push(declared);
                Ok(())
            })?,
            Some("const") => parser.group(|parser| parser.constant(&mut file))?,
            _ => parser.skip_declaration(),
        }
    }
    Ok(file)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// Markers of the comments since the last declaration.
    markers: Vec<String>,
}

impl Parser {
    fn kind(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    /// Passes over line ends and comments, keeping the markers in them.
    fn skip_space(&mut self) {
        loop {
            match self.kind() {
                Some(Kind::LineEnd) => {}
                Some(Kind::Comment(text)) => {
                    if let Some(marker) = text.strip_prefix('+') {
                        let marker = marker.to_owned();
                        self.markers.push(marker);
                    }
                }
                _ => return,
            }
            self.at += 1;
        }
    }

    fn peek_word(&mut self) -> Option<&str> {
        self.skip_space();
        match self.kind() {
            Some(Kind::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn word(&mut self) -> Result<String> {
        match self.kind() {
            Some(Kind::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            other => bail!("line {}: expected a name, found {other:?}", self.line()),
        }
    }

    fn is(&self, character: char) -> bool {
        self.kind() == Some(&Kind::Punctuation(character))
    }

    fn takes(&mut self, character: char) -> bool {
        let found = self.is(character);
        self.at += usize::from(found);
        found
    }

    /// `{}`, or nothing.
    fn takes_empty_braces(&mut self) -> bool {
        let start = self.at;
        let empty = self.takes('{') && self.takes('}');
        if !empty {
            self.at = start;
        }
        empty
    }

    fn expect(&mut self, character: char) -> Result<()> {
        if self.takes(character) {
            return Ok(());
        }
        bail!("line {}: expected {character:?}, found {:?}", self.line(), self.kind())
    }

    fn take_markers(&mut self) -> Markers {
        Markers(std::mem::take(&mut self.markers))
    }

    /// Parses the declarations after a keyword: one, or several in parentheses.
    fn group(&mut self, mut one: impl FnMut(&mut Parser) -> Result<()>) -> Result<()> {
        self.at += 1;
        if !self.takes('(') {
            return one(self);
        }
        self.markers.clear();
        loop {
            self.skip_space();
            if self.takes(')') {
                self.markers.clear();
                return Ok(());
            }
            one(self)?;
        }
    }

    /// Passes over a function, a variable, or a package clause.
    fn skip_declaration(&mut self) {
        let start = self.at;
        self.skip_to_line_end();
        // A bracket that nothing opened must not be looked at for ever.
        self.at = self.at.max(start + 1);
        self.markers.clear();
    }

    /// To the end of the line, and of all brackets that were opened on it.
    fn skip_to_line_end(&mut self) {
        let mut depth = 0;
        while let Some(kind) = self.kind() {
            match kind {
                Kind::Punctuation('(' | '{' | '[') => depth += 1,
                Kind::Punctuation(')' | '}' | ']') if depth == 0 => return,
                Kind::Punctuation(')' | '}' | ']') => depth -= 1,
                Kind::LineEnd if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn import(&mut self, file: &mut File) -> Result<()> {
        let alias = match self.kind() {
            Some(Kind::Word(_)) => Some(self.word()?),
            _ => None,
        };
        let Some(Kind::Text(path)) = self.kind() else {
            bail!("line {}: expected an import path", self.line())
        };
        let path = path.clone();
        let alias = alias.unwrap_or_else(|| path.rsplit('/').next().unwrap_or_default().to_owned());
        file.imports.insert(alias, path);
        self.skip_to_line_end();
        Ok(())
    }

    fn constant(&mut self, file: &mut File) -> Result<()> {
        let name = self.word()?;
        // `Name Type = "value"` or `Name = Type("value")`.
        let converted = self.takes('=');
        if let Some(Kind::Word(of_type)) = self.kind() {
            let of_type = of_type.clone();
            self.at += 1;
            let start = self.at;
            if self.takes(if converted { '(' } else { '=' })
                && let Some(value) = self.literal()
            {
                file.constants.push(Constant { name, of_type, value });
            }
            // Back before the bracket, so that it is passed over together with what closes it.
            self.at = start;
        }
        self.skip_to_line_end();
        self.markers.clear();
        Ok(())
    }

    fn literal(&mut self) -> Option<Literal> {
        match self.kind()? {
            Kind::Text(text) => Some(Literal::Text(text.clone())),
            Kind::Word(word) if word.starts_with(char::is_alphabetic) => {
                let word = word.clone();
                self.at += 1;
                let name = if self.takes('.') { format!("{word}.{}", self.word().ok()?) } else { word };
                Some(Literal::Same(name))
            }
            _ => None,
        }
    }

    fn type_declaration(&mut self) -> Result<Type> {
        let markers = self.take_markers();
        let name = self.word()?;
        let alias = self.takes('=');
        let shape = self.shape()?;
        self.skip_to_line_end();
        Ok(Type { name, markers, alias, shape })
    }

    fn shape(&mut self) -> Result<Shape> {
        if self.takes('*') {
            return Ok(Shape::Pointer(Box::new(self.shape()?)));
        }
        if self.takes('[') {
            if !self.takes(']') {
                // An array of fixed length, or a type parameter: nothing that is stored.
                self.skip_to_line_end();
                return Ok(Shape::Other);
            }
            return Ok(Shape::Slice(Box::new(self.shape()?)));
        }
        let word = self.word()?;
        match word.as_str() {
            "map" => {
                self.expect('[')?;
                let key = self.shape()?;
                self.expect(']')?;
                Ok(Shape::Map(Box::new(key), Box::new(self.shape()?)))
            }
            "struct" => self.fields().map(Shape::Struct),
            // Without methods it is anything at all; with some it is no data.
            "interface" if self.takes_empty_braces() => Ok(Shape::Named("any".into())),
            "interface" | "func" | "chan" => {
                self.skip_to_line_end();
                Ok(Shape::Other)
            }
            _ => {
                let name = if self.takes('.') { format!("{word}.{}", self.word()?) } else { word };
                // With type parameters it is the program's own affair, never part of an object.
                Ok(if self.skips_brackets() { Shape::Other } else { Shape::Named(name) })
            }
        }
    }

    /// Passes over `[...]`, if that is what comes.
    fn skips_brackets(&mut self) -> bool {
        if !self.takes('[') {
            return false;
        }
        let mut depth = 1;
        while depth > 0 && self.kind().is_some() {
            depth += i32::from(self.is('[')) - i32::from(self.is(']'));
            self.at += 1;
        }
        true
    }

    fn fields(&mut self) -> Result<Vec<Field>> {
        self.expect('{')?;
        let mut fields = Vec::new();
        loop {
            self.markers.clear();
            self.skip_space();
            if self.takes('}') {
                self.markers.clear();
                return Ok(fields);
            }
            let markers = self.take_markers();
            let names = self.field_names()?;
            let shape = self.shape()?;
            let tags = match self.kind() {
                Some(Kind::Text(text)) => {
                    let tags = tags(text);
                    self.at += 1;
                    tags
                }
                _ => BTreeMap::new(),
            };
            for name in names {
                let (shape, tags, markers) = (shape.clone(), tags.clone(), markers.clone());
                fields.push(Field { name, shape, tags, markers });
            }
        }
    }

    /// The names before a field's type; one `None` where the type stands alone.
    fn field_names(&mut self) -> Result<Vec<Option<String>>> {
        let start = self.at;
        if self.is('*') {
            return Ok(vec![None]);
        }
        let mut names = vec![Some(self.word()?)];
        while self.takes(',') {
            names.push(Some(self.word()?));
        }
        let stands_alone =
            matches!(self.kind(), Some(Kind::LineEnd | Kind::Text(_) | Kind::Comment(_)) | None)
                || self.is('.')
                || self.is('}');
        if stands_alone {
            self.at = start;
            return Ok(vec![None]);
        }
        Ok(names)
    }
}

/// `json:"a,omitempty" protobuf:"..."` by key.
fn tags(text: &str) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once(":\"") {
        let Some((value, after)) = after.split_once('"') else { break };
        tags.insert(key.trim().to_owned(), value.to_owned());
        rest = after;
    }
    tags
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
