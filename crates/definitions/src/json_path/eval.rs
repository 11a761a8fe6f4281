//! Following paths.

use std::cmp::Ordering;

use pintle_meta::Value;

use super::find::{Basic, Found};
use super::{Filter, Node, Slice};

/// No more than this is looked at: ranges and recursion within each other make much of little.
const MOST: usize = 200_000;

/// Ranges within ranges.
const DEEPEST: usize = 32;

type Values<'a> = Vec<Found<'a>>;

/// Why a path cannot be followed, and what was at hand when that was noticed: a filter that only asks whether something is
/// there takes that for it.
struct Failure<'a> {
    reason: String,
    left: Values<'a>,
}

type Outcome<'a> = Result<Values<'a>, Failure<'a>>;

fn failed<'a>(reason: impl Into<String>, left: Values<'a>) -> Outcome<'a> {
    Err(Failure { reason: reason.into(), left })
}

pub(super) fn template<'a>(nodes: &'a [Node], object: &'a Value) -> Result<Vec<Values<'a>>, String> {
    let mut walk = Walk { nodes, room: MOST, begun: 0, inside: 0, ended: 0, last_end: None };
    walk.results(Found::Tree(object), 0)
}

struct Walk<'a> {
    nodes: &'a [Node],
    /// How much may still be looked at.
    room: usize,
    /// Ranges that were opened, are open, and were closed by the actions so far.
    begun: usize,
    inside: usize,
    ended: usize,
    last_end: Option<usize>,
}

impl<'a> Walk<'a> {
    /// Returns the values that the actions from an index on find. A range repeats its actions for each of its items.
    fn results(&mut self, of: Found<'a>, from: usize) -> Result<Vec<Values<'a>>, String> {
        if self.inside > DEEPEST {
            return Err("too many ranges".into());
        }
        let mut all = Vec::new();
        let mut place = from;
        while let Some(node) = self.nodes.get(place) {
            let found = self.node(vec![of], node).map_err(|failure| failure.reason)?;
            if self.ended > 0 && self.ended <= self.inside {
                self.ended -= 1;
                self.last_end = Some(place);
                break;
            }
            if self.begun == 0 {
                all.push(found);
                place += 1;
                continue;
            }
            self.begun -= 1;
            self.inside += 1;
            if found.is_empty() {
                self.results(Found::Nothing, place + 1)?;
            }
            for item in found {
                all.extend(self.results(item, place + 1)?);
            }
            self.inside -= 1;
            place = self.last_end.map_or(place, |end| place.max(end)) + 1;
        }
        Ok(all)
    }

    fn list(&mut self, values: Values<'a>, nodes: &'a [Node]) -> Outcome<'a> {
        nodes.iter().try_fold(values, |values, node| self.node(values, node))
    }

    fn node(&mut self, values: Values<'a>, node: &'a Node) -> Outcome<'a> {
        match self.room.checked_sub(values.len() + 1) {
            Some(room) => self.room = room,
            None => return failed("too much to look at", Vec::new()),
        }
        Ok(match node {
            Node::List(nodes) => return self.list(values, nodes),
            Node::Text(text) => vec![Found::Text(text)],
            Node::Int(value) => vec![Found::Int(*value); values.len()],
            Node::Float(value) => vec![Found::Float(*value); values.len()],
            Node::Bool(value) => vec![Found::Bool(*value); values.len()],
            Node::Field(name) => {
                let field = |found: Found<'a>| match found {
                    Found::Tree(value) => value.as_object()?.get(name).map(Found::Tree),
                    _ => None,
                };
                values.into_iter().filter_map(field).collect()
            }
            Node::Wildcard => return self.parts(values),
            Node::Recursive => {
                let mut found = Vec::new();
                self.recursive(values, &mut found)?;
                found
            }
            Node::Array(slice) => return array(values, *slice),
            Node::Union(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    match self.list(values.clone(), part) {
                        Ok(more) => found.extend(more),
                        Err(failure) => return failed(failure.reason, values),
                    }
                }
                found
            }
            Node::Filter(filter) => return self.filter(values, filter),
            Node::Identifier(name) => match name.as_str() {
                "range" => {
                    self.begun += 1;
                    values
                }
                "end" if self.inside > 0 => {
                    self.ended += 1;
                    Vec::new()
                }
                "end" => return failed("not in range, nothing to end", Vec::new()),
                _ => return failed(format!("unrecognized identifier {name}"), values),
            },
        })
    }

    fn parts(&mut self, values: Values<'a>) -> Outcome<'a> {
        let mut found = Vec::new();
        for value in values {
            for part in value.parts() {
                if self.room == 0 {
                    return failed("too much to look at", found);
                }
                self.room -= 1;
                found.push(part);
            }
        }
        Ok(found)
    }

    /// Everything that has parts, whatever is in it before what stands beside it. Bytes have none; trees are not deep.
    fn recursive(&mut self, values: Values<'a>, found: &mut Values<'a>) -> Result<(), Failure<'a>> {
        for value in values {
            let parts = self.parts(vec![value])?;
            if !parts.is_empty() {
                found.push(value);
                self.recursive(parts, found)?;
            }
        }
        Ok(())
    }

    fn filter(&mut self, values: Values<'a>, filter: &'a Filter) -> Outcome<'a> {
        let mut found = Vec::new();
        for value in &values {
            let Some(items) = value.list() else {
                let shown = value.display();
                return failed(format!("{shown} is not array or slice and cannot be filtered"), values);
            };
            for item in items {
                let item = Found::Tree(item);
                let lefts = self.list(vec![item], &filter.left);
                if filter.operator == "exists" {
                    let lefts = lefts.unwrap_or_else(|failure| failure.left);
                    found.extend((!lefts.is_empty()).then_some(item));
                    continue;
                }
                const ONE: &str = "can only compare one element at a time";
                let left = match lefts {
                    Err(failure) => return failed(failure.reason, values),
                    Ok(lefts) if lefts.len() > 1 => return failed(ONE, values),
                    Ok(lefts) => lefts.first().copied(),
                };
                let Some(left) = left else { continue };
                let right = match self.list(vec![item], &filter.right) {
                    Err(failure) => return failed(failure.reason, values),
                    Ok(rights) if rights.len() > 1 => return failed(ONE, values),
                    Ok(rights) => rights.first().copied(),
                };
                let Some(right) = right else { continue };
                match compared(left, &filter.operator, right) {
                    Ok(true) => found.push(item),
                    Ok(false) => {}
                    Err(reason) => return failed(reason, found),
                }
            }
        }
        Ok(found)
    }
}

