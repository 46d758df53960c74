//! Changes to JSON that keep it JSON.

use serde_json::{Map, Number, Value, json};

use crate::Random;

/// Values that no document has where it is not asked for them.
fn nonsense() -> [Value; 21] {
    [
        json!(null),
        json!(false),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(0.5),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(1_u64 << 60),
        json!(""),
        json!("linear"),
        json!("poly(degree=64, gamma=1e300, coef0=1e300)"),
        json!([]),
        json!([[]]),
        json!([0, 0]),
        json!({}),
    ]
}

/// A document with one value replaced, taken away, doubled or turned round, in every way and place.
pub fn edits(document: &Value) -> Vec<(String, Value)> {
    let mut pointers = vec![String::new()];
    walk(document, "", &mut pointers);
    let mut edited = Vec::new();
    for pointer in pointers {
        let mut push = |what: String, change: &dyn Fn(&mut Value)| {
            let mut copy = document.clone();
            if let Some(place) = copy.pointer_mut(&pointer) {
                change(place);
                edited.push((format!("{pointer}: {what}"), copy));
            }
        };
        for value in nonsense() {
            push(value.to_string(), &|place| *place = value.clone());
        }
        match document.pointer(&pointer) {
            Some(Value::Array(values)) => {
                push("turned round".into(), &|place| {
                    *place = values.iter().rev().cloned().collect();
                });
                push("first gone".into(), &|place| {
                    *place = values.iter().skip(1).cloned().collect();
                });
                push("doubled".into(), &|place| {
                    *place = values.iter().chain(values).cloned().collect();
                });
            }
            Some(Value::Object(entries)) => {
                for key in entries.keys() {
                    push(format!("without {key}"), &|place| {
                        place.as_object_mut().map(|map| map.remove(key));
                    });
                }
            }
            _ => {}
        }
    }
    edited
}

/// Pointers to every value inside.
fn walk(value: &Value, at: &str, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(values) => (0..).map(|i: usize| i.to_string()).zip(values).collect(),
        Value::Object(entries) => entries.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{at}/{key}");
        walk(child, &pointer, pointers);
        pointers.push(pointer);
    }
}

/// Changes one value of a document.
pub fn change(document: &mut Value, random: &mut Random) {
    let mut chosen = random.below(count(document));
    let graft = random.once_in(8).then(|| {
        let mut other = random.below(count(document));
        nth(document, &mut other).map_or(Value::Null, |value| value.clone())
    });
    let Some(place) = nth(document, &mut chosen) else {
        return;
    };
    if let Some(value) = graft {
        *place = value;
    } else if random.once_in(4) {
        *place = random.pick(&nonsense()).clone();
    } else {
        match place {
            Value::Number(number) => *place = another(number, random),
            Value::String(text) => *text = respelt(text, random),
            Value::Array(values) => rearrange(values, random),
            Value::Object(entries) => reshape(entries, random),
            Value::Bool(holds) => *holds = !*holds,
            Value::Null => *place = random.pick(&nonsense()).clone(),
        }
    }
}

/// Lengths of the arrays in a document.
pub(crate) fn lengths(value: &Value, found: &mut Vec<usize>) {
    match value {
        Value::Array(values) => {
            found.push(values.len());
            for value in values {
                lengths(value, found);
            }
        }
        Value::Object(entries) => entries.values().for_each(|value| lengths(value, found)),
        _ => {}
    }
}

/// Changes every array of so many entries.
pub(crate) fn for_arrays(value: &mut Value, length: usize, change: &dyn Fn(&mut Vec<Value>)) {
    match value {
        Value::Array(values) => {
            for value in values.iter_mut() {
                for_arrays(value, length, change);
            }
            if values.len() == length {
                change(values);
            }
        }
        Value::Object(entries) => {
            for value in entries.values_mut() {
                for_arrays(value, length, change);
            }
        }
        _ => {}
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

/// The value of this number, counted from outside in.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter_mut().find_map(|value| nth(value, left)),
        Value::Object(entries) => entries.values_mut().find_map(|value| nth(value, left)),
        _ => None,
    }
}

fn another(number: &Number, random: &mut Random) -> Value {
    if let Some(whole) = number.as_u64() {
        return match random.below(7) {
            0 => json!(whole.wrapping_add(1)),
            1 => json!(whole.wrapping_sub(1)),
            2 => json!(whole.wrapping_mul(2)),
            3 => json!(random.below(8)),
            4 => json!(1_u64 << random.below(64)),
            5 => json!(whole as f64 + 0.5),
            _ => json!(-(random.below(9) as f64) as i64),
        };
    }
    let value = number.as_f64().unwrap_or(0.0);
    match random.below(7) {
        0 => json!(-value),
        1 => json!(value * 1e-300),
        2 => json!(value * 1e150),
        3 => json!(value + 1.0),
        4 => json!(value * 0.999),
        5 => json!(value.round() as i64),
        _ => json!(10f64.powf(random.below(600) as f64 - 300.0)),
    }
}

fn respelt(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    random.damage(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rearrange(values: &mut Vec<Value>, random: &mut Random) {
    if values.is_empty() {
        values.push(json!(random.below(3)));
        return;
    }
    let (one, other) = (random.below(values.len()), random.below(values.len()));
    match random.below(6) {
        0 => drop(values.remove(one)),
        1 => values.insert(other, values[one].clone()),
        2 => values.swap(one, other),
        3 => values.truncate(one),
        4 => values.reverse(),
        _ => values.extend(std::iter::repeat_n(
            values[one].clone(),
            1 + random.below(40),
        )),
    }
}

fn reshape(entries: &mut Map<String, Value>, random: &mut Random) {
    let Some(key) = entries.keys().nth(random.below(entries.len())).cloned() else {
        entries.insert("more".into(), json!(1));
        return;
    };
    let value = entries.remove(&key).unwrap_or_default();
    match random.below(3) {
        0 => {}
        1 => drop(entries.insert(respelt(&key, random), value)),
        _ => {
            let other = entries.keys().nth(random.below(entries.len())).cloned();
            let other = other.and_then(|other| entries.insert(other, value));
            entries.insert(key, other.unwrap_or_default());
        }
    }
}
