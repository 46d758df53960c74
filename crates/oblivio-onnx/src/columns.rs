//! The inputs: which columns a model reads, whether each is text or numbers, and categories as codes.

use oblivio::Partition;
use oblivio::model::file::{Coordinates, Form, Source};
use oblivio::model::tables::Cutting;
use oblivio_base::encoder::Feature;
use oblivio_base::{Encoder, Error, Result};

use super::OnnxForm;
use super::encode::infinite;
use super::graph::{Graph, Value};
use super::proto::Element;

/// What the input is called where it is one matrix.
const MATRIX: &str = "columns";

/// A column that the graph reads.
#[derive(Debug)]
pub(super) struct InputColumn {
    pub(super) name: String,
    pub(super) feature: bool,
    pub(super) sensitive: bool,
    pub(super) text: bool,
}

/// What a stage takes a column for.
enum Wanted<'m> {
    Number,
    Categories(&'m [String]),
}

/// The columns that are read: features, then the sensitive ones that are none.
pub(super) fn columns_of<'m>(
    encoder: &'m Encoder,
    partitions: impl Iterator<Item = &'m Partition>,
) -> Result<Vec<InputColumn>> {
    let mut columns: Vec<InputColumn> = Vec::new();
    let mut numbers: Vec<&str> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut want = |name: &'_ str, wanted: &Wanted, sensitive: bool| {
        let place = columns.iter().position(|column| column.name == name);
        let place = place.unwrap_or_else(|| {
            columns.push(InputColumn {
                name: name.to_owned(),
                feature: false,
                sensitive: false,
                text: false,
            });
            columns.len() - 1
        });
        let column = &mut columns[place];
        column.feature |= !sensitive;
        column.sensitive |= sensitive;
        matches!(wanted, Wanted::Categories(levels) if !are_numbers(levels))
    };
    for feature in encoder.features() {
        let (name, wanted) = match feature {
            Feature::Number { name, .. } => (name, Wanted::Number),
            Feature::Categories { name, levels, .. } => (name, Wanted::Categories(levels)),
        };
        let text = want(name, &wanted, false);
        note(name, &wanted, text, &mut numbers, &mut texts);
    }
    for partition in partitions {
        for (name, wanted) in wanted_by(partition) {
            let text = want(name, &wanted, true);
            note(name, &wanted, text, &mut numbers, &mut texts);
        }
    }
    for column in &mut columns {
        column.text = texts.contains(&column.name.as_str());
        if column.text && numbers.contains(&column.name.as_str()) {
            return Err(refused(format!(
                "column `{}` is read as text and as numbers; give the model two columns",
                column.name
            )));
        }
        if column.name.is_empty() {
            return Err(refused("a column has no name; name it and fit again"));
        }
    }
    Ok(columns)
}

fn note<'m>(
    name: &'m str,
    wanted: &Wanted,
    text: bool,
    numbers: &mut Vec<&'m str>,
    texts: &mut Vec<&'m str>,
) {
    match wanted {
        Wanted::Number => numbers.push(name),
        Wanted::Categories(_) if text => texts.push(name),
        Wanted::Categories(_) => {}
    }
}

/// The columns that a partition reads, those of its regression included.
fn wanted_by(partition: &Partition) -> Vec<(&str, Wanted<'_>)> {
    let mut wanted: Vec<(&str, Wanted)> = partition
        .cuttings()
        .into_iter()
        .map(|(name, cutting)| match cutting {
            Cutting::Categories(levels) => (name, Wanted::Categories(levels)),
            Cutting::Bins { .. } => (name, Wanted::Number),
        })
        .collect();
    for block in partition.smooth().iter().flat_map(|smooth| &smooth.blocks) {
        match &block.source {
            Source::Cells(partition) => wanted.extend(wanted_by(partition)),
            Source::Columns(coordinates) => wanted.extend(wanted_as(coordinates)),
            Source::Kernel(features) => wanted.extend(wanted_as(&features.on.coordinates)),
        }
    }
    wanted
}

fn wanted_as(coordinates: &Coordinates) -> impl Iterator<Item = (&str, Wanted<'_>)> {
    coordinates.0.iter().map(|coordinate| {
        let wanted = match &coordinate.form {
            Form::Categories { levels } => Wanted::Categories(levels),
            Form::Number { .. } => Wanted::Number,
        };
        (coordinate.name.as_str(), wanted)
    })
}

/// Whether categories are numbers, spelled as the engine spells them.
fn are_numbers(levels: &[String]) -> bool {
    let number = |level: &String| {
        let value = level.parse::<f64>();
        value.is_ok_and(|v| v.is_finite() && v.to_string() == *level)
    };
    !levels.is_empty() && levels.iter().all(number)
}

pub(super) fn refused(problem: impl Into<String>) -> Error {
    Error::NotExported {
        problem: problem.into(),
    }
}

/// The inputs of a graph.
pub(super) struct Inputs {
    columns: Vec<(String, bool, Value)>,
    codes: Vec<(String, Vec<String>, Value)>,
    matrix: Option<Value>,
}

