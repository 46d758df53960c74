//! Equalised odds: whether decisions depend on the cell among rows of the same true label.

use std::iter;

use oblivio_base::{Result, Watch};

use super::cells::{Cells, Extremes};
use super::draws::{Draws, Statistic};
use super::found::Found;
use super::measure::Measure;
use super::resampling::Resampling;
use super::strata::Strata;

/// The decisions for one class, and the rows of the class.
pub(super) struct ClassOdds {
    /// The class, if there are several.
    pub(super) name: Option<String>,
    /// Whether each row is decided to be of the class.
    pub(super) decided: Vec<bool>,
    /// Whether each row is of the class.
    pub(super) truth: Vec<bool>,
}

/// Decisions and true labels in cells.
pub(super) struct Odds<'a> {
    cells: &'a Cells<'a>,
    classes: &'a [ClassOdds],
    /// S is shuffled among rows of the same true label, within the groups.
    labels: Strata,
    /// The places with enough rows of each class, and with enough other rows.
    usable: Vec<[Vec<bool>; 2]>,
}

/// The largest difference between two cells' rates of decisions for a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// Among rows of the class.
    true_positive: f64,
    /// Among the other rows.
    false_positive: f64,
}

impl Gaps {
    fn larger(self) -> f64 {
        self.true_positive.max(self.false_positive)
    }
}

impl<'a> Odds<'a> {
    /// Takes the group of each row's true label.
    pub(super) fn new(cells: &'a Cells<'a>, classes: &'a [ClassOdds], labels: &Strata) -> Self {
        let usable = |class: &ClassOdds| {
            [false, true].map(|side| {
                let rows = 0..cells.rows();
                cells.usable(rows.filter(|&row| class.truth[row] == side))
            })
        };
        Self {
            cells,
            classes,
            labels: cells.strata.cross(labels),
            usable: classes.iter().map(usable).collect(),
        }
    }

    /// The larger of both gaps, and each of them; of several classes, the largest.
    pub(super) fn measure(&self, resampling: &Resampling, watch: &Watch) -> Result<Vec<Found>> {
        let draws = Draws::new(self, resampling, watch, "comparing error rates")?;
        let largest = |gaps: &[Gaps], value: fn(Gaps) -> f64| {
            let values = gaps.iter().map(|gap| value(*gap));
            values.fold(f64::NAN, f64::max)
        };
        let values = [
            (Measure::EqualizedOdds, Gaps::larger as fn(Gaps) -> f64),
            (Measure::TruePositiveGap, |gaps| gaps.true_positive),
            (Measure::FalsePositiveGap, |gaps| gaps.false_positive),
        ];
        let found = values.map(|(measure, value)| {
            let measured = draws.measured(measure, |gaps| largest(gaps, value));
            let mut found = Found::new(measure, measured);
            let mut most = f64::NEG_INFINITY;
            for (class, gaps) in self.classes.iter().zip(&draws.here) {
                let Some(name) = &class.name else { continue };
                found = found.with(&format!("class-{name}"), value(*gaps));
                if value(*gaps) > most {
                    most = value(*gaps);
                    found.detail = Some(format!("largest for class {name}"));
                }
            }
            found
        });
        Ok(found.into())
    }

    /// The gaps of each class; a row has this cell, and counts with this weight.
    fn gaps(&self, cells: &[u32], weight: &dyn Fn(usize) -> f64) -> Vec<Gaps> {
        let classes = iter::zip(self.classes, &self.usable);
        let gaps = classes.map(|(class, usable)| {
            let gap = |side: bool| {
                let (mut chosen, mut all) =
                    (vec![0.0; usable[0].len()], vec![0.0; usable[0].len()]);
                for (row, &cell) in cells.iter().enumerate() {
                    if class.truth[row] != side {
                        continue;
                    }
                    let place = self.cells.place(row, cell);
                    all[place] += weight(row);
                    if class.decided[row] {
                        chosen[place] += weight(row);
                    }
                }
                self.difference(&chosen, &all, &usable[usize::from(side)])
            };
            Gaps {
                true_positive: gap(true),
                false_positive: gap(false),
            }
        });
        gaps.collect()
    }

    /// The largest difference between two usable cells' rates, averaged over the groups.
    fn difference(&self, chosen: &[f64], all: &[f64], usable: &[bool]) -> f64 {
        let count = self.cells.count;
        Cells::average((0..self.cells.strata.count()).map(|group| {
            let own = group * count..(group + 1) * count;
            let used = own
                .clone()
                .filter(|&place| usable[place] && all[place] > 0.0);
            let rates = used.map(|place| (place, chosen[place] / all[place]));
            (all[own].iter().sum(), Extremes::of(rates).difference())
        }))
    }
}

impl Statistic for Odds<'_> {
    type Values = Vec<Gaps>;

    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn here(&self) -> Vec<Gaps> {
        self.gaps(self.cells.codes, &|row| self.cells.weight(row))
    }

    fn permuted(&self, order: &[u32]) -> Vec<Gaps> {
        let within = Cells {
            strata: &self.labels,
            ..*self.cells
        };
        let (cells, weights) = within.shuffled(order);
        self.gaps(&cells, &|row| weights[row])
    }

    fn resampled(&self, counts: &[f64]) -> Vec<Gaps> {
        self.gaps(self.cells.codes, &|row| {
            counts[row] * self.cells.weight(row)
        })
    }
}
