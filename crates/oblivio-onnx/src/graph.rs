//! A graph of operators being put together: values get names that no column has, constants become tensors.

use std::collections::HashSet;

use super::proto::{
    AttributeProto, Dimension, Element, GraphProto, NodeProto, Size, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};

/// The operators of `ai.onnx.ml` that are used: those that read text.
const ML: &str = "ai.onnx.ml";
/// The most bytes of a file of the format.
pub(super) const MOST_BYTES: usize = i32::MAX as usize;
/// The length of the first dimension of every input and output.
const ROWS: &str = "rows";

/// A tensor that a node, an input or a constant gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value(String);

/// In what the numbers of a constant are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 64 bits.
    #[default]
    Double,
    /// 32 bits.
    Single,
}

impl Precision {
    fn element(self) -> Element {
        match self {
            Self::Double => Element::Double,
            Self::Single => Element::Single,
        }
    }
}

/// Nodes, constants, inputs and outputs so far.
pub(super) struct Graph {
    proto: GraphProto,
    prefix: String,
    values: usize,
    /// Bytes of all constants.
    bytes: usize,
}

impl Graph {
    /// An empty graph whose own names begin as none of these does.
    pub(super) fn new(taken: &[&str]) -> Self {
        let after = taken.iter().filter_map(|name| name.strip_prefix('v'));
        let lines = |rest: &str| rest.len() - rest.trim_start_matches('_').len();
        let longest = after.map(lines).max();
        let prefix = format!("v{}", "_".repeat(longest.map_or(0, |lines| lines + 1)));
        Self {
            proto: GraphProto {
                name: "oblivio".into(),
                ..GraphProto::default()
            },
            prefix,
            values: 0,
            bytes: 0,
        }
    }

    /// The graph, without the nodes and constants that no output needs.
    pub(super) fn finish(self) -> GraphProto {
        let mut proto = self.proto;
        let outputs = proto.output.iter().map(|output| output.name.clone());
        let mut needed: HashSet<String> = outputs.collect();
        // A node comes after those that it takes its inputs from.
        for node in proto.node.iter().rev() {
            if node.output.iter().any(|name| needed.contains(name)) {
                needed.extend(node.input.iter().cloned());
            }
        }
        let is_needed = |name: &String| needed.contains(name);
        proto.node.retain(|node| node.output.iter().any(is_needed));
        proto.initializer.retain(|tensor| is_needed(&tensor.name));
        proto
    }