fn array<'a>(values: Values<'a>, slice: Slice) -> Outcome<'a> {
    let mut found = Vec::new();
    for value in &values {
        if value.is_null() {
            continue;
        }
        let Some(items) = value.list() else {
            return failed(format!("{} is not array or slice", value.type_name()), values);
        };
        let length = items.len() as i64;
        let mut start = slice.start.unwrap_or_default();
        if start < 0 {
            start = start.wrapping_add(length);
        }
        let mut end = slice.end.unwrap_or(length);
        if end < 0 || end == 0 && slice.derived {
            end = end.wrapping_add(length);
        }
        if start == end {
            return Ok(found);
        }
        let outside = |index: i64| format!("array index out of bounds: index {index}, length {length}");
        if start >= length || start < 0 {
            return failed(outside(start), values);
        }
        if end > length || end < 0 {
            return failed(outside(end.wrapping_sub(1)), values);
        }
        if start > end {
            return failed(format!("starting index {start} is greater than ending index {end}"), values);
        }
        let step = match slice.step {
            None => 1,
            Some(step) if step <= 0 => return failed("step must be > 0", values),
            Some(step) => step as usize,
        };
        found.extend(items[start as usize..end as usize].iter().step_by(step).map(Found::Tree));
    }
    Ok(found)
}

/// Numbers that the reference keeps as different types are not compared, unless both are whole.
fn compared(left: Found<'_>, operator: &str, right: Found<'_>) -> Result<bool, String> {
    const KINDS: &str = "invalid type for comparison";
    let (Some(left), Some(right)) = (left.basic(), right.basic()) else { return Err(KINDS.into()) };
    let is_flag = matches!(left, Basic::Bool(_));
    let order = match (&left, &right) {
        (Basic::Int(a), Basic::Uint(b)) => {
            u64::try_from(*a).map_or(Some(Ordering::Less), |a| a.partial_cmp(b))
        }
        (Basic::Uint(a), Basic::Int(b)) => {
            u64::try_from(*b).map_or(Some(Ordering::Greater), |b| a.partial_cmp(&b))
        }
        _ if std::mem::discriminant(&left) == std::mem::discriminant(&right) => left.partial_cmp(&right),
        _ => return Err("incompatible types for comparison".into()),
    };
    let is = |order_is: fn(Ordering) -> bool| {
        if is_flag { Err(KINDS.to_owned()) } else { Ok(order.is_some_and(order_is)) }
    };
    match operator {
        "==" => Ok(order == Some(Ordering::Equal)),
        "!=" => Ok(order != Some(Ordering::Equal)),
        "<" => is(Ordering::is_lt),
        "<=" => is(Ordering::is_le),
        // They are the opposites of the others, which matters for what is not a number.
        ">" => is(Ordering::is_le).map(|is| !is),
        ">=" => is(Ordering::is_lt).map(|is| !is),
        _ => Err(format!("unrecognized filter operator {operator}")),
    }
}
