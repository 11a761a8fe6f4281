//! Objects that nobody would write, of every kind that has defaults.

use pintle_schema::{Opaque, Scalar, Shape, Struct};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRng};

use super::*;

/// Words that defaults depend on, and some that mean nothing.
const WORDS: &[&str] = &[
    "",
    "x",
    "nginx:latest",
    "Always",
    "ClientIP",
    "ClusterIP",
    "Container",
    "ExactCount",
    "LoadBalancer",
    "None",
    "OnDelete",
    "RollingUpdate",
    "ServiceAccount",
    "User",
    "Webhook",
];

const AMOUNTS: &[&str] = &["0", "1", "1u", "1500u", "1Gi", "1e-7", "-3n"];

/// Names of resources, and of what else maps may hold.
const KEYS: &[&str] = &["cpu", "hugepages-2Mi", "memory", "kubernetes.io/metadata.name"];

/// How much of an object is written before the rest is left out.
const MAX_BYTES: usize = 8000;

/// Schemas of custom resources contain themselves.
const MAX_DEPTH: usize = 20;

struct Author {
    random: TestRng,
    /// How often something is there, of 8.
    often: u32,
    depth: usize,
}

impl Author {
    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.next_u32() as usize % words.len()]
    }

    fn struct_of(&mut self, of: &Struct, out: &mut String) {
        self.depth += 1;
        out.push('{');
        let mut first = true;
        for field in of.flat {
            if out.len() > MAX_BYTES
                || self.depth > MAX_DEPTH
                || self.random.next_u32() % 8 >= self.often
                || ["kind", "apiVersion"].contains(&field.name)
            {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(&format!("\"{}\":", field.name));
            self.write(field.shape, out);
        }
        out.push('}');
        self.depth -= 1;
    }

    fn write(&mut self, shape: Shape, out: &mut String) {
        let written = match shape.underlying() {
            Shape::Pointer(_) if self.random.next_u32().is_multiple_of(8) => "null".to_owned(),
            Shape::Pointer(of) => return self.write(*of, out),
            Shape::Bytes => "\"AAEC\"".to_owned(),
            Shape::Scalar(Scalar::String | Scalar::Any) => format!("\"{}\"", self.one_of(WORDS)),
            Shape::Scalar(Scalar::Bool) => self.one_of(&["true", "false"]).to_owned(),
            Shape::Scalar(_) => self.one_of(&["0", "1", "80"]).to_owned(),
            Shape::List(of) => {
                out.push('[');
                for place in 0..self.random.next_u32() % 3 {
                    out.push_str(if place > 0 { "," } else { "" });
                    self.write(*of, out);
                }
                "]".to_owned()
            }
            Shape::Map(_, of) => {
                out.push('{');
                let count = self.random.next_u32() as usize % KEYS.len();
                for (place, key) in KEYS[..count].iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    out.push_str(&format!("\"{key}\":"));
                    self.write(*of, out);
                }
                "}".to_owned()
            }
            named @ Shape::Named(_) => match (named.structure(), named.opaque()) {
                (Some(of), _) => return self.struct_of(of, out),
                (None, Some(Opaque::Quantity)) => format!("\"{}\"", self.one_of(AMOUNTS)),
                (None, Some(Opaque::IntOrString)) => self.one_of(&["0", "\"\"", "\"web\"", "80"]).to_owned(),
                (None, Some(Opaque::Time)) => "\"2020-01-01T00:00:00Z\"".to_owned(),
                (None, Some(Opaque::Duration)) => "\"1s\"".to_owned(),
                _ => "null".to_owned(),
            },
        };
        out.push_str(&written);
    }
}

proptest! {
    #![proptest_config(Config { cases: 8, ..Config::default() })]

    #[test]
    fn anything_is_defaulted_once_and_for_all(seed: [u8; 32], often in 2u32..8) {
        let random = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed);
        let mut author = Author { random, often, depth: 0 };
        for of in kinds().filter(|of| has_defaults(of) && !of.name.ends_with("List")) {
            let mut text = String::new();
            author.struct_of(of.structure().unwrap(), &mut text);
            defaulted(of, &decode(of, &text), &Settings::default());
        }
    }
}
