//! Surveys and shares as bytes: what travels between the machines of a cluster.

use std::collections::HashMap;

use oblivio_base::column::MOST_ROWS;
use oblivio_base::encoder::EncoderLearner;
use oblivio_base::random::{Draw, Ticket};
use oblivio_base::{Column, MISSING, Result, Values, Watch};
use serde::{Deserialize, Serialize};

use super::container::{invalid, numbers, read, require, tensor, write};
use super::moments::{SumsHeader, sums_tensors, triangle};
use crate::moments::SAMPLE;
use crate::sensitive::KindGuess;
use crate::share::Share;
use crate::survey::{Kept, Survey};

#[derive(Serialize, Deserialize)]
struct SurveyHeader {
    learner: EncoderLearner,
    kinds: Vec<(String, KindGuess)>,
    /// Seed, first row and number of rows.
    extent: (u64, usize, usize),
    features: Vec<KeptHeader>,
    sensitive: Vec<KeptHeader>,
    weight: f64,
    complete: (usize, f64),
}

/// A column of the sample; its numbers or codes are a tensor.
#[derive(Serialize, Deserialize)]
struct KeptHeader {
    name: String,
    /// Absent in a column of numbers.
    levels: Option<Vec<String>>,
    /// The rows that miss a value.
    missing: Vec<usize>,
}

impl KeptHeader {
    fn of(kept: &Kept) -> Self {
        let column = kept.column();
        Self {
            missing: column.missing(),
            name: column.name,
            levels: match column.values {
                Values::Numbers(_) => None,
                Values::Categories { levels, .. } => Some(levels),
            },
        }
    }

    fn kept(self, mut values: Vec<f64>) -> Result<Kept> {
        let fits = self.missing.iter().all(|row| *row < values.len());
        require(fits, "a column of its sample")?;
        let values = match self.levels {
            None => {
                self.missing.iter().for_each(|&row| values[row] = f64::NAN);
                Values::Numbers(values)
            }
            Some(levels) => {
                let mut codes: Vec<u32> = values.iter().map(|code| *code as u32).collect();
                self.missing.iter().for_each(|&row| codes[row] = MISSING);
                let known = |code: &u32| *code == MISSING || (*code as usize) < levels.len();
                require(codes.iter().all(known), "a column of its sample")?;
                Values::Categories { levels, codes }
            }
        };
        Ok(Kept::of(Column {
            name: self.name,
            values,
        }))
    }
}

/// A column's numbers or codes, zero where they are missing.
fn finite(kept: &Kept) -> Vec<f64> {
    match &kept.values {
        Values::Numbers(values) => {
            let of = |v: &f64| if v.is_nan() { 0.0 } else { *v };
            values.iter().map(of).collect()
        }
        Values::Categories { codes, .. } => {
            let of = |c: &u32| if *c == MISSING { 0.0 } else { f64::from(*c) };
            codes.iter().map(of).collect()
        }
    }
}

