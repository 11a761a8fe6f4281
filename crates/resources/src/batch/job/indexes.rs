//! Lists of indexes of an indexed job: `1,3-5,7`.

use pintle_meta::quote;

/// Returns the number of indexes in a list, which ascend and are below the number of completions.
pub(super) fn count(list: &str, completions: i64) -> Result<i64, String> {
    if list.is_empty() {
        return Ok(0);
    }
    let mut total = 0;
    let mut last = None;
    for part in list.split(',') {
        let (from, to) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

/// Returns an index that is in both lists. Parts that are no intervals are skipped.
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let read = |part: &str| interval(part, completions).ok();
    if completed.is_empty() || failed.is_empty() {
        return None;
    }
    let mut completed = completed.split(',').filter_map(read);
    let mut failed = failed.split(',').filter_map(read);
    let (mut one, mut other) = (completed.next()?, failed.next()?);
    loop {
        if one.0 <= other.1 && other.0 <= one.1 {
            return Some(one.0.max(other.0));
        }
        if one.0 <= other.0 {
            one = completed.next()?;
        } else {
            other = failed.next()?;
        }
    }
}

/// Returns the first and last index of `7` or `3-5`.
fn interval(part: &str, completions: i64) -> Result<(i64, i64), String> {
    let (first, last) = match part.split_once('-') {
        Some((_, rest)) if rest.contains('-') => {
            return Err(format!(
                "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
                quote(part)
            ));
        }
        Some((first, last)) => (first, Some(last)),
        None => (part, None),
    };
    let read = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {}", quote(text))),
        Ok(index) if index >= completions => Err(format!("too large index: {}", quote(text))),
        Ok(index) => Ok(index),
    };
    let from = read(first)?;
    let Some(last) = last else { return Ok((from, from)) };
    let to = read(last)?;
    if from >= to {
        return Err(format!("non-increasing order, previous: {from}, current: {to}"));
    }
    Ok((from, to))
}
