//! A feature map: the oblivious features of rows.

use faer::Mat;
use oblivio::Transformer;
use oblivio::features::ObliviousFeatures;
use oblivio::model::tables::directions;
use oblivio_base::Result;
use oblivio_kernels::FeatureMap;

use super::columns::{Inputs, columns_of, refused};
use super::graph::{Graph, Value};
use super::proto::Element;
use super::scores::free;
use super::writer::{Placement, Writer, entries};
use super::{OnnxSettings, Precision, kernel};

/// The bytes of an ONNX file that computes what [`Transformer::transform`] does, in double precision; the same
/// transformer gives the same bytes.
///
/// Rows that the transformer refuses have NaN in every feature. The file holds the landmarks, but for the linear kernel, of which
/// it holds a matrix.
pub fn export_transformer(transformer: &Transformer, settings: OnnxSettings) -> Result<Vec<u8>> {
    if settings.precision == Precision::Single {
        return Err(refused(
            "features are whitened by the inverse of a root, which magnifies rounding errors; export them in double precision",
        ));
    }
    let map = transformer.features.map();
    let partition = transformer.features.partition();
    let columns = columns_of(&transformer.encoder, partition.into_iter())?;
    let output = free("features", &Inputs::names(&columns, settings.form));
    let mut writer = Writer::new(&transformer.encoder, &columns, &[&output], settings)?;
    let mut values = plain(&mut writer, map);
    if let Some(partition) = partition {
        let placement = writer.placement(partition)?;
        let shift = shift(&mut writer.graph, &transformer.features, &placement);
        values = writer.graph.op("Sub", &[&values, &shift]);
        values = writer.without(placement.refused.as_ref(), values);
    }
    values = writer.without_points(values);
    let width = Some(map.len());
    writer
        .graph
        .output(&values, &output, Element::Double, width);
    let held = (map.basis(), transformer.holdings());
    let mut said = entries(&columns, partition, held, settings);
    said.extend([
        ("strength", transformer.strength().to_string()),
        (
            "outputs",
            serde_json::json!({ "features": output }).to_string(),
        ),
        ("refused-rows", "NaN in every feature".to_owned()),
    ]);
    writer.finish(said)
}

/// f(x) = R (k(l_1, x), …), R being symmetric.
fn plain(writer: &mut Writer, map: &FeatureMap) -> Value {
    let (graph, encoded) = (&mut writer.graph, &writer.encoded);
    let width = map.len();
    if let Some(values) = kernel::functions(graph, encoded, map.basis(), Precision::Double) {
        return graph.product(&values, width, map.root_entries());
    }
    let points = map.basis().points();
    let factor = kernel::linear_factor(map.basis()).unwrap_or(1.0);
    let products = Mat::from_fn(points.dim(), points.len(), |k, j| factor * points.row(j)[k]);
    let weights = products * map.root();
    let rows = (0..points.dim()).flat_map(|k| (0..width).map(move |i| (k, i)));
    let entries: Vec<f64> = rows.map(|at| weights[at]).collect();
    graph.product(&encoded.points, points.dim(), &entries)
}

/// t δ(s)
fn shift(graph: &mut Graph, features: &ObliviousFeatures, placement: &Placement) -> Value {
    let width = features.map().len();
    if let Some(of_row) = &placement.features {
        let directions = directions(features);
        return graph.product(of_row, directions.len() / width, &directions);
    }
    let places = &placement.placed.stand_ins;
    let table = graph.numbers(&[places.len(), width], &places.shifts(features));
    let rows = graph.flat(&placement.placed.place);
    graph.look_up(&table, &rows)
}