    /// Bytes of all constants; beyond what a file can have they are counted and not kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn fresh(&mut self) -> String {
        self.values += 1;
        format!("{}{}", self.prefix, self.values)
    }

    /// An input of so many columns.
    pub(super) fn input(&mut self, name: &str, element: Element, columns: usize) -> Value {
        self.proto.input.push(info(name, element, Some(columns)));
        Value(name.to_owned())
    }

    /// Makes a value an output; without a number of columns it is one entry for each row.
    pub(super) fn output(
        &mut self,
        value: &Value,
        name: &str,
        element: Element,
        columns: Option<usize>,
    ) {
        self.push("Identity", &[value], Vec::new(), "", name.to_owned());
        self.proto.output.push(info(name, element, columns));
    }

    fn push(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attribute: Vec<AttributeProto>,
        domain: &str,
        output: String,
    ) -> Value {
        self.proto.node.push(NodeProto {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![output.clone()],
            op_type: operator.into(),
            attribute,
            domain: domain.into(),
        });
        Value(output)
    }

    /// What an operator of `ai.onnx` gives.
    pub(super) fn op(&mut self, operator: &str, inputs: &[&Value]) -> Value {
        self.op_with(operator, inputs, Vec::new())
    }

    fn op_with(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: Vec<AttributeProto>,
    ) -> Value {
        let output = self.fresh();
        self.push(operator, inputs, attributes, "", output)
    }

    /// Text as numbers: its place among `keys`, or another number.
    pub(super) fn positions<'t>(
        &mut self,
        text: &Value,
        keys: impl Iterator<Item = &'t str> + Clone,
        other: usize,
    ) -> Value {
        let count = keys.clone().count() as i64;
        let attributes = vec![
            AttributeProto::texts("keys_strings", keys),
            AttributeProto::wholes("values_int64s", (0..count).collect()),
            AttributeProto::whole("default_int64", other as i64),
        ];
        let output = self.fresh();
        self.push("LabelEncoder", &[text], attributes, ML, output)
    }

    pub(super) fn concat(&mut self, parts: &[&Value]) -> Value {
        match parts {
            [only] => (*only).clone(),
            _ => self.op_with("Concat", parts, vec![AttributeProto::whole("axis", 1)]),
        }
    }

    /// The columns at these places.
    pub(super) fn columns(&mut self, of: &Value, places: &[usize]) -> Value {
        let places: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let places = self.wholes(&[places.len()], &places);
        let axis = vec![AttributeProto::whole("axis", 1)];
        self.op_with("Gather", &[of, &places], axis)
    }

    /// The entries of a table, in the rows that a column of whole numbers names.
    pub(super) fn look_up(&mut self, table: &Value, rows: &Value) -> Value {
        self.op("Gather", &[table, rows])
    }

    /// The entry of each row at the place that a column of whole numbers names.
    pub(super) fn entries(&mut self, of: &Value, places: &Value) -> Value {
        let axis = vec![AttributeProto::whole("axis", 1)];
        self.op_with("GatherElements", &[of, places], axis)
    }

    /// The columns from `start` to before `end`.
    pub(super) fn range(&mut self, of: &Value, start: usize, end: usize) -> Value {
        let bounds = [start, end, 1].map(|v| self.wholes(&[1], &[v as i64]));
        let [start, end, axis] = &bounds;
        self.op("Slice", &[of, start, end, axis])
    }

    pub(super) fn cast(&mut self, value: &Value, to: Element) -> Value {
        self.op_with(
            "Cast",
            &[value],
            vec![AttributeProto::whole("to", to as i64)],
        )
    }

    pub(super) fn in_precision(&mut self, value: &Value, to: Precision) -> Value {
        self.cast(value, to.element())
    }

    /// The sum of each row.
    pub(super) fn row_sum(&mut self, of: &Value) -> Value {
        let axis = self.wholes(&[1], &[1]);
        self.op("ReduceSum", &[of, &axis])
    }

    /// The column of the largest entry of each row, the first of equal ones.
    pub(super) fn row_largest(&mut self, of: &Value) -> Value {
        let attributes = vec![
            AttributeProto::whole("axis", 1),
            AttributeProto::whole("keepdims", 0),
        ];
        self.op_with("ArgMax", &[of], attributes)
    }

    /// A column without its second dimension.
    pub(super) fn flat(&mut self, column: &Value) -> Value {
        let axis = self.wholes(&[1], &[1]);
        self.op("Squeeze", &[column, &axis])
    }

    /// The product of each row with a constant matrix of so many rows, given row after row.
    ///
    /// onnxruntime draws a lone factor beside a product of matrices into it, in single precision. So a matrix of one row is multiplied
    /// entry by entry, and [`times`](Self::times) writes a factor out for every column.
    pub(super) fn product(&mut self, of: &Value, rows: usize, entries: &[f64]) -> Value {
        let operator = if rows == 1 { "Mul" } else { "MatMul" };
        let matrix = self.numbers(&[rows, entries.len() / rows.max(1)], entries);
        self.op(operator, &[of, &matrix])
    }

    /// So many columns times a factor; where there is one only, they may be no product of matrices.
    pub(super) fn times(
        &mut self,
        of: &Value,
        columns: usize,
        factor: f64,
        to: Precision,
    ) -> Value {
        let factors = self.rounded(&[1, columns], &vec![factor; columns], to);
        self.op("Mul", &[of, &factors])
    }

    pub(super) fn choose(&mut self, condition: &Value, yes: &Value, no: &Value) -> Value {
        self.op("Where", &[condition, yes, no])
    }

    /// Whether any of these holds.
    pub(super) fn any(&mut self, conditions: &[Value]) -> Option<Value> {
        let mut conditions = conditions.iter();
        let mut any = conditions.next()?.clone();
        for condition in conditions {
            any = self.op("Or", &[&any, condition]);
        }
        Some(any)
    }

    /// Whether any entry of each row holds.
    pub(super) fn row_any(&mut self, of: &Value) -> Value {
        let ones = self.cast(of, Element::Whole);
        let count = self.row_sum(&ones);
        let none = self.whole(0);
        self.op("Greater", &[&count, &none])
    }

    pub(super) fn number(&mut self, value: f64) -> Value {
        self.numbers(&[1, 1], &[value])
    }

    pub(super) fn numbers(&mut self, dims: &[usize], values: &[f64]) -> Value {
        self.rounded(dims, values, Precision::Double)
    }

    /// Constants in a precision.
    pub(super) fn rounded(&mut self, dims: &[usize], values: &[f64], to: Precision) -> Value {
        let bytes = match to {
            Precision::Double => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Precision::Single => values
                .iter()
                .flat_map(|v| (*v as f32).to_le_bytes())
                .collect(),
        };
        self.constant(dims, to.element(), Some(bytes), Vec::new())
    }

    pub(super) fn whole(&mut self, value: i64) -> Value {
        self.wholes(&[1, 1], &[value])
    }

    pub(super) fn wholes(&mut self, dims: &[usize], values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(dims, Element::Whole, Some(bytes), Vec::new())
    }

    pub(super) fn texts(&mut self, values: &[&str]) -> Value {
        let texts = values.iter().map(|text| text.as_bytes().to_vec()).collect();
        self.constant(&[values.len()], Element::Text, None, texts)
    }

    fn constant(
        &mut self,
        dims: &[usize],
        element: Element,
        raw_data: Option<Vec<u8>>,
        string_data: Vec<Vec<u8>>,
    ) -> Value {
        let name = self.fresh();
        let texts: usize = string_data.iter().map(Vec::len).sum();
        self.bytes += texts + raw_data.as_ref().map_or(0, Vec::len);
        if self.bytes > MOST_BYTES {
            return Value(name);
        }
        self.proto.initializer.push(TensorProto {
            dims: dims.iter().map(|&size| size as i64).collect(),
            data_type: element as i32,
            string_data,
            name: name.clone(),
            raw_data,
        });
        Value(name)
    }
}

fn info(name: &str, element: Element, columns: Option<usize>) -> ValueInfoProto {
    let rows = Size::Named(ROWS.into());
    let columns = columns.map(|count| Size::Fixed(count as i64));
    let sizes = [Some(rows), columns].into_iter().flatten();
    let shape = TensorShapeProto {
        dim: sizes.map(|size| Dimension { size: Some(size) }).collect(),
    };
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorTypeProto {
                elem_type: element as i32,
                shape: Some(shape),
            }),
        }),
    }
}
