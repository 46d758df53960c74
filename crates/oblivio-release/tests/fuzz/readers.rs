//! What anyone does with a file: read it, and use what was read.

use oblivio::model::{Checkpoint, KernelModel, Reduce};
use oblivio::moments::Moments;
use oblivio::oblivious::Features;
use oblivio::partition::Estimator;
use oblivio::refresh::Renewal;
use oblivio::sensitive::Kind;
use oblivio::share::Share;
use oblivio::survey::Survey;
use oblivio::{Column, Encoder, Model, RowModel, Sensitive, Transformer};
use oblivio_base::{Scaling, Value};
use oblivio_onnx::{OnnxSettings, export, export_transformer};
use oblivio_release::Release;

use crate::seeds::{self, watch};

/// Tables with these columns: values that a fit may have seen, and values that none has.
fn tables(encoder: &Encoder, sensitive: &[(&str, Kind)]) -> [Vec<Column>; 2] {
    [["F", "M", "F", "M"], ["F", "?", "", "M"]].map(|sexes| {
        let numbers = if sexes.contains(&"?") {
            vec![-1e300, 17.5, 1e-300, 1e12]
        } else {
            vec![17.5, 20.0, 25.0, 29.5]
        };
        let mut table: Vec<Column> = Vec::new();
        for name in encoder.columns() {
            table.push(match encoder.levels(name) {
                Some(levels) => {
                    let known = levels.iter().cycle().map(|level| Some(level.as_str()));
                    Column::texts(name, known.take(4))
                }
                None => Column::numbers(name, numbers.clone()),
            });
        }
        for (name, kind) in sensitive {
            table.push(match kind {
                Kind::Categorical => Column::texts(*name, sexes.map(Some)),
                Kind::Continuous => Column::numbers(*name, numbers.clone()),
            });
        }
        // A table has a row even if a hostile file asks for no column.
        table.push(Column::numbers("", numbers));
        table
    })
}

fn sensitive_of(table: &[Column], columns: &[(&str, Kind)]) -> Option<Sensitive> {
    let named = |(name, _): &(&str, Kind)| table.iter().rfind(|c| c.name == *name).cloned();
    Sensitive::new(columns.iter().filter_map(named).collect(), 4).ok()
}

/// Predicts with intervals, decides, refreshes, reduces, exports and writes again.
pub fn model(bytes: &[u8]) -> bool {
    let Ok(model) = Model::from_bytes(bytes) else {
        return false;
    };
    let partition = model.predictor().partition();
    let columns = partition.map_or(Vec::new(), |partition| partition.columns().collect());
    for table in tables(&model.encoder, &columns) {
        if let Ok(predictions) = model.predict(&table, &watch()) {
            for (scorer, prediction) in model.scorers.iter().zip(&predictions) {
                let _ = scorer.interval(prediction, 0.8);
            }
            for row in 0..4 {
                let scores: Vec<f64> = predictions.iter().map(|p| p.scores[row]).collect();
                if let Some(classes) = &model.classes {
                    let _ = &classes.labels[classes.decide(&scores)];
                    let _ = classes.probabilities(&scores);
                }
            }
        }
        let encoded = model.encoder.encode(&table);
        let sensitive = sensitive_of(&table, &columns);
        if let (Ok((points, _)), Some(sensitive)) = (encoded, sensitive)
            && let Ok(mut refresh) = model.predictor().refresh()
            && refresh.update(&points, &sensitive, None, &watch()).is_ok()
        {
            let _ = refresh.finish(Renewal::keeping(1));
        }
    }
    if let Some(partition) = partition {
        for cell in 0..partition.len() {
            let _ = (partition.label(cell), partition.brief(cell));
        }
    }
    let _ = (model.to_bytes(), model.holdings());
    let _ = export(&model, OnnxSettings::default());
    let to = Reduce {
        landmarks: 2,
        seed: 0,
    };
    if let Ok((small, _)) = model.reduce(to, None, &watch()) {
        let _ = small.to_bytes();
    }
    let mut rows = RowModel::new(model);
    for value in [Value::Number(17.5), Value::Text("F"), Value::Missing] {
        let row = vec![value; rows.schema().len()];
        let _ = rows
            .predict(&row)
            .map(|prediction| prediction.scores.to_vec());
    }
    true
}

pub fn transformer(bytes: &[u8]) -> bool {
    let Ok(transformer) = Transformer::from_bytes(bytes) else {
        return false;
    };
    let partition = transformer.features.partition();
    let columns = partition.map_or(Vec::new(), |partition| partition.columns().collect());
    for table in tables(&transformer.encoder, &columns) {
        let _ = transformer.transform(&table, &watch());
    }
    let _ = (transformer.to_bytes(), transformer.holdings());
    let _ = export_transformer(&transformer, OnnxSettings::default());
    true
}