impl Inputs {
    pub(super) fn new(graph: &mut Graph, columns: &[InputColumn], form: OnnxForm) -> Result<Self> {
        let matrix = match form {
            OnnxForm::Columns => None,
            OnnxForm::Matrix => {
                if let Some(text) = columns.iter().find(|column| column.text) {
                    return Err(refused(format!(
                        "column `{}` is text and has no place in a matrix of numbers; export it with one input for each column",
                        text.name
                    )));
                }
                Some(graph.input(MATRIX, Element::Double, columns.len()))
            }
        };
        let mut inputs = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let value = if let Some(matrix) = &matrix {
                graph.columns(matrix, &[place])
            } else {
                let element = if column.text {
                    Element::Text
                } else {
                    Element::Double
                };
                graph.input(&column.name, element, 1)
            };
            inputs.push((column.name.clone(), column.text, value));
        }
        Ok(Self {
            columns: inputs,
            codes: Vec::new(),
            matrix,
        })
    }

    /// The names that inputs have.
    pub(super) fn names(columns: &[InputColumn], form: OnnxForm) -> Vec<&str> {
        match form {
            OnnxForm::Columns => columns.iter().map(|column| column.name.as_str()).collect(),
            OnnxForm::Matrix => vec![MATRIX],
        }
    }

    fn place(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|(other, ..)| other == name);
        found.unwrap_or_default()
    }

    /// The column of that name, one number or text for each row.
    pub(super) fn column(&self, name: &str) -> Value {
        self.columns[self.place(name)].2.clone()
    }

    pub(super) fn is_text(&self, name: &str) -> bool {
        self.columns[self.place(name)].1
    }

    /// Columns of numbers beside each other.
    pub(super) fn beside(&self, graph: &mut Graph, names: &[&str]) -> Value {
        if let Some(matrix) = &self.matrix {
            let places: Vec<usize> = names.iter().map(|name| self.place(name)).collect();
            return graph.columns(matrix, &places);
        }
        let columns: Vec<Value> = names.iter().map(|name| self.column(name)).collect();
        graph.concat(&columns.iter().collect::<Vec<_>>())
    }

    /// The place of each row's category among L levels; L is a missing one and L + 1 an unknown one.
    ///
    /// There is no missing text in ONNX: an empty one is taken for it, unless it is a level.
    pub(super) fn codes(&mut self, graph: &mut Graph, name: &str, levels: &[String]) -> Value {
        let known = self
            .codes
            .iter()
            .find(|(other, of, _)| other == name && of == levels);
        if let Some((.., codes)) = known {
            return codes.clone();
        }
        let column = self.column(name);
        let codes = if self.is_text(name) {
            let empty = (!levels.iter().any(String::is_empty)).then_some("");
            let keys = levels.iter().map(String::as_str).chain(empty);
            graph.positions(&column, keys, levels.len() + 1)
        } else {
            number_codes(graph, &column, levels)
        };
        self.codes
            .push((name.to_owned(), levels.to_vec(), codes.clone()));
        codes
    }
}

/// Whether a row misses a value of any column that a partition reads, and none is infinite: that is refused, whatever else is missing.
pub(super) fn misses(
    graph: &mut Graph,
    inputs: &mut Inputs,
    partition: &Partition,
) -> Option<Value> {
    let mut conditions = Vec::new();
    let mut infinities = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (name, wanted) in wanted_by(partition) {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        conditions.push(match wanted {
            Wanted::Categories(levels) if inputs.is_text(name) => {
                let codes = inputs.codes(graph, name, levels);
                let missing = graph.whole(levels.len() as i64);
                graph.op("Equal", &[&codes, &missing])
            }
            _ => {
                let column = inputs.column(name);
                infinities.push(infinite(graph, &column));
                graph.op("IsNaN", &[&column])
            }
        });
    }
    let misses = graph.any(&conditions)?;
    let Some(infinite) = graph.any(&infinities) else {
        return Some(misses);
    };
    let finite = graph.op("Not", &[&infinite]);
    Some(graph.op("And", &[&misses, &finite]))
}

fn number_codes(graph: &mut Graph, column: &Value, levels: &[String]) -> Value {
    let count = levels.len();
    let numbers: Vec<f64> = levels
        .iter()
        .map(|level| level.parse().unwrap_or(f64::NAN))
        .collect();
    let missing = graph.whole(count as i64);
    let unknown = graph.whole(count as i64 + 1);
    let is_missing = graph.op("IsNaN", &[column]);
    let known = graph.numbers(&[1, count], &numbers);
    let same = graph.op("Equal", &[column, &known]);
    let same = graph.cast(&same, Element::Double);
    let below: Vec<f64> = (0..count).map(|k| k as f64 - (count + 1) as f64).collect();
    let codes = graph.product(&same, count, &below);
    let codes = graph.cast(&codes, Element::Whole);
    let codes = graph.op("Add", &[&codes, &unknown]);
    graph.choose(&is_missing, &missing, &codes)
}
