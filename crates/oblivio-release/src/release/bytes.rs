//! The file of a release.

use oblivio::model::file::Codec;
use oblivio::sibling::{Tensor, read, write};
use oblivio_base::error::require;
use oblivio_base::{Error, Result};
use serde::{Deserialize, Serialize};

use super::apply::{Maps, Release};

/// The first schema. Files without a number have it.
const FIRST: u64 = 1;
/// The schema of joint releases.
const JOINT: u64 = 2;

const KIND: &str = "release";
/// The damaged part, if a check of the maps fails.
pub(super) const DAMAGED: &str = "what it makes of its columns";

/// A release.
struct ReleaseFile {
    header: Header,
    /// Its long vectors, one after the other.
    numbers: Tensor<'static>,
}

/// The release without its long vectors, and how long each of them is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Header {
    /// What a reader must know: the first schema that can hold the release.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    schema: u64,
    release: Release,
    lengths: Vec<usize>,
}

/// Read first, so that a later schema is told apart from a damaged file.
#[derive(Deserialize)]
struct Schema {
    #[serde(default = "first")]
    schema: u64,
}

fn first() -> u64 {
    FIRST
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_first(schema: &u64) -> bool {
    *schema == FIRST
}

impl Release {
    /// The bytes of the file. The same release gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        ReleaseFile::new(self).write()
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        ReleaseFile::decode(bytes, ())
    }
}

impl ReleaseFile {
    fn new(release: &Release) -> Self {
        let mut release = release.clone();
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        for vector in release.numbers() {
            lengths.push(vector.len());
            values.append(vector);
        }
        let schema = match release.maps {
            Maps::Joint(_) => JOINT,
            Maps::Columns(_) | Maps::Together(_) => FIRST,
        };
        let header = Header {
            schema,
            release,
            lengths,
        };
        Self {
            header,
            numbers: Tensor::vector("numbers", values),
        }
    }
}

impl Codec for ReleaseFile {
    type Value = Release;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        write(KIND, &self.header, [&self.numbers])
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (Schema { schema }, _) = read(bytes, KIND)?;
        if schema > JOINT {
            return Err(Error::InvalidModel {
                problem: format!(
                    "its release has schema {schema}, and this version reads up to {JOINT}: read it with the version that wrote it"
                ),
            });
        }
        let (header, tensors) = read(bytes, KIND)?;
        Ok(Self {
            header,
            numbers: Tensor::read_vector(&tensors, "numbers")?,
        })
    }

    fn check(self, (): ()) -> Result<Release> {
        let Header {
            mut release,
            lengths,
            ..
        } = self.header;
        let mut rest = &self.numbers.values[..];
        let vectors = release.numbers();
        require(vectors.len() == lengths.len(), "the length of its vectors")?;
        for (vector, length) in vectors.into_iter().zip(lengths) {
            require(length <= rest.len(), "the length of its vectors")?;
            let (own, after) = rest.split_at(length);
            *vector = own.to_vec();
            rest = after;
        }
        require(rest.is_empty(), "the length of its vectors")?;
        release.check_read()?;
        Ok(release)
    }
}
