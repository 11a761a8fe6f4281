//! Order of keys in YAML: non-letters before letters, and numbers by value (`a2` before `a10`).

use std::cmp::Ordering;

/// Sorts by keys. The order is not total for some texts (numbers beyond 64 bits), on which the standard library's
/// sort may panic; this one yields some order.
pub(super) fn sort<T>(items: &mut Vec<(&str, T)>) {
    if items.is_sorted_by(|(a, _), (b, _)| !less(b, a)) {
        return;
    }
    let tail = items.split_off(items.len() / 2);
    let mut halves = [std::mem::take(items), tail];
    halves.iter_mut().for_each(sort);
    let [left, right] = halves.map(|half| half.into_iter().peekable());
    let (mut left, mut right) = (left, right);
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(b.0, a.0) { right.next() } else { left.next() };
        items.extend(next);
    }
    items.extend(left.chain(right));
}

fn less(a: &str, b: &str) -> bool {
    compare(a, b) == Ordering::Less
}

fn compare(a: &str, b: &str) -> Ordering {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    let (Some(x), Some(y)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.len().cmp(&rest_b.len());
    };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero counts inside of a number, not at its start.
    let mut start = 0i64;
    if x == '0' || y == '0' {
        let before = a[..same].bytes().rev().take_while(u8::is_ascii_digit);
        start = i64::from(before.into_iter().any(|digit| digit != b'0'));
    }
    let ((value_a, digits_a), (value_b, digits_b)) = (number(rest_a, start), number(rest_b, start));
    value_a.cmp(&value_b).then(digits_a.cmp(&digits_b)).then(x.cmp(&y))
}

fn number(text: &str, start: i64) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((start, 0), |(value, count), digit| {
        (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), count + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(keys: &[&'a str]) -> Vec<&'a str> {
        let mut items: Vec<_> = keys.iter().map(|key| (*key, ())).collect();
        sort(&mut items);
        items.into_iter().map(|(key, ())| key).collect()
    }

    #[test]
    fn numbers_in_keys_count_as_numbers() {
        let keys =
            ["a10", "a2", "a1", "a", "b", "B", "a02", "a1b", "1", "10", "9", "a-b", "a.b", "ab", "a/b", "_"];
        assert_eq!(
            sorted(&keys),
            ["_", "1", "9", "10", "B", "a", "a-b", "a.b", "a/b", "a1", "a1b", "a2", "a02", "a10", "ab", "b"]
        );
        assert_eq!(sorted(&["a100", "a10", "a110", "a010"]), ["a10", "a010", "a100", "a110"]);
    }

    #[test]
    fn keys_without_a_total_order_are_sorted_without_a_panic() {
        let keys: Vec<String> =
            (0..500u64).map(|n| format!("k{}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let long: Vec<String> = keys.iter().map(|key| format!("{key}{key}").replace("kk", "k")).collect();
        let all: Vec<&str> = keys.iter().chain(&long).map(String::as_str).collect();
        assert_eq!(sorted(&all).len(), all.len());
    }
}
