//! What every graph has: columns that become points, places among the cells, and the file around it.

use std::rc::Rc;

use oblivio::Partition;
use oblivio::model::{Held, Holdings};
use oblivio_base::{Encoder, Named, Result};
use oblivio_kernels::Basis;
use prost::Message;
use serde_json::json;

use super::cells::{self, Placed};
use super::columns::{self, InputColumn, Inputs, refused};
use super::encode::{self, Encoded};
use super::graph::{Graph, MOST_BYTES, Value};
use super::proto::{ModelProto, OperatorSetIdProto, StringStringEntryProto};
use super::{OnnxSettings, kernel, smooth};

/// Versions of the format and of its two sets of operators.
const IR_VERSION: i64 = 9;
const OPERATORS: [(&str, i64); 2] = [("", 18), ("ai.onnx.ml", 3)];

/// A graph in the making, and what of it several scores share.
pub(super) struct Writer<'m> {
    pub(super) graph: Graph,
    pub(super) inputs: Inputs,
    pub(super) encoded: Encoded,
    placements: Vec<(&'m Partition, Placement)>,
}

/// The cells and the features of S of rows.
#[derive(Clone)]
pub(super) struct Placement {
    pub(super) placed: Rc<Placed>,
    /// Features of S, where the conditional mean is a regression.
    pub(super) features: Option<Value>,
    /// Whether the row is refused.
    pub(super) refused: Option<Value>,
    /// Whether a row misses a sensitive value, where a second model scores it.
    pub(super) misses: Option<Value>,
}

impl<'m> Writer<'m> {
    /// A graph that reads these columns; `outputs` are names that it may not use for anything else.
    pub(super) fn new(
        encoder: &Encoder,
        columns: &[InputColumn],
        outputs: &[&str],
        settings: OnnxSettings,
    ) -> Result<Self> {
        let mut taken = Inputs::names(columns, settings.form);
        taken.extend(outputs);
        let mut graph = Graph::new(&taken);
        let mut inputs = Inputs::new(&mut graph, columns, settings.form)?;
        let encoded = encode::encode(&mut graph, &mut inputs, encoder);
        Ok(Self {
            graph,
            inputs,
            encoded,
            placements: Vec::new(),
        })
    }

    /// Where rows belong among the cells of a partition.
    pub(super) fn placement(&mut self, partition: &'m Partition) -> Result<Placement> {
        let mut known = self.placements.iter();
        if let Some((_, placement)) = known.find(|(other, _)| *other == partition) {
            return Ok(placement.clone());
        }
        let (graph, inputs) = (&mut self.graph, &mut self.inputs);
        let placed = cells::place(graph, inputs, partition)?;
        let mut refused = placed.refused.clone();
        let mut features = None;
        if let Some(smooth) = partition.smooth() {
            let found = smooth::features(graph, inputs, smooth)?;
            refused.extend(found.refused);
            features = Some(found.values);
        }
        let leaves_out = partition.leaves_out();
        let misses = leaves_out.then(|| columns::misses(graph, inputs, partition));
        let placement = Placement {
            placed: placed.into(),
            features,
            refused: graph.any(&refused),
            misses: misses.flatten(),
        };
        self.placements.push((partition, placement.clone()));
        Ok(placement)
    }

    /// NaN where rows are refused.
    pub(super) fn without(&mut self, refused: Option<&Value>, values: Value) -> Value {
        let Some(refused) = refused else {
            return values;
        };
        let none = self.graph.number(f64::NAN);
        self.graph.choose(refused, &none, &values)
    }

    /// NaN where a row has no point.
    pub(super) fn without_points(&mut self, values: Value) -> Value {
        let refused = self.graph.any(&self.encoded.refused);
        self.without(refused.as_ref(), values)
    }

    /// The bytes of the file.
    pub(super) fn finish(self, entries: Vec<(&str, String)>) -> Result<Vec<u8>> {
        let entry = |(key, value)| StringStringEntryProto {
            key: format!("oblivio.{key}"),
            value,
        };
        let constants = self.graph.bytes();
        let model = ModelProto {
            ir_version: IR_VERSION,
            producer_name: "oblivio".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            doc_string: "Rows that oblivio would refuse have NaN.".into(),
            graph: Some(self.graph.finish()),
            opset_import: OPERATORS
                .iter()
                .map(|&(domain, version)| OperatorSetIdProto {
                    domain: domain.into(),
                    version,
                })
                .collect(),
            metadata_props: entries.into_iter().map(entry).collect(),
        };
        let size = model.encoded_len().max(constants);
        if size > MOST_BYTES {
            return Err(refused(format!(
                "it would take {size} bytes and a file of the format has at most {MOST_BYTES}; fit it on landmarks"
            )));
        }
        Ok(model.encode_to_vec())
    }
}

/// What the file says of a graph, whatever it computes.
pub(super) fn entries(
    columns: &[InputColumn],
    partition: Option<&Partition>,
    (basis, holdings): (&Basis, Holdings),
    settings: OnnxSettings,
) -> Vec<(&'static str, String)> {
    let roles = |column: &InputColumn| {
        json!({
            "name": column.name,
            "feature": column.feature,
            "sensitive": column.sensitive,
            "type": if column.text { "string" } else { "float64" },
        })
    };
    let columns: Vec<_> = columns.iter().map(roles).collect();
    let policies = partition.map(|partition| {
        let policies = partition.policies();
        json!({
            "empty-cell": policies.empty.name(),
            "unknown-category": policies.category.name(),
            "out-of-range": policies.range.name(),
            "missing": policies.missing.name(),
        })
    });
    // Weights of features stand for all points of a linear kernel.
    let held = match kernel::linear_factor(basis) {
        Some(_) => Held::Nothing,
        None => holdings.held,
    };
    vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("kernel", basis.kernel().to_string()),
        ("inputs", settings.form.name().to_owned()),
        ("precision", settings.precision.name().to_owned()),
        ("columns", json!(columns).to_string()),
        ("policies", json!(policies).to_string()),
        ("holds", held.name().to_owned()),
        (
            "missing-values",
            "NaN in numbers, an empty string in text".to_owned(),
        ),
    ]
}
