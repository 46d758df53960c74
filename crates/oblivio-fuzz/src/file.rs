//! Files in the container of every model (safetensors with one JSON text), taken apart and put together again.

use serde_json::{Value, json};

use crate::Random;
use crate::document::{change, for_arrays, lengths};

/// A file taken apart: the JSON text of its header, and its tensors.
#[derive(Clone, Debug)]
pub struct File {
    document: Value,
    tensors: Vec<Tensor>,
}

#[derive(Clone, Debug)]
struct Tensor {
    name: String,
    kind: Value,
    shape: Vec<usize>,
    data: Vec<u8>,
}

/// Numbers that are finite and strange.
const STRANGE: [f64; 10] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e308,
    -1e308,
    5e-324,
    9_007_199_254_740_993.0,
    4_294_967_296.0,
];

impl File {
    /// Takes a file apart that the program has written.
    ///
    /// # Panics
    ///
    /// If it is no such file.
    pub fn of(bytes: &[u8]) -> Self {
        let (length, rest) = bytes.split_first_chunk::<8>().expect("a length");
        let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
        let container: Value = serde_json::from_slice(header).expect("a container");
        let text = container["__metadata__"]["oblivio"].as_str();
        let whole = |value: &Value| value.as_u64().expect("a whole number") as usize;
        let entries = container.as_object().expect("named tensors").iter();
        let tensors = entries.filter(|(name, _)| *name != "__metadata__");
        let mut tensors: Vec<(usize, Tensor)> = tensors
            .map(|(name, entry)| {
                let (start, end) = (&entry["data_offsets"][0], &entry["data_offsets"][1]);
                let shape = entry["shape"].as_array().expect("a shape");
                let tensor = Tensor {
                    name: name.clone(),
                    kind: entry["dtype"].clone(),
                    shape: shape.iter().map(whole).collect(),
                    data: data[whole(start)..whole(end)].to_vec(),
                };
                (whole(start), tensor)
            })
            .collect();
        tensors.sort_by_key(|(start, _)| *start);
        Self {
            document: serde_json::from_str(text.expect("a header")).expect("a document"),
            tensors: tensors.into_iter().map(|(_, tensor)| tensor).collect(),
        }
    }

    /// What the header says.
    pub fn document(&self) -> Value {
        self.document.clone()
    }

    /// The numbers, tensor after tensor.
    pub fn data(&self) -> Vec<u8> {
        self.tensors.iter().flat_map(|t| t.data.clone()).collect()
    }

    /// The JSON of the container around this text.
    pub fn container(&self, text: &str) -> Value {
        let mut container = json!({ "__metadata__": { "oblivio": text } });
        let mut start = 0;
        for tensor in &self.tensors {
            let end = start + tensor.data.len();
            container[&tensor.name] = json!({
                "dtype": tensor.kind,
                "shape": tensor.shape,
                "data_offsets": [start, end],
            });
            start = end;
        }
        container
    }

    /// The file with another text in its header.
    pub fn with_text(&self, text: &str) -> Vec<u8> {
        Self::assemble(&self.container(text).to_string(), &self.data())
    }

    /// The file, which says this.
    #[must_use]
    pub fn saying(&self, document: Value) -> Self {
        Self {
            document,
            ..self.clone()
        }
    }

