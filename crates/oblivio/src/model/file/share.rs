//! The file of a share: sums of some rows, on their way between the machines of a cluster.

use oblivio_base::column::MOST_ROWS;
use oblivio_base::{Result, Watch};
use serde::{Deserialize, Serialize};

use super::container::{Codec, invalid, read, require, write};
use super::sums::{SumsHeader, SumsTensors, triangle};
use crate::share::Share;

const KIND: &str = "share";

/// Sums alone, no row and nothing of the plan.
struct ShareFile<'m> {
    header: Header,
    sums: Option<SumsTensors<'m>>,
}

#[derive(Serialize, Deserialize)]
struct Header {
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
            // Half of the numbers in memory: the rest is zero.
            let second = moments.sums.second.take();
            moments.sums.second = second.map(|square| triangle(&square, width));
        }
        let moments = self.moments.as_ref();
        let file = ShareFile {
            header: Header {
                start: self.start,
                rows: self.rows,
                sums: moments.map(SumsHeader::new),
            },
            sums: moments.map(|moments| SumsTensors::new(moments, "")),
        };
        file.write()
    }

    /// Reads a share by the same plan, trusting nothing in it.
    pub fn read(&self, bytes: &[u8]) -> Result<Self> {
        ShareFile::decode(bytes, self)
    }
}

impl Codec for ShareFile<'_> {
    type Value = Share;
    /// A share with the same plan.
    type Context<'c> = &'c Share;

    fn write(&self) -> Result<Vec<u8>> {
        let tensors = self.sums.iter().flat_map(SumsTensors::all);
        write(KIND, &self.header, tensors)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (Header, _) = read(bytes, KIND)?;
        let sums = header.sums.as_ref();
        let sums = sums.map(|_| SumsTensors::read(&tensors, ""));
        Ok(Self {
            sums: sums.transpose()?,
            header,
        })
    }

    fn check(self, own: &Share) -> Result<Share> {
        let Header { start, rows, sums } = self.header;
        let moments = match (sums.zip(self.sums), &own.moments) {
            (Some((sums, tensors)), Some(mine)) => Some(sums.check(tensors, &mine.plan)?),
            (None, None) => None,
            _ => return Err(invalid("it is the share of another kind of fit")),
        };
        let end = start.checked_add(rows);
        require(
            end.is_some_and(|end| end <= MOST_ROWS),
            "the place of its rows",
        )?;
        Ok(Share {
            moments,
            start,
            rows,
            encoder: own.encoder.clone(),
        })
    }
}
