//! Shards of a collection: the objects whose hashed uid or namespace is in some ranges (`shardSelector` of lists and watches).

/// The field of an object that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardKey {
    Uid,
    Namespace,
}

impl ShardKey {
    pub fn as_str(self) -> &'static str {
        match self {
            ShardKey::Uid => "object.metadata.uid",
            ShardKey::Namespace => "object.metadata.namespace",
        }
    }
}

/// The objects whose hash is in one of some ranges. Prints as the selector that clients are given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards {
    pub key: ShardKey,
    ranges: Vec<ShardRange>,
}

/// Parses a selector of shards. Errors: a message for the client.
pub type ShardParser = fn(&str) -> Result<Shards, String>;

/// The hashes from the first number up to, and without, the second.
pub type ShardRange = (u64, u128);

impl Shards {
    pub fn new(key: ShardKey, ranges: Vec<ShardRange>) -> Shards {
        Shards { key, ranges }
    }

    /// Returns whether an object with this uid, or in this namespace, is in one of the ranges.
    pub fn contains(&self, value: &str) -> bool {
        let hash = fnv1a(value.as_bytes());
        self.ranges.iter().any(|(start, end)| *start <= hash && u128::from(hash) < *end)
    }
}

impl std::fmt::Display for Shards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (start, end)) in self.ranges.iter().enumerate() {
            let or = if index > 0 { " || " } else { "" };
            write!(f, "{or}shardRange({}, '0x{start:016x}', '0x{end:016x}')", self.key.as_str())?;
        }
        Ok(())
    }
}

/// The 64-bit FNV-1a hash.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_fnv() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
