//! Designs of several sets of rows as one, and of some rows of a set.

use faer::Mat;

use super::{CellCodes, RowStatus, SensitiveDesign, Storage};

impl SensitiveDesign {
    /// Adds the rows of another design by the same encoder.
    pub fn append(&mut self, later: Self) {
        if later.is_empty() {
            self.uses = self.uses.plus(later.uses);
            return;
        }
        let Self {
            cells,
            storage,
            status,
            uses,
        } = later;
        self.cells.append(cells);
        let mine = std::mem::take(&mut self.storage);
        self.storage = if self.status.is_empty() {
            storage
        } else {
            mine.followed_by(storage)
        };
        self.status.extend(status);
        self.uses = self.uses.plus(uses);
    }

    /// The named rows, in the order of `rows`; `uses` still counts all rows.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            cells: CellCodes {
                count: self.cells.count,
                codes: rows.iter().map(|&i| self.cells.codes[i]).collect(),
                mixtures: self.cells.mixtures.clone(),
            },
            storage: match &self.storage {
                Storage::Coded => Storage::Coded,
                Storage::Dropped => Storage::Dropped,
                Storage::Dense(features) => {
                    let entry = |a: usize, i: usize| features[(a, rows[i])];
                    Storage::Dense(Mat::from_fn(features.nrows(), rows.len(), entry))
                }
            },
            status: rows.iter().map(|&i| self.status[i]).collect(),
            uses: self.uses,
        }
    }

    /// The design of a table of `rows` rows. These rows are at `places`; the others miss a sensitive value.
    ///
    /// For reports they have `shares`, the mixture of cells of the population. Nothing is taken off them where D is a regression.
    pub(in crate::partition) fn with_missing(
        self,
        rows: usize,
        places: &[usize],
        shares: Vec<f64>,
    ) -> Self {
        let Self {
            cells,
            storage,
            status,
            mut uses,
        } = self;
        let CellCodes {
            count,
            codes,
            mut mixtures,
        } = cells;
        mixtures.push(shares);
        let mut all = vec![(count + mixtures.len() - 1) as u32; rows];
        let mut statuses = vec![RowStatus::Missing; rows];
        for (&place, (code, status)) in places.iter().zip(codes.into_iter().zip(status)) {
            (all[place], statuses[place]) = (code, status);
        }
        uses.sensitive_free = rows - places.len();
        Self {
            cells: CellCodes {
                count,
                codes: all,
                mixtures,
            },
            storage: match storage {
                Storage::Dense(known) => {
                    let mut all = Mat::zeros(known.nrows(), rows);
                    for (i, &place) in places.iter().enumerate() {
                        all.col_mut(place).copy_from(known.col(i));
                    }
                    Storage::Dense(all)
                }
                other => other,
            },
            status: statuses,
            uses,
        }
    }
}

impl CellCodes {
    fn append(&mut self, later: Self) {
        if self.codes.is_empty() && self.mixtures.is_empty() {
            *self = later;
            return;
        }
        let (count, moved) = (self.count, self.mixtures.len() as u32);
        let place = |code: u32| {
            let is_mixture = code as usize >= count;
            if is_mixture { code + moved } else { code }
        };
        self.codes.extend(later.codes.into_iter().map(place));
        self.mixtures.extend(later.mixtures);
    }
}

impl Storage {
    fn followed_by(self, later: Self) -> Self {
        match (self, later) {
            (Self::Dense(mine), Self::Dense(theirs)) => {
                let (features, rows) = (mine.nrows(), mine.ncols());
                let both = rows + theirs.ncols();
                Self::Dense(Mat::from_fn(features, both, |a, i| {
                    if i < rows {
                        mine[(a, i)]
                    } else {
                        theirs[(a, i - rows)]
                    }
                }))
            }
            (Self::Coded, Self::Coded) => Self::Coded,
            _ => Self::Dropped,
        }
    }
}
