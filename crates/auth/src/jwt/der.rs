//! The few DER structures that keys are written in.

/// A DER value: tag, length, content.
pub(crate) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1)..];
    match significant {
        [short] if *short < 0x80 => der.push(*short),
        long => {
            der.push(0x80 | long.len() as u8);
            der.extend_from_slice(long);
        }
    }
    der.extend_from_slice(content);
    der
}

/// A bare RSA key (PKCS #1) out of modulus and exponent, both big-endian.
pub(crate) fn rsa_key(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let mut content = positive(modulus);
    content.extend(positive(exponent));
    tagged(0x30, &content)
}

/// Wraps a bare RSA key (PKCS #1) in what the other forms carry: an algorithm identifier and a bit string.
pub(crate) fn rsa_spki(key: &[u8]) -> Vec<u8> {
    // rsaEncryption, with the NULL parameters that go with it.
    spki(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0], key)
}

/// A public key of an algorithm.
pub(crate) fn spki(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let mut bits = vec![0];
    bits.extend_from_slice(key);
    let mut content = tagged(0x30, algorithm);
    content.extend(tagged(3, &bits));
    tagged(0x30, &content)
}

/// A positive integer, as short as it can be written.
pub(crate) fn positive(number: &[u8]) -> Vec<u8> {
    let number = without_leading_zeros(number);
    match number.first() {
        Some(first) if *first < 0x80 => tagged(2, number),
        // A first bit that is set would make it negative, and zero still takes a byte.
        _ => tagged(2, &[&[0], number].concat()),
    }
}

pub(crate) fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    &number[first..]
}