impl Survey {
    /// The bytes of the survey. It holds rows of the table: keep it as safe as the data.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let headers = |kept: &[Kept]| kept.iter().map(KeptHeader::of).collect();
        let header = SurveyHeader {
            learner: self.learner.clone(),
            kinds: self.kinds.clone(),
            extent: self.draw.extent(),
            features: headers(&self.features),
            sensitive: headers(&self.sensitive),
            weight: self.weight,
            complete: self.complete,
        };
        // In halves, which are whole numbers that a double holds.
        let tickets: Vec<f64> = self
            .draw
            .tickets()
            .into_iter()
            .flat_map(|(random, row)| {
                let place = self.places.get(&row).copied().unwrap_or(0);
                let complete = self.numbers[place].map_or(-1.0, |number| number as f64);
                let halves = [(random >> 32) as u32, random as u32].map(f64::from);
                [halves[0], halves[1], row as f64, place as f64, complete]
            })
            .collect();
        let kept = self.features.iter().chain(&self.sensitive);
        let columns: Vec<Vec<f64>> = kept.map(finite).collect();
        let mut tensors = vec![
            tensor("tickets", &[tickets.len() / 5, 5], &tickets),
            tensor("weights", &[self.weights.len()], &self.weights),
        ];
        for (k, values) in columns.iter().enumerate() {
            tensors.push(tensor(format!("column-{k}"), &[values.len()], values));
        }
        write("survey", &header, &tensors)
    }

    /// Reads a survey, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (SurveyHeader, _) = read(bytes, "survey")?;
        let (tickets, shape) = numbers(&tensors, "tickets", 2)?;
        let (weights, _) = numbers(&tensors, "weights", 1)?;
        let (_, start, rows) = header.extent;
        require(
            shape[1] == 5 && shape[0] == weights.len() && shape[0] <= rows.min(SAMPLE),
            "its sample",
        )?;
        let end = start.checked_add(rows);
        require(
            end.is_some_and(|end| end <= MOST_ROWS),
            "the place of its rows",
        )?;
        let (complete, mass) = header.complete;
        require(
            complete <= rows && mass >= 0.0 && header.weight >= 0.0,
            "the number of its rows",
        )?;
        require(weights.iter().all(|weight| *weight > 0.0), "its weights")?;
        let mut places = HashMap::new();
        let mut in_complete = vec![None; weights.len()];
        let mut taken = vec![false; weights.len()];
        let mut drawn: Vec<Ticket> = Vec::new();
        for ticket in tickets.chunks_exact(5) {
            let random = (ticket[0] as u64) << 32 | ticket[1] as u64;
            let (row, place) = (ticket[2] as usize, ticket[3] as usize);
            let fits = row < rows && place < weights.len() && !taken[place];
            require(fits, "its sample")?;
            taken[place] = true;
            require(places.insert(row, place).is_none(), "its sample")?;
            in_complete[place] = (ticket[4] >= 0.0).then_some(ticket[4] as usize);
            let number = in_complete[place];
            require(number.is_none_or(|number| number < complete), "its sample")?;
            drawn.push((random, row));
        }
        let count = header.features.len();
        let columns = header.features.into_iter().chain(header.sensitive);
        let mut kept = Vec::new();
        for (k, column) in columns.enumerate() {
            let (values, _) = numbers(&tensors, &format!("column-{k}"), 1)?;
            require(values.len() == weights.len(), "a column of its sample")?;
            kept.push(column.kept(values)?);
        }
        // Rows are drawn from columns.
        require(count > 0 || weights.is_empty(), "its sample")?;
        let sensitive = kept.split_off(count);
        let names = |kept: &[Kept]| {
            kept.iter()
                .map(|kept| kept.name.clone())
                .collect::<Vec<_>>()
        };
        require(
            (header.kinds.iter().map(|(name, _)| name)).eq(names(&sensitive).iter())
                && header.learner.names().eq(names(&kept).iter()),
            "its columns",
        )?;
        Ok(Self {
            learner: header.learner,
            kinds: header.kinds,
            draw: Draw::resumed(SAMPLE, header.extent, drawn),
            features: kept,
            sensitive,
            weights,
            places,
            rows,
            weight: header.weight,
            numbers: in_complete,
            complete: header.complete,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct ShareHeader {
    start: usize,
    rows: usize,
    sums: Option<SumsHeader>,
}

impl Share {
    /// The bytes of the share: sums alone, no row and nothing of the plan.
    pub fn to_bytes(mut self, watch: &Watch) -> Result<Vec<u8>> {
        if let Some(moments) = &mut self.moments {
            moments.flush(watch)?;
            let width = moments.sums.width;
            // Half of what is kept in memory: the rest is zero.
            let second = moments.sums.second.take();
            moments.sums.second = second.map(|square| triangle(&square, width));
        }
        let header = ShareHeader {
            start: self.start,
            rows: self.rows,
            sums: self.moments.as_ref().map(SumsHeader::of),
        };
        let tensors = self
            .moments
            .as_ref()
            .map_or(Vec::new(), |moments| sums_tensors(moments, ""));
        write("share", &header, &tensors)
    }

    /// Reads a share by the same plan, trusting nothing in it.
    pub fn read(&self, bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (ShareHeader, _) = read(bytes, "share")?;
        let moments = match (header.sums, &self.moments) {
            (Some(sums), Some(mine)) => Some(sums.moments(&mine.plan, &tensors, "")?),
            (None, None) => None,
            _ => return Err(invalid("it is the share of another kind of fit")),
        };
        let end = header.start.checked_add(header.rows);
        require(
            end.is_some_and(|end| end <= MOST_ROWS),
            "the place of its rows",
        )?;
        Ok(Self {
            moments,
            start: header.start,
            rows: header.rows,
            encoder: self.encoder.clone(),
        })
    }
}
