//! The files of moments and of checkpoints.

use std::sync::Arc;

use oblivio_base::column::MOST_ROWS;
use oblivio_base::{Encoder, Result, Warning};
use serde::{Deserialize, Serialize};

use super::container::{Codec, Tensor, read, require, write};
use super::sums::{PlanHeader, PlanTensors, SumsHeader, SumsTensors};
use crate::gather::Gather;
use crate::model::Checkpoint;
use crate::moments::Moments;
use crate::reference::Members;

const MOMENTS: &str = "moments";
const CHECKPOINT: &str = "checkpoint";

/// Moments.
struct MomentsFile<'m> {
    header: MomentsHeader,
    plan: PlanTensors<'m>,
    sums: SumsTensors<'m>,
}

#[derive(Serialize, Deserialize)]
struct MomentsHeader {
    plan: PlanHeader,
    sums: SumsHeader,
}

/// A fit from a stream.
struct CheckpointFile<'m> {
    header: CheckpointHeader,
    plan: PlanTensors<'m>,
    reference: Option<SumsTensors<'m>>,
    training: Option<SumsTensors<'m>>,
}

#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    encoder: Encoder,
    plan: PlanHeader,
    note: String,
    warnings: Vec<Warning>,
    gather: Option<GatherHeader>,
}

#[derive(Serialize, Deserialize)]
struct GatherHeader {
    table_rows: usize,
    rows: usize,
    reference: SumsHeader,
    training: Option<SumsHeader>,
}

impl Moments {
    /// The bytes of the moments. The same moments give the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let file = MomentsFile {
            header: MomentsHeader {
                plan: PlanHeader::new(&self.plan),
                sums: SumsHeader::new(self),
            },
            plan: PlanTensors::new(&self.plan),
            sums: SumsTensors::new(self, ""),
        };
        file.write()
    }

    /// Reads moments, trusting nothing in them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        MomentsFile::decode(bytes, ())
    }
}

impl Codec for MomentsFile<'_> {
    type Value = Moments;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        let tensors = self.plan.all().into_iter().chain(self.sums.all());
        write(MOMENTS, &self.header, tensors)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors) = read(bytes, MOMENTS)?;
        Ok(Self {
            header,
            plan: PlanTensors::read(&tensors)?,
            sums: SumsTensors::read(&tensors, "")?,
        })
    }

    fn check(self, (): ()) -> Result<Moments> {
        let plan = Arc::new(self.header.plan.check(self.plan)?);
        self.header.sums.check(self.sums, &plan)
    }
}

impl Checkpoint {
    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        CheckpointFile::new(self).write()
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        CheckpointFile::decode(bytes, ())
    }
}

impl<'m> CheckpointFile<'m> {
    fn new(checkpoint: &'m Checkpoint) -> Self {
        let gather = checkpoint.gather.as_ref();
        let training = gather.and_then(|gather| gather.training.as_ref());
        Self {
            header: CheckpointHeader {
                encoder: checkpoint.encoder.clone(),
                plan: PlanHeader::new(&checkpoint.plan),
                note: checkpoint.note.clone(),
                warnings: checkpoint.warnings.clone(),
                gather: gather.map(|gather| GatherHeader {
                    table_rows: gather.table_rows,
                    rows: gather.rows,
                    reference: SumsHeader::new(&gather.reference),
                    training: training.map(SumsHeader::new),
                }),
            },
            plan: PlanTensors::new(&checkpoint.plan),
            reference: gather.map(|gather| SumsTensors::new(&gather.reference, "reference-")),
            training: training.map(|training| SumsTensors::new(training, "training-")),
        }
    }
}

impl Codec for CheckpointFile<'_> {
    type Value = Checkpoint;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        let sums = self.reference.iter().chain(&self.training);
        let plan: [&Tensor; 3] = self.plan.all();
        let tensors = plan.into_iter().chain(sums.flat_map(SumsTensors::all));
        write(CHECKPOINT, &self.header, tensors)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (CheckpointHeader, _) = read(bytes, CHECKPOINT)?;
        let gather = header.gather.as_ref();
        let training = gather.and_then(|gather| gather.training.as_ref());
        let reference = gather.map(|_| SumsTensors::read(&tensors, "reference-"));
        let training = training.map(|_| SumsTensors::read(&tensors, "training-"));
        Ok(Self {
            plan: PlanTensors::read(&tensors)?,
            reference: reference.transpose()?,
            training: training.transpose()?,
            header,
        })
    }

    fn check(self, (): ()) -> Result<Checkpoint> {
        let header = self.header;
        let plan = Arc::new(header.plan.check(self.plan)?);
        header.encoder.check_read()?;
        require(
            header.encoder.width() == plan.map.basis().dim(),
            "the encoding of its columns",
        )?;
        let gather = match (header.gather, self.reference) {
            (Some(gather), Some(reference)) => {
                require(
                    gather.rows <= gather.table_rows && gather.table_rows <= MOST_ROWS,
                    "the number of its rows",
                )?;
                let training = gather.training.zip(self.training);
                let training = training.map(|(sums, tensors)| sums.check(tensors, &plan));
                Some(Gather {
                    // Drawn again when the settings are known.
                    members: Members::all(),
                    table_rows: gather.table_rows,
                    rows: gather.rows,
                    reference: gather.reference.check(reference, &plan)?,
                    training: training.transpose()?,
                })
            }
            _ => None,
        };
        Ok(Checkpoint {
            encoder: header.encoder,
            plan,
            gather,
            warnings: header.warnings,
            note: header.note,
        })
    }
}
