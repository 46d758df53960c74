//! The file of a survey: a first look at some rows, on its way between the machines of a cluster.

use std::collections::HashMap;

use oblivio_base::column::MOST_ROWS;
use oblivio_base::encoder::EncoderLearner;
use oblivio_base::random::{Draw, Ticket};
use oblivio_base::{Column, MISSING, Result, Values};
use serde::{Deserialize, Serialize};

use super::container::{Codec, Tensor, read, require, write};
use crate::moments::SAMPLE;
use crate::sensitive::KindGuess;
use crate::survey::{Kept, Survey};

const KIND: &str = "survey";
/// The numbers of a ticket: its random number in halves, which a double holds, the row, its place in the sample, and its number among
/// the rows that miss no sensitive value, or −1.
const TICKET: usize = 5;

/// A survey. It holds rows of the table.
struct SurveyFile<'m> {
    header: Header,
    tickets: Tensor<'m>,
    weights: Tensor<'m>,
    /// The sample's features, then its sensitive columns.
    columns: Vec<Tensor<'m>>,
}

#[derive(Serialize, Deserialize)]
struct Header {
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
    fn new(kept: &Kept) -> Self {
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

    fn check(self, mut values: Vec<f64>) -> Result<Kept> {
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
        SurveyFile::new(self).write()
    }

    /// Reads a survey, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        SurveyFile::decode(bytes, ())
    }
}

impl<'m> SurveyFile<'m> {
    fn new(survey: &'m Survey) -> Self {
        let headers = |kept: &[Kept]| kept.iter().map(KeptHeader::new).collect();
        let tickets = survey.draw.tickets().into_iter();
        let tickets: Vec<f64> = tickets
            .flat_map(|(random, row)| {
                let place = survey.places.get(&row).copied().unwrap_or(0);
                let complete = survey.numbers[place].map_or(-1.0, |number| number as f64);
                let halves = [(random >> 32) as u32, random as u32].map(f64::from);
                [halves[0], halves[1], row as f64, place as f64, complete]
            })
            .collect();
        let kept = survey.features.iter().chain(&survey.sensitive);
        Self {
            header: Header {
                learner: survey.learner.clone(),
                kinds: survey.kinds.clone(),
                extent: survey.draw.extent(),
                features: headers(&survey.features),
                sensitive: headers(&survey.sensitive),
                weight: survey.weight,
                complete: survey.complete,
            },
            tickets: Tensor::matrix("tickets", [tickets.len() / TICKET, TICKET], tickets),
            weights: Tensor::vector("weights", &survey.weights),
            columns: kept
                .enumerate()
                .map(|(k, kept)| Tensor::vector(column_name(k), finite(kept)))
                .collect(),
        }
    }

    /// Refuses numbers of rows that no table has.
    fn check_rows(&self) -> Result<()> {
        let Header {
            extent: (_, start, rows),
            weight,
            complete: (complete, mass),
            ..
        } = self.header;
        let sample = self.weights.values.len();
        require(
            self.tickets.shape == [sample, TICKET] && sample <= rows.min(SAMPLE),
            "its sample",
        )?;
        let end = start.checked_add(rows);
        require(
            end.is_some_and(|end| end <= MOST_ROWS),
            "the place of its rows",
        )?;
        require(
            complete <= rows && mass >= 0.0 && weight >= 0.0,
            "the number of its rows",
        )?;
        let mut weights = self.weights.values.iter();
        require(weights.all(|weight| *weight > 0.0), "its weights")
    }

    fn check_tickets(&self) -> Result<Tickets> {
        let ((_, _, rows), (complete, _)) = (self.header.extent, self.header.complete);
        let sample = self.weights.values.len();
        let mut tickets = Tickets {
            drawn: Vec::new(),
            places: HashMap::new(),
            numbers: vec![None; sample],
        };
        let mut taken = vec![false; sample];
        for ticket in self.tickets.values.chunks_exact(TICKET) {
            let random = (ticket[0] as u64) << 32 | ticket[1] as u64;
            let (row, place) = (ticket[2] as usize, ticket[3] as usize);
            let fits = row < rows && place < sample && !taken[place];
            require(fits, "its sample")?;
            taken[place] = true;
            require(tickets.places.insert(row, place).is_none(), "its sample")?;
            let number = (ticket[4] >= 0.0).then_some(ticket[4] as usize);
            require(number.is_none_or(|number| number < complete), "its sample")?;
            tickets.numbers[place] = number;
            tickets.drawn.push((random, row));
        }
        Ok(tickets)
    }
}

/// The rows of a sample.
struct Tickets {
    drawn: Vec<Ticket>,
    /// Where each row is kept.
    places: HashMap<usize, usize>,
    /// Of each row that is kept, its number among those that miss no sensitive value.
    numbers: Vec<Option<usize>>,
}

impl Codec for SurveyFile<'_> {
    type Value = Survey;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        let tensors = [&self.tickets, &self.weights].into_iter();
        write(KIND, &self.header, tensors.chain(&self.columns))
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (Header, _) = read(bytes, KIND)?;
        let count = header.features.len() + header.sensitive.len();
        let columns = (0..count).map(|k| Tensor::read_vector(&tensors, column_name(k)));
        Ok(Self {
            tickets: Tensor::read_matrix(&tensors, "tickets")?,
            weights: Tensor::read_vector(&tensors, "weights")?,
            columns: columns.collect::<Result<_>>()?,
            header,
        })
    }

    fn check(self, (): ()) -> Result<Survey> {
        self.check_rows()?;
        let tickets = self.check_tickets()?;
        let (header, weights) = (self.header, self.weights.values.into_owned());
        let count = header.features.len();
        let columns = header.features.into_iter().chain(header.sensitive);
        let mut kept = Vec::new();
        for (column, values) in columns.zip(self.columns) {
            let values = values.values.into_owned();
            require(values.len() == weights.len(), "a column of its sample")?;
            kept.push(column.check(values)?);
        }
        // Rows are drawn from columns.
        require(count > 0 || weights.is_empty(), "its sample")?;
        let sensitive = kept.split_off(count);
        let names = |kept: &[Kept]| -> Vec<String> {
            let names = kept.iter().map(|kept| kept.name.clone());
            names.collect()
        };
        require(
            (header.kinds.iter().map(|(name, _)| name)).eq(names(&sensitive).iter())
                && header.learner.names().eq(names(&kept).iter())
                && header.learner.check_read().is_ok(),
            "its columns",
        )?;
        Ok(Survey {
            learner: header.learner,
            kinds: header.kinds,
            draw: Draw::resumed(SAMPLE, header.extent, tickets.drawn),
            features: kept,
            sensitive,
            weights,
            places: tickets.places,
            rows: header.extent.2,
            weight: header.weight,
            numbers: tickets.numbers,
            complete: header.complete,
        })
    }
}

fn column_name(k: usize) -> String {
    format!("column-{k}")
}