pub fn kernel(bytes: &[u8]) -> bool {
    let Ok(model) = KernelModel::from_bytes(bytes, &watch()) else {
        return false;
    };
    let columns: Vec<_> = model.partition.columns().collect();
    for table in tables(&model.encoder, &columns) {
        let encoded = model.encoder.encode(&table);
        let assigned = sensitive_of(&table, &columns).map(|s| model.partition.assign(&s));
        if let (Ok((points, _)), Some(Ok(assignment))) = (encoded, assigned) {
            let rows = Features::Oblivious(&points, &assignment);
            let _ = model.map.inner(rows, rows, &watch());
        }
    }
    let _ = model.to_bytes();
    true
}

pub fn release(bytes: &[u8]) -> bool {
    let Ok(release) = Release::from_bytes(bytes) else {
        return false;
    };
    let (table, columns) = (seeds::table(), release.partition().columns());
    let mut own: Vec<Column> = Vec::new();
    for (name, kind) in columns {
        own.push(match kind {
            Kind::Categorical => Column {
                name: name.into(),
                ..table[2].clone()
            },
            Kind::Continuous => Column {
                name: name.into(),
                ..table[3].clone()
            },
        });
    }
    if let Ok(sensitive) = Sensitive::new(own, seeds::ROWS) {
        let _ = release.transform(&table[..2], &sensitive, &watch());
    }
    let _ = release.to_bytes();
    true
}

/// Merges both ways with moments that are sound, takes them out again, and solves.
pub fn moments(bytes: &[u8], sound: &Moments) -> bool {
    let Ok(read) = Moments::from_bytes(bytes) else {
        return false;
    };
    for (mut one, other) in [
        (sound.clone(), &read),
        (read.clone(), sound),
        (read.clone(), &read),
    ] {
        if one.merge(other, &watch()).is_ok() {
            let _ = one.subtract(other, &watch());
        }
    }
    let _ = seeds::on_landmarks(Estimator::Cells).fit_moments(&read, &watch());
    let _ = read.to_bytes();
    true
}

/// Goes on as each kind of fit that a checkpoint may be of.
pub fn checkpoint(bytes: &[u8]) -> bool {
    let Ok(checkpoint) = Checkpoint::from_bytes(bytes) else {
        return false;
    };
    let table = seeds::table();
    let settings = seeds::on_landmarks(Estimator::Cells);
    if let Ok((encoder, mut fit)) = checkpoint.clone().into_fit(&settings) {
        let sensitive = Sensitive::new(table[2..4].to_vec(), seeds::ROWS);
        if let (Ok((points, _)), Ok(sensitive)) = (encoder.encode(&table), sensitive) {
            let points = points.select(&(0..seeds::ROWS).collect::<Vec<_>>());
            let _ = fit.update(seeds::batch(&points, &sensitive), &watch());
        }
        let _ = fit.finish(&watch());
    }
    let features = seeds::feature_settings(Estimator::Cells);
    if let Ok((_, fit)) = checkpoint.clone().into_features(&features) {
        let _ = fit.finish(&watch());
    }
    let _ = checkpoint.clone().into_moments();
    let _ = checkpoint.to_bytes();
    let _ = Share::new(checkpoint, 0);
    true
}

/// Joins on both sides, and begins a fit: with those that are `sound`, and with some of the others.
pub fn survey(bytes: &[u8], sound: &[Vec<u8>]) -> bool {
    let Ok(mut survey) = Survey::from_bytes(bytes) else {
        return false;
    };
    let _ = seeds::survey(0).join(&survey);
    let _ = survey.join(&seeds::survey(seeds::ROWS));
    let _ = survey.to_bytes();
    let settings = seeds::on_landmarks(Estimator::Cells);
    // Choosing landmarks takes a hundred times as long as reading.
    if !(bytes.len() / 8).is_multiple_of(16) && !sound.iter().any(|own| own == bytes) {
        return true;
    }
    if let Some(components) = settings.components {
        let _ = survey.begin(Scaling::Standard, &settings, components, &watch());
    }
    true
}

pub fn share(plan: &Share, bytes: &[u8]) -> bool {
    let Ok(mut share) = plan.read(bytes) else {
        return false;
    };
    let mut all = plan.clone();
    let _ = all.join(&share, &watch());
    let _ = share.join(&all, &watch());
    let _ = share.to_bytes(&watch());
    true
}