    /// The numbers of a tensor; none if there is no such tensor.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == name);
        let (numbers, _) = tensor
            .map_or(&[][..], |tensor| &tensor.data)
            .as_chunks::<8>();
        numbers
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect()
    }

    /// The file with other numbers in a tensor, which has any shape.
    pub fn with_tensor(&self, name: &str, shape: &[u64], numbers: &[f64]) -> Vec<u8> {
        let mut file = self.clone();
        for tensor in file.tensors.iter_mut().filter(|tensor| tensor.name == name) {
            tensor.shape = shape.iter().map(|size| *size as usize).collect();
            tensor.data = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        }
        file.to_bytes()
    }

    /// The file of these two parts.
    pub fn assemble(container: &str, data: &[u8]) -> Vec<u8> {
        let padding = " ".repeat(container.len().next_multiple_of(8) - container.len());
        let length = ((container.len() + padding.len()) as u64).to_le_bytes();
        [&length, container.as_bytes(), padding.as_bytes(), data].concat()
    }

    /// One of these files, damaged: mostly in what it says, so that the checks behind the container are reached.
    pub fn damaged(files: &[Self], random: &mut Random) -> Vec<u8> {
        let mut file = random.pick(files).clone();
        match random.below(20) {
            0..=9 => file.change_header(random),
            10..=12 => file.resize(random),
            13..=15 => file.change_tensor(random),
            16 => {
                file.tensors.clone_from(&random.pick(files).tensors);
                file.change_header(random);
            }
            17 => {
                let mut container = file.container(&file.document.to_string());
                change(&mut container, random);
                return Self::assemble(&container.to_string(), &file.data());
            }
            18 => {
                let mut text = file.document.to_string().into_bytes();
                random.damage(&mut text);
                return file.with_text(&String::from_utf8_lossy(&text));
            }
            _ => {
                let mut bytes = file.to_bytes();
                random.damage(&mut bytes);
                return bytes;
            }
        }
        file.to_bytes()
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.with_text(&self.document.to_string())
    }

    fn change_header(&mut self, random: &mut Random) {
        for _ in 0..=random.below(3) {
            change(&mut self.document, random);
        }
    }

    /// Adds or takes away an entry wherever there are so many: in arrays of the header and in tensors.
    fn resize(&mut self, random: &mut Random) {
        let mut found = Vec::new();
        lengths(&self.document, &mut found);
        found.extend(self.tensors.iter().flat_map(|t| t.shape.clone()));
        found.retain(|length| *length > 0);
        if found.is_empty() {
            return;
        }
        let length = *random.pick(&found);
        let (at, doubled) = (random.below(length), random.once_in(2));
        let resize = |values: &mut Vec<Value>| {
            if doubled {
                values.insert(at, values[at].clone());
            } else {
                values.remove(at);
            }
        };
        for_arrays(&mut self.document, length, &resize);
        for tensor in &mut self.tensors {
            for dimension in 0..tensor.shape.len() {
                if tensor.shape[dimension] == length {
                    tensor.resize(dimension, at, doubled);
                }
            }
        }
        if random.once_in(3) {
            self.change_header(random);
        }
    }

    fn change_tensor(&mut self, random: &mut Random) {
        let chosen = random.below(self.tensors.len());
        let Some(tensor) = self.tensors.get_mut(chosen) else {
            return;
        };
        match random.below(8) {
            0 => tensor.kind = json!(random.pick(&["F32", "I64", "U8", "BF16", "F64", "BOOL"])),
            1 => tensor.shape.reverse(),
            2 => tensor.shape.push(1),
            3 => drop(tensor.shape.pop()),
            4 => {
                let to = *random.pick(&[0, 1, 2, 1 << 31, 1 << 60, usize::MAX]);
                if let Some(size) = tensor.shape.first_mut() {
                    *size = to;
                }
            }
            5 if !tensor.shape.is_empty() => {
                let dimension = random.below(tensor.shape.len());
                let at = random.below(tensor.shape[dimension]);
                tensor.resize(dimension, at, random.once_in(2));
            }
            _ => {
                for _ in 0..=random.below(4) {
                    let (numbers, _) = tensor.data.as_chunks_mut::<8>();
                    let at = random.below(numbers.len());
                    if let Some(number) = numbers.get_mut(at) {
                        *number = random.pick(&STRANGE).to_le_bytes();
                    }
                }
            }
        }
    }
}

impl Tensor {
    /// Doubles an entry of one dimension or takes it away, the data with it.
    fn resize(&mut self, dimension: usize, at: usize, doubled: bool) {
        let length = self.shape[dimension];
        let inner = 8 * self.shape[dimension + 1..].iter().product::<usize>();
        if at >= length || inner == 0 || !self.data.len().is_multiple_of(length * inner) {
            return;
        }
        let mut data = Vec::new();
        for block in self.data.chunks(length * inner) {
            for (k, entry) in block.chunks(inner).enumerate() {
                let times = if k == at { 2 * usize::from(doubled) } else { 1 };
                data.extend(std::iter::repeat_n(entry, times).flatten());
            }
        }
        self.shape[dimension] = if doubled { length + 1 } else { length - 1 };
        self.data = data;
    }
}
