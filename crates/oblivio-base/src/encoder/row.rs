//! One row after the other, without a table.

use super::feature::scaled;
use super::{Encoder, Feature, FeatureUses, MissingLevel, UnseenCategory};
use crate::column::{LevelMap, Value};

/// The point of one row after the other, in memory that is taken once.
#[derive(Clone, Debug)]
pub struct EncoderRow {
    /// For every column; empty for numbers.
    levels: Vec<LevelMap>,
    /// The point of the row that was encoded last.
    pub point: Vec<f64>,
    /// The values of that row that were missing or of unseen categories.
    pub uses: FeatureUses,
}

impl EncoderRow {
    /// Takes the memory for rows of this encoder.
    pub fn new(encoder: &Encoder) -> Self {
        let levels = |feature: &Feature| match feature {
            Feature::Number { .. } => LevelMap::default(),
            Feature::Categories { levels, .. } => LevelMap::new(levels),
        };
        Self {
            levels: encoder.features.iter().map(levels).collect(),
            point: vec![0.0; encoder.width()],
            uses: FeatureUses::default(),
        }
    }

    /// Encodes the values of the encoder's columns; `None` for a row that [`encode`](Encoder::encode) refuses.
    pub fn encode(&mut self, encoder: &Encoder, row: &[Value]) -> Option<()> {
        self.point.fill(0.0);
        self.uses = FeatureUses::default();
        let mut rest = &mut self.point[..];
        for ((feature, levels), value) in encoder.features.iter().zip(&self.levels).zip(row) {
            let (own, others) = rest.split_at_mut(feature.width());
            self.uses.missing += usize::from(value.is_missing());
            match feature {
                Feature::Number {
                    mean,
                    scale,
                    missing,
                    ..
                } => {
                    let number = match missing {
                        Some(fill) if value.is_missing() => {
                            own[1..].fill(1.0);
                            fill.value
                        }
                        _ => value.finite()?,
                    };
                    own[0] = scaled(number, *mean, *scale);
                }
                Feature::Categories {
                    levels: known,
                    missing,
                    ..
                } => match levels.find(*value) {
                    Some(place) => own[place as usize] = 1.0,
                    None if value.is_missing() => match missing {
                        MissingLevel::Refused => return None,
                        MissingLevel::Unmarked => {}
                        MissingLevel::Level => own[known.len()] = 1.0,
                    },
                    None if encoder.unseen == UnseenCategory::Error || !is_category(*value) => {
                        return None;
                    }
                    None => self.uses.unseen += 1,
                },
            }
            rest = others;
        }
        self.point.iter().all(|v| v.is_finite()).then_some(())
    }
}

/// Whether a value could be a category: neither missing nor infinite.
fn is_category(value: Value) -> bool {
    matches!(value, Value::Text(_)) || value.finite().is_some()
}
